/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A call's arrays, and a thread's share of them */
#pragma once
#include "common/storage.h"
#include "common/whitening.h"
#include "cuda/rows.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct long_searches; /* see team_search.h */

/* n vectors in the order of the contract. The vectors of a chunk share a matrix, and so
 * do per_matrix chunks. */
struct batch {
    unsigned long long n, chunks;
    unsigned chunk, per_matrix;
    const float *y, *h;
    const float* noise_var; /* n, or null for a common one */
    float common_noise_var;
    const float* noise_cov; /* nr x nr complex, see program::covariance, or null */
    const float* prior;     /* n x nt*bits, or null */
    void* llr;
    float int8_scale;
    const unsigned char* hard;     /* n x num_hard x nt*bits, or null */
    unsigned long long* truncated; /* gets the number of vectors whose search ended by
                                    * max_nodes */
    long_searches* later;          /* for a program with a second launch */

    static constexpr int nt = program::num_tx, nr = program::num_rx;
    static constexpr int num_llr = program::num_llr;

    /* Return the number of a chunk's matrix. A 64-bit division takes as long as a
     * decomposition. */
    MP_FN unsigned long long place_of(unsigned long long chunk) const
    {
        return per_matrix == 1 ? chunk : chunk / per_matrix;
    }

    MP_FN void load_matrix(unsigned long long chunk, lane* to) const
    {
        load_row<nr * nt>(h + place_of(chunk) * (2 * nr * nt), to);
    }

    MP_FN void load_received(unsigned long long vector, lane* to) const
    {
        load_row<nr>(y + vector * (2 * nr), to);
    }

    MP_FN lane load_noise(unsigned long long vector) const
    {
        lane noise(common_noise_var);
        if (noise_var)
            noise.v = noise_var[vector];
        return noise;
    }

    MP_FN static lane::mask allowed(lane noise)
    {
        return (lane(least_noise) < noise) & (noise < lane(largest_noise));
    }

    MP_FN void store(unsigned long long vector, const lane* ordered) const
    {
        if constexpr (program::as_int8)
            store_int8<num_llr>(
                ordered, int8_scale, static_cast<signed char*>(llr) + vector * num_llr);
        else
            store_llr<num_llr>(ordered, static_cast<float*>(llr) + vector * num_llr);
    }
};

/* The whitening of a thread's vectors. One covariance for all is factorised once in a
 * block. */
template <int COVARIANCE>
struct vector_whitening {
    static constexpr int nr = program::num_rx;
    static constexpr bool common = COVARIANCE == 1, each = COVARIANCE == 2;
    noise_whitener<lane, program::fixed_rx, each ? program::fixed_rx : 0> whitener;

    MP_FN vector_whitening(arena<lane>& a) : whitener(a, antennas(), each) {}

    /* Called by all threads of the block */
    MP_FN void begin(const batch& all)
    {
        if constexpr (common) {
            __shared__ float memory[2 * nr * nr + nr];
            whitener.factor.data = reinterpret_cast<lane*>(memory);
            whitener.inverse.data = reinterpret_cast<lane*>(memory + 2 * nr * nr);
            for (int i = threadIdx.x; i < 2 * nr * nr; i += MIMOPACK_THREADS)
                memory[i] = all.noise_cov[i];
            __syncthreads();
            if (threadIdx.x == 0)
                whitener.factorise();
            __syncthreads();
        }
    }

    MP_FN void whiten_matrix(const batch& all, unsigned long long chunk, lane* matrix)
    {
        if constexpr (each) {
            load_row<nr * nr>(all.noise_cov + all.place_of(chunk) * (2 * nr * nr),
                              &whitener.factor[0]);
            whitener.factorise();
        }
        if constexpr (common || each)
            whitener.whiten(matrix, extent<program::fixed_tx>(layers()));
    }

    MP_FN void whiten_vector(lane* received) const
    {
        if constexpr (common || each)
            whitener.whiten(received, extent<1>(1));
    }
};

/* A thread's matrix and vector. LLRs are in the call's order in known and ordered, in the
 * kernel's order in canonical and found. */
struct vector_arrays {
    static constexpr int nt = program::fixed_tx, nr = program::fixed_rx;
    static constexpr int num_llr = nt * program::bits;
    buffer<lane, 2 * nr * nt> matrix;
    buffer<lane, 2 * nr> received;
    buffer<lane, 0> shift; /* see turn_columns() */
    buffer<lane, num_llr> known, canonical, found, ordered;
    vector_whitening<program::covariance> whitening;

    MP_FN vector_arrays(arena<lane>& a)
        : matrix(a, 2 * program::num_rx * program::num_tx),
          received(a, 2 * program::num_rx),
          shift(a, program::has_layers ? 2 * program::num_rx : 0),
          known(a, program::num_tx * program::bits),
          canonical(a, program::num_tx * program::bits),
          found(a, program::num_tx * program::bits),
          ordered(a, program::num_tx * program::bits),
          whitening(a)
    {
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

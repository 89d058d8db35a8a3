/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A call's arrays, and a thread's share of them */
#pragma once
#include "common/storage.h"
#include "cuda/rows.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* n vectors in the order of the contract. The vectors of a chunk share a matrix, and so
 * do per_matrix chunks. */
struct batch {
    unsigned long long n, chunks;
    unsigned chunk, per_matrix;
    const float *y, *h;
    const float* noise_var; /* n, or null for a common one */
    float common_noise_var;
    const float* prior; /* n x nt*bits, or null */
    void* llr;
    float int8_scale;
    const unsigned char* hard; /* num_hard x n x nt*bits, or null */
    unsigned* nodes;           /* n x nodes_per_vector, or null */
    unsigned nodes_per_vector;
    unsigned long long* taken; /* chunks that were taken after the first round */

    static constexpr int nt = asked::num_tx, nr = asked::num_rx;
    static constexpr int num_llr = asked::num_llr;

    /* The number of a chunk's matrix. A division of 64 bits takes as long as a
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
        if constexpr (asked::as_int8)
            store_int8<num_llr>(
                ordered, int8_scale, static_cast<signed char*>(llr) + vector * num_llr);
        else
            store_llr<num_llr>(ordered, static_cast<float*>(llr) + vector * num_llr);
    }

    /* Dynamic distribution: takes the next chunks for TOGETHER threads, which come here
     * together. Returns the first one's number, counted from the end of the first round.
     */
    template <int TOGETHER>
    MP_FN unsigned long long take(int count = TOGETHER) const
    {
        unsigned long long first = 0;
        if (threadIdx.x % TOGETHER == 0)
            first = atomicAdd(taken, static_cast<unsigned long long>(count));
        if constexpr (TOGETHER == 32) {
            return __shfl_sync(~0u, first, 0);
        } else {
            __shared__ unsigned long long of_block;
            if (threadIdx.x == 0)
                of_block = first;
            __syncthreads();
            first = of_block;
            __syncthreads();
            return first;
        }
    }
};

/* A thread's matrix and vector. known and ordered have LLRs of the call, canonical and
 * found those of the kernel. */
struct vector_arrays {
    static constexpr int nt = asked::fixed_tx, nr = asked::fixed_rx;
    static constexpr int num_llr = nt * asked::bits;
    buffer<lane, 2 * nr * nt> matrix;
    buffer<lane, 2 * nr> received;
    buffer<lane, 0> shift; /* see turn_columns() */
    buffer<lane, num_llr> known, canonical, found, ordered;

    MP_FN vector_arrays(arena<lane>& a)
        : matrix(a, 2 * asked::num_rx * asked::num_tx),
          received(a, 2 * asked::num_rx),
          shift(a, asked::has_layers ? 2 * asked::num_rx : 0),
          known(a, asked::num_tx * asked::bits),
          canonical(a, asked::num_tx * asked::bits),
          found(a, asked::num_tx * asked::bits),
          ordered(a, asked::num_tx * asked::bits)
    {
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A batch in lockstep: each thread of a warp takes a chunk, and the warp goes on to its
 * next chunks when all of its threads are done. */
#pragma once
#include "common/bit_order.h"
#include "cuda/batch.h"
#include "cuda/kernel_traits.h"
#include "cuda/staged_rows.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Return a / b, rounded up. */
MP_FN unsigned long long divided(unsigned long long a, unsigned long long b)
{
    return (a + b - 1) / b;
}

/* The division of a batch among warps */
template <class Kernel>
struct division {
    const unsigned long long chunks, warps;
    const int at_once; /* chunks of a warp in a round */

    MP_FN explicit division(const batch& all)
        : chunks(all.chunks),
          warps(gridDim.x * static_cast<unsigned long long>(MIMOPACK_THREADS / 32)),
          at_once(chunks_at_once())
    {
    }

    /* A chunk for each thread. If the warp's threads work together on each chunk, fewer,
     * so that all warps take the same number of rounds. */
    MP_FN int chunks_at_once() const
    {
        if constexpr (team_blocks<Kernel>(0) > 0)
            return static_cast<int>(divided(chunks, divided(chunks, 32 * warps) * warps));
        else
            return 32;
    }

    MP_FN int rows_from(unsigned long long first) const
    {
        return chunks - first < at_once ? static_cast<int>(chunks - first) : at_once;
    }
};

/* The chunks of a warp in a round */
struct round {
    unsigned long long first;
    int turn, rows;
    unsigned long long own; /* the thread's chunk, or the last chunk again */
    bool exists;            /* whether `own` is the thread's */
};

/* Prepare the matrix of the thread's chunk while the rows of the next round come. */
template <class Kernel>
MP_FN void prepare_chunk(Kernel& kernel,
                         const batch& all,
                         const division<Kernel>& parts,
                         vector_arrays& arrays,
                         const round& now,
                         unsigned long long next)
{
    using staging = staged_rows<Kernel>;
    lane* const matrix = &arrays.matrix[0];
    if constexpr (staging::used) {
        __syncwarp(); /* the next rows replace the last round's, which all have read */
        staging::bring(all, next, parts.rows_from(next), now.turn ^ 1);
        wait_for_rows();
        staging::load_matrix(now.turn, now.exists, matrix);
    } else {
        all.load_matrix(now.own, matrix);
    }
    if constexpr (program::has_layers)
        turn_columns(
            program::points.layers, layers(), antennas(), matrix, &arrays.shift[0]);
    kernel.prepare(matrix);
}

/* Load the a-priori LLRs; return whether they are finite. */
template <class Staging>
MP_FN lane::mask load_prior(const batch& all,
                            vector_arrays& arrays,
                            const round& now,
                            unsigned long long vector)
{
    if constexpr (program::prior_given) {
        const float* own;
        if constexpr (Staging::used)
            own = Staging::prior(now.turn, now.exists);
        else
            own = all.prior + vector * program::num_llr;
        for (int b = 0; b < program::num_llr; ++b)
            arrays.known[b].v = own[b];
    }
    return order_prior(program::points,
                       layers(),
                       program::prior_given ? &arrays.known[0] : nullptr,
                       &arrays.canonical[0]);
}

/* Detect a vector, also by a kernel that searches in steps. Return whether the vector is
 * usable. */
template <class Kernel>
MP_FN lane::mask
detect_whole(Kernel& kernel, const lane* y, lane noise, const lane* prior, lane* llr)
{
    if constexpr (has_steps<Kernel>(0)) {
        kernel.put(y, noise, threadIdx.x);
        kernel.take(threadIdx.x);
        while (kernel.advance()) {
        }
        return kernel.finish(noise, llr);
    } else {
        return kernel.detect(y, noise, prior, llr);
    }
}

/* Detect a vector of the thread's chunk; return whether it was erased. Staging:
 * staged_rows, or unstaged_rows for a thread that comes here alone */
template <class Staging, class Kernel>
MP_FN bool detect_vector(Kernel& kernel,
                         const batch& all,
                         vector_arrays& arrays,
                         const round& now,
                         unsigned long long vector)
{
    if constexpr (Staging::used)
        Staging::load_received(now.turn, now.exists, &arrays.received[0]);
    else
        all.load_received(vector, &arrays.received[0]);
    for (int i = 0; program::has_layers && i < 2 * antennas(); ++i)
        arrays.received[i] = arrays.received[i] - arrays.shift[i];
    const lane noise = all.load_noise(vector);
    auto usable = batch::allowed(noise);
    if constexpr (program::has_prior)
        usable = usable & load_prior<Staging>(all, arrays, now, vector);
    begin(kernel, all, vector, vectors_of_warp{ now.rows, now.exists }, 0);
    usable = usable & detect_whole(kernel,
                                   &arrays.received[0],
                                   noise,
                                   program::has_prior ? &arrays.canonical[0] : nullptr,
                                   &arrays.found[0]);
    order_llr(program::points,
              layers(),
              usable,
              &arrays.found[0],
              program::prior_given && program::extrinsic ? &arrays.known[0] : nullptr,
              &arrays.ordered[0]);
    if constexpr (Staging::takes_llr)
        Staging::store(all, &arrays.ordered[0], now.first, now.rows, now.turn);
    else if (now.exists)
        all.store(vector, &arrays.ordered[0]);
    return now.exists && !usable.m;
}

/* Detect a batch; return the number of this thread's vectors that were erased. */
template <class Kernel>
MP_FN unsigned detect_lockstep(Kernel& kernel, const batch& all, vector_arrays& arrays)
{
    const unsigned long long thread =
        blockIdx.x * static_cast<unsigned long long>(MIMOPACK_THREADS) + threadIdx.x;
    const division<Kernel> parts(all);
    const unsigned long long step = parts.warps * parts.at_once;
    unsigned erased = 0;
    unsigned long long first = thread / 32 * parts.at_once, next = 0;
    staged_rows<Kernel>::bring(all, first, parts.rows_from(first), 0);
    for (int turn = 0; first < all.chunks; first = next, turn ^= 1) {
        if constexpr (program::dynamic)
            next = step + all.take(parts.at_once);
        else
            next = first + step;
        const int rows = parts.rows_from(first), rank = threadIdx.x % 32;
        const bool exists = rank < rows;
        const round now{ first, turn, rows, first + (exists ? rank : rows - 1), exists };
        prepare_chunk(kernel, all, parts, arrays, now, next);
        for (unsigned t = 0; t < (program::matrix_each ? 1 : all.chunk); ++t)
            erased += detect_vector<staged_rows<Kernel>>(
                kernel,
                all,
                arrays,
                now,
                program::matrix_each ? now.own : now.own * all.chunk + t);
    }
    return erased;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

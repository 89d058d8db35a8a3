/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A batch in rounds: the threads of a warp, or of a block, take a chunk each, work on
 * them together, and go on to the chunks of the next round. */
#pragma once
#include "common/bit_order.h"
#include "cuda/batch.h"
#include "cuda/hooks.h"
#include "cuda/staged_rows.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* a / b, rounded up */
MP_FN unsigned long long divided(unsigned long long a, unsigned long long b)
{
    return (a + b - 1) / b;
}

/* How a batch is divided among groups of threads that go on together */
template <class Kernel>
struct division {
    static constexpr int together =
        threads_together<Kernel>(0) ? threads_together<Kernel>(0) : 32;
    const unsigned long long chunks, groups;
    const int at_once; /* chunks of a group in a round */

    MP_FN explicit division(const batch& all)
        : chunks(all.chunks),
          groups(gridDim.x *
                 static_cast<unsigned long long>(MIMOPACK_THREADS / together)),
          at_once(chunks_at_once())
    {
    }

    /* A chunk for each thread. Where teams work on each chunk, only so many that all
     * groups are done in the same number of rounds. */
    MP_FN int chunks_at_once() const
    {
        if constexpr (team_blocks<Kernel>(0) > 0)
            return static_cast<int>(
                divided(chunks, divided(chunks, together * groups) * groups));
        else
            return together;
    }

    MP_FN int rows_from(unsigned long long first) const
    {
        return chunks - first < at_once ? static_cast<int>(chunks - first) : at_once;
    }
};

/* The chunks of a group in a round, from first on */
struct round {
    unsigned long long first;
    int turn, rows;
    unsigned long long own; /* the thread's chunk, or the last one again */
    bool exists;            /* whether it is the thread's */
};

/* Prepares the matrix of the thread's chunk, while the rows of the next round come. */
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
        __syncwarp(); /* the next rows replace the last turn's, which all have read */
        staging::bring(all, next, parts.rows_from(next), now.turn ^ 1);
        wait_for_rows();
        staging::load_matrix(now.turn, now.exists, matrix);
    } else {
        all.load_matrix(now.own, matrix);
    }
    if constexpr (asked::has_layers)
        turn_columns(
            asked::points.layers, layers(), antennas(), matrix, &arrays.shift[0]);
    kernel.prepare(matrix);
}

/* Returns whether the LLRs are finite. */
template <class Staging>
MP_FN lane::mask load_prior(const batch& all,
                            vector_arrays& arrays,
                            const round& now,
                            unsigned long long vector)
{
    if constexpr (asked::prior_given) {
        const float* own;
        if constexpr (Staging::used)
            own = Staging::prior(now.turn, now.exists);
        else
            own = all.prior + vector * asked::num_llr;
        for (int b = 0; b < asked::num_llr; ++b)
            arrays.known[b].v = own[b];
    }
    if constexpr (asked::has_layers)
        return order_layers_prior(asked::points.layers,
                                  layers(),
                                  asked::bits,
                                  asked::prior_given ? &arrays.known[0] : nullptr,
                                  &arrays.canonical[0]);
    return order_prior(
        asked::points, asked::num_tx, &arrays.known[0], &arrays.canonical[0]);
}

/* Detects a vector; a kernel that searches in steps takes all of them. Returns whether
 * the vector is usable. */
template <class Kernel>
MP_FN lane::mask
detect_whole(Kernel& kernel, const lane* y, lane noise, const lane* prior, lane* llr)
{
    if constexpr (comes_in_steps<Kernel>(0)) {
        kernel.put(y, noise, threadIdx.x);
        kernel.take(threadIdx.x);
        while (kernel.advance()) {
        }
        return kernel.finish(noise, llr);
    } else {
        return kernel.detect(y, noise, prior, llr);
    }
}

/* Detects a vector of the thread's chunk; returns whether it was erased. Staging:
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
    for (int i = 0; asked::has_layers && i < 2 * antennas(); ++i)
        arrays.received[i] = arrays.received[i] - arrays.shift[i];
    const lane noise = all.load_noise(vector);
    auto usable = batch::allowed(noise);
    if constexpr (asked::has_prior)
        usable = usable & load_prior<Staging>(all, arrays, now, vector);
    begin(kernel, all, vector, threads_of_round{ now.rows, now.exists }, 0);
    usable = usable & detect_whole(kernel,
                                   &arrays.received[0],
                                   noise,
                                   asked::has_prior ? &arrays.canonical[0] : nullptr,
                                   &arrays.found[0]);
    const lane* const subtracted =
        asked::prior_given && asked::extrinsic ? &arrays.known[0] : nullptr;
    if constexpr (asked::has_layers)
        order_layers_llr(asked::points.layers,
                         layers(),
                         asked::bits,
                         usable,
                         &arrays.found[0],
                         subtracted,
                         &arrays.ordered[0]);
    else
        order_llr(asked::points,
                  layers(),
                  usable,
                  &arrays.found[0],
                  subtracted,
                  &arrays.ordered[0]);
    if constexpr (Staging::takes_llr)
        Staging::store(all, &arrays.ordered[0], now.first, now.rows, now.turn);
    else if (now.exists)
        all.store(vector, &arrays.ordered[0]);
    return now.exists && !usable.m;
}

/* Returns how many of this thread's vectors were erased. */
template <class Kernel>
MP_FN unsigned detect_in_rounds(Kernel& kernel, const batch& all, vector_arrays& arrays)
{
    constexpr int together = division<Kernel>::together;
    const unsigned long long thread =
        blockIdx.x * static_cast<unsigned long long>(MIMOPACK_THREADS) + threadIdx.x;
    const division<Kernel> parts(all);
    const unsigned long long step = parts.groups * parts.at_once;
    unsigned erased = 0;
    unsigned long long first = thread / together * parts.at_once, next = 0;
    staged_rows<Kernel>::bring(all, first, parts.rows_from(first), 0);
    for (int turn = 0; first < all.chunks; first = next, turn ^= 1) {
        if constexpr (asked::dynamic)
            next = step + all.take<together>(parts.at_once);
        else
            next = first + step;
        const int rows = parts.rows_from(first), rank = threadIdx.x % together;
        const bool exists = rank < rows;
        const round now{ first, turn, rows, first + (exists ? rank : rows - 1), exists };
        prepare_chunk(kernel, all, parts, arrays, now, next);
        for (unsigned t = 0; t < (asked::matrix_each ? 1 : all.chunk); ++t)
            erased += detect_vector<staged_rows<Kernel>>(
                kernel,
                all,
                arrays,
                now,
                asked::matrix_each ? now.own : now.own * all.chunk + t);
    }
    return erased;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

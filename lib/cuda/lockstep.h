/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A batch in lockstep: each thread of a warp takes a chunk, and the warp goes on to its
 * next chunks when all of its threads are done. */
#pragma once
#include "common/budget.h"
#include "cuda/batch.h"
#include "cuda/kernel_traits.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The number of chunks that a warp takes in a round: one for each thread. If the warp's
 * threads work together on each chunk, fewer, so that all warps take the same number of
 * rounds. */
template <class Kernel>
MP_FN int chunks_at_once(unsigned long long chunks, unsigned long long warps)
{
    if constexpr (team_blocks<Kernel>(0) > 0) {
        const unsigned long long in_round = 32 * warps;
        const unsigned long long rounds = (chunks + in_round - 1) / in_round;
        return static_cast<int>((chunks + rounds * warps - 1) / (rounds * warps));
    } else {
        return 32;
    }
}

/* Load the a-priori LLRs; return whether they are finite. */
MP_FN lane::mask
load_prior(const batch& all, vector_arrays& arrays, unsigned long long vector)
{
    if constexpr (program::prior_given) {
        const float* const own = all.prior + vector * program::num_llr;
        for (int b = 0; b < program::num_llr; ++b)
            arrays.known[b].v = own[b];
    }
    return order_prior(program::points,
                       layers(),
                       program::prior_given ? &arrays.known[0] : nullptr,
                       &arrays.canonical[0]);
}

/* Detect a vector, one of `rows` vectors of the warp; return whether it is usable. */
template <class Kernel>
MP_FN bool detect_vector(Kernel& kernel,
                         const batch& all,
                         vector_arrays& arrays,
                         int rows,
                         unsigned long long vector,
                         bool stores)
{
    all.load_received(vector, &arrays.received[0]);
    arrays.whitening.whiten_vector(&arrays.received[0]);
    for (int i = 0; program::has_layers && i < 2 * antennas(); ++i)
        arrays.received[i] = arrays.received[i] - arrays.shift[i];
    const lane noise = all.load_noise(vector);
    auto usable = batch::allowed(noise);
    if constexpr (program::has_prior)
        usable = usable & load_prior(all, arrays, vector);
    begin(kernel, all, vector, rows);
    usable = usable & kernel.detect(&arrays.received[0],
                                    noise,
                                    program::has_prior ? &arrays.canonical[0] : nullptr,
                                    &arrays.found[0]);
    order_llr(program::points,
              layers(),
              usable,
              &arrays.found[0],
              program::prior_given && program::extrinsic ? &arrays.known[0] : nullptr,
              &arrays.ordered[0]);
    if (stores)
        all.store(vector, &arrays.ordered[0]);
    return usable.m;
}

/* Detect a batch; return the number of this thread's vectors that were erased. */
template <class Kernel>
MP_FN unsigned detect_lockstep(Kernel& kernel, const batch& all, vector_arrays& arrays)
{
    constexpr unsigned long long in_block = MIMOPACK_THREADS / 32;
    const unsigned long long warps = gridDim.x * in_block;
    const int at_once = chunks_at_once<Kernel>(all.chunks, warps);
    const unsigned long long step = warps * at_once;
    const int rank = threadIdx.x % 32;
    unsigned erased = 0, truncated = 0;
    unsigned long long first = (blockIdx.x * in_block + threadIdx.x / 32) * at_once;
    arrays.whitening.begin(all);
    for (; first < all.chunks; first += step) {
        const unsigned long long left = all.chunks - first;
        const int rows = left < at_once ? static_cast<int>(left) : at_once;
        /* a thread without a chunk takes the last one again */
        const bool exists = rank < rows;
        const unsigned long long chunk = first + (exists ? rank : rows - 1);
        lane* const matrix = &arrays.matrix[0];
        all.load_matrix(chunk, matrix);
        arrays.whitening.whiten_matrix(all, chunk, matrix);
        if constexpr (program::has_layers)
            turn_columns(
                program::points.layers, layers(), antennas(), matrix, &arrays.shift[0]);
        kernel.prepare(matrix);
        const unsigned length = program::matrix_each ? 1 : all.chunk;
        for (unsigned t = 0; t < length; ++t) {
            const bool usable =
                detect_vector(kernel, all, arrays, rows, chunk * length + t, exists);
            erased += exists && !usable;
            truncated += exists ? truncated_by(kernel, 0) : 0;
        }
    }
    if (truncated)
        atomicAdd(all.truncated, static_cast<unsigned long long>(truncated));
    return erased;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

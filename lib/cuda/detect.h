/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The entry points: a batch through a kernel, a vector per thread. What comes before this
 * file in a program is in python/mimopack/cuda/source.py: namespace asked, which says
 * what is wanted, and MIMOPACK_MAKE, the name of the detector's make_NAME(arena), which
 * constructs the kernel. */
#pragma once
#include "cuda/hooks.h"
#include "cuda/in_steps.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* a / b, rounded up */
MP_FN unsigned long long divided(unsigned long long a, unsigned long long b)
{
    return (a + b - 1) / b;
}

using asked_kernel = decltype(MIMOPACK_MAKE(*static_cast<arena<lane>*>(nullptr)));

} // namespace MIMOPACK_ISA
} // namespace mimopack

#ifdef MIMOPACK_SIZE_ONLY

/* What the kernel and the driver take from the arena, in floats; whether a warp should
 * have a vector only, where there are few */
extern "C" __global__ void arena_size(unsigned long long* sizes)
{
    using namespace mimopack::MIMOPACK_ISA;
    arena<lane> counting;
    const vector_arrays arrays(counting);
    MIMOPACK_MAKE(counting);
    sizes[0] = counting.used;
    sizes[1] = team_blocks<asked_kernel>(0) > 0;
}

#else

/* A batch (batch.h): each thread takes a chunk, and then one of the next round, or with
 * dynamic distribution the next that is left. Arrays are on the device. scratch: the
 * arena of each thread, where local memory is too small for it. counters: zeros, to which
 * the erased vectors are added, and the chunks that were taken after the first round. */
extern "C" __global__ void __launch_bounds__(
    MIMOPACK_THREADS,
    mimopack::MIMOPACK_ISA::least_blocks<mimopack::MIMOPACK_ISA::asked_kernel>(0))
    detect(unsigned long long n,
           unsigned long long chunks,
           unsigned chunk,
           unsigned per_matrix,
           const float* __restrict__ y,
           const float* __restrict__ h,
           const float* __restrict__ noise_var,
           float common_noise_var,
           const float* __restrict__ prior,
           void* __restrict__ llr,
           float int8_scale,
           const unsigned char* __restrict__ hard,
           unsigned* __restrict__ nodes,
           unsigned nodes_per_vector,
           float* scratch,
           unsigned long long* counters)
{
    using namespace mimopack;
    using namespace mimopack::MIMOPACK_ISA;
    constexpr int nt = asked::num_tx, nr = asked::num_rx;
    constexpr int num_llr = nt * asked::bits;
    const batch all{ n,         chunks,           chunk, per_matrix, y,           h,
                     noise_var, common_noise_var, llr,   int8_scale, counters + 1 };
    const unsigned long long thread =
        blockIdx.x * static_cast<unsigned long long>(MIMOPACK_THREADS) + threadIdx.x;
    constexpr bool local = MIMOPACK_ARENA <= MIMOPACK_LARGEST_LOCAL_ARENA;
    lane memory[local && MIMOPACK_ARENA > 0 ? MIMOPACK_ARENA : 1];
    arena<lane> space{ local ? memory
                             : reinterpret_cast<lane*>(scratch) + thread * MIMOPACK_ARENA,
                       0 };
    vector_arrays arrays(space);
    auto kernel = MIMOPACK_MAKE(space);
    unsigned lost = 0;
    if constexpr (asked::dynamic && comes_in_steps<asked_kernel>(0)) {
        lost = detect_in_steps(kernel, all, arrays);
    } else {
        using matrix_rows = warp_rows<2 * nr * nt>;
        using y_rows = warp_rows<2 * nr>;
        using llr_rows = warp_rows<num_llr>;
        /* With a matrix for each vector, all rows go through shared memory where it has
         * room: the next ones come while the present ones are worked on, whose place LLRs
         * take. */
        constexpr int read = matrix_rows::size + y_rows::size +
                             (asked::has_prior ? llr_rows::size : 0),
                      room = read > llr_rows::size ? read : llr_rows::size;
        constexpr bool few_rows = team_blocks<asked_kernel>(0) > 0;
        constexpr bool alone = !few_rows && threads_together<asked_kernel>(0) == 0;
        constexpr bool staged = asked::matrix_each && matrix_rows::possible &&
                                y_rows::possible && llr_rows::possible && alone &&
                                2 * room * (MIMOPACK_THREADS / 32) * 16 <=
                                    48 * 1024 - shared_bytes<asked_kernel>(0);
        __shared__ float4 tiles[staged ? MIMOPACK_THREADS / 32 : 1][2][staged ? room : 1];
        /* So many threads go on together, with a row each; where teams work on them,
         * with as few as are enough. */
        constexpr int together =
            threads_together<asked_kernel>(0) ? threads_together<asked_kernel>(0) : 32;
        const unsigned long long groups =
            gridDim.x * static_cast<unsigned long long>(MIMOPACK_THREADS / together);
        const int at_once =
            few_rows ? static_cast<int>(
                           divided(chunks, divided(chunks, together * groups) * groups))
                     : together;
        const auto rows_from = [=](unsigned long long first) {
            return chunks - first < at_once ? static_cast<int>(chunks - first) : at_once;
        };
        const auto bring = [=](unsigned long long first, float4* tile) {
            if (staged && first < chunks) {
                const int rows = rows_from(first);
                matrix_rows::load(h + first * (2 * nr * nt), rows, tile);
                y_rows::load(y + first * (2 * nr), rows, tile + matrix_rows::size);
                if (asked::has_prior)
                    llr_rows::load(prior + first * num_llr,
                                   rows,
                                   tile + matrix_rows::size + y_rows::size);
            }
            if (staged)
                rows_are_under_way();
        };

        /* those past the end repeat the last chunk */
        const unsigned long long step = groups * at_once;
        unsigned long long first = thread / together * at_once, next = 0;
        bring(first, tiles[staged ? threadIdx.x / 32 : 0][0]);
        for (int turn = 0; first < chunks; first = next, turn ^= 1) {
            if constexpr (asked::dynamic)
                next = step + all.take<together>(at_once);
            else
                next = first + step;
            float4* const tile = tiles[staged ? threadIdx.x / 32 : 0][turn];
            float4* const y_tile = tile + matrix_rows::size;
            float4* const prior_tile = y_tile + y_rows::size;
            const int rows = rows_from(first);
            const bool exists = threadIdx.x % together < rows;
            const unsigned long long at =
                first + (exists ? threadIdx.x % together : rows - 1);
            if constexpr (staged) {
                __syncwarp(); /* of the last turn, whose place is the next one's */
                bring(next, tiles[threadIdx.x / 32][turn ^ 1]);
                wait_for_rows();
                load_row<nr * nt>(exists ? matrix_rows::own(tile)
                                         : reinterpret_cast<float*>(tile),
                                  &arrays.matrix[0]);
            } else {
                all.load_matrix(at, &arrays.matrix[0]);
            }
            kernel.prepare(&arrays.matrix[0]);
            for (unsigned t = 0; t < (asked::matrix_each ? 1 : chunk); ++t) {
                const unsigned long long vector =
                    asked::matrix_each ? at : at * chunk + t;
                if (staged)
                    load_row<nr>(exists ? y_rows::own(y_tile)
                                        : reinterpret_cast<float*>(y_tile),
                                 &arrays.received[0]);
                else
                    all.load_received(vector, &arrays.received[0]);
                const lane noise = all.load_noise(vector);
                auto usable = batch::allowed(noise);
                if constexpr (asked::has_prior) {
                    const float* const own =
                        staged ? exists ? llr_rows::own(prior_tile)
                                        : reinterpret_cast<float*>(prior_tile)
                               : prior + vector * num_llr;
                    for (int b = 0; b < num_llr; ++b)
                        arrays.known[b].v = own[b];
                    usable = usable & order_prior(asked::points,
                                                  nt,
                                                  &arrays.known[0],
                                                  &arrays.canonical[0]);
                }
                begin(kernel,
                      extras{ n, hard, exists ? nodes : nullptr, nodes_per_vector, rows },
                      vector,
                      0);
                usable = usable &
                         kernel.detect(&arrays.received[0],
                                       noise,
                                       asked::has_prior ? &arrays.canonical[0] : nullptr,
                                       &arrays.found[0]);
                order_llr(asked::points,
                          layers(),
                          usable,
                          &arrays.found[0],
                          asked::has_prior && asked::extrinsic ? &arrays.known[0]
                                                               : nullptr,
                          &arrays.ordered[0]);
                lost += exists && !usable.m;
                if constexpr (staged && !asked::as_int8) {
                    __syncwarp();
                    store_llr<num_llr>(&arrays.ordered[0], llr_rows::own(tile));
                    __syncwarp();
                    llr_rows::store(
                        tile, rows, static_cast<float*>(llr) + first * num_llr);
                } else if (exists) {
                    all.store(vector, &arrays.ordered[0]);
                }
            }
        }
    }
    if (lost)
        atomicAdd(counters, static_cast<unsigned long long>(lost));
}

#endif

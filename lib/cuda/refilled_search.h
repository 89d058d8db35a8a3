/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches of unequal length, one vector per thread. A warp prepares vectors together;
 * each of its threads takes the next vector when its search ends. */
#pragma once
#include "common/bit_order.h"
#include "cuda/batch.h"
#include "cuda/kernel_traits.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Detect a batch; return the number of this thread's vectors that were erased. */
template <class Kernel>
MP_FN unsigned detect_refilled(Kernel& kernel, const batch& all, vector_arrays& arrays)
{
    static_assert(has_steps<Kernel>(0) && !program::has_prior && !program::counts);
    const int own = threadIdx.x % 32, warp = threadIdx.x - own;
    const unsigned chunk = program::matrix_each ? 1 : all.chunk;
    /* next: the first chunk to be prepared next; t: the vector of each chunk */
    const unsigned long long step =
        gridDim.x * static_cast<unsigned long long>(MIMOPACK_THREADS);
    unsigned long long next =
        blockIdx.x * static_cast<unsigned long long>(MIMOPACK_THREADS) + warp;
    unsigned long long first = 0, vector = 0;
    unsigned t = 0, first_t = 0, erased = 0;
    int rows = 0, waiting = 0; /* vectors prepared; those that no thread has taken */
    bool searches = false, has_result = false;
    for (;;) {
        if (has_result && !searches) {
            const lane noise = all.load_noise(vector);
            const auto usable =
                kernel.finish(noise, &arrays.found[0]) & batch::allowed(noise);
            order_llr(program::points,
                      layers(),
                      usable,
                      &arrays.found[0],
                      static_cast<const lane*>(nullptr),
                      &arrays.ordered[0]);
            erased += !usable.m;
            all.store(vector, &arrays.ordered[0]);
            has_result = false;
        }
        unsigned idle = __ballot_sync(~0u, !searches);
        while (idle && (waiting || next < all.chunks)) {
            if (!waiting) {
                first = next;
                first_t = t;
                rows = all.chunks - next < 32 ? static_cast<int>(all.chunks - next) : 32;
                waiting = rows;
                const unsigned long long at = next + (own < rows ? own : rows - 1);
                if (program::matrix_each || t == 0) {
                    all.load_matrix(at, &arrays.matrix[0]);
                    kernel.prepare(&arrays.matrix[0]);
                }
                all.load_received(at * chunk + t, &arrays.received[0]);
                __syncwarp(); /* put() overwrites the vectors that were taken */
                kernel.put(
                    &arrays.received[0], all.load_noise(at * chunk + t), threadIdx.x);
                __syncwarp();
                if (++t == chunk) {
                    t = 0;
                    next = step + all.take();
                }
            }
            const int place = rows - waiting + __popc(idle & ((1u << own) - 1));
            if (!searches && place < rows) {
                kernel.take(warp + place);
                vector = (first + place) * chunk + first_t;
                searches = has_result = true;
            }
            const int taken = __popc(idle);
            waiting = waiting < taken ? 0 : waiting - taken;
            idle = __ballot_sync(~0u, !searches);
        }
        if (idle == ~0u)
            return erased;
        /* Threads wait until there are enough of them to fetch vectors together. */
        const int enough = waiting || next < all.chunks ? program::idle : 32;
        do {
            if (searches)
                searches = kernel.advance();
        } while (__popc(__ballot_sync(~0u, !searches)) < enough);
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

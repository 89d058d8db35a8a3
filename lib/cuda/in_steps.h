/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches of unequal length, with one thread for each vector. A warp prepares vectors
 * together; each of its threads takes the next one when it is done. */
#pragma once
#include "common/bit_order.h"
#include "cuda/batch.h"
#include "cuda/hooks.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Detects a batch; returns how many of this thread's vectors were erased. */
template <class Kernel>
MP_FN unsigned detect_in_steps(Kernel& kernel, const batch& all, vector_arrays& arrays)
{
    static_assert(comes_in_steps<Kernel>(0) && !asked::has_prior && !asked::counts);
    const int own = threadIdx.x % 32, warp = threadIdx.x - own;
    const unsigned chunk = asked::matrix_each ? 1 : all.chunk;
    /* next: the chunks that are prepared next; t: the vector of each */
    const unsigned long long step =
        gridDim.x * static_cast<unsigned long long>(MIMOPACK_THREADS);
    unsigned long long next =
        blockIdx.x * static_cast<unsigned long long>(MIMOPACK_THREADS) + warp;
    unsigned long long first = 0, vector = 0;
    unsigned t = 0, first_t = 0, lost = 0;
    int rows = 0, waiting = 0; /* vectors that were prepared, and that nobody took */
    bool searches = false, has_result = false;
    for (;;) {
        if (has_result && !searches) {
            const lane noise = all.load_noise(vector);
            const auto usable =
                kernel.finish(noise, &arrays.found[0]) & batch::allowed(noise);
            order_llr(asked::points,
                      layers(),
                      usable,
                      &arrays.found[0],
                      static_cast<const lane*>(nullptr),
                      &arrays.ordered[0]);
            lost += !usable.m;
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
                if (asked::matrix_each || t == 0) {
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
                    next = step + all.take<32>();
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
            return lost;
        /* Some wait for others, so that a turn is worth while. */
        const int enough = waiting || next < all.chunks ? asked::idle : 32;
        do {
            if (searches)
                searches = kernel.advance();
        } while (__popc(__ballot_sync(~0u, !searches)) < enough);
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Whitening in memory (see common/whitening.h), before a detector whose teams of threads
 * load matrices by themselves.
 *
 * Eliminating the rows of the covariance R = L L^H leaves L^H. The same steps multiply
 * the columns of H, and the vectors, by L^-1. So the first nr threads of a block have the
 * columns of R, and each of the others has a column of an H or a vector. Rows are
 * eliminated a panel at a time: a thread first subtracts the rows above the panel from
 * its column, then the panel's rows from each other, in registers. Panels of 8 rows take
 * twice as long (H200, 16x64), as columns are read again for each panel. */
#pragma once
#include "cuda/lane.h"
#include "cuda/program.h"

namespace mimopack {
namespace MIMOPACK_ISA {
namespace whitening {

constexpr int nt = program::num_tx, nr = program::num_rx;
constexpr int panel = 16; /* rows */

/* The entries of a column: where they come from and go to, and the distances between two
 * of them */
struct column {
    const float2* from;
    float2* to;
    int step, to_step;
};

/* a -= conj(b) c */
MP_FN void subtract_conjugate(float2& a, float2 b, float2 c)
{
    a.x = fmaf(-b.y, c.y, fmaf(-b.x, c.x, a.x));
    a.y = fmaf(b.y, c.x, fmaf(-b.x, c.y, a.y));
}

MP_FN float2 times(float2 a, float gain) { return { a.x * gain, a.y * gain }; }

} // namespace whitening
} // namespace MIMOPACK_ISA
} // namespace mimopack

/* Whiten matrices h and vectors y. `matrices` consecutive matrices share each of `count`
 * covariances, and `period` consecutive vectors share a matrix. If a covariance is not
 * positive definite, its matrices and vectors begin with NaN. factors: nr x nr numbers
 * for each block */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    whiten(const float2* __restrict__ covariances,
           unsigned long long count,
           unsigned long long matrices,
           unsigned long long period,
           const float2* __restrict__ h,
           const float2* __restrict__ y,
           float2* white_h,
           float2* white_y,
           float2* factors)
{
    using namespace mimopack;
    using namespace mimopack::MIMOPACK_ISA;
    using namespace mimopack::MIMOPACK_ISA::whitening;
    alignas(16) __shared__ float2 above[nr][panel]; /* L^H above the panel's columns */
    __shared__ float2 rows[2][panel];               /* of these columns, by turns */
    const int rank = threadIdx.x, others = blockDim.x - nr;
    const bool of_factor = rank < nr;
    float2* const factor =
        factors + static_cast<unsigned long long>(blockIdx.x) * nr * nr;
    const unsigned long long columns = matrices * (nt + period);
    const unsigned long long parts = (columns + others - 1) / others;
    for (unsigned long long item = blockIdx.x; item < count * parts; item += gridDim.x) {
        const unsigned long long which = parts == 1 ? item : item / parts;
        const unsigned long long number = (item - which * parts) * others + rank - nr;
        const float2* const covariance = covariances + which * nr * nr;
        const bool exists = of_factor || number < columns;
        column own{ h, white_h, 0, 0 };
        if (of_factor) { /* the lower triangle of R, by rows */
            own = { covariance + rank * nr, factor + rank, 1, nr };
        } else if (number < matrices * nt) {
            const unsigned long long at =
                (which * matrices + number / nt) * (nr * nt) + number % nt;
            own = { h + at, white_h + at, nt, nt };
        } else if (exists) {
            const unsigned long long at =
                (which * matrices * period + number - matrices * nt) * nr;
            own = { y + at, white_y + at, 1, 1 };
        }
        bool positive = true;
#pragma unroll 1
        for (int first = 0; first < nr; first += panel) {
            /* The columns of L^H end at its diagonal. */
            const bool goes_on = exists && (!of_factor || rank >= first);
            float2 x[panel];
            MP_UNROLL
            for (int r = 0; r < panel; ++r) {
                x[r] = goes_on && first + r < nr ? own.from[(first + r) * own.step]
                                                 : float2{ 0.0f, 0.0f };
                x[r].y = of_factor ? -x[r].y : x[r].y;
            }
            __syncthreads();
            for (int e = rank; e < first * panel; e += blockDim.x) {
                const int i = e / panel, j = first + e % panel;
                above[i][e % panel] = j < nr ? factor[i * nr + j] : float2{ 0.0f, 0.0f };
            }
            __syncthreads();
            if (goes_on) {
#pragma unroll 4
                for (int i = 0; i < first; ++i) {
                    const float2 z = own.to[i * own.to_step];
                    MP_UNROLL
                    for (int r = 0; r < panel; r += 2) {
                        const float4 two = *reinterpret_cast<const float4*>(&above[i][r]);
                        subtract_conjugate(x[r], float2{ two.x, two.y }, z);
                        subtract_conjugate(x[r + 1], float2{ two.z, two.w }, z);
                    }
                }
            }
            MP_UNROLL
            for (int r = 0; r < panel; ++r) {
                if (first + r >= nr)
                    continue;
                float2* const row = rows[r % 2];
                if (of_factor && rank >= first + r && rank < first + panel)
                    row[rank - first] = x[r];
                __syncthreads();
                const float pivot = row[r].x, inverse = rsqrt(lane(pivot)).v;
                if (rank == first + r) {
                    const float variance = covariance[rank * nr + rank].x;
                    positive = least_noise < variance && variance < largest_noise &&
                               least_pivot * nr * variance < pivot;
                }
                x[r] = times(x[r], inverse);
                const float2 z = times(x[r], inverse);
                MP_UNROLL
                for (int i = r + 1; i < panel; ++i)
                    subtract_conjugate(x[i], row[i], z);
            }
            MP_UNROLL
            for (int r = 0; r < panel; ++r)
                if (goes_on && first + r < nr)
                    own.to[(first + r) * own.to_step] = x[r];
        }
        if (!__syncthreads_and(positive) && exists && !of_factor)
            own.to[0].x = not_a_number;
    }
}

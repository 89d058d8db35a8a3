/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Whitening in memory, before a detector whose teams of threads load matrices by
 * themselves; see common/whitening.h */
#pragma once
#include "common/config.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* a -= b c */
MP_FN void subtract(float2& a, float2 b, float2 c)
{
    a.x = fmaf(b.y, c.y, fmaf(-b.x, c.x, a.x));
    a.y = fmaf(-b.y, c.x, fmaf(-b.x, c.y, a.y));
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* Replace covariances, nr x nr each, by their Cholesky factors with 1 / L_ii on the
 * diagonal; its first entry is NaN if the covariance is not positive definite. A block
 * takes a covariance. */
extern "C" __global__ void factorise(float2* covariances, int nr)
{
    using namespace mimopack::MIMOPACK_ISA;
    using namespace mimopack;
    float2* const own = covariances + static_cast<unsigned long long>(blockIdx.x) * nr * nr;
    __shared__ float inverse;
    bool positive = true;
    for (int j = 0; j < nr; ++j) {
        float2* const row = own + j * nr;
        if (threadIdx.x == 0) {
            const float variance = row[j].x;
            float pivot = variance;
            for (int k = 0; k < j; ++k)
                pivot = fmaf(-row[k].x, row[k].x, fmaf(-row[k].y, row[k].y, pivot));
            positive = positive && least_noise < variance && variance < largest_noise &&
                       1e-7f * nr * variance < pivot;
            inverse = 1.0f / sqrtf(pivot);
        }
        __syncthreads();
        for (int i = j + 1 + threadIdx.x; i < nr; i += blockDim.x) {
            float2* const below = own + i * nr;
            float2 sum = below[j];
            for (int k = 0; k < j; ++k)
                subtract(sum, below[k], float2{ row[k].x, -row[k].y });
            below[j] = float2{ sum.x * inverse, sum.y * inverse };
        }
        if (threadIdx.x == 0)
            row[j] = float2{ inverse, 0.0f };
        __syncthreads();
    }
    if (threadIdx.x == 0 && !positive)
        own[0].x = not_a_number;
}

/* Multiply matrices, nr x columns each, by the inverses of factors. period consecutive
 * matrices share a factor; 0: all do. A thread takes a column. */
extern "C" __global__ void whiten(float2* matrices,
                                  unsigned long long count,
                                  int columns,
                                  const float2* factors,
                                  unsigned long long period,
                                  int nr)
{
    using namespace mimopack::MIMOPACK_ISA;
    const unsigned long long thread =
        blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
    if (thread >= count * columns)
        return;
    const unsigned long long matrix = thread / columns;
    float2* const column = matrices + matrix * nr * columns + thread % columns;
    const float2* const factor = factors + (period ? matrix / period : 0) * nr * nr;
    for (int i = 0; i < nr; ++i) {
        float2 sum = column[i * columns];
        for (int j = 0; j < i; ++j)
            subtract(sum, factor[i * nr + j], column[j * columns]);
        const float gain = factor[i * nr + i].x;
        column[i * columns] = float2{ sum.x * gain, sum.y * gain };
    }
}

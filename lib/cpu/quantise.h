/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversion of LLRs to small integers: mean magnitude, scaling, and rounding to nearest.
 * Every instruction set gives the same result. */
#pragma once
#include "cpu/shuffle.h"
#include "cpu/simd.h"
#include <cstddef>
#include <cstdint>

namespace mimopack {
namespace MIMOPACK_ISA {

/* Call f(from, i) for groups of N values from number i on. Values past the end are 0. */
template <int N, class T, class F>
MP_FN void by_groups(const T* values, std::ptrdiff_t n, F f)
{
    std::ptrdiff_t i = 0;
    for (; i + N <= n; i += N)
        f(values + i, i);
    if (i < n) {
        T rest[N] = {};
        __builtin_memcpy(rest, values + i, (n - i) * sizeof(T));
        f(rest, i);
    }
}

/* Return the mean of |LLR| over all finite LLRs other than 0, or 0 if there are none.
 * Every instruction set uses the same number of partial sums, so that all of them round
 * alike. */
inline float mean_magnitude(const float* llr, std::ptrdiff_t n)
{
    constexpr int group = 32, parts = group / simd::width;
    const simd zero(0.0f), one(1.0f);
    simd sum[parts], count[parts];
    for (int p = 0; p < parts; ++p)
        sum[p] = count[p] = zero;
    by_groups<group>(llr, n, [&](const float* from, std::ptrdiff_t) {
        MP_UNROLL
        for (int p = 0; p < parts; ++p) {
            const simd x = abs(simd::load(from + p * simd::width));
            const simd::mask usable = (zero < x) & (x < simd(1e30f));
            sum[p] = sum[p] + select(usable, x, zero);
            count[p] = count[p] + select(usable, one, zero);
        }
    });
    float sums[group], counts[group], all = 0, number = 0;
    for (int p = 0; p < parts; ++p) {
        sum[p].store(sums + p * simd::width);
        count[p].store(counts + p * simd::width);
    }
    for (int i = 0; i < group; ++i) {
        all += sums[i];
        number += counts[i];
    }
    return number > 0 ? all / number : 0.0f;
}

inline float mean_magnitude(const std::int8_t* llr, std::ptrdiff_t n)
{
    std::int64_t sum = 0, count = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        sum += llr[i] < 0 ? -llr[i] : llr[i];
        count += llr[i] != 0;
    }
    return count > 0
               ? static_cast<float>(static_cast<double>(sum) / static_cast<double>(count))
               : 0.0f;
}

constexpr int quantised_at_once = 16;

/* Multiply sixteen LLRs by a scale, and round to the nearest integers within +- LIMIT.
 * NaN becomes 0. */
template <int LIMIT>
struct quantiser {
    const float scale;
    const int steps; /* the scale as a multiple of 2^-11, for integers */

    explicit quantiser(float scale_)
        : scale(scale_),
          steps(static_cast<int>((scale_ < 15 ? scale_ : 15) * 2048 + 0.5f))
    {
    }

    MP_FN void operator()(const float* from, std::int8_t* to) const
    {
        typedef std::int8_t bytes __attribute__((vector_size(4 * simd::width)));
        const simd limit(LIMIT), zero(0.0f);
        MP_UNROLL
        for (int i = 0; i < quantised_at_once; i += simd::width) {
            const simd x = simd::load(from + i) * simd(scale);
            const simd::mask number = (x < limit) | (zero < x);
            const simd cut = max(min(select(number, x, zero), limit), zero - limit);
            /* The low byte of each sum is the integer. */
            const auto sum = (bytes)(cut + simd(rounding_offset)).v;
            const auto low = shuffle<simd::width>(sum, sum, [](int e) { return 4 * e; });
            __builtin_memcpy(to + i, &low, simd::width);
        }
    }

    MP_FN void operator()(const std::int8_t* from, std::int8_t* to) const
    {
        for (int i = 0; i < quantised_at_once; ++i) {
            const int x = (from[i] * steps + 1024) >> 11;
            to[i] = static_cast<std::int8_t>(x > LIMIT ? LIMIT : x < -LIMIT ? -LIMIT : x);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

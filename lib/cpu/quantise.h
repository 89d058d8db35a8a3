/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversion of LLRs to small integers: mean magnitude, scaling, and rounding to nearest.
 * Every instruction set gives the same result. */
#pragma once
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
#if defined(__SSE2__)
    __m128i sums = _mm_setzero_si128(), counts = sums;
    by_groups<16>(llr, n, [&](const std::int8_t* from, std::ptrdiff_t) {
        const __m128i x = _mm_loadu_si128((const __m128i*)from),
                      zero = _mm_setzero_si128();
        const __m128i size = _mm_min_epu8(x, _mm_sub_epi8(zero, x));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(size, zero));
        counts = _mm_add_epi64(counts,
                               _mm_sad_epu8(_mm_min_epu8(size, _mm_set1_epi8(1)), zero));
    });
    std::int64_t parts[2][2];
    __builtin_memcpy(parts[0], &sums, sizeof sums);
    __builtin_memcpy(parts[1], &counts, sizeof counts);
    sum = parts[0][0] + parts[0][1];
    count = parts[1][0] + parts[1][1];
#else
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        sum += llr[i] < 0 ? -llr[i] : llr[i];
        count += llr[i] != 0;
    }
#endif
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
#if defined(__AVX512F__)
        __m512 x = _mm512_mul_ps(_mm512_loadu_ps(from), _mm512_set1_ps(scale));
        const __mmask16 number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
        /* conversion turns large numbers into the least integer */
        x = _mm512_min_ps(x, _mm512_set1_ps(LIMIT));
        const __m128i small = _mm512_cvtsepi32_epi8(_mm512_maskz_cvtps_epi32(number, x));
        _mm_storeu_si128((__m128i*)to, _mm_max_epi8(small, _mm_set1_epi8(-LIMIT)));
#elif defined(__AVX2__)
        const __m256i words = _mm256_packs_epi32(eight(from), eight(from + 8));
        const __m128i mixed = _mm_packs_epi16(_mm256_castsi256_si128(words),
                                              _mm256_extracti128_si256(words, 1));
        const __m128i small = _mm_shuffle_epi32(mixed, 0xd8);
        _mm_storeu_si128((__m128i*)to, _mm_max_epi8(small, _mm_set1_epi8(-LIMIT)));
#elif defined(__SSE2__)
        const __m128i low = _mm_packs_epi32(four(from), four(from + 4));
        const __m128i high = _mm_packs_epi32(four(from + 8), four(from + 12));
        _mm_storeu_si128((__m128i*)to, _mm_packs_epi16(low, high));
#else
        for (int i = 0; i < quantised_at_once; ++i) {
            float x = from[i] * scale;
            x = x == x ? x : 0.0f;
            x = x < LIMIT ? x : LIMIT;
            x = x > -LIMIT ? x : -LIMIT;
            to[i] = static_cast<std::int8_t>(__builtin_rintf(x));
        }
#endif
    }

    MP_FN void operator()(const std::int8_t* from, std::int8_t* to) const
    {
#if defined(__AVX2__)
        /* (16 x * steps / 2^14 + 1) / 2, rounded down */
        const __m256i x = _mm256_slli_epi16(
            _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)from)), 4);
        const __m256i words =
            _mm256_mulhrs_epi16(x, _mm256_set1_epi16(static_cast<short>(steps)));
        const __m128i small = _mm_packs_epi16(_mm256_castsi256_si128(words),
                                              _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128((__m128i*)to,
                         _mm_min_epi8(_mm_max_epi8(small, _mm_set1_epi8(-LIMIT)),
                                      _mm_set1_epi8(LIMIT)));
#elif defined(__SSE2__)
        const __m128i x = _mm_loadu_si128((const __m128i*)from);
        const __m128i sign = _mm_cmplt_epi8(x, _mm_setzero_si128());
        const __m128i low = eight(_mm_unpacklo_epi8(x, sign));
        const __m128i high = eight(_mm_unpackhi_epi8(x, sign));
        _mm_storeu_si128((__m128i*)to, _mm_packs_epi16(low, high));
#else
        for (int i = 0; i < quantised_at_once; ++i) {
            const int x = (from[i] * steps + 1024) >> 11;
            to[i] = static_cast<std::int8_t>(x > LIMIT ? LIMIT : x < -LIMIT ? -LIMIT : x);
        }
#endif
    }

private:
#if defined(__AVX512F__)
#elif defined(__AVX2__)
    MP_FN __m256i eight(const float* from) const
    {
        __m256 x = _mm256_mul_ps(_mm256_loadu_ps(from), _mm256_set1_ps(scale));
        x = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
        return _mm256_cvtps_epi32(_mm256_min_ps(x, _mm256_set1_ps(LIMIT)));
    }
#elif defined(__SSE2__)
    MP_FN __m128i four(const float* from) const
    {
        __m128 x = _mm_mul_ps(_mm_loadu_ps(from), _mm_set1_ps(scale));
        x = _mm_and_ps(x, _mm_cmpord_ps(x, x));
        x = _mm_min_ps(x, _mm_set1_ps(LIMIT));
        return _mm_cvtps_epi32(_mm_max_ps(x, _mm_set1_ps(-LIMIT)));
    }
    /* Multiply words in 32 bits. */
    MP_FN __m128i eight(__m128i x) const
    {
        const __m128i one = _mm_set1_epi16(1);
        const __m128i by = _mm_set1_epi32(1024 << 16 | steps);
        const __m128i low =
            _mm_srai_epi32(_mm_madd_epi16(_mm_unpacklo_epi16(x, one), by), 11);
        const __m128i high =
            _mm_srai_epi32(_mm_madd_epi16(_mm_unpackhi_epi16(x, one), by), 11);
        const __m128i words = _mm_packs_epi32(low, high);
        return _mm_max_epi16(_mm_min_epi16(words, _mm_set1_epi16(LIMIT)),
                             _mm_set1_epi16(-LIMIT));
    }
#endif
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A lane type of 16-bit integers with twice as many lanes as simd. A kernel that uses it
 * must compare and add without overflow. */
#pragma once
#include "cpu/simd.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct simd16 {
    static constexpr int width = 2 * simd::width;
    typedef short raw __attribute__((vector_size(2 * width)));
    typedef short half __attribute__((vector_size(width)));
    typedef int integers __attribute__((vector_size(2 * width)));

    struct mask {
        raw m; /* all ones where true */
        MP_FN friend mask operator&(mask a, mask b) { return { a.m & b.m }; }
        MP_FN friend mask operator|(mask a, mask b) { return { a.m | b.m }; }
        MP_FN mask operator~() const { return { ~m }; }
        MP_FN friend bool any(mask a)
        {
            long long words[sizeof(raw) / 8], found = 0;
            __builtin_memcpy(words, &a.m, sizeof words);
            for (long long w : words)
                found |= w;
            return found != 0;
        }
    };
    raw v;

    simd16() = default;
    MP_FN simd16(raw v_) : v(v_) {}
    MP_FN explicit simd16(float x)
    {
        const auto word = static_cast<short>(x); /* g++ -fsanitize needs it by itself */
        v = raw{} + word;
    }
    /* Round two vectors of floats to the nearest integers. The integers must fit. */
    MP_FN simd16(simd low, simd high)
    {
        const half halves[2] = { narrow(low), narrow(high) };
        __builtin_memcpy(&v, halves, sizeof v);
    }
    /* Return half 0 or 1 as floats. */
    MP_FN simd floats(int which) const
    {
        half halves[2];
        __builtin_memcpy(halves, &v, sizeof v);
        const integers wide = __builtin_convertvector(halves[which], integers);
        simd::word word;
        __builtin_memcpy(&word, &wide, sizeof wide);
        return word.to_float();
    }
    MP_FN static mask both(simd::mask low, simd::mask high)
    {
        const simd one(-1.0f), zero(0.0f);
        return { simd16(select(low, one, zero), select(high, one, zero)).v };
    }

    MP_FN friend simd16 operator+(simd16 a, simd16 b) { return a.v + b.v; }
    MP_FN friend simd16 operator-(simd16 a, simd16 b) { return a.v - b.v; }
    MP_FN friend simd16 select(mask m, simd16 a, simd16 b)
    {
        return (a.v & m.m) | (b.v & ~m.m);
    }
    /* Return where both are negative, or neither is. */
    MP_FN friend mask same_sign(simd16 a, simd16 b) { return { ~((a.v ^ b.v) >> 15) }; }
    /* Return a, limited to a distance of limit >= 0 from 0. */
    MP_FN friend simd16 clamp(simd16 a, simd16 limit)
    {
        return max(min(a, limit), simd16(raw{} - limit.v));
    }
    /* Return round(a * factor) for a factor of at most 1. */
    MP_FN friend simd16 scaled(simd16 a, float factor)
    {
        const int steps = static_cast<int>(factor * 32768.0f + 0.5f);
        const short by = static_cast<short>(steps < 32767 ? steps : 32767);
#if defined(__AVX512F__)
        return (raw)_mm512_mulhrs_epi16((__m512i)a.v, _mm512_set1_epi16(by));
#elif defined(__AVX2__)
        return (raw)_mm256_mulhrs_epi16((__m256i)a.v, _mm256_set1_epi16(by));
#else
        for (int i = 0; i < width; ++i)
            a.v[i] = static_cast<short>(((a.v[i] * by >> 14) + 1) >> 1);
        return a;
#endif
    }
#if defined(__AVX512F__)
    MP_FN friend simd16 max(simd16 a, simd16 b)
    {
        return (raw)_mm512_max_epi16((__m512i)a.v, (__m512i)b.v);
    }
    MP_FN friend simd16 min(simd16 a, simd16 b)
    {
        return (raw)_mm512_min_epi16((__m512i)a.v, (__m512i)b.v);
    }
#elif defined(__AVX2__)
    MP_FN friend simd16 max(simd16 a, simd16 b)
    {
        return (raw)_mm256_max_epi16((__m256i)a.v, (__m256i)b.v);
    }
    MP_FN friend simd16 min(simd16 a, simd16 b)
    {
        return (raw)_mm256_min_epi16((__m256i)a.v, (__m256i)b.v);
    }
#else
    MP_FN friend simd16 max(simd16 a, simd16 b) { return a.v > b.v ? a.v : b.v; }
    MP_FN friend simd16 min(simd16 a, simd16 b) { return a.v < b.v ? a.v : b.v; }
#endif

private:
    MP_FN static half narrow(simd a)
    {
        const simd::word word = a.to_word();
        integers wide;
        __builtin_memcpy(&wide, &word, sizeof wide);
        return __builtin_convertvector(wide, half);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

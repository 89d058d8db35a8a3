/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A register of the instruction set, and the instructions for which the compiler's vector
 * types have no operator. The lane types (simd.h, simd8.h, simd16.h) take the rest from
 * those types, so that a further instruction set needs no more than a section here:
 *
 * - min, max: if one value is NaN, the result is either of the two;
 * - fma(a, b, c) = a b + c, fnma(a, b, c) = c - a b;
 * - nearest: to integers, half to even;
 * - rsqrt_estimate, reciprocal_estimate: with a relative error below 2^-11;
 * - mask_word, the result of a comparison: less(a, b); bit(a, b) for bit b of integers a,
 * and its negation not_bit; bits(m), one for each lane; select(m, a, b) = m ? a : b;
 * - subtract: bytes, at least 0;
 * - spread_twos, spread_fours: load two or four bytes at a time and put as many zeros
 * behind them;
 * - multiply: 16-bit integers as fractions, round(a b / 2^15). */
#pragma once
#include "common/config.h"
#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX2__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif
typedef float floats __attribute__((vector_size(register_bytes)));
typedef int integers __attribute__((vector_size(register_bytes)));
typedef short shorts __attribute__((vector_size(register_bytes)));
typedef std::uint8_t bytes __attribute__((vector_size(register_bytes)));

namespace machine {

#if defined(__AVX512F__)

typedef __mmask16 mask_word;
MP_FN unsigned bits(mask_word m) { return m; }
MP_FN mask_word less(floats a, floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
MP_FN mask_word bit(integers a, int b)
{
    return _mm512_test_epi32_mask((__m512i)a, _mm512_set1_epi32(1 << b));
}
MP_FN mask_word not_bit(integers a, int b)
{
    return _mm512_testn_epi32_mask((__m512i)a, _mm512_set1_epi32(1 << b));
}
MP_FN floats select(mask_word m, floats a, floats b)
{
    return _mm512_mask_blend_ps(m, b, a);
}
/* Do not write a * b + c: the compiler would regroup the sums. */
MP_FN floats fma(floats a, floats b, floats c) { return _mm512_fmadd_ps(a, b, c); }
MP_FN floats fnma(floats a, floats b, floats c) { return _mm512_fnmadd_ps(a, b, c); }
MP_FN floats min(floats a, floats b) { return _mm512_min_ps(a, b); }
MP_FN floats max(floats a, floats b) { return _mm512_max_ps(a, b); }
MP_FN integers nearest(floats a) { return (integers)_mm512_cvtps_epi32(a); }
MP_FN floats rsqrt_estimate(floats a) { return _mm512_rsqrt14_ps(a); }
MP_FN floats reciprocal_estimate(floats a) { return _mm512_rcp14_ps(a); }
MP_FN bytes max(bytes a, bytes b)
{
    return (bytes)_mm512_max_epu8((__m512i)a, (__m512i)b);
}
MP_FN bytes subtract(bytes a, bytes b)
{
    return (bytes)_mm512_subs_epu8((__m512i)a, (__m512i)b);
}
MP_FN bytes spread_twos(const std::int8_t* p)
{
    return (bytes)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p));
}
MP_FN bytes spread_fours(const std::uint8_t* p)
{
    return (bytes)_mm512_cvtepu32_epi64(_mm256_load_si256((const __m256i*)p));
}
MP_FN shorts multiply(shorts a, short b)
{
    return (shorts)_mm512_mulhrs_epi16((__m512i)a, _mm512_set1_epi16(b));
}

#elif defined(__AVX2__)

typedef integers mask_word; /* all ones where true */
MP_FN unsigned bits(mask_word m)
{
    return static_cast<unsigned>(_mm256_movemask_ps((__m256)m));
}
MP_FN floats min(floats a, floats b) { return _mm256_min_ps(a, b); }
MP_FN floats max(floats a, floats b) { return _mm256_max_ps(a, b); }
MP_FN integers nearest(floats a) { return (integers)_mm256_cvtps_epi32(a); }
MP_FN floats rsqrt_estimate(floats a) { return _mm256_rsqrt_ps(a); }
MP_FN floats reciprocal_estimate(floats a) { return _mm256_rcp_ps(a); }
MP_FN bytes max(bytes a, bytes b)
{
    return (bytes)_mm256_max_epu8((__m256i)a, (__m256i)b);
}
MP_FN bytes subtract(bytes a, bytes b)
{
    return (bytes)_mm256_subs_epu8((__m256i)a, (__m256i)b);
}
MP_FN bytes spread_twos(const std::int8_t* p)
{
    return (bytes)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p));
}
MP_FN bytes spread_fours(const std::uint8_t* p)
{
    return (bytes)_mm256_cvtepu32_epi64(_mm_load_si128((const __m128i*)p));
}
MP_FN shorts multiply(shorts a, short b)
{
    return (shorts)_mm256_mulhrs_epi16((__m256i)a, _mm256_set1_epi16(b));
}

#elif defined(__SSE2__)

typedef integers mask_word;
MP_FN unsigned bits(mask_word m)
{
    return static_cast<unsigned>(_mm_movemask_ps((__m128)m));
}
MP_FN floats min(floats a, floats b) { return _mm_min_ps(a, b); }
MP_FN floats max(floats a, floats b) { return _mm_max_ps(a, b); }
MP_FN integers nearest(floats a) { return (integers)_mm_cvtps_epi32(a); }
MP_FN floats rsqrt_estimate(floats a) { return _mm_rsqrt_ps(a); }
MP_FN floats reciprocal_estimate(floats a) { return _mm_rcp_ps(a); }
MP_FN bytes max(bytes a, bytes b) { return (bytes)_mm_max_epu8((__m128i)a, (__m128i)b); }
MP_FN bytes subtract(bytes a, bytes b)
{
    return (bytes)_mm_subs_epu8((__m128i)a, (__m128i)b);
}

#elif defined(__aarch64__)

typedef integers mask_word;
MP_FN unsigned bits(mask_word m)
{
    return vaddvq_u32((uint32x4_t)(m & integers{ 1, 2, 4, 8 }));
}
MP_FN mask_word bit(integers a, int b)
{
    return (mask_word)vtstq_s32(a, integers{} + (1 << b));
}
MP_FN floats select(mask_word m, floats a, floats b)
{
    return vbslq_f32((uint32x4_t)m, a, b);
}
MP_FN floats min(floats a, floats b) { return vminnmq_f32(a, b); }
MP_FN floats max(floats a, floats b) { return vmaxnmq_f32(a, b); }
MP_FN integers nearest(floats a) { return vcvtnq_s32_f32(a); }
/* The instructions' estimates have 8 bits. */
MP_FN floats rsqrt_estimate(floats a)
{
    const float32x4_t e = vrsqrteq_f32(a);
    return e * vrsqrtsq_f32(a * e, e);
}
MP_FN floats reciprocal_estimate(floats a)
{
    const float32x4_t e = vrecpeq_f32(a);
    return e * vrecpsq_f32(a, e);
}
MP_FN bytes subtract(bytes a, bytes b) { return vqsubq_u8(a, b); }
MP_FN bytes spread_twos(const std::int8_t* p)
{
    return (bytes)vmovl_u16(vreinterpret_u16_s8(vld1_s8(p)));
}
MP_FN bytes spread_fours(const std::uint8_t* p)
{
    return (bytes)vmovl_u32(vreinterpret_u32_u8(vld1_u8(p)));
}
MP_FN shorts multiply(shorts a, short b) { return vqrdmulhq_n_s16(a, b); }

#else

typedef integers mask_word;
MP_FN unsigned bits(mask_word m)
{
    return (m[0] & 1u) | (m[1] & 2u) | (m[2] & 4u) | (m[3] & 8u);
}
MP_FN floats min(floats a, floats b) { return a < b ? a : b; }
MP_FN floats max(floats a, floats b) { return a > b ? a : b; }
MP_FN integers nearest(floats a)
{
    const floats magic = floats{} + rounding_offset;
    return __builtin_convertvector((a + magic) - magic, integers);
}
MP_FN floats rsqrt_estimate(floats a)
{
    for (int i = 0; i < 4; ++i)
        a[i] = 1.0f / __builtin_sqrtf(a[i]);
    return a;
}
MP_FN floats reciprocal_estimate(floats a) { return 1.0f / a; }
MP_FN bytes subtract(bytes a, bytes b) { return (a > b ? a : b) - b; }
MP_FN bytes spread_twos(const std::int8_t* p)
{
    typedef std::uint16_t twos __attribute__((vector_size(8)));
    twos from;
    __builtin_memcpy(&from, p, sizeof from);
    return (bytes) __builtin_convertvector(from, integers);
}
MP_FN bytes spread_fours(const std::uint8_t* p)
{
    typedef std::uint32_t fours __attribute__((vector_size(8)));
    typedef std::uint64_t words __attribute__((vector_size(16)));
    fours from;
    __builtin_memcpy(&from, p, sizeof from);
    return (bytes) __builtin_convertvector(from, words);
}

#endif

#if !defined(__AVX512F__)
MP_FN mask_word less(floats a, floats b) { return (mask_word)(a < b); }
#if !defined(__aarch64__)
MP_FN mask_word bit(integers a, int b) { return (a << (31 - b)) >> 31; }
MP_FN floats select(mask_word m, floats a, floats b) { return m ? a : b; }
#endif
MP_FN mask_word not_bit(integers a, int b) { return ~bit(a, b); }
MP_FN floats fma(floats a, floats b, floats c) { return a * b + c; }
MP_FN floats fnma(floats a, floats b, floats c) { return c - a * b; }
#endif
#if !defined(__SSE2__)
MP_FN bytes max(bytes a, bytes b) { return a > b ? a : b; }
#endif
#if !defined(__AVX2__) && !defined(__aarch64__)
MP_FN shorts multiply(shorts a, short b)
{
    for (int i = 0; i < register_bytes / 2; ++i)
        a[i] = static_cast<short>(((a[i] * b >> 14) + 1) >> 1);
    return a;
}
#endif

} // namespace machine

} // namespace MIMOPACK_ISA
} // namespace mimopack

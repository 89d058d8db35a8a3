/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The CPU's lane type: a SIMD vector of floats. Each element belongs to another received
 * vector.
 *
 * A lane type F offers the kernels:
 * - arithmetic, fma(a,b,c) = a*b + c, fnma = c - a*b, min, max, clamp, abs, rsqrt,
 * reciprocal, F(float);
 * - comparison to F::mask with &, |, ~ and any(mask);
 * - select(mask, a, b), and masked_min(a, mask, b) = mask ? min(a, b) : a;
 * - F::word, the integers in a float's bits;
 * - F::get(array, index) and F::put(array, index, value), with another index in each
 * lane.
 *
 * A tree search whose elements are nodes of one vector also uses load, store, least,
 * mask::to_bits and append. simd uses the compiler's vector types and runs on any
 * machine. AVX-512 has a type of its own because of its mask registers. */
#pragma once
#include "common/config.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

/* 1.5 * 2^23. A float to which it was added is rounded to an integer, which stands in its
 * low bits. */
constexpr float round_magic = 12582912.0f;

#if defined(__AVX512F__)

struct simd {
    static constexpr int width = 16;
    static constexpr int registers = 32; /* for kernels that choose what to keep */
    struct mask {
        __mmask16 m;
        MP_FN friend mask operator&(mask a, mask b)
        {
            return { static_cast<__mmask16>(a.m & b.m) };
        }
        MP_FN friend mask operator|(mask a, mask b)
        {
            return { static_cast<__mmask16>(a.m | b.m) };
        }
        MP_FN mask operator~() const { return { static_cast<__mmask16>(~m) }; }
        MP_FN bool operator[](int i) const { return m >> i & 1; }
        MP_FN friend bool any(mask a) { return a.m != 0; }
        /* Return how many of the first elements are true. */
        MP_FN int count(int first) const
        {
            return __builtin_popcount(m & ((1u << first) - 1));
        }
        MP_FN unsigned to_bits() const { return m; }
    };
    struct word {
        __m512i v;
        MP_FN mask bit(int b) const
        {
            return { _mm512_test_epi32_mask(v, _mm512_set1_epi32(1 << b)) };
        }
        MP_FN mask not_bit(int b) const
        {
            return { _mm512_testn_epi32_mask(v, _mm512_set1_epi32(1 << b)) };
        }
        MP_FN word operator>>(int b) const { return { _mm512_srli_epi32(v, b) }; }
        MP_FN word operator<<(int b) const { return { _mm512_slli_epi32(v, b) }; }
        MP_FN word operator&(unsigned b) const
        {
            return { _mm512_and_si512(v, _mm512_set1_epi32(static_cast<int>(b))) };
        }
        MP_FN word operator^(word b) const { return { _mm512_xor_si512(v, b.v) }; }
        MP_FN word operator+(word b) const { return { _mm512_add_epi32(v, b.v) }; }
        MP_FN word operator^(unsigned b) const
        {
            return { _mm512_xor_si512(v, _mm512_set1_epi32(static_cast<int>(b))) };
        }
        MP_FN word operator+(int b) const
        {
            return { _mm512_add_epi32(v, _mm512_set1_epi32(b)) };
        }
        MP_FN word operator-(int b) const { return *this + -b; }
        MP_FN simd as_float() const;
        MP_FN simd to_float() const;
    };
    __m512 v;

    simd() = default;
    MP_FN simd(__m512 v_) : v(v_) {}
    MP_FN explicit simd(float x) : v(_mm512_set1_ps(x)) {}
    MP_FN static simd load(const float* p) { return _mm512_loadu_ps(p); }
    MP_FN void store(float* p) const { _mm512_storeu_ps(p, v); }
    MP_FN word as_word() const { return { _mm512_castps_si512(v) }; }
    MP_FN word to_word() const { return { _mm512_cvtps_epi32(v) }; }

    MP_FN float least() const { return _mm512_reduce_min_ps(v); }

    MP_FN friend simd operator+(simd a, simd b) { return _mm512_add_ps(a.v, b.v); }
    MP_FN friend simd operator-(simd a, simd b) { return _mm512_sub_ps(a.v, b.v); }
    MP_FN friend simd operator*(simd a, simd b) { return _mm512_mul_ps(a.v, b.v); }
    MP_FN friend simd operator/(simd a, simd b) { return _mm512_div_ps(a.v, b.v); }
    MP_FN friend mask operator<(simd a, simd b)
    {
        return { _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ) };
    }
    MP_FN friend simd fma(simd a, simd b, simd c)
    {
        return _mm512_fmadd_ps(a.v, b.v, c.v);
    }
    MP_FN friend simd fnma(simd a, simd b, simd c)
    {
        return _mm512_fnmadd_ps(a.v, b.v, c.v);
    }
    MP_FN friend simd min(simd a, simd b) { return _mm512_min_ps(a.v, b.v); }
    MP_FN friend simd max(simd a, simd b) { return _mm512_max_ps(a.v, b.v); }
    MP_FN friend simd abs(simd a) { return _mm512_abs_ps(a.v); }
    MP_FN friend simd select(mask m, simd a, simd b)
    {
        return _mm512_mask_blend_ps(m.m, b.v, a.v);
    }
    MP_FN friend simd masked_min(simd a, mask m, simd b)
    {
        return _mm512_mask_min_ps(a.v, m.m, a.v, b.v);
    }
    /* Set base[index] = value, with an index for each lane. */
    MP_FN static void put(simd* base, word index, simd value)
    {
        const __m512i place = _mm512_add_epi32(
            _mm512_slli_epi32(index.v, 4),
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        _mm512_i32scatter_ps(base, place, value.v, 4);
    }
    /* Return base[index], with an index for each lane. All lanes may share the array. */
    MP_FN static simd get(const simd* base, word index)
    {
        const __m512i place = _mm512_add_epi32(
            _mm512_slli_epi32(index.v, 4),
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        return _mm512_i32gather_ps(place, base, 4);
    }
    MP_FN static simd get(const float* base, word index)
    {
        return _mm512_i32gather_ps(index.v, base, 4);
    }
    /* Return a, limited to a distance of limit >= 0 from 0. */
    MP_FN friend simd clamp(simd a, simd limit)
    {
        constexpr int smaller_magnitude = 2; /* with the first operand's sign */
        return _mm512_range_ps(a.v, limit.v, smaller_magnitude);
    }
    /* Set level to the value nearest to a among -(side-1)/2 ... (side-1)/2, in steps of
     * 1. Return its number, counted from 0, plus round_magic. Floor in place of round
     * saves the addition of a half. */
    MP_FN friend simd slice(simd a, int side, simd& level)
    {
        const simd t = clamp(a, simd(0.49999994f * side));
        const simd k = _mm512_add_round_ps(t.v,
                                           _mm512_set1_ps(round_magic + side / 2),
                                           _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        /* (1 + 2^-23) 1.5 2^23 = 1.5 2^23 + 1.5 */
        level = fma(k, simd(1.00000012f), simd(-(round_magic + 1 + side / 2)));
        return k;
    }
    /* Return a where m holds and a is finite, 0 elsewhere. */
    MP_FN friend simd finite_where(mask m, simd a)
    {
        /* quiet NaN, signalling NaN, 0, 1, -Inf, Inf, negative, positive, from the low
         * end: 1 keeps a, 8 gives 0 */
        const __m512i table = _mm512_set1_epi32(0x11881188);
        return _mm512_maskz_fixupimm_ps(m.m, a.v, a.v, table, 0);
    }
    /* Store the elements of each value where m holds without gaps, value i from list + i
     * * stride on. The memory behind them may be overwritten. Return the number of
     * elements stored. */
    template <int N>
    MP_FN friend int append(mask m, const simd (&values)[N], float* list, int stride)
    {
        MP_UNROLL
        for (int i = 0; i < N; ++i)
            _mm512_storeu_ps(list + i * stride,
                             _mm512_maskz_compress_ps(m.m, values[i].v));
        return __builtin_popcount(m.m);
    }
    /* Return 1 / sqrt(a) by the hardware's estimate and one Newton step, with a relative
     * error below 2^-22. */
    MP_FN friend simd rsqrt(simd a)
    {
        const simd e = _mm512_rsqrt14_ps(a.v);
        return e * fnma(a * e, e * simd(0.5f), simd(1.5f));
    }
    /* Return 1 / a with the same error. */
    MP_FN friend simd reciprocal(simd a)
    {
        const simd e = _mm512_rcp14_ps(a.v);
        return fma(e, fnma(a, e, simd(1.0f)), e);
    }
};

MP_FN simd simd::word::as_float() const { return _mm512_castsi512_ps(v); }
MP_FN simd simd::word::to_float() const { return _mm512_cvtepi32_ps(v); }

#else

#if defined(__AVX2__)
constexpr int simd_width = 8;
#else
constexpr int simd_width = 4;
#endif

struct simd {
    static constexpr int width = simd_width;
    static constexpr int registers = 16;
    typedef float raw __attribute__((vector_size(4 * width)));
    typedef int integers __attribute__((vector_size(4 * width)));

    struct mask {
        integers m; /* all ones where true */
        MP_FN friend mask operator&(mask a, mask b) { return { a.m & b.m }; }
        MP_FN friend mask operator|(mask a, mask b) { return { a.m | b.m }; }
        MP_FN mask operator~() const { return { ~m }; }
        MP_FN bool operator[](int i) const { return m[i] != 0; }
        MP_FN friend bool any(mask a) { return a.to_bits() != 0; }
        MP_FN unsigned to_bits() const
        {
#if defined(__AVX2__)
            return static_cast<unsigned>(_mm256_movemask_ps((__m256)m));
#elif defined(__SSE2__)
            return static_cast<unsigned>(_mm_movemask_ps((__m128)m));
#else
            unsigned bits = 0;
            for (int i = 0; i < width; ++i)
                bits |= (m[i] & 1u) << i;
            return bits;
#endif
        }
        MP_FN int count(int first) const
        {
            int sum = 0;
            for (int l = 0; l < first; ++l)
                sum += m[l] != 0;
            return sum;
        }
    };
    struct word {
        integers v;
        MP_FN mask bit(int b) const { return { (v << (31 - b)) >> 31 }; }
        MP_FN mask not_bit(int b) const { return { ~((v << (31 - b)) >> 31) }; }
        MP_FN word operator>>(int b) const { return { (integers)((unsigneds)v >> b) }; }
        MP_FN word operator<<(int b) const { return { v << b }; }
        MP_FN word operator&(unsigned b) const { return { v & static_cast<int>(b) }; }
        MP_FN word operator^(word b) const { return { v ^ b.v }; }
        MP_FN word operator+(word b) const { return { v + b.v }; }
        MP_FN word operator^(unsigned b) const { return { v ^ static_cast<int>(b) }; }
        MP_FN word operator+(int b) const { return { v + b }; }
        MP_FN word operator-(int b) const { return { v - b }; }
        MP_FN simd as_float() const;
        MP_FN simd to_float() const;
        typedef unsigned unsigneds __attribute__((vector_size(4 * width)));
    };
    raw v;

    simd() = default;
    MP_FN simd(raw v_) : v(v_) {}
    MP_FN explicit simd(float x) : v(raw{} + x) {}
    MP_FN static simd load(const float* p)
    {
        raw r;
        __builtin_memcpy(&r, p, sizeof r);
        return r;
    }
    MP_FN void store(float* p) const { __builtin_memcpy(p, &v, sizeof v); }
    MP_FN word as_word() const { return { (integers)v }; }
    MP_FN word to_word() const
    {
        const raw magic = raw{} + 12582912.0f; /* 1.5 * 2^23: rounds to nearest */
        return { __builtin_convertvector((v + magic) - magic, integers) };
    }

    MP_FN float least() const
    {
        float x = v[0];
        for (int i = 1; i < width; ++i)
            x = v[i] < x ? v[i] : x;
        return x;
    }

    MP_FN friend simd operator+(simd a, simd b) { return a.v + b.v; }
    MP_FN friend simd operator-(simd a, simd b) { return a.v - b.v; }
    MP_FN friend simd operator*(simd a, simd b) { return a.v * b.v; }
    MP_FN friend simd operator/(simd a, simd b) { return a.v / b.v; }
    MP_FN friend mask operator<(simd a, simd b) { return { (integers)(a.v < b.v) }; }
    MP_FN friend simd fma(simd a, simd b, simd c) { return a.v * b.v + c.v; }
    MP_FN friend simd fnma(simd a, simd b, simd c) { return c.v - a.v * b.v; }
    MP_FN friend simd abs(simd a) { return (raw)((integers)a.v & 0x7fffffff); }
    MP_FN friend simd select(mask m, simd a, simd b) { return m.m ? a.v : b.v; }
    MP_FN friend simd masked_min(simd a, mask m, simd b)
    {
        return min(a, select(m, b, a));
    }
    MP_FN static void put(simd* base, word index, simd value)
    {
        for (int i = 0; i < width; ++i)
            base[index.v[i]].v[i] = value.v[i];
    }
    MP_FN static simd get(const simd* base, word index)
    {
        simd value(0.0f);
        for (int i = 0; i < width; ++i)
            value.v[i] = base[index.v[i]].v[i];
        return value;
    }
    MP_FN static simd get(const float* base, word index)
    {
        simd value(0.0f);
        for (int i = 0; i < width; ++i)
            value.v[i] = base[index.v[i]];
        return value;
    }
    MP_FN friend simd clamp(simd a, simd limit)
    {
        return max(min(a, limit), simd(0.0f) - limit);
    }
    MP_FN friend simd slice(simd a, int side, simd& level)
    {
        const simd t = clamp(a, simd(0.49999994f * side));
        const float half = 0.5f * (side - 1);
        const simd k = (t + simd(half)) + simd(round_magic);
        level = (k - simd(round_magic)) - simd(half);
        return k;
    }
    MP_FN friend simd finite_where(mask m, simd a)
    {
        return select(m & (abs(a) < simd(infinity)), a, simd(0.0f));
    }
    template <int N>
    MP_FN friend int append(mask m, const simd (&values)[N], float* list, int stride)
    {
        int count = 0;
        for (unsigned left = m.to_bits(); left; left &= left - 1, ++count)
            for (int i = 0; i < N; ++i)
                list[i * stride + count] = values[i].v[__builtin_ctz(left)];
        return count;
    }
#if defined(__AVX2__)
    MP_FN friend simd min(simd a, simd b)
    {
        return (raw)_mm256_min_ps((__m256)a.v, (__m256)b.v);
    }
    MP_FN friend simd max(simd a, simd b)
    {
        return (raw)_mm256_max_ps((__m256)a.v, (__m256)b.v);
    }
    MP_FN friend simd rsqrt(simd a)
    {
        const simd e = (raw)_mm256_rsqrt_ps((__m256)a.v);
        return e * fnma(a * e, e * simd(0.5f), simd(1.5f));
    }
    MP_FN friend simd reciprocal(simd a)
    {
        const simd e = (raw)_mm256_rcp_ps((__m256)a.v);
        return fma(e, fnma(a, e, simd(1.0f)), e);
    }
#elif defined(__SSE2__)
    MP_FN friend simd min(simd a, simd b)
    {
        return (raw)_mm_min_ps((__m128)a.v, (__m128)b.v);
    }
    MP_FN friend simd max(simd a, simd b)
    {
        return (raw)_mm_max_ps((__m128)a.v, (__m128)b.v);
    }
    MP_FN friend simd rsqrt(simd a)
    {
        const simd e = (raw)_mm_rsqrt_ps((__m128)a.v);
        return e * fnma(a * e, e * simd(0.5f), simd(1.5f));
    }
    MP_FN friend simd reciprocal(simd a)
    {
        const simd e = (raw)_mm_rcp_ps((__m128)a.v);
        return fma(e, fnma(a, e, simd(1.0f)), e);
    }
#else
    MP_FN friend simd min(simd a, simd b) { return a.v < b.v ? a.v : b.v; }
    MP_FN friend simd max(simd a, simd b) { return a.v > b.v ? a.v : b.v; }
    MP_FN friend simd rsqrt(simd a)
    {
        raw r;
        for (int i = 0; i < width; ++i)
            r[i] = 1.0f / __builtin_sqrtf(a.v[i]);
        return r;
    }
    MP_FN friend simd reciprocal(simd a) { return simd(1.0f) / a; }
#endif
};

MP_FN simd simd::word::as_float() const { return (simd::raw)v; }
MP_FN simd simd::word::to_float() const { return __builtin_convertvector(v, simd::raw); }

#endif

} // namespace MIMOPACK_ISA
} // namespace mimopack

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
 * mask::to_bits and append. */
#pragma once
#include "cpu/instructions.h"
#include "cpu/shuffle.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct simd {
    static constexpr int width = register_bytes / sizeof(float);

    struct mask {
        machine::mask_word m;
        MP_FN friend mask operator&(mask a, mask b)
        {
            return { static_cast<machine::mask_word>(a.m & b.m) };
        }
        MP_FN friend mask operator|(mask a, mask b)
        {
            return { static_cast<machine::mask_word>(a.m | b.m) };
        }
        MP_FN mask operator~() const { return { static_cast<machine::mask_word>(~m) }; }
        MP_FN unsigned to_bits() const { return machine::bits(m); }
        MP_FN bool operator[](int i) const { return to_bits() >> i & 1; }
        MP_FN friend bool any(mask a) { return a.to_bits() != 0; }
        /* Return how many of the first elements are true. */
        MP_FN int count(int first) const
        {
            return __builtin_popcount(to_bits() & ((1u << first) - 1));
        }
    };
    struct word {
        typedef unsigned unsigneds __attribute__((vector_size(register_bytes)));
        integers v;
        MP_FN mask bit(int b) const { return { machine::bit(v, b) }; }
        MP_FN mask not_bit(int b) const { return { machine::not_bit(v, b) }; }
        MP_FN word operator>>(int b) const { return { (integers)((unsigneds)v >> b) }; }
        MP_FN word operator<<(int b) const { return { v << b }; }
        MP_FN word operator&(unsigned b) const { return { v & static_cast<int>(b) }; }
        MP_FN word operator^(word b) const { return { v ^ b.v }; }
        MP_FN word operator+(word b) const { return { v + b.v }; }
        MP_FN word operator^(unsigned b) const { return { v ^ static_cast<int>(b) }; }
        MP_FN word operator+(int b) const { return { v + b }; }
        MP_FN word operator-(int b) const { return { v - b }; }
        MP_FN simd as_float() const { return (floats)v; }
        MP_FN simd to_float() const { return __builtin_convertvector(v, floats); }
    };
    typedef float unaligned
        __attribute__((vector_size(register_bytes), aligned(4), may_alias));
    floats v;

    simd() = default;
    MP_FN simd(floats v_) : v(v_) {}
    MP_FN explicit simd(float x) : v(x - floats{}) {}
    MP_FN static simd load(const float* p)
    {
        return *reinterpret_cast<const unaligned*>(p);
    }
    MP_FN void store(float* p) const { *reinterpret_cast<unaligned*>(p) = v; }
    MP_FN word as_word() const { return { (integers)v }; }
    MP_FN word to_word() const { return { machine::nearest(v) }; }

    MP_FN friend simd operator+(simd a, simd b) { return a.v + b.v; }
    MP_FN friend simd operator-(simd a, simd b) { return a.v - b.v; }
    MP_FN friend simd operator*(simd a, simd b) { return a.v * b.v; }
    MP_FN friend simd operator/(simd a, simd b) { return a.v / b.v; }
    MP_FN friend simd fma(simd a, simd b, simd c) { return machine::fma(a.v, b.v, c.v); }
    MP_FN friend simd fnma(simd a, simd b, simd c)
    {
        return machine::fnma(a.v, b.v, c.v);
    }
    MP_FN friend mask operator<(simd a, simd b) { return { machine::less(a.v, b.v) }; }
    MP_FN friend simd select(mask m, simd a, simd b)
    {
        return machine::select(m.m, a.v, b.v);
    }
    MP_FN friend simd min(simd a, simd b) { return machine::min(a.v, b.v); }
    MP_FN friend simd max(simd a, simd b) { return machine::max(a.v, b.v); }
    MP_FN friend simd abs(simd a) { return (floats)((integers)a.v & 0x7fffffff); }
    /* Return 1 / sqrt(a) by the machine's estimate and one Newton step, with a relative
     * error below 2^-22. */
    MP_FN friend simd rsqrt(simd a)
    {
        const simd e = machine::rsqrt_estimate(a.v);
        return e * fnma(a * e, e * simd(0.5f), simd(1.5f));
    }
    /* Return 1 / a with the same error. */
    MP_FN friend simd reciprocal(simd a)
    {
        const simd e = machine::reciprocal_estimate(a.v);
        return fma(e, fnma(a, e, simd(1.0f)), e);
    }
    MP_FN float least() const { return least<width / 2>(v); }

    /* - put: set base[index] = value, with an index for each lane;
     * - get: return base[index], with an index for each lane; all lanes may share the
     * array;
     * - masked_min: return min(a, b) where m holds, a elsewhere;
     * - clamp: return a, limited to a distance of limit >= 0 from 0;
     * - slice: set level to the value nearest to a among -(side-1)/2 ... (side-1)/2, in
     * steps of 1; return its number, counted from 0, plus rounding_offset;
     * - finite_where: return a where m holds and a is finite, 0 elsewhere;
     * - append: store the elements of each value where m holds without gaps, value i from
     * list + i * stride on; the memory behind them may be overwritten; return the number
     * of elements stored. */
#if defined(__AVX512F__)
    MP_FN static __m512i places(word index)
    {
        return _mm512_add_epi32(
            _mm512_slli_epi32((__m512i)index.v, 4),
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    }
    MP_FN static void put(simd* base, word index, simd value)
    {
        _mm512_i32scatter_ps(base, places(index), value.v, 4);
    }
    MP_FN static simd get(const simd* base, word index)
    {
        return _mm512_i32gather_ps(places(index), base, 4);
    }
    MP_FN static simd get(const float* base, word index)
    {
        return _mm512_i32gather_ps((__m512i)index.v, base, 4);
    }
    MP_FN friend simd masked_min(simd a, mask m, simd b)
    {
        return _mm512_mask_min_ps(a.v, m.m, a.v, b.v);
    }
    MP_FN friend simd clamp(simd a, simd limit)
    {
        constexpr int smaller_magnitude = 2; /* with the first operand's sign */
        return _mm512_range_ps(a.v, limit.v, smaller_magnitude);
    }
    /* Floor in place of round saves the addition of a half. */
    MP_FN friend simd slice(simd a, int side, simd& level)
    {
        const simd t = clamp(a, simd(0.49999994f * side));
        const simd k = _mm512_add_round_ps(t.v,
                                           _mm512_set1_ps(rounding_offset + side / 2),
                                           _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        /* (1 + 2^-23) 1.5 2^23 = 1.5 2^23 + 1.5 */
        level = fma(k, simd(1.00000012f), simd(-(rounding_offset + 1 + side / 2)));
        return k;
    }
    MP_FN friend simd finite_where(mask m, simd a)
    {
        /* quiet NaN, signalling NaN, 0, 1, -Inf, Inf, negative, positive, from the low
         * end: 1 keeps a, 8 gives 0 */
        const __m512i table = _mm512_set1_epi32(0x11881188);
        return _mm512_maskz_fixupimm_ps(m.m, a.v, a.v, table, 0);
    }
    template <int N>
    MP_FN friend int append(mask m, const simd (&values)[N], float* list, int stride)
    {
        MP_UNROLL
        for (int i = 0; i < N; ++i)
            _mm512_storeu_ps(list + i * stride,
                             _mm512_maskz_compress_ps(m.m, values[i].v));
        return __builtin_popcount(m.m);
    }
#else
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
    MP_FN friend simd masked_min(simd a, mask m, simd b)
    {
        return min(a, select(m, b, a));
    }
    MP_FN friend simd clamp(simd a, simd limit)
    {
        return max(min(a, limit), simd(0.0f) - limit);
    }
    MP_FN friend simd slice(simd a, int side, simd& level)
    {
        const simd t = clamp(a, simd(0.49999994f * side));
        const float half = 0.5f * (side - 1);
        const simd k = (t + simd(half)) + simd(rounding_offset);
        level = (k - simd(rounding_offset)) - simd(half);
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
#endif

private:
    template <int DISTANCE>
    MP_FN static float least(floats a)
    {
        if constexpr (DISTANCE == 0)
            return a[0];
        else
            return least<DISTANCE / 2>(machine::min(
                a, shuffle<width>(a, a, [](int i) { return i ^ DISTANCE; })));
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

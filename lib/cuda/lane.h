/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The GPU's lane type: one float, as the threads of a warp are the lanes. It has the
 * members and functions of the CPU's lane types (see cpu/simd.h). */
#pragma once
#include "common/scalar.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct lane {
    static constexpr int width = 1;
    struct mask {
        bool m;
        MP_FN friend mask operator&(mask a, mask b) { return { a.m && b.m }; }
        MP_FN friend mask operator|(mask a, mask b) { return { a.m || b.m }; }
        MP_FN mask operator~() const { return { !m }; }
        MP_FN bool operator[](int) const { return m; }
        MP_FN friend bool any(mask a) { return a.m; }
        MP_FN int count(int first) const { return first > 0 && m; }
        MP_FN unsigned to_bits() const { return m; }
    };
    struct word {
        int v;
        MP_FN mask bit(int b) const { return { (v >> b & 1) != 0 }; }
        MP_FN mask not_bit(int b) const { return { (v >> b & 1) == 0 }; }
        MP_FN word operator>>(int b) const
        {
            return { static_cast<int>(static_cast<unsigned>(v) >> b) };
        }
        MP_FN word operator<<(int b) const { return { v << b }; }
        MP_FN word operator&(unsigned b) const { return { v & static_cast<int>(b) }; }
        MP_FN word operator^(word b) const { return { v ^ b.v }; }
        MP_FN word operator+(word b) const { return { v + b.v }; }
        MP_FN word operator^(unsigned b) const { return { v ^ static_cast<int>(b) }; }
        MP_FN word operator+(int b) const { return { v + b }; }
        MP_FN word operator-(int b) const { return { v - b }; }
        MP_FN lane as_float() const;
        MP_FN lane to_float() const;
    };
    float v;

    lane() = default;
    MP_FN explicit lane(float x) : v(x) {}
    MP_FN static lane load(const float* p) { return lane(*p); }
    MP_FN void store(float* p) const { *p = v; }
    MP_FN word as_word() const { return { __float_as_int(v) }; }
    MP_FN word to_word() const { return { __float2int_rn(v) }; }
    MP_FN float least() const { return v; }

    MP_FN friend lane operator+(lane a, lane b) { return lane(a.v + b.v); }
    MP_FN friend lane operator-(lane a, lane b) { return lane(a.v - b.v); }
    MP_FN friend lane operator*(lane a, lane b) { return lane(a.v * b.v); }
    MP_FN friend lane operator/(lane a, lane b) { return lane(a.v / b.v); }
    MP_FN friend mask operator<(lane a, lane b) { return { a.v < b.v }; }
    MP_FN friend lane fma(lane a, lane b, lane c) { return lane(fmaf(a.v, b.v, c.v)); }
    MP_FN friend lane fnma(lane a, lane b, lane c) { return lane(fmaf(-a.v, b.v, c.v)); }
    MP_FN friend lane min(lane a, lane b) { return lane(fminf(a.v, b.v)); }
    MP_FN friend lane max(lane a, lane b) { return lane(fmaxf(a.v, b.v)); }
    MP_FN friend lane abs(lane a) { return lane(fabsf(a.v)); }
    MP_FN friend lane select(mask m, lane a, lane b) { return m.m ? a : b; }
    MP_FN friend lane masked_min(lane a, mask m, lane b) { return m.m ? min(a, b) : a; }
    MP_FN static void put(lane* base, word index, lane value) { base[index.v] = value; }
    MP_FN static lane get(const lane* base, word index) { return base[index.v]; }
    MP_FN static lane get(const float* base, word index) { return lane(base[index.v]); }
    MP_FN friend lane clamp(lane a, lane limit)
    {
        return max(min(a, limit), lane(-limit.v));
    }
    MP_FN friend lane slice(lane a, int side, lane& level)
    {
        constexpr float magic = rounding_offset;
        const lane t = clamp(a, lane(0.49999994f * side));
        const float half = 0.5f * (side - 1);
        const lane k(__fadd_rn(t.v + half, magic));
        level = lane(__fadd_rn(k.v, -magic) - half);
        return k;
    }
    MP_FN friend lane finite_where(mask m, lane a)
    {
        return m.m && isfinite(a.v) ? a : lane(0.0f);
    }
    template <int N>
    MP_FN friend int append(mask m, const lane (&values)[N], float* list, int stride)
    {
        if (m.m)
            for (int i = 0; i < N; ++i)
                list[i * stride] = values[i].v;
        return m.m;
    }
    /* As reciprocal() of a float. The branch without a GPU is for tests. */
    MP_FN friend lane rsqrt(lane a)
    {
#ifdef __CUDA_ARCH__
        asm("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(a.v));
        return a;
#else
        return lane(1.0f / sqrtf(a.v));
#endif
    }
    MP_FN friend lane reciprocal(lane a) { return lane(reciprocal(a.v)); }
};

MP_FN lane lane::word::as_float() const { return lane(__int_as_float(v)); }
MP_FN lane lane::word::to_float() const { return lane(static_cast<float>(v)); }

} // namespace MIMOPACK_ISA
} // namespace mimopack

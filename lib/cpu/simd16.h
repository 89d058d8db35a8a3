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
    typedef short half __attribute__((vector_size(width)));

    struct mask {
        shorts m; /* all ones where true */
        MP_FN friend mask operator&(mask a, mask b) { return { a.m & b.m }; }
        MP_FN friend mask operator|(mask a, mask b) { return { a.m | b.m }; }
        MP_FN mask operator~() const { return { ~m }; }
        MP_FN friend bool any(mask a)
        {
            const simd::word pairs{ (integers)a.m };
            return any(pairs.bit(0) | pairs.bit(16));
        }
    };
    shorts v;

    simd16() = default;
    MP_FN simd16(shorts v_) : v(v_) {}
    MP_FN explicit simd16(float x)
    {
        const auto word = static_cast<short>(x); /* g++ -fsanitize needs it by itself */
        v = shorts{} + word;
    }
    /* Round two vectors of floats to the nearest integers. The integers must fit. */
    MP_FN simd16(simd low, simd high)
    {
        v = shuffle<width>(narrow(low), narrow(high), [](int i) { return i; });
    }
    /* Return half 0 or 1 as floats. */
    MP_FN simd floats(int which) const
    {
        /* Each element twice, so that a shift leaves it with its sign in a wider one */
        const shorts first = shuffle<width>(v, v, [](int i) { return i / 2; });
        const shorts second = shuffle<width>(v, v, [](int i) { return (i + width) / 2; });
        return simd::word{ (integers)(which ? second : first) >> 16 }.to_float();
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
        return max(min(a, limit), simd16(shorts{} - limit.v));
    }
    /* Return round(a * factor) for a factor of at most 1. */
    MP_FN friend simd16 scaled(simd16 a, float factor)
    {
        const int steps = static_cast<int>(factor * 32768.0f + 0.5f);
        const short by = static_cast<short>(steps < 32767 ? steps : 32767);
        return machine::multiply(a.v, by);
    }
    MP_FN friend simd16 max(simd16 a, simd16 b) { return a.v > b.v ? a.v : b.v; }
    MP_FN friend simd16 min(simd16 a, simd16 b) { return a.v < b.v ? a.v : b.v; }

private:
    MP_FN static half narrow(simd a)
    {
        return __builtin_convertvector(a.to_word().v, half);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

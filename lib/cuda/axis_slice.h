/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Slicing an axis of square QAM in a thread's registers: the nearest level and its Gray
 * bits, without and with a-priori LLRs. */
#pragma once
#include "common/gray.h"
#include "common/slicing.h"
#include "cuda/lane.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Whether the sign bit is set, as it may be for zero */
MP_FN bool negative(float u) { return __float_as_int(u) < 0; }

/* The level of an axis that is nearest to u, in steps of 1 round 0, and its Gray bits */
template <int WIDTH>
struct axis_slice;

template <>
struct axis_slice<1> {
    float level;
    bool bit[1];
    MP_FN explicit axis_slice(float u) : level(copysignf(0.5f, u)), bit{ !negative(u) } {}
};

template <>
struct axis_slice<2> {
    float level;
    bool bit[2];
    MP_FN explicit axis_slice(float u) : bit{ !negative(u), fabsf(u) < 1.0f }
    {
        level = copysignf(bit[1] ? 0.5f : 1.5f, u);
    }
};

/* Set the Gray bits of an axis's level after the first, from its distance to 0. Each
 * tells the inner half of the remaining levels from the outer half. */
template <int WIDTH>
MP_FN void amplitude_bits(float away, bool* bit)
{
    MP_UNROLL
    for (int b = 1; b < WIDTH; ++b) {
        const float middle = 1 << (WIDTH - 1 - b);
        bit[b] = away < middle;
        away = fabsf(away - middle);
    }
}

/* Wider axes round a sum. This takes more instructions, but fewer comparisons and
 * selections, which a GPU executes at half the rate. */
template <int WIDTH>
struct axis_slice {
    float level;
    bool bit[WIDTH];
    MP_FN explicit axis_slice(float u)
    {
        constexpr float largest = (1 << WIDTH) - 1, magic = rounding_offset;
        const float share = __saturatef(fmaf(u, 1.0f / largest, 0.5f));
        level = __fadd_rn(fmaf(share, largest, magic), -magic) - 0.5f * largest;
        bit[0] = level > 0.0f;
        amplitude_bits<WIDTH>(fabsf(level), bit);
    }
};

/* Return the cost of a bit's value by its a-priori LLR: |LLR| or exactly 0, so that large
 * LLRs take no digits from other numbers. half: half the LLR, in units of the metrics.
 * Two additions, because a GPU computes maxima at half the rate. */
MP_FN float bit_penalty(bool value, float half)
{
    return fabsf(half) + (value ? -half : half);
}

/* The level with the least sum of w (u - level)^2 and the penalties of its bits. With
 * level = s a, s = +-1, the sum is w a^2 - |2 a w u + half_0|, the penalties of the other
 * bits, which depend on a, and a constant. half: half of the axis's a-priori LLRs */
template <int WIDTH>
struct known_slice {
    static constexpr int amplitudes = 1 << (WIDTH - 1);
    float level;
    bool bit[WIDTH];

    MP_FN known_slice(float u, float w, const float* half)
    {
        const float wu = w * u;
        /* a larger LLR decides the same sign, but takes digits from w u */
        const float enough = fmaf(4.0f * amplitudes, fabsf(wu), 1e-37f);
        const float sure = fmaxf(fminf(half[0], enough), -enough);
        float away = 0.5f, sign = wu + sure;
        if constexpr (WIDTH == 2) {
            const float far = fmaf(3.0f, wu, sure);
            const bool inner = fabsf(far) - fabsf(sign) < fmaf(2.0f, half[1], 2.0f * w);
            away = inner ? 0.5f : 1.5f;
            sign = inner ? sign : far;
        } else {
            float least = amplitude_metric(0, w, half) - fabsf(sign);
            MP_UNROLL
            for (int n = 1; n < amplitudes; ++n) {
                const float other = fmaf(2.0f * n + 1.0f, wu, sure);
                const float own = amplitude_metric(n, w, half) - fabsf(other);
                const bool better = own < least;
                sign = better ? other : sign;
                away = better ? n + 0.5f : away;
                least = fminf(own, least);
            }
        }
        level = copysignf(away, sign);
        bit[0] = level > 0.0f;
        amplitude_bits<WIDTH>(away, bit);
    }

    /* The part of the sum that does not depend on u */
    MP_FN static float amplitude_metric(int n, float w, const float* half)
    {
        const float a = n + 0.5f;
        float sum = a * a * w;
        MP_UNROLL
        for (int b = 1; b < WIDTH; ++b)
            sum += bit_penalty(gray_bit<WIDTH>(amplitudes + n, b), half[b]);
        return sum;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The best candidate for each value of each bit, for max-log LLRs (000 eq. 12, 002 eq.
 * 4). */
#pragma once
#include "common/gray.h"
#include "common/scalar.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The bits of a symbol (k_re, k_im) of square QAM, k = 0..side-1, from its word k_re +
 * side * k_im. Bits count in canonical order: real
 * axis first, Gray bits from the most significant. */
template <int WIDTH>
struct symbol_bits {
    static constexpr int side = 1 << WIDTH;
    static constexpr int count = 2 * WIDTH;

    /* Return the place of bit b in the Gray codes of a word. */
    MP_FN static constexpr int place(int b)
    {
        return b / WIDTH * WIDTH + WIDTH - 1 - b % WIDTH;
    }

    /* Return bit b for a level k of its axis that is known when compiling or equal in all
     * lanes. */
    MP_FN static bool of_axis(int k, int b) { return gray_bit<WIDTH>(k, b % WIDTH); }

    /* Return the word that changes bit b alone when XORed with k. */
    MP_FN static constexpr unsigned flip(int b)
    {
        return (2u << (WIDTH - 1 - b % WIDTH)) - 1;
    }
};

/* Limit an LLR's distance from the a-priori LLR to clip. */
template <class F>
MP_FN F clipped(F known, F found, float clip)
{
    return known + clamp(found - known, F(clip));
}

/* The least metric of each level of an axis, from the metrics of all symbols:
 * metrics[k_re * side + k_im] */
template <int WIDTH, class F>
MP_FN void level_minima(const F* metrics, int axis, F* low)
{
    constexpr int side = 1 << WIDTH;
    MP_UNROLL_BY(side > 16 ? 1 : side)
    for (int k = 0; k < side; ++k) {
        low[k] = F(no_metric);
        MP_UNROLL
        for (int other = 0; other < side; ++other)
            low[k] = min(low[k], metrics[axis ? other * side + k : k * side + other]);
    }
}

/* The least metric for either value of bit g of an axis, from the metrics of its
 * levels */
template <int WIDTH, class F>
MP_FN void bit_minima_of_axis(const F* metric, int g, F& zero, F& one)
{
    MP_UNROLL
    for (int k = 0; k < 1 << WIDTH; ++k) {
        const bool value = gray_bit<WIDTH>(k, g);
        F& low = value ? one : zero;
        /* k = 0 has Gray code 0, and bit g is first set at k = 2^(WIDTH-1-g) */
        const bool first = value ? k == 1 << (WIDTH - 1 - g) : k == 0;
        low = first ? metric[k] : min(low, metric[k]);
    }
}

/* The best metrics of one symbol's bits */
template <class F, int WIDTH>
struct symbol_minima {
    using word = decltype(F().as_word());
    using code = symbol_bits<WIDTH>;
    F zero[code::count], one[code::count];

    MP_FN void clear()
    {
        MP_UNROLL
        for (int b = 0; b < code::count; ++b)
            zero[b] = one[b] = F(no_metric);
    }

    /* Add a candidate whose symbol has this word. */
    MP_FN void add(word symbol, F metric)
    {
        const word value = gray_codes<WIDTH>(symbol);
        MP_UNROLL
        for (int b = 0; b < code::count; ++b) {
            one[b] = masked_min(one[b], value.bit(code::place(b)), metric);
            zero[b] = masked_min(zero[b], value.not_bit(code::place(b)), metric);
        }
    }

    /* Add `count` candidates whose best one is known. One value of each bit is the best
     * candidate's. Only candidates that differ from it count for the other value. */
    MP_FN void
    add(int count, const F* symbols, int stride, const F* metrics, F best, word chosen)
    {
        F other[code::count];
        MP_UNROLL
        for (int b = 0; b < code::count; ++b)
            other[b] = F(no_metric);
        for (int i = 0; i < count; ++i) {
            const word differs =
                gray_codes<WIDTH>(symbols[i * stride].as_word() ^ chosen);
            MP_UNROLL
            for (int b = 0; b < code::count; ++b)
                other[b] = masked_min(other[b], differs.bit(code::place(b)), metrics[i]);
        }
        const word value = gray_codes<WIDTH>(chosen);
        MP_UNROLL
        for (int b = 0; b < code::count; ++b) {
            const auto is_one = value.bit(code::place(b));
            zero[b] = min(zero[b], select(is_one, other[b], best));
            one[b] = min(one[b], select(is_one, best, other[b]));
        }
    }

    /* Add all symbols, metrics[k_re * side + k_im]. */
    MP_FN void add_all(const F* metrics)
    {
        for (int axis = 0; axis < 2; ++axis) {
            F low[code::side];
            level_minima<WIDTH>(metrics, axis, low);
            for (int g = 0; g < WIDTH; ++g) {
                const int b = axis * WIDTH + g;
                F low_zero, low_one;
                bit_minima_of_axis<WIDTH>(low, g, low_zero, low_one);
                zero[b] = min(zero[b], low_zero);
                one[b] = min(one[b], low_one);
            }
        }
    }

    /* Add the candidates with one bit of the symbol flipped, flipped[b] for bit b, and
     * the best candidate with the symbol unchanged. */
    MP_FN void add_flips(word symbol, const F* flipped, F unchanged)
    {
        const word value = gray_codes<WIDTH>(symbol);
        F after[code::count]; /* the best candidate after bit b */
        after[code::count - 1] = unchanged;
        MP_UNROLL
        for (int b = code::count - 2; b >= 0; --b)
            after[b] = min(after[b + 1], flipped[b + 1]);
        F before = unchanged;
        MP_UNROLL
        for (int b = 0; b < code::count; ++b) {
            const F same = min(before, after[b]);
            const auto is_one = value.bit(code::place(b));
            zero[b] = min(zero[b], select(is_one, flipped[b], same));
            one[b] = min(one[b], select(is_one, same, flipped[b]));
            before = min(before, flipped[b]);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

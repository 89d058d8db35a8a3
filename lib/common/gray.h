/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Gray codes of the axes of square QAM. */
#pragma once
#include "common/config.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Return `count` adjacent copies of a field of `width` bits. */
constexpr unsigned repeated_field(unsigned field, int width, int count)
{
    return count == 0 ? 0 : repeated_field(field, width, count - 1) << width | field;
}

/* Return bit b of the Gray code of level k, counted from the most significant bit. */
template <int WIDTH>
MP_FN constexpr bool gray_bit(int k, int b)
{
    return (k ^ (k >> 1)) >> (WIDTH - 1 - b) & 1;
}

/* Return the Gray codes of all levels in a word, WIDTH bits each. No bit may leak into
 * the field below. The code is linear: gray_codes(a ^ b) = gray_codes(a) ^
 * gray_codes(b). */
template <int WIDTH, class Word>
MP_FN Word gray_codes(Word levels)
{
    constexpr unsigned all_but_highest =
        repeated_field((1u << (WIDTH - 1)) - 1, WIDTH, 32 / WIDTH);
    return levels ^ ((levels >> 1) & all_but_highest);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The levels of an axis of square QAM, in steps of 1 round 0. */
#pragma once
#include "common/scalar.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Level k = 0..side-1 */
template <int WIDTH>
MP_FN constexpr float axis_level(int k)
{
    return k - 0.5f * ((1 << WIDTH) - 1);
}

/* The distance of u from the nearest level, with either sign, where levels are at odd
 * multiples of `half`. The axis is folded at its middle until one level is left. */
template <int WIDTH, class F>
MP_FN F axis_distance(F u, F half)
{
    if constexpr (WIDTH == 1)
        return abs(u) - half;
    else
        return axis_distance<WIDTH - 1>(fnma(F(1 << (WIDTH - 1)), half, abs(u)), half);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

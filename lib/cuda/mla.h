/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "../kernels/enumeration.h"
#include "../kernels/sliced.h"
#include "passes.h"
#include "slices.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    if constexpr (o.method == 1)
        return enumeration<lane, false>(a, asked::points, layers(), antennas());
    else if constexpr (o.method == 2)
        return enumeration<lane, true>(a, asked::points, layers(), antennas());
    else if constexpr (asked::fixed_tx == 2 && fits_registers)
        return register_passes<2, asked::fixed_rx, asked::width, column_order::rotate>(
            a, asked::points, 2, infinity); /* N-way with all passes is exact */
    else if constexpr (slices)
        return slice_search<asked::fixed_tx, asked::fixed_rx, asked::width, least_metric>(
            a, asked::points, infinity);
    else if constexpr (asked::width == 0)
        return exhaustive<lane, best_metric>(a, asked::points, layers(), antennas());
    else
        return sliced_search<lane, asked::fixed_tx, asked::fixed_rx, asked::width>(
            a, asked::points, layers(), antennas(), infinity);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "../kernels/enumeration.h"
#include "../kernels/sliced.h"
#include "passes.h"
#include "slices.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* What is not meant for a size is not compiled for it, as these are parameters. */
template <int NT = asked::fixed_tx, int NR = asked::fixed_rx, int WIDTH = asked::width>
MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    if constexpr (o.method == 1)
        return enumeration<lane, false>(a, asked::points, layers(), antennas());
    else if constexpr (o.method == 2)
        return enumeration<lane, true>(a, asked::points, layers(), antennas());
    else if constexpr (register_sizes_to(4, 2)) /* N-way with all passes is exact */
        return register_passes<NT,
                               NR,
                               WIDTH,
                               column_order::rotate,
                               asked::has_prior,
                               false>(a, asked::points, 2, infinity);
    else if constexpr (slices)
        return slice_search<NT, NR, WIDTH, least_metric>(a, asked::points, infinity);
    else if constexpr (WIDTH == 0)
        return exhaustive<lane, best_metric>(a, asked::points, layers(), antennas());
    else
        return sliced_search<lane, NT, NR, WIDTH>(
            a, asked::points, layers(), antennas(), infinity);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

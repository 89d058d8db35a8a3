/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "detectors/exhaustive/cuda_search.h"
#include "detectors/exhaustive/enumeration.h"
#include "detectors/exhaustive/kernel.h"
#include "detectors/exhaustive/sliced.h"
#include "detectors/nway/cuda_in_registers.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Sizes are template parameters, so that only the chosen form is compiled. */
template <int NT = program::fixed_tx,
          int NR = program::fixed_rx,
          int WIDTH = program::width>
MP_FN auto make_mla(arena<lane>& a)
{
    constexpr exhaustive_options o = program::options();
    if constexpr (o.method == 1)
        return enumeration<lane, false>(a, program::points, layers(), antennas());
    else if constexpr (o.method == 2)
        return enumeration<lane, true>(a, program::points, layers(), antennas());
    else if constexpr (register_sizes_to(4, 2)) /* N-way with all passes is exact */
        return nway_in_registers<NT,
                                 NR,
                                 WIDTH,
                                 column_order::rotate,
                                 program::has_prior,
                                 false>(a, program::points, 2, infinity, true);
    else if constexpr (team_slices_fit)
        return team_sliced_search<NT, NR, WIDTH, max_log>(
            a, program::points, infinity, true);
    else if constexpr (WIDTH == 0)
        return exhaustive<lane, least_metric<lane>>(
            a, program::points, layers(), antennas());
    else
        return sliced_search<lane, NT, NR, WIDTH>(
            a, program::points, layers(), antennas(), infinity, true);
}

template <int NT = program::fixed_tx,
          int NR = program::fixed_rx,
          int WIDTH = program::width>
MP_FN auto make_omap(arena<lane>& a)
{
    if constexpr (team_slices_fit)
        return team_sliced_search<NT, NR, WIDTH, exact_log>(
            a, program::points, infinity, true);
    else
        return exhaustive<lane, log_sum<lane>>(a, program::points, layers(), antennas());
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "../kernels/sphere.h"
#include "sphere.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* SD, or best first: ASD. What is not meant for a size is not compiled for it, as these
 * are parameters. */
template <bool BEST_FIRST,
          int NT = asked::fixed_tx,
          int NR = asked::fixed_rx,
          int WIDTH = asked::width>
MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    if constexpr (!BEST_FIRST && sphere_fits<NT, NR, WIDTH>() && !asked::counts)
        return shared_sphere<NT, NR, WIDTH>(a, asked::points);
    else
        return sphere<lane, asked::width>(a,
                                          asked::points,
                                          layers(),
                                          antennas(),
                                          static_cast<level_order>(o.ordering),
                                          BEST_FIRST ? sphere_search::best_first
                                          : o.radius
                                              ? sphere_search::depth_first_zero_forcing
                                              : sphere_search::depth_first);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

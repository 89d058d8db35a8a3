/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "../kernels/sphere.h"
#include "sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* SD, or best first: ASD */
template <bool BEST_FIRST>
MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    return sphere<lane, asked::width>(a,
                                      asked::points,
                                      layers(),
                                      antennas(),
                                      static_cast<level_order>(o.ordering),
                                      BEST_FIRST ? sphere_search::best_first
                                      : o.radius ? sphere_search::depth_first_zero_forcing
                                                 : sphere_search::depth_first);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

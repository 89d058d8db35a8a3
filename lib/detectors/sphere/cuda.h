/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "detectors/sphere/cuda_search.h"
#include "detectors/sphere/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* SD, or best first: ASD. Sizes are template parameters, so that only the chosen form is
 * compiled. */
template <bool BEST_FIRST,
          int NT = program::fixed_tx,
          int NR = program::fixed_rx,
          int WIDTH = program::width>
MP_FN auto make_sphere(arena<lane>& a)
{
    constexpr sphere_options o = program::options();
    if constexpr (!BEST_FIRST && !o.enumeration && fits_registers)
        return shared_sphere<NT, NR, WIDTH>(a, program::points, o.max_nodes);
    else
        return sphere<lane, program::width>(
            a, program::points, layers(), antennas(), o, BEST_FIRST);
}

template <class Lane>
MP_FN auto make_sd(arena<Lane>& a)
{
    return make_sphere<false>(a);
}

template <class Lane>
MP_FN auto make_asd(arena<Lane>& a)
{
    return make_sphere<true>(a);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

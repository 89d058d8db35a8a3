/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "detectors/nway/cuda_in_registers.h"
#include "detectors/nway/cuda_team.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Whether a team follows the candidates */
template <int WIDTH, column_order ORDER>
constexpr bool team_fits()
{
    constexpr nway_options o = program::options();
    if constexpr (fits_team && !program::has_prior && !o.llr_method)
        return team_nway<WIDTH, ORDER, float>::possible;
    else
        return false;
}

/* N-way rotates the columns, FPFSD raises each of them to the top. */
template <column_order ORDER>
MP_FN auto make_nway_with(arena<lane>& a)
{
    constexpr nway_options o = program::options();
    const int passes = ORDER == column_order::rotate ? o.num_passes : layers();
    if constexpr (register_sizes_to(4, 8))
        return nway_in_registers<program::fixed_tx,
                                 program::fixed_rx,
                                 program::width,
                                 ORDER,
                                 program::has_prior,
                                 o.llr_method>(a, program::points, passes, o.llr_clip);
    else if constexpr (team_fits<program::width, ORDER>())
        return team_kernel < team_nway<program::width, ORDER, float>,
               often_dependent && team_nway<program::width, ORDER, double>::possible > ();
    else
        return sized<nway_detector<lane, search_tx, search_rx, program::width>,
                     search_tx>(a,
                                program::points,
                                layers<search_tx>(),
                                antennas<search_rx>(),
                                passes,
                                o.llr_clip,
                                ORDER,
                                o.llr_method);
}

template <class Lane>
MP_FN auto make_nway(arena<Lane>& a)
{
    return make_nway_with<column_order::rotate>(a);
}

template <class Lane>
MP_FN auto make_fpfsd(arena<Lane>& a)
{
    return make_nway_with<column_order::raise>(a);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

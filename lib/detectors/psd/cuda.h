/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Which form of the parallel sphere detector: rounds by teams of threads, as 004 has
 * them. For a single thread, or where no team fits, the sphere detector's search finds
 * the same solution. Rounds by a single thread only serve to count nodes. */
#pragma once
#include "cuda/prepared.h"
#include "detectors/psd/cuda_team.h"
#include "detectors/psd/kernel.h"
#include "detectors/sphere/cuda_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Sizes are template parameters, so that only the chosen form is compiled. */
template <int NT = asked::fixed_tx, int NR = asked::fixed_rx, int WIDTH = asked::width>
MP_FN auto make_psd(arena<lane>& a)
{
    constexpr psd_options o = asked::options();
    if constexpr (team_fits<NT, NR, WIDTH, o.team_size>()) {
        return team_psd<NT, NR, WIDTH, o.team_size>(a, asked::points);
    } else if constexpr (sphere_fits<NT, NR, WIDTH>() && !asked::counts) {
        return shared_sphere<NT, NR, WIDTH>(a, asked::points);
    } else {
        const psd_shape shape{
            o.levels.count, asked::levels, asked::expansions, o.team_size
        };
        return prepared<psd<lane, search_tx, search_rx, WIDTH>, (search_tx > 4)>(
            a,
            asked::points,
            layers<search_tx>(),
            antennas<search_rx>(),
            static_cast<level_order>(o.ordering),
            shape);
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

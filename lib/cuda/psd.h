/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Rounds of nodes by a team of threads, as 004 has them; for a single thread, or where no
 * team fits, the same solution from the search that suits a thread, and rounds only where
 * nodes are counted. */
#pragma once
#include "../kernels/psd.h"
#include "prepared.h"
#include "psd_team.h"
#include "sphere.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* What is not meant for a size is not compiled for it, as these are parameters. */
template <int NT = asked::fixed_tx, int NR = asked::fixed_rx, int WIDTH = asked::width>
MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    if constexpr (team_fits<NT, NR, WIDTH, o.psd_threads>()) {
        return team_psd<NT, NR, WIDTH, o.psd_threads>(a, asked::points);
    } else if constexpr (sphere_fits<NT, NR, WIDTH>() && !asked::counts) {
        return shared_sphere<NT, NR, WIDTH>(a, asked::points);
    } else {
        const psd_shape shape{
            o.psd_stages, asked::levels, asked::expansions, o.psd_threads
        };
        return prepared<psd<lane, NT, NR, WIDTH>, (NT > 4)>(
            a,
            asked::points,
            layers(),
            antennas(),
            static_cast<level_order>(o.ordering),
            shape);
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "detectors/exhaustive/cuda_search.h"
#include "detectors/exhaustive/sliced.h"
#include "detectors/softsphere/cuda_search.h"
#include "detectors/softsphere/cuda_team.h"
#include "detectors/softsphere/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Sizes are template parameters, so that only the chosen form is compiled. */
template <int NT = asked::fixed_tx, int NR = asked::fixed_rx, int WIDTH = asked::width>
MP_FN auto make_softsphere(arena<lane>& a)
{
    constexpr softsphere_options o = asked::options();
    constexpr bool clips = o.llr_clip < no_metric;
    /* Without clipping a search visits a thousand nodes for 4x4 16-QAM, and slices are
     * faster. The last form has no fixed size: with one, NVRTC 12 and 13.0 take minutes.
     */
    if constexpr (soft_team_fits)
        return team_soft_search<NT, NR, WIDTH>(a, asked::points, o.llr_clip);
    else if constexpr (team_slices_fit &&
                       parents(asked::num_tx) <= (clips && fits_registers ? 256 : 4096))
        return team_sliced_search<NT, NR, WIDTH, max_log>(a, asked::points, o.llr_clip);
    else if constexpr (fits_registers && clips)
        return shared_soft_search<NT, NR, WIDTH>(a, asked::points, o.llr_clip);
    else if constexpr (parents(asked::num_tx) <= (WIDTH == 1 ? 4096 : 1024))
        return sliced_search<lane, NT, NR, WIDTH>(
            a, asked::points, layers(), antennas(), o.llr_clip);
    else
        return sized<softsphere<lane, 0, 0, WIDTH>, 0>(a,
                                                       asked::points,
                                                       any_size(asked::num_tx),
                                                       any_size(asked::num_rx),
                                                       o.llr_clip);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

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

/* The size of H in a thread's tree search: fixed only where NVRTC 12 and 13.0 compile it
 * within half a minute. For 8x8 QPSK they take more than nine minutes. 5x5 64-QAM is
 * slower with a fixed size. */
constexpr bool soft_size_fits =
    !program::has_prior &&
    program::fixed_tx * program::fixed_rx <= (program::width > 2 ? 16 : 25);
constexpr int soft_tx = soft_size_fits ? search_tx : 0;
constexpr int soft_rx = soft_size_fits ? search_rx : 0;

/* Sizes are template parameters, so that only the chosen form is compiled. */
template <int NT = program::fixed_tx,
          int NR = program::fixed_rx,
          int WIDTH = program::width>
MP_FN auto make_softsphere(arena<lane>& a)
{
    constexpr softsphere_options o = program::options();
    constexpr bool clips = o.llr_clip < no_metric;
    /* Without clipping a search visits a thousand nodes for 4x4 16-QAM, and slices are
     * faster. */
    if constexpr (soft_team_fits && !program::has_layers && !o.max_nodes)
        return team_soft_search<NT, NR, WIDTH>(a, program::points, o.llr_clip);
    else if constexpr (team_slices_fit &&
                       parents(program::num_tx) <= (clips && fits_registers ? 256 : 4096))
        return team_sliced_search<NT, NR, WIDTH, max_log>(
            a, program::points, o.llr_clip, false);
    else if constexpr (fits_registers && clips)
        return shared_soft_search<NT, NR, WIDTH>(a, program::points, o);
    else if constexpr (parents(program::num_tx) <= (WIDTH == 1 ? 4096 : 1024))
        return sliced_search<lane, NT, NR, WIDTH>(
            a, program::points, layers(), antennas(), o.llr_clip, false);
    else
        return sized<softsphere<lane, soft_tx, soft_rx, WIDTH>, soft_tx>(
            a, program::points, layers<soft_tx>(), antennas<soft_rx>(), o);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

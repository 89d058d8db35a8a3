/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cuda/long_search.h"
#include "detectors/exhaustive/cuda_search.h"
#include "detectors/exhaustive/sliced.h"
#include "detectors/softsphere/cuda_team.h"
#include "detectors/softsphere/cuda_tree.h"
#include "detectors/softsphere/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Sizes are template parameters, so that only the chosen form is compiled. */
template <int NT = program::fixed_tx,
          int NR = program::fixed_rx,
          int WIDTH = program::width>
MP_FN auto make_softsphere(arena<lane>& a)
{
    constexpr softsphere_options o = program::options();
    constexpr bool clips = o.llr_clip < no_metric;
    /* Measured on an H200, 4x4: without clipping, team_search takes 3 to 15 times as long
     * as the other forms. With clipping it takes 16-QAM in the least time if there is no
     * prior; with one the slices are 1.7 times as fast. */
    if constexpr (soft_team_fits && !program::has_layers && !o.max_nodes)
        return team_soft_search<NT, NR, WIDTH>(a, program::points, o.llr_clip);
    else if constexpr (team_slices_fit && parents(program::num_tx) <=
                                              (clips && !program::has_prior ? 256 : 4096))
        return team_sliced_search<NT, NR, WIDTH, max_log>(
            a, program::points, o.llr_clip, false);
    else
        return team_search_kernel<WIDTH, o.max_nodes, bit_hypotheses<WIDTH>>{};
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

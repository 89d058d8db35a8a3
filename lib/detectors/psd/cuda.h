/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The parallel sphere detector on a GPU. The search of the sphere detector finds the same
 * solution, 3 to 8 times as fast as rounds by a team of threads for each vector, as 004
 * has them (H200, 4x4, QPSK and 16-QAM). Rounds by a single thread take the sizes and
 * a-priori LLRs that this search does not. */
#pragma once
#include "cuda/sizes.h"
#include "detectors/psd/kernel.h"
#include "detectors/sphere/cuda_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Sizes are template parameters, so that only the chosen form is compiled. */
template <int NT = program::fixed_tx,
          int NR = program::fixed_rx,
          int WIDTH = program::width>
MP_FN auto make_psd(arena<lane>& a)
{
    constexpr psd_options o = program::options();
    if constexpr (fits_registers) {
        return shared_sphere<NT, NR, WIDTH>(a, program::points, o.max_nodes);
    } else {
        const psd_shape shape{
            o.levels.count, program::levels, program::expansions, o.team_size, o.max_nodes
        };
        return prepared<psd<lane, search_tx, search_rx, WIDTH, (o.max_nodes > 0)>,
                        (search_tx > 4)>(
            a,
            program::points,
            layers<search_tx>(),
            antennas<search_rx>(),
            static_cast<level_order>(o.ordering),
            shape);
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

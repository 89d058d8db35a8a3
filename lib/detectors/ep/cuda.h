/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cuda/sizes.h"
#include "detectors/ep/cuda_team.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class Lane>
MP_FN auto make_ep(arena<Lane>& a)
{
    constexpr ep_options o = program::options();
    /* Measured with 8x8 on an H200: as fast with QPSK, otherwise 3 times */
    if constexpr (fits_team_from(8))
        return team_kernel<team_ep<program::width, float>,
                           team_ep<program::width, double>>();
    else
        return ep<lane, program::fixed_tx, program::fixed_rx, program::width>(
            a, program::points, layers(), antennas(), o);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cuda/sizes.h"
#include "detectors/mmsepic/cuda_team.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class Lane>
MP_FN auto make_mmsepic(arena<Lane>& a)
{
    constexpr mmsepic_options o = program::options();
    using in_double = team_mmsepic<program::width, double>;
    if constexpr (fits_team)
        return team_kernel<team_mmsepic<program::width, float>,
                           typename again_if<often_dependent, in_double>::type>();
    else
        return mmsepic<lane, program::fixed_tx, program::fixed_rx, program::width>(
            a, program::points, layers(), antennas(), o.num_iterations);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

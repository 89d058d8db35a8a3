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
    constexpr mmsepic_options o = asked::options();
    using in_double = team_mmsepic<asked::width, double>;
    if constexpr (fits_team)
        return team_kernel<team_mmsepic<asked::width, float>,
                           typename again_if<often_dependent, in_double>::type>();
    else
        return mmsepic<lane, asked::fixed_tx, asked::fixed_rx, asked::width>(
            a, asked::points, layers(), antennas(), o.num_iterations);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

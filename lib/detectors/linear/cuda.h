/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cuda/sizes.h"
#include "detectors/linear/cuda_team.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <bool MMSE>
MP_FN auto make_linear(arena<lane>& a)
{
    using in_double = team_linear<program::width, MMSE, double>;
    if constexpr (fits_team)
        return team_kernel<team_linear<program::width, MMSE, float>,
                           typename again_if<often_dependent, in_double>::type>();
    else if constexpr (program::fixed_tx > 0)
        return linear<lane, program::fixed_tx, program::fixed_rx, program::width, MMSE>(
            a, program::points, layers(), antennas());
    else
        return large_linear<lane, program::width, MMSE>(
            a, program::points, layers(), antennas());
}

template <class Lane>
MP_FN auto make_zf(arena<Lane>& a)
{
    return make_linear<false>(a);
}

template <class Lane>
MP_FN auto make_mmse(arena<Lane>& a)
{
    return make_linear<true>(a);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "../kernels/exhaustive.h"
#include "slices.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN auto make(arena<lane>& a)
{
    if constexpr (slices)
        return slice_search<asked::fixed_tx,
                            asked::fixed_rx,
                            asked::width,
                            binary_log_sum>(a, asked::points, infinity);
    else
        return exhaustive<lane, log_sum>(a, asked::points, layers(), antennas());
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

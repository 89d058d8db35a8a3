/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "../kernels/exhaustive.h"
#include "slices.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* What is not meant for a size is not compiled for it, as these are parameters. */
template <int NT = asked::fixed_tx, int NR = asked::fixed_rx, int WIDTH = asked::width>
MP_FN auto make(arena<lane>& a)
{
    if constexpr (slices)
        return slice_search<NT, NR, WIDTH, binary_log_sum>(a, asked::points, infinity);
    else
        return exhaustive<lane, log_sum>(a, asked::points, layers(), antennas());
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

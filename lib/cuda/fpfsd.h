/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "passes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    if constexpr (fits_registers)
        return register_passes<asked::fixed_tx,
                               asked::fixed_rx,
                               asked::width,
                               column_order::raise>(
            a, asked::points, layers(), o.llr_clip);
    else
        return pass_detector<lane, asked::fixed_tx, asked::fixed_rx, asked::width>(
            a,
            asked::points,
            layers(),
            antennas(),
            layers(),
            o.llr_clip,
            column_order::raise);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

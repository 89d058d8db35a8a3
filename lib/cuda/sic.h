/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "../kernels/bitflip.h"
#include "sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* ZF-SIC, or soft: bit flipping */
template <bool SOFT>
MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    return flip_detector<lane, asked::fixed_tx, asked::fixed_rx, asked::width>(
        a,
        asked::points,
        layers(),
        antennas(),
        static_cast<sic_ordering>(o.ordering),
        SOFT,
        asked::num_hard);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

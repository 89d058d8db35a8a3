/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cuda/sizes.h"
#include "detectors/mmsepic/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN auto make_mmsepic(arena<lane>& a)
{
    constexpr mmsepic_options o = asked::options();
    return mmsepic<lane, asked::fixed_tx, asked::fixed_rx, asked::width>(
        a, asked::points, layers(), antennas(), o.num_iterations);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

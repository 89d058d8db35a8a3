/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cuda/sizes.h"
#include "detectors/trellis/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN auto make_trellis(arena<lane>& a)
{
    return trellis<lane, program::fixed_tx, program::fixed_rx, program::width>(
        a, program::points, layers(), antennas());
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

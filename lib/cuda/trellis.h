/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "../kernels/trellis.h"
#include "sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN auto make(arena<lane>& a)
{
    return trellis<lane, asked::fixed_tx, asked::fixed_rx, asked::width>(
        a, asked::points, layers(), antennas());
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

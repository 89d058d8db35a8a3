/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The sizes of H as constructors take them. */
#pragma once
#include "cuda/lane.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* For a build for any size (NT = 0): what the compiler does not know, it does not unroll.
 */
MP_FN int any_size(int n)
{
    asm("" : "+r"(n));
    return n;
}

MP_FN int layers() { return asked::fixed_tx ? asked::num_tx : any_size(asked::num_tx); }
MP_FN int antennas() { return asked::fixed_rx ? asked::num_rx : any_size(asked::num_rx); }

} // namespace MIMOPACK_ISA
} // namespace mimopack

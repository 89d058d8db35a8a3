/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The size of H as constructors take it */
#pragma once
#include "common/tall.h"
#include "cuda/asked.h"
#include "cuda/lane.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Hides a size from the compiler where NT = 0, so that it does not unroll loops. */
MP_FN int any_size(int n)
{
    asm("" : "+r"(n));
    return n;
}

MP_FN int layers() { return asked::fixed_tx ? asked::num_tx : any_size(asked::num_tx); }
MP_FN int antennas() { return asked::fixed_rx ? asked::num_rx : any_size(asked::num_rx); }

/* A kernel for the size of H; NT as in extent */
template <class Kernel, int NT>
using sized = typename tall_if<lane,
                               Kernel,
                               NT == 0 && large_qr<lane>::is_tall(asked::num_tx,
                                                                  asked::num_rx)>::type;

} // namespace MIMOPACK_ISA
} // namespace mimopack

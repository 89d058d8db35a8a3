/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cuda/lane.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A kernel whose prepare() is not inlined if LARGE, too large for registers. NVRTC then
 * compiles bit flipping for 8x8 in a quarter of the time (CUDA 12.4) or a tenth
 * (13.0). */
template <class Kernel, bool LARGE>
struct prepared : Kernel {
    using Kernel::Kernel;
};

template <class Kernel>
struct prepared<Kernel, true> : Kernel {
    using Kernel::Kernel;
    MP_CALLED void prepare(const lane* h) { Kernel::prepare(h); }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

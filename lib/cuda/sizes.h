/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The size of H as constructors take it */
#pragma once
#include "common/qr_reduced_search.h"
#include "cuda/lane.h"
#include "cuda/program.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Hide a size from the compiler where NT = 0, so that it does not unroll loops. */
MP_FN int any_size(int n)
{
    asm("" : "+r"(n));
    return n;
}

/* The size of H for a kernel with NT and NR as in extent */
template <int NT = program::fixed_tx>
MP_FN int layers()
{
    return NT ? program::num_tx : any_size(program::num_tx);
}
template <int NR = program::fixed_rx>
MP_FN int antennas()
{
    return NR ? program::num_rx : any_size(program::num_rx);
}

/* The size of H for a thread's search that tries each point. It is not fixed for
 * 1024-QAM, because a compiler that also unrolls the layers takes minutes. */
constexpr bool points_fit = program::width <= 4;
constexpr int search_tx = points_fit ? program::fixed_tx : 0;
constexpr int search_rx = points_fit ? program::fixed_rx : 0;

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

/* A kernel for the size of H; NT as in extent */
template <class Kernel, int NT>
using sized =
    typename qr_reduced_if<lane,
                           Kernel,
                           NT == 0 && large_qr<lane>::is_tall(program::num_tx,
                                                              program::num_rx)>::type;

} // namespace MIMOPACK_ISA
} // namespace mimopack

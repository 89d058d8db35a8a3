/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes known when compiling hold for one expanded level. */
#pragma once
#include "fsd.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    constexpr bool usual = o.levels == 1;
    const auto size = [=](int n) { return usual && asked::fixed_tx ? n : any_size(n); };
    constexpr int nt = usual ? asked::fixed_tx : 0, nr = usual ? asked::fixed_rx : 0;
    if constexpr (usual && fits_registers)
        return register_fixed_sphere<nt, nr, asked::width, false>(a, asked::points);
    else
        return fixed_sphere<lane, nt, nr, asked::width>(a,
                                                        asked::points,
                                                        size(asked::num_tx),
                                                        size(asked::num_rx),
                                                        o.levels,
                                                        1,
                                                        false);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

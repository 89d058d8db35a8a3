/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Rounds of nodes, as 004 has them, where nodes are counted; else the same solution from
 * the search that suits a thread. */
#pragma once
#include "../kernels/psd.h"
#include "sphere.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    if constexpr (fits_registers && !asked::counts) {
        return shared_sphere<asked::fixed_tx, asked::fixed_rx, asked::width>(
            a, asked::points);
    } else {
        const psd_shape shape{
            o.psd_stages, asked::levels, asked::expansions, o.psd_threads
        };
        return psd<lane, asked::fixed_tx, asked::fixed_rx, asked::width>(
            a,
            asked::points,
            layers(),
            antennas(),
            static_cast<level_order>(o.ordering),
            shape);
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

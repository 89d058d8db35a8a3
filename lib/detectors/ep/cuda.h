/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cuda/sizes.h"
#include "detectors/ep/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN auto make_ep(arena<lane>& a)
{
    constexpr ep_options o = asked::options();
    return ep<lane, asked::fixed_tx, asked::fixed_rx, asked::width>(a,
                                                                    asked::points,
                                                                    layers(),
                                                                    antennas(),
                                                                    o.num_iterations,
                                                                    o.smoothing,
                                                                    o.initial_variance);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

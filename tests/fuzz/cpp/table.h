/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* samples.cc has a table of all loops of the receiver. A target replaces those that it
 * does not call, in place of compiling them. */
#pragma once
#include "wifi/plan.h"
#include <cstdlib>

namespace mimopack {
namespace MIMOPACK_ISA {

#define UNUSED(name, plan) \
    __attribute__((weak)) void name(const plan&) { std::abort(); }
UNUSED(acquire, wifi_acquisition)
UNUSED(shifts, wifi_shifts)
UNUSED(train, wifi_training)
UNUSED(combine, wifi_combination)
UNUSED(read, wifi_signals)
UNUSED(headers, wifi_headers)
UNUSED(order, wifi_order)
UNUSED(round, wifi_rounding)
UNUSED(track, wifi_tracking)
UNUSED(profiles, wifi_profiles)
UNUSED(extents, wifi_extents)
UNUSED(smooth, wifi_smoothing)
UNUSED(condition, wifi_channels)
UNUSED(errors, wifi_errors)
UNUSED(points, wifi_points)
UNUSED(refine, wifi_refinement)
UNUSED(whiten, wifi_whitening)
UNUSED(smooth_channels, wifi_estimates)
UNUSED(demodulate, wifi_demodulation)
#undef UNUSED

} // namespace MIMOPACK_ISA
} // namespace mimopack

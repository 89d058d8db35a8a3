/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Places in a preamble. They count samples at 20 MS/s. */
#pragma once
#include "wifi/plan.h"

namespace mimopack {
namespace MIMOPACK_ISA {

constexpr int guard = 16, part_fft = 64, short_field = 160;
constexpr int ltf_start = short_field + 2 * guard;
/* Distances by which the long training field may begin earlier or later than ten periods
 * behind the best window of the short one */
constexpr int early = 14, late = 64;
/* The largest cyclic advance of an antenna */
constexpr int advance = 4;
constexpr int first_place = ltf_start - late - guard;
static_assert(wifi_preamble_samples(1) == ltf_start + early + 2 * part_fft);

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cuda/sizes.h"
#include "kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN auto make_matched(arena<lane>& a)
{
    constexpr matched_options o = program::options();
    return matched_filter<lane>(a, program::points, layers(), antennas(), o.interference);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

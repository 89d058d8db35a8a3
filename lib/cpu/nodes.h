/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Driver hooks that tell a kernel which lanes are in use and where it counts nodes. */
#pragma once
#include "cpu/plan.h"
#include "cpu/simd.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct node_counts {
    const batch& b;
    template <class Kernel>
    MP_FN void before(Kernel& kernel, const std::size_t* vector, int count) const
    {
        unsigned* rows[simd::width];
        for (int l = 0; l < simd::width; ++l)
            rows[l] =
                b.nodes && l < count ? b.nodes + vector[l] * b.nodes_per_vector : nullptr;
        kernel.use_lanes(count, b.nodes ? rows : nullptr);
    }
    template <class Kernel>
    MP_FN void after(Kernel&, const std::size_t*, int) const
    {
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

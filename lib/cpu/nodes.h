/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver's hook that tells a kernel which lanes are in use and where to count nodes
 */
#pragma once
#include "cpu/plan.h"
#include "cpu/simd.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct node_counts {
    const batch& b;
    template <class Kernel>
    MP_FN void operator()(Kernel& kernel, const std::size_t* vector, int count) const
    {
        unsigned* rows[simd::width];
        for (int l = 0; l < simd::width; ++l)
            rows[l] =
                b.nodes && l < count ? b.nodes + vector[l] * b.nodes_per_vector : nullptr;
        kernel.use_lanes(count, b.nodes ? rows : nullptr);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

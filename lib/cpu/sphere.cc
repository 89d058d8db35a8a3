/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../kernels/sphere.h"
#include "driver.h"
#include "nodes.h"
#include "run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int WIDTH>
std::size_t run_width(const plan& p, const batch& b, sphere_search search)
{
    const auto order = static_cast<level_order>(p.options.ordering);
    return drive<0, 0>(
        p,
        b,
        [&](arena<simd>& a) {
            return sphere<simd, WIDTH>(a, p.points, p.num_tx, p.num_rx, order, search);
        },
        node_counts{ b });
}

std::size_t run(const plan& p, const batch& b, sphere_search search)
{
    return by_width(p, [&](auto width) { return run_width<width.value>(p, b, search); });
}

} // namespace

std::size_t run_sd(const plan& p, const batch& b)
{
    return run(p,
               b,
               p.options.radius ? sphere_search::depth_first_zero_forcing
                                : sphere_search::depth_first);
}

std::size_t run_asd(const plan& p, const batch& b)
{
    return run(p, b, sphere_search::best_first);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

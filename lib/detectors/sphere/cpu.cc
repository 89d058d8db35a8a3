/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/nodes.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/sphere/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int WIDTH>
std::size_t
run_width(const plan& p, const batch& b, level_order order, sphere_search search)
{
    return drive<0, 0>(
        p,
        b,
        [&](arena<simd>& a) {
            return sphere<simd, WIDTH>(a, p.points, p.num_tx, p.num_rx, order, search);
        },
        node_counts{ b });
}

/* Run the search that search(options) names. */
template <class Search>
std::size_t run(const plan& p, const batch& b, Search search)
{
    return with_options<sphere_options>(p, [&](const sphere_options& o) {
        const auto order = static_cast<level_order>(o.ordering);
        return by_width(p, [&](auto width) {
            return run_width<width.value>(p, b, order, search(o));
        });
    });
}

} // namespace

std::size_t run_sd(const plan& p, const batch& b)
{
    return run(p, b, [](const sphere_options& o) {
        return o.radius ? sphere_search::depth_first_zero_forcing
                        : sphere_search::depth_first;
    });
}

std::size_t run_asd(const plan& p, const batch& b)
{
    return run(p, b, [](const sphere_options&) { return sphere_search::best_first; });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

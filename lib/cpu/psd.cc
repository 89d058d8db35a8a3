/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../kernels/psd.h"
#include "driver.h"
#include "nodes.h"
#include "run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH>
std::size_t run_size(const plan& p, const batch& b)
{
    const auto order = static_cast<level_order>(p.options.ordering);
    const psd_shape shape{ p.options.psd_stages,
                           p.options.psd_levels,
                           p.options.psd_expansions,
                           p.options.psd_threads };
    return drive<NT, NR>(
        p,
        b,
        [&](arena<simd>& a) {
            return psd<simd, NT, NR, WIDTH>(
                a, p.points, p.num_tx, p.num_rx, order, shape);
        },
        node_counts{ b });
}

template <int WIDTH>
std::size_t run_width(const plan& p, const batch& b)
{
    if constexpr (WIDTH <= 2)
        return by_size(p, [&](auto nt, auto nr) {
            return run_size<nt.value, nr.value, WIDTH>(p, b);
        });
    else
        return run_size<0, 0, WIDTH>(p, b);
}

} // namespace

std::size_t run_psd(const plan& p, const batch& b)
{
    return by_width(p, [&](auto width) { return run_width<width.value>(p, b); });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

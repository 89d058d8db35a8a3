/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/nodes.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/psd/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

std::size_t run_psd(const plan& p, const batch& b)
{
    return with_options<psd_options>(p, [&](const psd_options& o) {
        const auto order = static_cast<level_order>(o.ordering);
        const psd_shape shape{
            o.levels.count, o.levels.values, o.expansions.values, o.team_size
        };
        return by_width(p, [&](auto width) {
            return drive<0, 0>(
                p,
                b,
                [&](arena<simd>& a) {
                    return psd<simd, 0, 0, width.value>(
                        a, p.points, p.num_tx, p.num_rx, order, shape);
                },
                node_counts{ b });
        });
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

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

std::size_t run(const plan& p, const batch& b, bool best_first)
{
    return with_options<sphere_options>(p, [&](const sphere_options& o) {
        return by_width(p, [&](auto width) {
            return drive<0, 0>(
                p,
                b,
                [&](arena<simd>& a) {
                    return sphere<simd, width.value>(
                        a, p.points, p.num_tx, p.num_rx, o, best_first);
                },
                node_counts{ b });
        });
    });
}

} // namespace

std::size_t run_sd(const plan& p, const batch& b) { return run(p, b, false); }

std::size_t run_asd(const plan& p, const batch& b) { return run(p, b, true); }

} // namespace MIMOPACK_ISA
} // namespace mimopack

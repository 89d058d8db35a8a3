/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/nodes.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/psd/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <bool LIMITED, bool SOFT>
std::size_t run(const plan& p, const batch& b, const psd_options& o)
{
    return by_width(p, [&](auto width) {
        return drive<0, 0>(
            p,
            b,
            [&](arena<simd>& a) {
                return psd<simd, width.value, LIMITED, SOFT>(
                    a, p.points, p.num_tx, p.num_rx, o);
            },
            node_counts{ b });
    });
}

} // namespace

std::size_t run_psd(const plan& p, const batch& b)
{
    return with_options<psd_options>(p, [&](const psd_options& o) {
        if (o.soft)
            return run<true, true>(p, b, o);
        return o.max_nodes ? run<true, false>(p, b, o) : run<false, false>(p, b, o);
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/ep/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

std::size_t run_ep(const plan& p, const batch& b)
{
    return with_options<ep_options>(p, [&](const ep_options& o) {
        return by_size_and_width(p, [&](auto nt, auto nr, auto width) {
            return drive<nt.value, nr.value>(p, b, [&](arena<simd>& a) {
                return ep<simd, nt.value, nr.value, width.value>(
                    a, p.points, p.num_tx, p.num_rx, o);
            });
        });
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/trellis/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

std::size_t run_trellis(const plan& p, const batch& b)
{
    return with_options<trellis_options>(p, [&](const trellis_options&) {
        return by_any_width(p, [&](auto width) {
            return drive<0, 0>(p, b, [&](arena<simd>& a) {
                return trellis<simd, 0, 0, width.value>(a, p.points, p.num_tx, p.num_rx);
            });
        });
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

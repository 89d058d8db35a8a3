/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/qr_reduced_search.h"
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/kbest/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

std::size_t run_kbest(const plan& p, const batch& b)
{
    return with_options<kbest_options>(p, [&](const kbest_options& o) {
        return by_any_width(p, [&](auto width) {
            return drive<0, 0>(p, b, [&](arena<simd>& a) {
                return qr_reduced_search<simd, kbest<simd, 0, 0, width.value>>(
                    a, p.points, p.num_tx, p.num_rx, o.k, o.llr_clip);
            });
        });
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

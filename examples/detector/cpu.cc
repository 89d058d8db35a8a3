/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/module.h"
#include "cpu/options.h"
#include "cpu/simd.h"
#include "kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

std::size_t run_matched(const plan& p, const batch& b)
{
    return with_options<matched_options>(p, [&](const matched_options& o) {
        return drive<0, 0>(p, b, [&](arena<simd>& a) {
            return matched_filter<simd>(a, p.points, p.num_tx, p.num_rx, o.interference);
        });
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

MIMOPACK_MODULE({ "matched", run_matched })

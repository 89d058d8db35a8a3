/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/exhaustive/cpu_sliced.h"
#include "detectors/exhaustive/enumeration.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <class Combination>
std::size_t run_tree(const plan& p, const batch& b)
{
    return drive<0, 0>(p, b, [&](arena<simd>& a) {
        return exhaustive<simd, Combination>(a, p.points, p.num_tx, p.num_rx);
    });
}

template <bool Table>
std::size_t run_enumeration(const plan& p, const batch& b)
{
    return drive<0, 0>(p, b, [&](arena<simd>& a) {
        return enumeration<simd, Table>(a, p.points, p.num_tx, p.num_rx);
    });
}

} // namespace

std::size_t run_omap(const plan& p, const batch& b)
{
    return with_options<no_options>(
        p, [&](const no_options&) { return run_tree<log_sum<simd>>(p, b); });
}

std::size_t run_mla(const plan& p, const batch& b)
{
    return with_options<exhaustive_options>(p, [&](const exhaustive_options& o) {
        switch (o.method) {
        case 1:
            return run_enumeration<false>(p, b);
        case 2:
            return run_enumeration<true>(p, b);
        default:
            return p.points.width ? run_sliced(p, b, infinity, true)
                                  : run_tree<least_metric<simd>>(p, b);
        }
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../kernels/exhaustive.h"
#include "driver.h"
#include "run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <template <class> class Combination>
std::size_t run_with(const plan& p, const batch& b)
{
    return drive<0, 0>(p, b, [&](arena<simd>& a) {
        return exhaustive<simd, Combination>(a, p.points, p.num_tx, p.num_rx);
    });
}

} // namespace

std::size_t run_omap(const plan& p, const batch& b) { return run_with<log_sum>(p, b); }

std::size_t run_mla(const plan& p, const batch& b) { return run_with<best_metric>(p, b); }

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../kernels/kbest.h"
#include "driver.h"
#include "run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH>
std::size_t run_size(const plan& p, const batch& b)
{
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        return kbest<simd, NT, NR, WIDTH>(
            a, p.points, p.num_tx, p.num_rx, p.options.k, p.options.llr_clip);
    });
}

} // namespace

std::size_t run_kbest(const plan& p, const batch& b)
{
    return by_size_and_any_width(p, [&](auto nt, auto nr, auto width) {
        return run_size<nt.value, nr.value, width.value>(p, b);
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

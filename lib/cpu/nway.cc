/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../kernels/nway.h"
#include "driver.h"
#include "run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH>
std::size_t run_size(const plan& p, const batch& b)
{
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        return nway<simd, NT, NR, WIDTH>(
            a, p.points, p.num_tx, p.num_rx, p.options.num_passes, p.options.llr_clip);
    });
}

template <int NT, int NR>
std::size_t run_width(const plan& p, const batch& b)
{
    switch (p.points.width) {
    case 1:
        return run_size<NT, NR, 1>(p, b);
    case 2:
        return run_size<NT, NR, 2>(p, b);
    case 3:
        return run_size<NT, NR, 3>(p, b);
    case 4:
        return run_size<NT, NR, 4>(p, b);
    default:
        return run_size<0, 0, 5>(p, b);
    }
}

} // namespace

std::size_t run_nway(const plan& p, const batch& b)
{
    return by_size(p, [&](auto nt, auto nr) { return run_width<nt.value, nr.value>(p, b); });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

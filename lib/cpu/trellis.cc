/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../kernels/trellis.h"
#include "driver.h"
#include "run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH>
std::size_t run_size(const plan& p, const batch& b)
{
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        return trellis<simd, NT, NR, WIDTH>(a, p.points, p.num_tx, p.num_rx);
    });
}

} // namespace

std::size_t run_trellis(const plan& p, const batch& b)
{
    switch (p.points.width) {
    case 1:
        return by_size(
            p, [&](auto nt, auto nr) { return run_size<nt.value, nr.value, 1>(p, b); });
    case 2:
        return by_size(
            p, [&](auto nt, auto nr) { return run_size<nt.value, nr.value, 2>(p, b); });
    case 3:
        return by_size(
            p, [&](auto nt, auto nr) { return run_size<nt.value, nr.value, 3>(p, b); });
    case 4:
        return run_size<0, 0, 4>(p, b);
    case 5:
        return run_size<0, 0, 5>(p, b);
    default:
        return run_size<0, 0, 0>(p, b);
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../kernels/linear.h"
#include "driver.h"
#include "run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH, bool MMSE>
std::size_t run_size(const plan& p, const batch& b)
{
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        return linear<simd, NT, NR, WIDTH, MMSE>(a, p.points, p.num_tx, p.num_rx);
    });
}

template <int NT, int NR, bool MMSE>
std::size_t run_width(const plan& p, const batch& b)
{
    switch (p.points.width) {
    case 1:
        return run_size<NT, NR, 1, MMSE>(p, b);
    case 2:
        return run_size<NT, NR, 2, MMSE>(p, b);
    case 3:
        return run_size<NT, NR, 3, MMSE>(p, b);
    case 4:
        return run_size<0, 0, 4, MMSE>(p, b);
    case 5:
        return run_size<0, 0, 5, MMSE>(p, b);
    default:
        return run_size<0, 0, 0, MMSE>(p, b);
    }
}

} // namespace

std::size_t run_zf(const plan& p, const batch& b)
{
    return by_size(
        p, [&](auto nt, auto nr) { return run_width<nt.value, nr.value, false>(p, b); });
}

std::size_t run_mmse(const plan& p, const batch& b)
{
    return by_size(
        p, [&](auto nt, auto nr) { return run_width<nt.value, nr.value, true>(p, b); });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

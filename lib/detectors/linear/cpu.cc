/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/linear/large.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH, bool MMSE>
std::size_t run_size(const plan& p, const batch& b)
{
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        if constexpr (NT > 0)
            return linear<simd, NT, NR, WIDTH, MMSE>(a, p.points, p.num_tx, p.num_rx);
        else
            return large_linear<simd, WIDTH, MMSE>(a, p.points, p.num_tx, p.num_rx);
    });
}

template <bool MMSE>
std::size_t run(const plan& p, const batch& b)
{
    return with_options<linear_options>(p, [&](const linear_options&) {
        if (!p.points.width)
            return run_size<0, 0, 0, MMSE>(p, b);
        if (p.num_tx == 1 && !p.points.layers)
            return by_width<6>(
                p, [&](auto width) { return run_size<1, 0, width.value, MMSE>(p, b); });
        return by_size_and_width<6>(p, [&](auto nt, auto nr, auto width) {
            return run_size<nt.value, nr.value, width.value, MMSE>(p, b);
        });
    });
}

} // namespace

std::size_t run_zf(const plan& p, const batch& b) { return run<false>(p, b); }

std::size_t run_mmse(const plan& p, const batch& b) { return run<true>(p, b); }

} // namespace MIMOPACK_ISA
} // namespace mimopack

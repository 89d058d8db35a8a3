/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/mmsepic/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH>
std::size_t run_size(const plan& p, const batch& b, const mmsepic_options& o)
{
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        return mmsepic<simd, NT, NR, WIDTH>(
            a, p.points, p.num_tx, p.num_rx, o.num_iterations);
    });
}

} // namespace

std::size_t run_mmsepic(const plan& p, const batch& b)
{
    return with_options<mmsepic_options>(p, [&](const mmsepic_options& o) {
        if (!p.points.width)
            return run_size<0, 0, 0>(p, b, o);
        return by_size_and_width(p, [&](auto nt, auto nr, auto width) {
            return run_size<nt.value, nr.value, width.value>(p, b, o);
        });
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

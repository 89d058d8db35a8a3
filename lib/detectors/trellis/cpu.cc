/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/trellis/kernel.h"

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
    return with_options<trellis_options>(p, [&](const trellis_options&) {
        return by_any_width(p, [&](auto width) {
            if constexpr (width.value == 1 || width.value == 2)
                if (p.num_tx == 2 && p.num_rx == 2)
                    return run_size<2, 2, width.value>(p, b);
            return run_size<0, 0, width.value>(p, b);
        });
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

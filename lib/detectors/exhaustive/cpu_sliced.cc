/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/sizes.h"
#include "detectors/exhaustive/cpu_sliced.h"
#include "detectors/exhaustive/sliced.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH>
std::size_t run_size(const plan& p, const batch& b, float clip, bool any_rank)
{
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        return sliced_search<simd, NT, NR, WIDTH>(
            a, p.points, p.num_tx, p.num_rx, clip, any_rank);
    });
}

} // namespace

/* Choose the build. Sizes known when compiling gain nothing if the search costs much more
 * than the QR decomposition. */
std::size_t run_sliced(const plan& p, const batch& b, float clip, bool any_rank)
{
    return by_width(p, [&](auto width) {
        if constexpr (width.value <= 2)
            if (p.num_tx == 2 && p.num_rx == 2)
                return run_size<2, 2, width.value>(p, b, clip, any_rank);
        return run_size<0, 0, width.value>(p, b, clip, any_rank);
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

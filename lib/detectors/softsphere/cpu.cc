/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/qr_reduced_search.h"
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/exhaustive/cpu_sliced.h"
#include "detectors/nway/cpu_steps.h"
#include "detectors/softsphere/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_GREEDY_STEPS(extern)

namespace {

/* Up to this number of parents of leaves, slicing all parents is faster than a search.
 * The number is larger for four symbols, because they do not fill a search's lanes. */
long small_search(int width) { return width == 1 ? 4096 : 1024; }

template <int WIDTH>
std::size_t run_width(const plan& p, const batch& b, const softsphere_options& o)
{
    return drive<0, 0>(
        p,
        b,
        [&](arena<simd>& a) {
            return qr_reduced_search<simd, softsphere<simd, WIDTH>>(
                a, p.points, p.num_tx, p.num_rx, o);
        },
        [](auto& kernel, const std::size_t*, int count) { kernel.set_live(count); });
}

} // namespace

std::size_t run_softsphere(const plan& p, const batch& b)
{
    return with_options<softsphere_options>(p, [&](const softsphere_options& o) {
        const long small = small_search(p.points.width);
        long parents = 1;
        for (int i = 1; i < p.num_tx && parents <= small; ++i)
            parents *= p.points.size;
        if (parents <= small)
            return run_sliced(p, b, o.llr_clip, false);
        return by_width(p, [&](auto width) { return run_width<width.value>(p, b, o); });
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

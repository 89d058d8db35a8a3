/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/qr_reduced_search.h"
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/kbest/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH>
std::size_t run_size(const plan& p, const batch& b, const kbest_options& o)
{
    using kernel = kbest<simd, NT, NR, WIDTH>;
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        return typename qr_reduced_if<simd, kernel, NT == 0>::type(
            a, p.points, p.num_tx, p.num_rx, o.k, o.llr_clip);
    });
}

} // namespace

std::size_t run_kbest(const plan& p, const batch& b)
{
    return with_options<kbest_options>(p, [&](const kbest_options& o) {
        return by_any_width(p, [&](auto width) {
            if constexpr (width.value == 2)
                if (p.num_tx == 4 && p.num_rx == 4)
                    return run_size<4, 4, 2>(p, b, o);
            return run_size<0, 0, width.value>(p, b, o);
        });
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

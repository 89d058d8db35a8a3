/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/tall.h"
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
        return typename tall_if<simd, kernel, NT == 0>::type(
            a, p.points, p.num_tx, p.num_rx, o.k, o.llr_clip);
    });
}

} // namespace

std::size_t run_kbest(const plan& p, const batch& b)
{
    return with_options<kbest_options>(p, [&](const kbest_options& o) {
        return by_size_and_any_width(p, [&](auto nt, auto nr, auto width) {
            return run_size<nt.value, nr.value, width.value>(p, b, o);
        });
    });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

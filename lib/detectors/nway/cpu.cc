/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/qr_reduced_search.h"
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/nway/cpu_steps.h"
#include "detectors/nway/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_GREEDY_STEPS()

namespace {

template <int NT, int NR, int WIDTH>
std::size_t run_size(
    const plan& p, const batch& b, const nway_options& o, int passes, column_order order)
{
    using kernel = nway_detector<simd, NT, NR, WIDTH>;
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        return typename qr_reduced_if<simd, kernel, NR == 0>::type(
            a, p.points, p.num_tx, p.num_rx, passes, o.llr_clip, order, o.llr_method);
    });
}

std::size_t run_with(const plan& p, const batch& b, column_order order)
{
    return with_options<nway_options>(p, [&](const nway_options& o) {
        const int passes = order == column_order::rotate ? o.num_passes : p.num_tx;
        return by_width<6>(p, [&](auto width) {
            /* Two layers have a faster search (see search_top), but with 4096-QAM it
             * would take long to compile. With 64-QAM, four layers are 1.2 times as fast
             * as in the general build. */
            if (!p.points.layers) {
                if constexpr (width.value <= 5)
                    if (p.num_tx == 2)
                        return run_size<2, 0, width.value>(p, b, o, passes, order);
                if constexpr (width.value <= 3)
                    if (p.num_tx == 4)
                        return run_size<4, 0, width.value>(p, b, o, passes, order);
            }
            return run_size<0, 0, width.value>(p, b, o, passes, order);
        });
    });
}

} // namespace

std::size_t run_fpfsd(const plan& p, const batch& b)
{
    return run_with(p, b, column_order::raise);
}

std::size_t run_nway(const plan& p, const batch& b)
{
    return run_with(p, b, column_order::rotate);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../kernels/passes.h"
#include "driver.h"
#include "run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH>
std::size_t run_size(const plan& p, const batch& b, int passes, column_order order)
{
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        return pass_detector<simd, NT, NR, WIDTH>(a,
                                                  p.points,
                                                  p.num_tx,
                                                  p.num_rx,
                                                  passes,
                                                  p.options.llr_clip,
                                                  order,
                                                  p.options.log_sum);
    });
}

std::size_t run_passes(const plan& p, const batch& b, int passes, column_order order)
{
    return by_size_and_width(p, [&](auto nt, auto nr, auto width) {
        return run_size<nt.value, nr.value, width.value>(p, b, passes, order);
    });
}

} // namespace

std::size_t run_fpfsd(const plan& p, const batch& b)
{
    return run_passes(p, b, p.num_tx, column_order::raise);
}

std::size_t run_nway(const plan& p, const batch& b)
{
    return run_passes(p, b, p.options.num_passes, column_order::rotate);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

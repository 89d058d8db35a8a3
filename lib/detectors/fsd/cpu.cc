/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/qr_reduced_search.h"
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/fsd/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

template <int NT, int NR, int WIDTH>
std::size_t
run_size(const plan& p, const batch& b, const fsd_options& o, bool soft, int num_paths)
{
    using kernel = fixed_sphere<simd, NT, NR, WIDTH>;
    return drive<NT, NR>(p, b, [&](arena<simd>& a) {
        return typename qr_reduced_if<simd, kernel, NT == 0>::type(
            a, p.points, p.num_tx, p.num_rx, o.levels, num_paths, o.llr_clip, soft);
    });
}

/* Choose the build. The builds for 4x4 expand one level and extend at most a path for
 * each bit of a symbol, as the defaults do. */
template <int WIDTH>
std::size_t
run_width(const plan& p, const batch& b, const fsd_options& o, bool soft, int num_paths)
{
    if constexpr (WIDTH <= 3)
        if (p.num_tx == 4 && p.num_rx == 4 && o.levels == 1 && !p.points.layers &&
            num_paths <= 2 * WIDTH)
            return run_size<4, 4, WIDTH>(p, b, o, soft, num_paths);
    return run_size<0, 0, WIDTH>(p, b, o, soft, num_paths);
}

std::size_t run_with(const plan& p, const batch& b, bool extends)
{
    return with_options<fsd_options>(p, [&](const fsd_options& o) {
        const bool soft = extends || o.soft;
        const int num_paths = extends ? o.num_paths : o.soft ? 0 : 1;
        return by_width(p, [&](auto width) {
            return run_width<width.value>(p, b, o, soft, num_paths);
        });
    });
}

} // namespace

std::size_t run_hfsd(const plan& p, const batch& b) { return run_with(p, b, false); }

std::size_t run_sfsd(const plan& p, const batch& b) { return run_with(p, b, true); }

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/driver.h"
#include "cpu/options.h"
#include "cpu/sizes.h"
#include "detectors/sic/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* The driver's hook that gives the kernel the hard solutions, as words of symbols */
struct hard_solutions {
    const plan& p;
    const batch& b;

    template <class Kernel>
    MP_FN void operator()(Kernel& kernel, const std::size_t* vector, int count) const
    {
        for (std::size_t start = 0; start < b.num_hard; ++start) {
            for (int i = 0; i < p.num_tx; ++i) {
                float words[simd::width];
                for (int l = 0; l < simd::width; ++l)
                    words[l] = static_cast<float>(hard_symbol(
                        p.points,
                        i,
                        b.hard + (start * b.n + vector[l < count ? l : count - 1]) *
                                     p.num_llr));
                kernel.starts()[start * p.num_tx + i] = simd::load(words);
            }
        }
    }
};

template <int WIDTH>
std::size_t
run_width(const plan& p, const batch& b, const sic_options& o, sic_output output)
{
    const auto ordering = static_cast<sic_ordering>(o.ordering);
    const int num_hard = b.hard ? static_cast<int>(b.num_hard) : 0;
    return drive<0, 0>(
        p,
        b,
        [&](arena<simd>& a) {
            return flip_detector<simd, 0, 0, WIDTH>(
                a, p.points, p.num_tx, p.num_rx, ordering, output, o.llr_clip, num_hard);
        },
        hard_solutions{ p, b });
}

std::size_t run_with(const plan& p, const batch& b, bool has_list)
{
    return with_options<sic_options>(p, [&](const sic_options& o) {
        const sic_output output = has_list ? sic_output::by_list
                                  : o.soft ? sic_output::by_layer
                                           : sic_output::hard;
        return by_width(
            p, [&](auto width) { return run_width<width.value>(p, b, o, output); });
    });
}

} // namespace

std::size_t run_zfsic(const plan& p, const batch& b) { return run_with(p, b, false); }

std::size_t run_bitflip(const plan& p, const batch& b) { return run_with(p, b, true); }

} // namespace MIMOPACK_ISA
} // namespace mimopack

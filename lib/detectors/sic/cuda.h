/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cuda/sizes.h"
#include "detectors/sic/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A value that is part of a type, so that branches on it are decided before anything is
 * optimised. The compiler does not look into a large kernel's memory. */
template <class T, T VALUE>
struct constant {
    MP_FN constexpr operator T() const { return VALUE; }
};

/* Bit flipping, or ZF-SIC */
template <bool HAS_LIST>
MP_FN auto make_with_sic(arena<lane>& a)
{
    constexpr sic_options o = program::options();
    constexpr sic_output output = HAS_LIST ? sic_output::by_list
                                  : o.soft ? sic_output::by_layer
                                           : sic_output::hard;
    using detector = flip_detector<lane,
                                   program::fixed_tx,
                                   program::fixed_rx,
                                   program::width,
                                   constant<sic_output, output>,
                                   constant<int, program::num_hard>>;
    constexpr bool large = HAS_LIST && program::fixed_tx > 4;
    return prepared<detector, large>(a,
                                     program::points,
                                     layers(),
                                     antennas(),
                                     static_cast<sic_ordering>(o.ordering),
                                     {},
                                     o.llr_clip,
                                     {});
}

template <class Lane>
MP_FN auto make_zfsic(arena<Lane>& a)
{
    return make_with_sic<false>(a);
}

template <class Lane>
MP_FN auto make_bitflip(arena<Lane>& a)
{
    return make_with_sic<true>(a);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

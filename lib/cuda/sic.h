/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "../kernels/bitflip.h"
#include "prepared.h"
#include "sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A value for which no compiler has to look into the kernel */
template <class T, T VALUE>
struct known {
    MP_FN constexpr operator T() const { return VALUE; }
};

/* ZF-SIC, or soft: bit flipping */
template <bool SOFT>
MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    using detector = flip_detector<lane,
                                   asked::fixed_tx,
                                   asked::fixed_rx,
                                   asked::width,
                                   known<bool, SOFT>,
                                   known<int, asked::num_hard>>;
    return prepared < detector,
           SOFT && (asked::fixed_tx > 4) > (a,
                                            asked::points,
                                            layers(),
                                            antennas(),
                                            static_cast<sic_ordering>(o.ordering),
                                            {},
                                            {});
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

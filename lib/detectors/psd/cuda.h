/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The parallel sphere detector on a GPU: a search for the same solution (see
 * sphere/cuda.h). With 4x4 QPSK and 16-QAM on an H200 it is 3 to 8 times as fast as
 * rounds by a team of threads for each vector, as 004 has them. */
#pragma once
#include "detectors/psd/kernel.h"
#include "detectors/sphere/cuda.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class Lane>
MP_FN auto make_psd(arena<Lane>& a)
{
    return make_sphere<psd_options>(a);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

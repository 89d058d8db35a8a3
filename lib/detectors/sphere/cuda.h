/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The sphere detectors on a GPU. SD, ASD and PSD give the same solution, and so share the
 * forms that are fastest on a GPU: no option but the budget makes a difference. */
#pragma once
#include "detectors/sphere/cuda_search.h"
#include "detectors/sphere/cuda_team.h"
#include "detectors/sphere/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Sizes are template parameters, so that only the chosen form is compiled. */
template <int MAX_NODES,
          int NT = program::fixed_tx,
          int NR = program::fixed_rx,
          int WIDTH = program::width>
MP_FN auto make_sphere(arena<lane>& a)
{
    if constexpr (fits_registers)
        return shared_sphere<NT, NR, WIDTH>(a, program::points, MAX_NODES);
    else
        return team_search_kernel<WIDTH, MAX_NODES, nearest_leaf>{};
}

template <class Lane>
MP_FN auto make_sd(arena<Lane>& a)
{
    return make_sphere<sphere_options(program::options()).max_nodes>(a);
}

template <class Lane>
MP_FN auto make_asd(arena<Lane>& a)
{
    return make_sphere<sphere_options(program::options()).max_nodes>(a);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

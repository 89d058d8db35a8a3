/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The sphere detectors on a GPU. SD, ASD and PSD give the same solution or the same list,
 * and so share the forms that are fastest on a GPU: options that only change the order of
 * the search make no difference. */
#pragma once
#include "cuda/long_search.h"
#include "detectors/sphere/cuda_list.h"
#include "detectors/sphere/cuda_search.h"
#include "detectors/sphere/cuda_team.h"
#include "detectors/sphere/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Sizes are template parameters, so that only the chosen form is compiled. */
template <class Options,
          int NT = program::fixed_tx,
          int NR = program::fixed_rx,
          int WIDTH = program::width>
MP_FN auto make_sphere(arena<lane>& a)
{
    constexpr Options o = program::options();
    if constexpr (o.soft)
        return team_search_kernel<WIDTH, o.max_nodes, listed_leaves<WIDTH, Options>>{};
    else if constexpr (fits_registers)
        return shared_sphere<NT, NR, WIDTH>(a, program::points, o.max_nodes);
    else
        return team_search_kernel<WIDTH, o.max_nodes, nearest_leaf<WIDTH>>{};
}

template <class Lane>
MP_FN auto make_sd(arena<Lane>& a)
{
    return make_sphere<sphere_options>(a);
}

template <class Lane>
MP_FN auto make_asd(arena<Lane>& a)
{
    return make_sphere<sphere_options>(a);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

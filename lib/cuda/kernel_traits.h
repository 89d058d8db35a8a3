/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The members that a kernel may have beyond prepare(h) and detect(y, noise_var, prior,
 * llr), and how the driver uses them:
 *
 *   starts()            array for the hard solutions to begin from
 *   use_rows(n)         receives the number of the warp's vectors
 *   least_blocks        least number of blocks per multiprocessor
 *   team_blocks         the same, for a kernel whose warps work together on each vector
 *   team_threads        threads of a team that takes a matrix (see by_teams.h and
 *                       team_search.h), in place of all other members
 *   has_arena           of such a kernel: whether it has arrays outside of shared memory
 *   has_second          whether a second launch detects what the first one leaves, by
 *                       second::detect(batch)
 */
#pragma once
#include "cuda/batch.h"

/* NVRTC finds the functions of lane in its generic lambdas only if lane comes first. */
#include "common/bit_order.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* NAME<Kernel>(0) is Kernel::NAME, or OTHERWISE if there is no such member. */
#define MP_TRAIT(NAME, OTHERWISE)                    \
    template <class Kernel>                          \
    constexpr auto NAME(int)->decltype(Kernel::NAME) \
    {                                                \
        return Kernel::NAME;                         \
    }                                                \
    template <class Kernel>                          \
    constexpr int NAME(long)                         \
    {                                                \
        return OTHERWISE;                            \
    }

/* 0: each thread works on its own vector. */
MP_TRAIT(team_blocks, 0)
/* This limits the registers of a thread. */
MP_TRAIT(least_blocks, team_blocks<Kernel>(0) ? team_blocks<Kernel>(0) : MIMOPACK_BLOCKS)
/* 0: a thread prepares a matrix. */
MP_TRAIT(team_threads, 0)
MP_TRAIT(has_arena, 1)
MP_TRAIT(has_second, 0)
#undef MP_TRAIT

/* Prepare a kernel for a vector, one of `rows` vectors of the warp. */
template <class Kernel>
MP_FN void begin(Kernel& kernel, const batch& all, unsigned long long vector, int rows)
{
    constexpr int nt = program::num_tx, num_hard = program::num_hard;
    for (int start = 0; start < num_hard; ++start)
        for (int i = 0; i < nt; ++i)
            if constexpr (num_hard > 0)
                kernel.starts()[start * nt + i].v = hard_symbol(
                    program::points,
                    i,
                    all.hard + (vector * num_hard + start) * program::num_llr);
    if constexpr (team_blocks<Kernel>(0) > 0)
        kernel.use_rows(rows);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

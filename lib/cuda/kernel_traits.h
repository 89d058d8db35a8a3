/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The members that a kernel may have beyond prepare(h) and detect(y, noise_var, prior,
 * llr), and how the driver finds them:
 *
 *   starts()            array for the hard solutions to begin from
 *   use_lanes(1, rows)  receives the address of the vector's node counters
 *   use_rows(n)         receives the number of the warp's vectors
 *   least_blocks        least number of blocks per multiprocessor
 *   team_blocks         the same, for a kernel whose warps work together on each vector
 *   team_threads        threads of a team that takes a matrix (see by_teams.h), in place
 *                       of all other members
 */
#pragma once
#include "common/bit_order.h"
#include "cuda/batch.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The number of a warp's vectors, and whether this thread has one of them */
struct vectors_of_warp {
    int rows;
    bool exists;
};

/* begin(kernel, all, vector, warp, 0) prepares a kernel for a vector: it sets the symbols
 * of the hard solutions, */
template <class Kernel>
MP_FN auto
begin(Kernel& kernel, const batch& all, unsigned long long vector, vectors_of_warp, int)
    -> decltype(kernel.starts(), void())
{
    constexpr int nt = program::num_tx;
    for (int start = 0; all.hard && start < program::num_hard; ++start)
        for (int i = 0; i < nt; ++i)
            kernel.starts()[start * nt + i].v =
                hard_symbol(program::points,
                            i,
                            all.hard + (vector * program::num_hard + start) * program::num_llr);
}

/* or the address of the vector's node counters, */
template <class Kernel>
MP_FN auto begin(Kernel& kernel,
                 const batch& all,
                 unsigned long long vector,
                 vectors_of_warp warp,
                 int) -> decltype(kernel.use_lanes(1, nullptr), void())
{
    unsigned* const nodes = warp.exists ? all.nodes : nullptr;
    unsigned* rows[1] = { nodes ? nodes + vector * all.nodes_per_vector : nullptr };
    kernel.use_lanes(1, nodes ? rows : nullptr);
}

/* or the number of the warp's vectors, */
template <class Kernel>
MP_FN auto
begin(Kernel& kernel, const batch&, unsigned long long, vectors_of_warp warp, int)
    -> decltype(kernel.use_rows(1), void())
{
    kernel.use_rows(warp.rows);
}

/* or nothing. */
template <class Kernel>
MP_FN void begin(Kernel&, const batch&, unsigned long long, vectors_of_warp, long)
{
}

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
#undef MP_TRAIT

} // namespace MIMOPACK_ISA
} // namespace mimopack

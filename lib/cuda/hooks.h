/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The members that a kernel may have beyond prepare(h) and detect(y, noise_var, prior,
 * llr), and how the driver finds them:
 *
 *   starts()            takes hard solutions to begin from
 *   use_lanes(1, rows)  takes the place where it counts nodes
 *   use_rows(n)         takes the number of the warp's vectors
 *   shared_bytes        the size of its own shared memory
 *   least_blocks        the least number of blocks of a multiprocessor
 *   team_blocks         the same, for a kernel whose warps work together on each vector
 *   threads_together    the threads that go on together: a warp's, or a block's
 *   team_threads        the threads of a team that takes a matrix (see by_teams.h), in
 *                       place of all other members
 *   put() take() advance() finish()
 *                       a search in steps (see in_steps.h), in place of detect() */
#pragma once
#include "common/bit_order.h"
#include "cuda/batch.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The vectors of a warp, and whether this thread has one of them */
struct threads_of_round {
    int rows;
    bool exists;
};

/* begin(kernel, all, vector, threads, 0) gives a kernel what it takes before a vector:
 * the symbols of hard solutions, */
template <class Kernel>
MP_FN auto
begin(Kernel& kernel, const batch& all, unsigned long long vector, threads_of_round, int)
    -> decltype(kernel.starts(), void())
{
    constexpr int nt = asked::num_tx;
    for (int start = 0; all.hard && start < asked::num_hard; ++start)
        for (int i = 0; i < nt; ++i)
            kernel.starts()[start * nt + i].v =
                hard_symbol(asked::points,
                            i,
                            all.hard + (start * all.n + vector) * asked::num_llr);
}

/* the place of the vector's node counts, */
template <class Kernel>
MP_FN auto begin(Kernel& kernel,
                 const batch& all,
                 unsigned long long vector,
                 threads_of_round threads,
                 int) -> decltype(kernel.use_lanes(1, nullptr), void())
{
    unsigned* const nodes = threads.exists ? all.nodes : nullptr;
    unsigned* rows[1] = { nodes ? nodes + vector * all.nodes_per_vector : nullptr };
    kernel.use_lanes(1, nodes ? rows : nullptr);
}

/* the number of the warp's vectors, */
template <class Kernel>
MP_FN auto
begin(Kernel& kernel, const batch&, unsigned long long, threads_of_round threads, int)
    -> decltype(kernel.use_rows(1), void())
{
    kernel.use_rows(threads.rows);
}

/* or nothing. */
template <class Kernel>
MP_FN void begin(Kernel&, const batch&, unsigned long long, threads_of_round, long)
{
}

/* NAME<Kernel>(0) is Kernel::NAME, or OTHERWISE where it has no such number */
#define MP_HOOK(NAME, OTHERWISE)                     \
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

MP_HOOK(shared_bytes, 0)
/* 0 for a kernel with a vector for each thread. Rows in shared memory would not leave
 * room for so many blocks. */
MP_HOOK(team_blocks, 0)
/* It limits registers. */
MP_HOOK(least_blocks, team_blocks<Kernel>(0) ? team_blocks<Kernel>(0) : MIMOPACK_BLOCKS)
/* 0 means a warp's, as for any kernel. */
MP_HOOK(threads_together, 0)
/* 0 means that a thread prepares a matrix. */
MP_HOOK(team_threads, 0)
#undef MP_HOOK

/* Whether the kernel searches in steps */
template <class Kernel>
constexpr auto comes_in_steps(int) -> decltype(static_cast<Kernel*>(nullptr)->advance())
{
    return true;
}

template <class Kernel>
constexpr bool comes_in_steps(long)
{
    return false;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

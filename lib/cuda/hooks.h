/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What a kernel may have beyond prepare(h) and detect(y, noise_var, prior, llr), and what
 * detect.h does about it:
 *
 *   starts()            begins from hard solutions
 *   use_lanes(1, rows)  counts nodes
 *   use_rows(n)         wants to know how many of a warp's vectors there are
 *   shared_bytes        has shared memory of its own
 *   least_blocks        so many blocks of a multiprocessor at least
 *   team_blocks         a warp's threads work together on each vector; so many blocks
 *   threads_together    likewise a warp's threads, or a block's
 *   put() take() advance() finish()
 *                       searches in steps, see in_steps.h */
#pragma once
#include "common/bit_order.h"
#include "common/storage.h"
#include "cuda/lane.h"
#include "cuda/sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* What a detector has beyond vectors in and LLRs out */
struct extras {
    unsigned long long n;
    const unsigned char* hard; /* num_hard x n x nt*bits, or null */
    unsigned* nodes;           /* n x nodes_per_vector, or null */
    unsigned nodes_per_vector;
    int rows; /* vectors of the warp */
};

/* For a kernel that starts from hard solutions: their words */
template <class Kernel>
MP_FN auto begin(Kernel& kernel, const extras& e, unsigned long long vector, int)
    -> decltype(kernel.starts(), void())
{
    constexpr int nt = asked::num_tx, bits = asked::bits;
    for (int start = 0; e.hard && start < asked::num_hard; ++start)
        for (int i = 0; i < nt; ++i)
            kernel.starts()[start * nt + i].v = hard_symbol(
                asked::points, e.hard + ((start * e.n + vector) * nt + i) * bits);
}

/* For a kernel that counts nodes: where to */
template <class Kernel>
MP_FN auto begin(Kernel& kernel, const extras& e, unsigned long long vector, int)
    -> decltype(kernel.use_lanes(1, nullptr), void())
{
    unsigned* rows[1] = { e.nodes ? e.nodes + vector * e.nodes_per_vector : nullptr };
    kernel.use_lanes(1, e.nodes ? rows : nullptr);
}

/* For a kernel whose threads work together: how many of a warp's vectors there are */
template <class Kernel>
MP_FN auto begin(Kernel& kernel, const extras& e, unsigned long long, int)
    -> decltype(kernel.use_rows(1), void())
{
    kernel.use_rows(e.rows);
}

template <class Kernel>
MP_FN void begin(Kernel&, const extras&, unsigned long long, long)
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

/* The shared memory that a kernel has of its own */
MP_HOOK(shared_bytes, 0)
/* For a kernel whose threads work together, long for each vector: so many blocks of a
 * multiprocessor at least, which rows in shared memory would not leave room for; 0 for
 * any other */
MP_HOOK(team_blocks, 0)
/* Of a multiprocessor, by which registers are limited */
MP_HOOK(least_blocks, team_blocks<Kernel>(0) ? team_blocks<Kernel>(0) : MIMOPACK_BLOCKS)
/* How many threads have to go on together: a warp's, or a block's; 0 where it says
 * nothing, which is a warp's */
MP_HOOK(threads_together, 0)
#undef MP_HOOK

/* Whether it searches in steps */
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

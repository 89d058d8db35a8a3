/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums, extremes and sorted lists of teams of threads. A team is 2 to 32 neighbours in a
 * warp; all teams of the warp must call these functions together. */
#pragma once
#include "common/sorting.h"

/* From compute capability 8.0 on one instruction combines a warp's integers. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define MP_WARP_REDUCES 1
#else
#define MP_WARP_REDUCES 0
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

template <int TEAM, class T, class Operation>
MP_FN T over_team(T x, Operation operation)
{
    MP_UNROLL
    for (int distance = TEAM / 2; distance; distance /= 2)
        x = operation(x, __shfl_xor_sync(~0u, x, distance));
    return x;
}

template <int TEAM>
MP_FN unsigned team_sum(unsigned x)
{
#if MP_WARP_REDUCES
    if constexpr (TEAM == 32)
        return __reduce_add_sync(~0u, x);
#endif
    return over_team<TEAM>(x, [](unsigned a, unsigned b) { return a + b; });
}

template <int TEAM>
MP_FN unsigned team_least(unsigned x)
{
#if MP_WARP_REDUCES
    if constexpr (TEAM == 32)
        return __reduce_min_sync(~0u, x);
#endif
    return over_team<TEAM>(x, [](unsigned a, unsigned b) { return b < a ? b : a; });
}

template <int TEAM>
MP_FN unsigned team_most(unsigned x)
{
#if MP_WARP_REDUCES
    if constexpr (TEAM == 32)
        return __reduce_max_sync(~0u, x);
#endif
    return over_team<TEAM>(x, [](unsigned a, unsigned b) { return a < b ? b : a; });
}

/* The sum over the team's threads before this one */
template <int TEAM>
MP_FN unsigned team_sum_before(unsigned own)
{
    const int rank = threadIdx.x % TEAM;
    unsigned sum = own;
    MP_UNROLL
    for (int distance = 1; distance < TEAM; distance *= 2) {
        const unsigned before = __shfl_up_sync(~0u, sum, distance, TEAM);
        sum += rank >= distance ? before : 0;
    }
    return sum - own;
}

/* A list that a team sorts, COUNT keys in each thread, a power of two. The first thread's
 * keys come first. Bitonic merges, whose first step turns one of the runs round, so that
 * all steps leave the lesser key in front. */
template <int TEAM, int COUNT, class Key>
struct team_list {
    static constexpr int size = TEAM * COUNT;
    Key of[COUNT];

    MP_FN void fill(Key key)
    {
        MP_UNROLL
        for (int i = 0; i < COUNT; ++i)
            of[i] = key;
    }

    MP_FN void sort()
    {
        sort_runs<COUNT, 1>(of);
        MP_UNROLL
        for (int threads = 2; threads <= TEAM; threads *= 2) {
            Key turned[COUNT];
            MP_UNROLL
            for (int i = 0; i < COUNT; ++i)
                turned[i] = other(of[COUNT - 1 - i], threads - 1);
            MP_UNROLL
            for (int i = 0; i < COUNT; ++i)
                of[i] = keep(of[i], turned[i], threads / 2);
            finish(threads / 4);
        }
    }

    /* Keep the first half of this list and another one, both sorted. */
    MP_FN void keep_least(const team_list& more)
    {
        MP_UNROLL
        for (int i = 0; i < COUNT; ++i)
            of[i] = min(of[i], other(more.of[COUNT - 1 - i], TEAM - 1));
        finish(TEAM / 2);
    }

    /* The entry of a rank */
    template <int RANK>
    MP_FN Key get() const
    {
        Key key = of[RANK % COUNT];
        key.v = __shfl_sync(~0u, key.v, RANK / COUNT, TEAM);
        return key;
    }

private:
    /* The key of the thread whose number differs in these bits */
    MP_FN static Key other(Key own, int bits)
    {
        own.v = __shfl_xor_sync(~0u, own.v, bits);
        return own;
    }

    /* The lesser key, or the greater where the bit of the thread's number is set */
    MP_FN static Key keep(Key own, Key other, int bit)
    {
        const bool front = !(threadIdx.x & bit);
        return (other.v < own.v) == front ? other : own;
    }

    /* The steps between threads from a distance on, then those within each thread */
    MP_FN void finish(int distance)
    {
        MP_UNROLL
        for (; distance; distance /= 2) {
            MP_UNROLL
            for (int i = 0; i < COUNT; ++i)
                of[i] = keep(of[i], other(of[i], distance), distance);
        }
        if constexpr (COUNT > 1)
            sort_bitonic_block<COUNT>(of);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting networks: every lane sorts its own values by the same steps. A value is a float
 * whose low bits may say where it comes from: what order, and what origin, in one. */
#pragma once
#include "config.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Sorted in registers at once; longer lists are merged from blocks of this size. */
constexpr int sorting_block = 16;

template <class F>
MP_FN void exchange(F& low, F& high)
{
    const F a = low, b = high;
    low = min(a, b);
    high = max(a, b);
}

/* Sorts N values that come as sorted runs of RUN: Batcher's odd-even merge sort, of which
 * this is the part from distance K on of the merge to runs of 2 RUN. */
template <int N, int RUN, int K, class F>
MP_FN void merge_runs(F* a)
{
    MP_UNROLL
    for (int i = K % RUN; i < N - K; ++i)
        if ((i - K % RUN) / K % 2 == 0 && i / (2 * RUN) == (i + K) / (2 * RUN))
            exchange(a[i], a[i + K]);
    if constexpr (K > 1)
        merge_runs<N, RUN, K / 2>(a);
    else if constexpr (2 * RUN < N)
        merge_runs<N, 2 * RUN, 2 * RUN>(a);
}

template <int N, int RUN, class F>
MP_FN void sort_runs(F* a)
{
    if constexpr (RUN < N)
        merge_runs<N, RUN, RUN>(a);
}

/* Sorts N values that rise, then fall */
template <int N, class F>
MP_FN void sort_bitonic_block(F* a)
{
    MP_UNROLL
    for (int i = 0; i < N / 2; ++i)
        exchange(a[i], a[i + N / 2]);
    if constexpr (N > 2) {
        sort_bitonic_block<N / 2>(a);
        sort_bitonic_block<N / 2>(a + N / 2);
    }
}

/* Sorts n values that rise, then fall; n a power of two. */
template <class F>
MP_FN void sort_bitonic(F* a, int n)
{
    for (int distance = n / 2; distance >= sorting_block; distance /= 2)
        for (int first = 0; first < n; first += 2 * distance)
            for (int i = first; i < first + distance; ++i)
                exchange(a[i], a[i + distance]);
    for (int first = 0; first < n; first += sorting_block) {
        F block[sorting_block];
        MP_UNROLL
        for (int i = 0; i < sorting_block; ++i)
            block[i] = a[first + i];
        sort_bitonic_block<sorting_block>(block);
        MP_UNROLL
        for (int i = 0; i < sorting_block; ++i)
            a[first + i] = block[i];
    }
}

/* Sorts n values that come as sorted runs of RUN; n a power of two of blocks. */
template <int RUN, class F>
MP_FN void sort(F* a, int n)
{
    constexpr int blocks_run = RUN < sorting_block ? RUN : sorting_block;
    if (RUN < sorting_block) {
        for (int first = 0; first < n; first += sorting_block) {
            F block[sorting_block];
            MP_UNROLL
            for (int i = 0; i < sorting_block; ++i)
                block[i] = a[first + i];
            sort_runs<sorting_block, blocks_run>(block);
            MP_UNROLL
            for (int i = 0; i < sorting_block; ++i)
                a[first + i] = block[i];
        }
    }
    for (int run = RUN < sorting_block ? sorting_block : RUN; run < n; run *= 2) {
        for (int first = 0; first < n; first += 2 * run) {
            /* of two rising runs, the lower and the upper half, each bitonic */
            for (int i = 0; i < run; ++i)
                exchange(a[first + i], a[first + 2 * run - 1 - i]);
            sort_bitonic(a + first, run);
            sort_bitonic(a + first + run, run);
        }
    }
}

/* best = the n smallest of two sorted lists of n, sorted */
template <class F>
MP_FN void keep_best(F* best, const F* other, int n)
{
    for (int i = 0; i < n; ++i)
        best[i] = min(best[i], other[n - 1 - i]);
    sort_bitonic(best, n);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

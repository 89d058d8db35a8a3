/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting networks: every lane sorts its own values by the same steps. The low bits of a
 * value, a float, may hold its origin. */
#pragma once
#include "common/config.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Blocks of this size are sorted in registers. Longer lists are merged from blocks. */
constexpr int sorting_block = 16;

template <class F>
MP_FN void exchange(F& low, F& high)
{
    const F a = low, b = high;
    low = min(a, b);
    high = max(a, b);
}

/* Sort N values that come as sorted runs of RUN by Batcher's odd-even merge sort. This
 * function does the part of the merge to runs of 2 RUN from distance K on. */
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

/* Sort N values that rise, then fall. */
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

/* Load or store a block. */
template <class F>
MP_FN void copy_block(F* to, const F* from)
{
    MP_UNROLL
    for (int i = 0; i < sorting_block; ++i)
        to[i] = from[i];
}

/* Take two steps at once: exchange a and c, b and d, then a and b, c and d. The exchange
 * happens in registers, because the compiler cannot know that the four addresses
 * differ. */
template <class F>
MP_FN void two_steps(F& a, F& b, F& c, F& d)
{
    F low0 = a, low1 = b, high0 = c, high1 = d;
    exchange(low0, high0);
    exchange(low1, high1);
    a = min(low0, low1);
    b = max(low0, low1);
    c = min(high0, high1);
    d = max(high0, high1);
}

/* Take the last steps of sorting n values that rise, then fall, in each part of 2 *
 * distance. One pass over memory takes two steps, or all steps within a block. */
template <class F>
MP_FN void finish_bitonic(F* a, int n, int distance)
{
    for (; distance >= 2 * sorting_block; distance /= 4) {
        const int half = distance / 2;
        for (int first = 0; first < n; first += 2 * distance)
            for (int i = first; i < first + half; ++i)
                two_steps(a[i], a[i + half], a[i + distance], a[i + half + distance]);
    }
    if (distance == sorting_block)
        for (int first = 0; first < n; first += 2 * distance)
            for (int i = first; i < first + distance; ++i)
                exchange(a[i], a[i + distance]);
    for (int first = 0; first < n; first += sorting_block) {
        F block[sorting_block];
        copy_block(block, a + first);
        sort_bitonic_block<sorting_block>(block);
        copy_block(a + first, block);
    }
}

/* Begin to sort n values of two rising runs: make a lower and an upper half, both
 * bitonic, and take the next step. */
template <class F>
MP_FN void merge_halves(F* a, int n)
{
    const int quarter = n / 4;
    if (quarter < sorting_block) {
        for (int i = 0; i < n / 2; ++i)
            exchange(a[i], a[n - 1 - i]);
        finish_bitonic(a, n, quarter);
        return;
    }
    for (int i = 0; i < quarter; ++i) {
        const int j = i + quarter;
        F low0 = a[i], low1 = a[j], high0 = a[n - 1 - j], high1 = a[n - 1 - i];
        exchange(low0, high1);
        exchange(low1, high0);
        a[i] = min(low0, low1);
        a[j] = max(low0, low1);
        a[n - 1 - j] = min(high0, high1);
        a[n - 1 - i] = max(high0, high1);
    }
    finish_bitonic(a, n, quarter / 2);
}

/* Sort n values that come as sorted runs of RUN, at most a block. n is a power of two
 * times the block. */
template <int RUN, class F>
MP_FN void sort(F* a, int n)
{
    for (int first = 0; first < n; first += sorting_block) {
        F block[sorting_block];
        copy_block(block, a + first);
        sort_runs<sorting_block, RUN>(block);
        copy_block(a + first, block);
    }
    for (int run = sorting_block; run < n; run *= 2)
        for (int first = 0; first < n; first += 2 * run)
            merge_halves(a + first, 2 * run);
}

/* Set `best`, which is sorted, to the n smallest values of `best` and of n further
 * values, which come as sorted runs of RUN. */
template <int RUN, class F>
MP_FN void keep_best(F* best, F* other, int n)
{
    if (n == sorting_block) {
        F block[sorting_block], low[sorting_block];
        copy_block(block, other);
        sort_runs<sorting_block, RUN>(block);
        MP_UNROLL
        for (int i = 0; i < sorting_block; ++i)
            low[i] = min(best[i], block[sorting_block - 1 - i]);
        sort_bitonic_block<sorting_block>(low);
        copy_block(best, low);
        return;
    }
    sort<RUN>(other, n);
    for (int i = 0; i < n / 2; ++i) {
        const int j = i + n / 2;
        const F low = min(best[i], other[n - 1 - i]);
        const F high = min(best[j], other[n - 1 - j]);
        best[i] = min(low, high);
        best[j] = max(low, high);
    }
    finish_bitonic(best, n, n / 4);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

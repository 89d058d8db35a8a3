/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoding of LTE's turbo code on a GPU: a codeword's bits are split among threads, a
 * window for each. Path metrics where a window begins and ends come from some steps
 * through its neighbours, and these begin with what the neighbours had there one
 * iteration ago (S. Yoon, Y. Bar-Ness, IEEE Commun. Lett. 6(7), 2002).
 *
 * A program includes this file after namespace program, which
 * python/mimopack/cuda/turbo.py writes. */
#pragma once
#include "codes/turbo/kernel.h"
#include "cuda/lane.h"

namespace mimopack {
namespace MIMOPACK_ISA {

constexpr int windows = program::windows, words = program::words; /* of a block */
constexpr int window = program::size / windows;
static_assert(window * windows == program::size && words * windows <= MIMOPACK_THREADS);

using steps = turbo_steps<lane>;

/* What a block's threads share of a codeword. */
struct turbo_shared {
    /* By information bit, windows an odd number of places apart: so threads meet in
     * different banks in either order. */
    lane extrinsic[windows * (window | 1)];
    unsigned char decided[program::size]; /* by the first code */
    /* Metrics `train` steps before and behind windows */
    lane before[2][windows][steps::states], behind[2][windows][steps::states];
    int changed; /* decisions, from the first code to the second */
};

/* One thread's part of a codeword. */
class turbo_window
{
public:
    MP_FN turbo_window(turbo_shared& s, const float* llr, float* posterior, int number)
        : d_shared(s), d_llr(llr), d_posterior(posterior), d_own(number)
    {
    }

    /* A bit's own place in shared memory */
    MP_FN static int place(int bit) { return bit + (window % 2 ? 0 : bit / window); }

    /* Decode one constituent code once. All threads of a block call this; inactive ones
     * only synchronise. is_first: neighbours have left no metrics yet. OUTPUT: write
     * posterior LLRs. Return whether both codes decide for the same bits. */
    template <int CODE, bool OUTPUT>
    MP_FN bool decode(bool active, bool is_first)
    {
        lane metric[states], behind[states];
        if (active) {
            begin<CODE>(metric, is_first);
            end<CODE>(behind, is_first);
        }
        __syncthreads(); /* before neighbours overwrite the metrics just read */
        if (!active)
            return true;
        lane at_group[groups][states];
        for (int g = 0; g < groups; ++g) {
            steps::normalise(metric);
            store(metric, at_group[g]);
            MP_UNROLL_DEVICE
            for (int t = 0; t < group; ++t)
                if (exists(g, t)) {
                    if (is_at(window - train, g, t) && d_own < windows - 1)
                        store(metric, d_shared.before[CODE][d_own + 1]);
                    steps::forward(metric, branches_at<CODE>(first(g) + t));
                }
        }
        if (OUTPUT && d_own == windows - 1)
            write_tail<CODE>(metric);

        bool same = true;
        for (int g = groups - 1; g >= 0; --g) {
            lane before[group][states], x[group], y[group];
            load(at_group[g], metric);
            MP_UNROLL_DEVICE
            for (int t = 0; t < group; ++t)
                if (exists(g, t)) {
                    const steps::branches b = branches_at<CODE>(first(g) + t);
                    x[t] = b.x;
                    y[t] = b.y;
                    store(metric, before[t]);
                    steps::forward(metric, b);
                }
            steps::normalise(behind);
            MP_UNROLL_DEVICE
            for (int t = group - 1; t >= 0; --t)
                if (exists(g, t)) {
                    if (is_at(train - 1, g, t) && d_own > 0)
                        store(behind, d_shared.behind[CODE][d_own - 1]);
                    const steps::branches b(x[t], y[t]);
                    const steps::findings now =
                        steps::find(before[t], behind, b, program::scale);
                    const int i = first(g) + t, bit = information<CODE>(i);
                    const lane found = clamp(now.bit, lane(limits::extrinsic));
                    const lane decided = x[t] + found;
                    const bool negative = decided.as_word().v < 0;
                    if (OUTPUT) {
                        if (CODE == 0)
                            d_shared.decided[bit] = negative;
                        else
                            d_posterior[bit] = decided.v;
                        d_posterior[parity_place<CODE>(i)] = (y[t] + now.parity).v;
                    }
                    if (OUTPUT && CODE == 1)
                        same = same && d_shared.decided[bit] == negative;
                    d_shared.extrinsic[place(bit)] = found;
                    steps::backward(behind, b);
                }
        }
        return same;
    }

private:
    using limits = turbo_limits<lane>;
    static constexpr int states = steps::states;
    static constexpr int group = 8, groups = (window + group - 1) / group;
    /* Steps through a neighbour, and at first, from no metrics at all */
    static constexpr int train = windows > 1 ? program::train : 1, warm = program::warm;
    static_assert(train > 0 && train <= window);

    turbo_shared& d_shared;
    const float* const d_llr;
    float* const d_posterior;
    const int d_own;

    MP_FN static void load(const lane (&from)[states], lane (&to)[states])
    {
        MP_UNROLL_DEVICE
        for (int s = 0; s < states; ++s)
            to[s] = from[s];
    }
    MP_FN static void store(const lane (&from)[states], lane (&to)[states])
    {
        load(from, to);
    }

    /* Where a window begins: its first bit's metrics */
    template <int CODE>
    MP_FN void begin(lane (&metric)[states], bool is_first) const
    {
        int i = d_own * window - (is_first ? warm : train);
        if (i <= 0) {
            i = 0;
            steps::begin_in_state_0(metric);
        } else if (is_first) {
            steps::begin_anywhere(metric);
        } else {
            load(d_shared.before[CODE][d_own], metric);
        }
        for (; i < d_own * window; ++i)
            steps::forward(metric, branches_at<CODE>(i));
    }

    template <int CODE>
    MP_FN void end(lane (&behind)[states], bool is_first) const
    {
        const int last = (d_own + 1) * window - 1;
        int i = last + (is_first ? warm : train);
        if (i >= program::size - 1) {
            i = program::size - 1;
            steps::begin_in_state_0(behind);
            for (int t = steps::memory - 1; t >= 0; --t)
                steps::backward(behind, tail_branches<CODE>(t));
        } else if (is_first) {
            steps::begin_anywhere(behind);
        } else {
            load(d_shared.behind[CODE][d_own], behind);
        }
        for (; i > last; --i)
            steps::backward(behind, branches_at<CODE>(i));
    }

    MP_FN static bool is_at(int place, int g, int t)
    {
        return place % group == t && place / group == g;
    }

    MP_FN int first(int g) const { return d_own * window + g * group; }
    MP_FN static bool exists(int g, int t)
    {
        return window % group == 0 || g * group + t < window;
    }

    /* The information bit that enters a code as its i-th */
    template <int CODE>
    MP_FN static int information(int i)
    {
        constexpr unsigned n = program::size;
        const unsigned u = i;
        return CODE ? (program::f1 + program::f2 * u) % n * u % n : i;
    }

    template <int CODE>
    MP_FN static int parity_place(int i)
    {
        return (1 + CODE) * (program::size + steps::tail) + i;
    }

    MP_FN lane channel(int place) const
    {
        return clamp(lane(d_llr[place]), lane(limits::llr));
    }

    template <int CODE>
    MP_FN steps::branches branches_at(int i) const
    {
        const int bit = information<CODE>(i);
        return { channel(bit) + d_shared.extrinsic[place(bit)],
                 channel(parity_place<CODE>(i)) };
    }

    template <int CODE>
    MP_FN steps::branches tail_branches(int t) const
    {
        return { channel(steps::tail_place(program::size, CODE, t, 0)),
                 channel(steps::tail_place(program::size, CODE, t, 1)) };
    }

    /* Write the posterior LLRs of the code's tail bits. */
    template <int CODE>
    MP_FN void write_tail(lane (&metric)[states])
    {
        lane before[steps::memory][states], behind[states];
        MP_UNROLL_DEVICE
        for (int t = 0; t < steps::memory; ++t) {
            store(metric, before[t]);
            steps::forward(metric, tail_branches<CODE>(t));
        }
        steps::begin_in_state_0(behind);
        MP_UNROLL_DEVICE
        for (int t = steps::memory - 1; t >= 0; --t) {
            const steps::branches b = tail_branches<CODE>(t);
            const steps::findings now = steps::find(before[t], behind, b, program::scale);
            d_posterior[steps::tail_place(program::size, CODE, t, 0)] = (b.x + now.bit).v;
            d_posterior[steps::tail_place(program::size, CODE, t, 1)] =
                (b.y + now.parity).v;
            steps::backward(behind, b);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

extern "C" __global__ void shared_size(unsigned* size)
{
    *size = sizeof(mimopack::MIMOPACK_ISA::turbo_shared) * mimopack::MIMOPACK_ISA::words;
}

/* n codewords, a row for each: llr -> posterior, whether both codes decide for the same
 * bits, and after how many iterations. messages: codewords x information bits, read and
 * written, or null. erased: increased by the number of codewords whose LLRs are not all
 * numbers, or are all 0. */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    decode(unsigned long long n,
           int iterations,
           const float* __restrict__ llr,
           float* __restrict__ posterior,
           float* __restrict__ messages,
           bool* __restrict__ found,
           int* __restrict__ taken,
           unsigned long long* erased)
{
    using namespace mimopack::MIMOPACK_ISA;
    constexpr int num_bits = 3 * (program::size + steps::tail);
    extern __shared__ turbo_shared shared[];
    const int slot = threadIdx.x / windows, own = threadIdx.x % windows;
    turbo_shared& s = shared[slot < words ? slot : 0];
    for (unsigned long long round = blockIdx.x; round * words < n; round += gridDim.x) {
        const unsigned long long w = round * words + slot;
        const bool exists = slot < words && w < n;
        const float* const in = llr + (exists ? w : 0) * num_bits;
        float* const out = posterior + (exists ? w : 0) * num_bits;
        float* const kept =
            messages ? messages + (exists ? w : 0) * program::size : nullptr;

        if (exists && own == 0)
            s.changed = 0; /* bit 0: not all numbers, bit 1: says something */
        __syncthreads();
        int seen = 0;
        if (exists) {
            for (int i = own; i < num_bits; i += windows)
                seen |= !isfinite(in[i]) | (in[i] != 0.0f) << 1;
            for (int i = own; i < program::size; i += windows)
                s.extrinsic[turbo_window::place(i)].v = kept ? kept[i] : 0.0f;
            atomicOr(&s.changed, seen);
        }
        __syncthreads();
        const bool usable = exists && s.changed == 2;
        turbo_window part(s, in, out, own);
        bool active = usable, same = false;
        int i = 0;
        for (int turn = 0; turn < iterations && __syncthreads_or(active); ++turn) {
            if (active && own == 0)
                s.changed = 0;
            const bool last = program::early_stop || turn + 1 == iterations;
            bool agreed = true;
            if (last)
                part.decode<0, true>(active, turn == 0);
            else
                part.decode<0, false>(active, turn == 0);
            __syncthreads(); /* before the second code takes what was found */
            if (last)
                agreed = part.decode<1, true>(active, turn == 0);
            else
                part.decode<1, false>(active, turn == 0);
            if (active && !agreed)
                s.changed = 1;
            __syncthreads();
            if (active) {
                i = turn + 1;
                same = last && !s.changed;
                active = !(program::early_stop && same);
            }
        }
        if (usable && kept)
            for (int b = own; b < program::size; b += windows)
                kept[b] = s.extrinsic[turbo_window::place(b)].v;
        if (exists && !usable)
            for (int b = own; b < num_bits; b += windows)
                out[b] = 0.0f;
        if (exists && own == 0) {
            found[w] = same;
            taken[w] = i;
            if (!usable)
                atomicAdd(erased, 1ull);
        }
        __syncthreads(); /* before the next ones come */
    }
}

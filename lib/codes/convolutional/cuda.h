/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A-posteriori LLRs of the convolutional code on a GPU: a warp has a codeword. In the
 * recursions a thread has two states, and metrics go from step to step through shared
 * memory; a thread computes the results of one step of a window. The operations on each
 * metric are the CPU's, and so are the results.
 *
 * A program includes this file after namespace program, which
 * python/mimopack/cuda/convolutional.py writes. */
#pragma once
#include "codes/convolutional/cuda_punctured.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* What a warp's threads share of a codeword: metrics before each step of a window, and
 * behind the last. Rows are an odd number of places apart, so that threads with a step
 * each meet in different banks. */
struct convolutional_shared {
    static constexpr int window = 32, states = viterbi_code::states;
    lane before[window + 1][states + 1], behind[window + 1][states + 1];
};

class convolutional_word
{
    using steps = convolutional_steps<lane>;
    static constexpr int states = steps::states, window = convolutional_shared::window;
    static constexpr int length = program::num_info + viterbi_code::memory;

public:
    static constexpr int windows = (length + window - 1) / window;

    /* begins: room for the metrics at the windows' beginnings */
    MP_FN convolutional_word(convolutional_shared& s,
                             const float* llr,
                             float* posterior,
                             float* begins)
        : d_shared(s),
          d_llr(llr),
          d_posterior(posterior),
          d_begins(begins),
          d_own(threadIdx.x % 32),
          d_out(steps::output(d_own)),
          d_least(infinity)
    {
    }

    /* Return the least a-posteriori |LLR| of an information bit. */
    MP_FN float decode()
    {
        begin_in_state_0(d_shared.before[0]);
        for (int w = 0;; ++w) {
            normalise(d_shared.before[0]);
            float* const kept = d_begins + w * states;
            kept[d_own] = d_shared.before[0][d_own].v;
            kept[d_own + 32] = d_shared.before[0][d_own + 32].v;
            if (w + 1 == windows)
                break;
            look_up(w * window);
            forward(window);
            copy(d_shared.before[window], d_shared.before[0]);
        }
        int count = length - (windows - 1) * window;
        begin_in_state_0(d_shared.behind[count]);
        for (int w = windows - 1; w >= 0; --w, count = window) {
            const float* const kept = d_begins + w * states;
            d_shared.before[0][d_own] = lane(kept[d_own]);
            d_shared.before[0][d_own + 32] = lane(kept[d_own + 32]);
            normalise(d_shared.behind[count]);
            look_up(w * window);
            forward(count);
            backward(count);
            if (d_own < count)
                write(w * window + d_own);
            __syncwarp(whole_warp);
            copy(d_shared.behind[0], d_shared.behind[window]);
        }
        for (int with = 16; with; with /= 2)
            d_least = fminf(d_least, __shfl_xor_sync(whole_warp, d_least, with));
        return d_least;
    }

private:
    convolutional_shared& d_shared;
    const float* const d_llr;
    float* const d_posterior;
    float* const d_begins;
    const int d_own; /* step of a window; forward to states d_own and d_own + 32, and
                        backward to 2 d_own and 2 d_own + 1 */
    const int d_out;
    lane d_bit, d_a, d_b; /* of its step */
    float d_least;

    MP_FN void begin_in_state_0(lane* metric)
    {
        const float others = -convolutional_limits<lane>::unreachable;
        metric[d_own] = lane(d_own ? others : 0.0f);
        metric[d_own + 32] = lane(others);
        __syncwarp(whole_warp);
    }

    MP_FN void normalise(lane* metric)
    {
        const lane first = metric[0], low = metric[d_own], high = metric[d_own + 32];
        __syncwarp(whole_warp);
        metric[d_own] = low - first;
        metric[d_own + 32] = high - first;
        __syncwarp(whole_warp);
    }

    MP_FN void copy(const lane* from, lane* to)
    {
        to[d_own] = from[d_own];
        to[d_own + 32] = from[d_own + 32];
        __syncwarp(whole_warp);
    }

    /* In a codeword, information bits first */
    MP_FN static int place(int i)
    {
        const int sent = punctured::place(i);
        return sent < 0 ? -1 : program::num_info + sent;
    }

    MP_FN lane given(int at) const { return punctured::given(d_llr, at); }

    MP_FN void look_up(int first)
    {
        const int t = first + d_own;
        d_bit = given(t < program::num_info ? t : -1);
        d_a = given(t < length ? place(2 * t) : -1);
        d_b = given(t < length ? place(2 * t + 1) : -1);
    }

    /* The metrics of the four branches of a pair of states, by the bit that enters:
     * whether they send d_out or its complement */
    struct pair_branches {
        lane own[2], other[2];
    };
    MP_FN pair_branches branches_of(int step) const
    {
        const lane bit(__shfl_sync(whole_warp, d_bit.v, step));
        const lane a(__shfl_sync(whole_warp, d_a.v, step));
        const lane b(__shfl_sync(whole_warp, d_b.v, step));
        const lane zero(0.0f);
        const lane own = (d_out & 2 ? a : zero) + (d_out & 1 ? b : zero);
        const lane other = (d_out & 2 ? zero : a) + (d_out & 1 ? zero : b);
        return { { own, bit + own }, { other, bit + other } };
    }

    MP_FN void forward(int count)
    {
        for (int t = 0; t < count; ++t) {
            const pair_branches g = branches_of(t);
            const lane even = d_shared.before[t][2 * d_own];
            const lane odd = d_shared.before[t][2 * d_own + 1];
            d_shared.before[t + 1][d_own] = max(g.own[0] + even, g.other[0] + odd);
            d_shared.before[t + 1][d_own + 32] = max(g.other[1] + even, g.own[1] + odd);
            __syncwarp(whole_warp);
        }
    }

    MP_FN void backward(int count)
    {
        for (int t = count - 1; t >= 0; --t) {
            const pair_branches g = branches_of(t);
            const lane zero = d_shared.behind[t + 1][d_own];
            const lane one = d_shared.behind[t + 1][d_own + 32];
            d_shared.behind[t][2 * d_own] = max(g.own[0] + zero, g.other[1] + one);
            d_shared.behind[t][2 * d_own + 1] = max(g.other[0] + zero, g.own[1] + one);
            __syncwarp(whole_warp);
        }
    }

    MP_FN void write(int t)
    {
        const steps::findings found = steps::find(d_shared.before[d_own],
                                                  d_shared.behind[d_own + 1],
                                                  steps::branches(d_bit, d_a, d_b));
        if (t < program::num_info) {
            d_posterior[t] = found.bit.v;
            d_least = fminf(d_least, fabsf(found.bit.v));
        }
        const int a = place(2 * t), b = place(2 * t + 1);
        if (a >= 0)
            d_posterior[a] = found.a.v;
        if (b >= 0)
            d_posterior[b] = found.b.v;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

extern "C" __global__ void shared_size(unsigned* size)
{
    *size =
        sizeof(mimopack::MIMOPACK_ISA::convolutional_shared) * (MIMOPACK_THREADS / 32);
}

/* n codewords, a row for each: llr -> posterior, whether the least a-posteriori |LLR| of
 * its information bits exceeds the margin, and 1. begins: codewords x windows x states.
 * erased: increased by the number of codewords whose LLRs are not all numbers, or are
 * all 0. */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    decode(unsigned long long n,
           int,
           const float* __restrict__ llr,
           float* __restrict__ posterior,
           float* __restrict__ begins,
           bool* __restrict__ found,
           int* __restrict__ taken,
           unsigned long long* erased)
{
    using namespace mimopack::MIMOPACK_ISA;
    constexpr int begin_size = convolutional_word::windows * viterbi_code::states;
    extern __shared__ convolutional_shared shared[];
    decode_words(n,
                 llr,
                 posterior,
                 program::num_bits,
                 found,
                 taken,
                 erased,
                 [=](const float* in, float* out, unsigned long long w) {
                     convolutional_word word(
                         shared[threadIdx.x / 32], in, out, begins + w * begin_size);
                     return program::margin < word.decode();
                 });
}

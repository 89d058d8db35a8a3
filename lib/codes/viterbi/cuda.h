/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The Viterbi algorithm on a GPU: a warp has a codeword, a thread two of its states in
 * registers. A step's decisions are two votes of the warp; those of 32 steps are written
 * and read together.
 *
 * A program includes this file after namespace program, which
 * python/mimopack/cuda/viterbi.py writes. */
#pragma once
#include "codes/convolutional/cuda_punctured.h"

namespace mimopack {
namespace MIMOPACK_ISA {

class viterbi_word
{
    using steps = convolutional_steps<lane>;
    static constexpr int window = 32, length = program::num_info + viterbi_code::memory;

public:
    static constexpr int windows = (length + window - 1) / window;
    static constexpr int decisions = 2 * window * windows; /* words of a codeword */

    MP_FN static void
    decode(const float* llr, unsigned char* bits, unsigned* __restrict__ decided)
    {
        const int own = threadIdx.x % 32, out = steps::output(own);
        /* Of states own and own + 32 */
        const float others = -convolutional_limits<lane>::unreachable;
        float low = own ? others : 0.0f, high = others;
        for (int w = 0; w < windows; ++w) {
            const int t = w * window + own;
            const lane a =
                punctured::given(llr, t < length ? punctured::place(2 * t) : -1);
            const lane b =
                punctured::given(llr, t < length ? punctured::place(2 * t + 1) : -1);
            const int count = steps_of(w);
            unsigned of_low = 0, of_high = 0; /* of this thread's step */
            for (int step = 0; step < count; ++step) {
                const float sent_a = __shfl_sync(whole_warp, a.v, step);
                const float sent_b = __shfl_sync(whole_warp, b.v, step);
                const float same = (out & 2 ? sent_a : 0.0f) + (out & 1 ? sent_b : 0.0f);
                const float other = (out & 2 ? 0.0f : sent_a) + (out & 1 ? 0.0f : sent_b);
                const float even = state(low, high, 2 * own);
                const float odd = state(low, high, 2 * own + 1);
                const float low_even = same + even, low_odd = other + odd;
                const float high_even = other + even, high_odd = same + odd;
                low = fmaxf(low_even, low_odd);
                high = fmaxf(high_even, high_odd);
                const unsigned votes_low = __ballot_sync(whole_warp, low_odd > low_even);
                const unsigned votes_high =
                    __ballot_sync(whole_warp, high_odd > high_even);
                if (step == own) {
                    of_low = votes_low;
                    of_high = votes_high;
                }
            }
            decided[2 * t] = of_low;
            decided[2 * t + 1] = of_high;
            const float first = __shfl_sync(whole_warp, low, 0); /* they grow */
            low -= first;
            high -= first;
        }
        trace_back(decided, bits);
    }

private:
    MP_FN static int steps_of(int w)
    {
        return w + 1 < windows ? window : length - w * window;
    }

    /* Metric of a state that another thread may have */
    MP_FN static float state(float low, float high, int s)
    {
        const float of_low = __shfl_sync(whole_warp, low, s % 32);
        const float of_high = __shfl_sync(whole_warp, high, s % 32);
        return s < 32 ? of_low : of_high;
    }

    MP_FN static void trace_back(const unsigned* decided, unsigned char* bits)
    {
        const int own = threadIdx.x % 32;
        int s = 0;
        for (int w = windows - 1; w >= 0; --w) {
            const int t = w * window + own;
            const unsigned low = decided[2 * t], high = decided[2 * t + 1];
            int entered = 0;
            for (int step = steps_of(w) - 1; step >= 0; --step) {
                const unsigned votes_low = __shfl_sync(whole_warp, low, step);
                const unsigned votes_high = __shfl_sync(whole_warp, high, step);
                if (step == own)
                    entered = s >> 5;
                const unsigned odd = (s >> 5 ? votes_high : votes_low) >> (s % 32) & 1;
                s = 2 * (s % 32) + static_cast<int>(odd);
            }
            if (t < program::num_info)
                bits[t] = static_cast<unsigned char>(entered);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* n codewords, a row for each: llr -> information bits, whether they can be decoded,
 * and 1. decided: scratch. erased: counts the codewords whose LLRs are not all numbers,
 * or all 0; their bits are 0. */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    decode(unsigned long long n,
           int,
           const float* __restrict__ llr,
           unsigned char* __restrict__ bits,
           unsigned* __restrict__ decided,
           bool* __restrict__ found,
           int* __restrict__ taken,
           unsigned long long* erased)
{
    using namespace mimopack::MIMOPACK_ISA;
    decode_words(n,
                 llr,
                 bits,
                 program::num_info,
                 found,
                 taken,
                 erased,
                 [=](const float* in, unsigned char* out, unsigned long long w) {
                     viterbi_word::decode(in, out, decided + w * viterbi_word::decisions);
                     return true;
                 });
}

/* The codewords of information bits as LLRs of +-1, 0 where none was found; a thread has
 * a bit. */
extern "C" __global__ void encode(unsigned long long n,
                                  const unsigned char* __restrict__ bits,
                                  const bool* __restrict__ found,
                                  float* __restrict__ posterior)
{
    using namespace mimopack::MIMOPACK_ISA;
    for (unsigned long long i =
             blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
         i < n * program::num_bits;
         i += static_cast<unsigned long long>(gridDim.x) * blockDim.x) {
        const unsigned long long w = i / program::num_bits;
        const int at = punctured::sent_at(static_cast<int>(i % program::num_bits)),
                  t = at / 2;
        int out = 0;
        for (int delay = 0; delay <= viterbi_code::memory; ++delay) {
            const int from = t - delay;
            if (from >= 0 && from < program::num_info &&
                bits[w * program::num_info + from])
                out ^= viterbi_code::toggles[delay];
        }
        const bool one = at % 2 ? out & 1 : out & 2;
        posterior[i] = !found[w] ? 0.0f : one ? 1.0f : -1.0f;
    }
}

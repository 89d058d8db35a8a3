/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A-posteriori LLRs of the code of codes/viterbi/kernel.h. A lane is a block that begins
 * and ends in state 0. The algorithm is that of Bahl, Cocke, Jelinek and Raviv with max
 * in place of log-sum-exp (P. Robertson, E. Villebrun, P. Hoeher, ICC 1995). States have
 * their own numbers here, not places.
 *
 * Path metrics are kept in windows, as in codes/turbo/kernel.h.
 *
 * LLRs are ln P(1)/P(0). */
#pragma once
#include "codes/viterbi/kernel.h"
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Limits of a lane type. After six steps a path leads from any state to any other, and
 * two branches differ by at most three LLRs. Normalised metrics therefore differ by at
 * most 18 LLRs, and by 3 more after each step. */
template <class F>
struct convolutional_limits {
    static constexpr float llr = 1e4f;              /* magnitude */
    static constexpr float unreachable = no_metric; /* subtracted from a state's metric */
    static constexpr int steps = 32;                /* between normalisations */
};

/* Steps of the recursions */
template <class F>
struct convolutional_steps {
    static constexpr int states = viterbi_code::states;

    /* Metrics of branches: the sum of the LLRs of the ones among the entering bit and the
     * two bits that are sent */
    struct branches {
        F of[2][4]; /* by the entering bit, and output 2 A + B */

        MP_FN branches(F bit, F a, F b)
        {
            const F outputs[4] = { F(0.0f), b, a, a + b };
            MP_UNROLL
            for (int out = 0; out < 4; ++out) {
                of[0][out] = outputs[out];
                of[1][out] = out ? bit + outputs[out] : bit;
            }
        }
        MP_FN F after(F metric, int entering, int out) const
        {
            return entering || out ? of[entering][out] + metric : metric;
        }
    };

    /* Return the output of the step from state 2 i with 0, which equals the output of the
     * step from 2 i + 1 with 1. The two other steps send its complement. States 2 i and 2
     * i + 1 go on to i and i + 32. */
    MP_FN static constexpr int output(int i) { return viterbi_code::output_of(2 * i, 0); }

    MP_FN static void begin_in_state_0(F* metric)
    {
        metric[0] = F(0.0f);
        for (int s = 1; s < states; ++s)
            metric[s] = F(-convolutional_limits<F>::unreachable);
    }

    /* Keep metrics from growing with the block. */
    MP_FN static void normalise(F* metric)
    {
        const F first = metric[0];
        for (int s = 0; s < states; ++s)
            metric[s] = metric[s] - first;
    }

    /* Take a step, from pair I of states on. */
    template <int I = 0>
    MP_FN static void forward(const F* before, const branches& g, F* after)
    {
        constexpr int out = output(I);
        const F even = before[2 * I], odd = before[2 * I + 1];
        after[I] = max(g.after(even, 0, out), g.after(odd, 0, 3 ^ out));
        after[I + states / 2] = max(g.after(even, 1, 3 ^ out), g.after(odd, 1, out));
        if constexpr (I + 1 < states / 2)
            forward<I + 1>(before, g, after);
    }

    template <int I = 0>
    MP_FN static void backward(const F* after, const branches& g, F* before)
    {
        constexpr int out = output(I);
        const F zero = after[I], one = after[I + states / 2];
        before[2 * I] = max(g.after(zero, 0, out), g.after(one, 1, 3 ^ out));
        before[2 * I + 1] = max(g.after(zero, 0, 3 ^ out), g.after(one, 1, out));
        if constexpr (I + 1 < states / 2)
            backward<I + 1>(after, g, before);
    }

    /* A-posteriori LLRs of the entering bit and of the two bits that are sent */
    struct findings {
        F bit, a, b;
    };
    MP_FN static findings find(const F* before, const F* after, const branches& g)
    {
        F best[2][4]; /* by the entering bit, and output */
        find_best(before, after, best);
        F of_output[4], of_bit[2];
        MP_UNROLL
        for (int out = 0; out < 4; ++out) {
            MP_UNROLL
            for (int u = 0; u < 2; ++u) {
                const F path = g.after(best[u][out], u, out);
                of_bit[u] = out ? max(of_bit[u], path) : path;
                of_output[out] = u ? max(of_output[out], path) : path;
            }
        }
        return { of_bit[1] - of_bit[0],
                 max(of_output[2], of_output[3]) - max(of_output[0], of_output[1]),
                 max(of_output[1], of_output[3]) - max(of_output[0], of_output[2]) };
    }

private:
    /* Return whether no earlier pair has the same two outputs. */
    MP_FN static constexpr bool is_first(int pair)
    {
        for (int i = 0; i < pair; ++i)
            if (output(i) == output(pair) || output(i) == (3 ^ output(pair)))
                return false;
        return true;
    }

    template <int I = 0>
    MP_FN static void find_best(const F* before, const F* after, F (&best)[2][4])
    {
        constexpr int out = output(I);
        const F even = before[2 * I], odd = before[2 * I + 1];
        const F zero = after[I], one = after[I + states / 2];
        take<I>(best[0][out], even + zero);
        take<I>(best[0][3 ^ out], odd + zero);
        take<I>(best[1][3 ^ out], even + one);
        take<I>(best[1][out], odd + one);
        if constexpr (I + 1 < states / 2)
            find_best<I + 1>(before, after, best);
    }

    template <int I>
    MP_FN static void take(F& best, F path)
    {
        if constexpr (is_first(I))
            best = path;
        else
            best = max(best, path);
    }
};

template <class F>
class convolutional_decoder : convolutional_steps<F>
{
    using base = convolutional_steps<F>;
    using branches = typename base::branches;
    using findings = typename base::findings;
    using base::backward;
    using base::begin_in_state_0;
    using base::find;
    using base::forward;
    using base::normalise;
    static constexpr int states = base::states;
    static constexpr int window = 32;

public:
    using limits = convolutional_limits<F>;

    /* A codeword has num_info information bits before the bits that are sent. place:
     * where A and B of each step, tail included, stand in a codeword; -1 for a bit that
     * is not sent. */
    MP_FN convolutional_decoder(arena<F>& a, int num_info, int num_bits, const int* place)
        : llr(a.take(num_bits)),
          posterior(llr),
          d_begin(
              a.take((num_info + viterbi_code::memory + window - 1) / window * states)),
          d_metric(a.take((window + 1) * states)),
          d_behind(a.take(2 * states)),
          d_num_info(num_info),
          d_place(place)
    {
    }

    F* const llr;       /* limited in magnitude */
    F* const posterior; /* the same memory: a-posteriori LLRs replace the LLRs */

    MP_CALLED void decode()
    {
        const int steps = d_num_info + viterbi_code::memory;
        F* begin = d_begin;
        begin_in_state_0(d_metric);
        for (int first = 0;; first += window, begin += states) {
            normalise(d_metric);
            copy(d_metric, begin);
            if (first + window >= steps)
                break;
            pass<false>(first, window);
        }
        int now = 0;
        begin_in_state_0(d_behind);
        for (int first = (steps - 1) / window * window; first >= 0; first -= window) {
            const int length = steps - first < window ? steps - first : window;
            copy(begin, d_metric);
            begin -= states;
            pass<true>(first, length);
            normalise(d_behind + now * states);
            for (int i = length - 1; i >= 0; --i) {
                const F* const after = d_behind + now * states;
                now ^= 1;
                F* const before = d_behind + now * states;
                const branches g = at(first + i);
                write(first + i, find(d_metric + i * states, after, g));
                backward(after, g, before);
                keep_small(before, length - 1 - i);
            }
        }
    }

private:
    F* const d_begin;  /* path metrics at the beginnings of windows */
    F* const d_metric; /* path metrics in a window */
    F* const d_behind; /* path metrics after a step, and before it */
    const int d_num_info;
    const int* const d_place;

    static_assert(window % 2 == 0);

    MP_FN static void copy(const F* from, F* to)
    {
        for (int s = 0; s < states; ++s)
            to[s] = from[s];
    }

    /* Normalise after step i of a window now and then. Metrics at its beginning are
     * small. */
    MP_FN static void keep_small(F* metric, int i)
    {
        if (limits::steps < window && (i + 1) % limits::steps == 0)
            normalise(metric);
    }

    /* Go forward through a window from the first metrics there. Without KEEP they change
     * places with the second ones. */
    template <bool KEEP>
    MP_FN void pass(int first, int length)
    {
        for (int i = 0; i < length; ++i) {
            F* const after = d_metric + (KEEP ? i + 1 : (i + 1) % 2) * states;
            forward(d_metric + (KEEP ? i : i % 2) * states, at(first + i), after);
            keep_small(after, i);
        }
    }

    MP_FN F sent(int place) const { return place < 0 ? F(0.0f) : llr[place]; }

    MP_FN branches at(int t) const
    {
        return branches(t < d_num_info ? llr[t] : F(0.0f),
                        sent(d_place[2 * t]),
                        sent(d_place[2 * t + 1]));
    }

    MP_FN void write(int t, const findings& found)
    {
        if (t < d_num_info)
            llr[t] = found.bit;
        if (d_place[2 * t] >= 0)
            llr[d_place[2 * t]] = found.a;
        if (d_place[2 * t + 1] >= 0)
            llr[d_place[2 * t + 1]] = found.b;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

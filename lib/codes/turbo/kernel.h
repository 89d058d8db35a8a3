/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterative decoding of LTE's turbo code (3GPP TS 36.212 5.1.3.2). A lane is a codeword.
 * Each constituent code is decoded by the algorithm of Bahl, Cocke, Jelinek and Raviv
 * with max in place of log-sum-exp. Its extrinsic LLRs, times a factor, are the a-priori
 * LLRs of the other code (J. Vogt, A. Finger, Electronics Letters 36(23), 2000).
 *
 * The path metrics of a whole codeword would not fit into a processor's near caches. The
 * first pass therefore keeps only the metrics at the beginnings of windows. The second
 * pass computes a window's metrics again before it comes back through the window. Windows
 * cost no accuracy.
 *
 * LLRs are ln P(1)/P(0). */
#pragma once
#include "common/storage.h"

/* Prefetch memory that is used soon. On a GPU other threads fill the wait. */
#ifdef __CUDACC__
#define MP_PREFETCH(at)
#else
#define MP_PREFETCH(at) __builtin_prefetch(at)
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

/* One constituent code. The registers s1, s2, s3 are bits 2, 1, 0 of a state's number,
 * and `entering` is the bit that goes into s1. */
struct turbo_trellis {
    static constexpr int states = 8, memory = 3;
    static constexpr int bit(int state, int entering)
    {
        return entering ^ (state >> 1 & 1) ^ (state & 1);
    }
    static constexpr int parity(int state, int entering)
    {
        return entering ^ (state >> 2) ^ (state & 1);
    }
    static constexpr int next(int state, int entering)
    {
        return 4 * entering + (state >> 1);
    }
};

/* Limits of a lane type. Normalised path metrics differ by at most three branches, each
 * of at most twice `llr` plus `extrinsic`. After `steps` more steps, two metrics and a
 * branch still have to fit. */
template <class F>
struct turbo_limits {
    static constexpr float llr = 1e4f, extrinsic = 1e4f; /* magnitudes */
    static constexpr float unreachable = no_metric;      /* subtracted from a state's
                                                          * metric */
    static constexpr int steps = 32;
};

template <class F>
MP_FN F scaled(F a, float factor)
{
    return a * F(factor);
}

/* Add on units that would be idle otherwise, on lane types that have such units. */
template <class F>
MP_FN F sum(F a, F b)
{
    return a + b;
}

/* Return where both are negative, or neither is. */
template <class F>
MP_FN auto same_sign(F a, F b) -> decltype(a < b)
{
    return (a.as_word() ^ b.as_word()).not_bit(31);
}

/* Steps of the recursions through a constituent code */
template <class F>
struct turbo_steps {
    using trellis = turbo_trellis;
    static constexpr int states = trellis::states, memory = trellis::memory;
    static constexpr int tail = memory + 1; /* bits in each of the three streams */

    /* Metrics of branches, by bit and parity bit: 0, x, y or x + y */
    struct branches {
        F x, y, both;
        MP_FN branches(F x_, F y_) : x(x_), y(y_), both(x_ + y_) {}
        MP_FN F after(F metric, int state, int entering) const
        {
            const bool bit = trellis::bit(state, entering);
            const bool parity = trellis::parity(state, entering);
            return bit || parity ? sum(!parity ? x : !bit ? y : both, metric) : metric;
        }
    };

    MP_FN static void begin_in_state_0(F (&metric)[states])
    {
        metric[0] = F(0.0f);
        MP_UNROLL
        for (int s = 1; s < states; ++s)
            metric[s] = F(-turbo_limits<F>::unreachable);
    }

    MP_FN static void begin_anywhere(F (&metric)[states])
    {
        MP_UNROLL
        for (int s = 0; s < states; ++s)
            metric[s] = F(0.0f);
    }

    /* Keep metrics from growing with the codeword. */
    MP_FN static void normalise(F (&metric)[states])
    {
        MP_UNROLL
        for (int s = 1; s < states; ++s)
            metric[s] = metric[s] - metric[0];
        metric[0] = F(0.0f);
    }

    MP_FN static void forward(F (&metric)[states], const branches& g)
    {
        F arrived[states];
        MP_UNROLL
        for (int s = 0; s < states; s += 2)
            MP_UNROLL
        for (int entering = 0; entering < 2; ++entering)
            arrived[trellis::next(s, entering)] = max(
                g.after(metric[s], s, entering), g.after(metric[s + 1], s + 1, entering));
        MP_UNROLL
        for (int s = 0; s < states; ++s)
            metric[s] = arrived[s];
    }

    MP_FN static void backward(F (&metric)[states], const branches& g)
    {
        F arrived[states];
        MP_UNROLL
        for (int s = 0; s < states; ++s)
            arrived[s] = max(g.after(metric[trellis::next(s, 0)], s, 0),
                             g.after(metric[trellis::next(s, 1)], s, 1));
        MP_UNROLL
        for (int s = 0; s < states; ++s)
            metric[s] = arrived[s];
    }

    /* Extrinsic LLRs of a bit and its parity bit, times the factor, from the metrics
     * before and behind the branches */
    struct findings {
        F bit, parity;
    };
    MP_FN static findings
    find(const F* before, const F (&behind)[states], const branches& g, float factor)
    {
        F best[2][2]; /* by bit and parity bit */
        bool first[2][2] = { { true, true }, { true, true } };
        MP_UNROLL
        for (int s = 0; s < states; ++s)
            MP_UNROLL
        for (int entering = 0; entering < 2; ++entering) {
            const int bit = trellis::bit(s, entering);
            const int parity = trellis::parity(s, entering);
            const F path = sum(before[s], behind[trellis::next(s, entering)]);
            best[bit][parity] = first[bit][parity] ? path : max(best[bit][parity], path);
            first[bit][parity] = false;
        }
        return {
            scaled(max(best[1][0], best[1][1] + g.y) - max(best[0][0], best[0][1] + g.y),
                   factor),
            scaled(max(best[0][1], best[1][1] + g.x) - max(best[0][0], best[1][0] + g.x),
                   factor)
        };
    }

    /* Return the place of bit t of a code's tail, or of its parity bit, in the streams
     * (TS 36.212 5.1.3.2.2). */
    MP_FN static int tail_place(int size, int code, int t, int parity)
    {
        const int place = 2 * (memory * code + t) + parity;
        return place % 3 * (size + tail) + size + place / 3;
    }
};

template <class F>
class turbo_decoder : turbo_steps<F>
{
public:
    using mask = decltype(same_sign(F(), F()));
    using limits = turbo_limits<F>;

    /* interleaver: order in which information bits enter the second code. */
    MP_FN turbo_decoder(arena<F>& a, int size, const int* interleaver, float scale)
        : llr(a.take(3 * (size + tail))),
          posterior(a.take(3 * (size + tail))),
          extrinsic(a.take(size)),
          d_of_first(a.take(size)),
          d_begin(a.take((size + window - 1) / window * states)),
          d_metric(a.take(window * states)),
          d_known(a.take(window)),
          d_size(size),
          d_interleaver(interleaver),
          d_scale(scale)
    {
    }

    F* const llr;       /* LLRs of the three streams, limited in magnitude */
    F* const posterior; /* a-posteriori LLRs of the three streams */
    F* const extrinsic; /* extrinsic LLRs of information bits, from the second code */

    /* Decode both codes once. OUTPUT: set the posterior LLRs, and return where both codes
     * decide for the same information bits. Without ALL, only active lanes change. */
    template <bool ALL, bool OUTPUT>
    MP_FN mask iterate(mask active)
    {
        decode<0, ALL, OUTPUT>(active);
        return decode<1, ALL, OUTPUT>(active);
    }

private:
    using steps = turbo_steps<F>;
    using branches = typename steps::branches;
    using findings = typename steps::findings;
    using steps::backward;
    using steps::begin_in_state_0;
    using steps::find;
    using steps::forward;
    using steps::normalise;
    static constexpr int states = steps::states, memory = steps::memory,
                         tail = steps::tail;
    static constexpr int window = 32;
    static constexpr int ahead = 12; /* steps that memory may take to answer */

    F* const d_of_first; /* extrinsic LLRs from the first code */
    F* const d_begin;    /* path metrics at the beginnings of windows */
    F* const d_metric;   /* path metrics in a window */
    F* const d_known;    /* LLRs of a window's bits plus their a-priori LLRs */
    const int d_size;
    const int* const d_interleaver;
    const float d_scale;

    /* Normalise after step i of a window now and then. Metrics at its beginning are
     * small. */
    MP_FN static void keep_small(F (&metric)[states], int i)
    {
        if (limits::steps < window && (i + 1) % limits::steps == 0)
            normalise(metric);
    }

    /* Prefetch the second code's bits, whose places no processor guesses. */
    template <int CODE>
    MP_FN void look_up(int i) const
    {
        if (CODE == 0 || i < 0 || i >= d_size)
            return;
        MP_PREFETCH(&llr[d_interleaver[i]]);
        MP_PREFETCH(&d_of_first[d_interleaver[i]]);
    }

    template <bool ALL>
    MP_FN static void set(F& place, mask active, F value)
    {
        place = ALL ? value : select(active, value, place);
    }

    template <int CODE, bool ALL, bool OUTPUT>
    MP_CALLED mask decode(mask active)
    {
        const int n = d_size;
        const F* const parity = llr + (1 + CODE) * (n + tail);
        F* const parity_out = posterior + (1 + CODE) * (n + tail);
        const F* const prior = CODE ? d_of_first : extrinsic;
        F* const found = CODE ? extrinsic : d_of_first;
        const auto place = [&](int i) { return CODE ? d_interleaver[i] : i; };

        F metric[states];
        begin_in_state_0(metric);
        F* begin = d_begin;
        for (int first = 0; first < n; first += window, begin += states) {
            normalise(metric);
            MP_UNROLL
            for (int s = 0; s < states; ++s)
                begin[s] = metric[s];
            const int end = first + window < n ? first + window : n;
            for (int i = first; i < end; ++i) {
                look_up<CODE>(i + ahead);
                const int at = place(i);
                forward(metric, branches(llr[at] + prior[at], parity[i]));
                keep_small(metric, i);
            }
        }

        F behind[states];
        begin_in_state_0(behind);
        finish<CODE, ALL, OUTPUT>(active, metric, behind);

        mask same = active;
        for (int first = (n - 1) / window * window; first >= 0; first -= window) {
            const int length = n - first < window ? n - first : window;
            begin -= states;
            MP_UNROLL
            for (int s = 0; s < states; ++s)
                metric[s] = begin[s];
            for (int i = 0; i < length; ++i) {
                MP_UNROLL
                for (int s = 0; s < states; ++s)
                    d_metric[i * states + s] = metric[s];
                look_up<CODE>(first - window + i);
                const int at = place(first + i);
                d_known[i] = llr[at] + prior[at];
                forward(metric, branches(d_known[i], parity[first + i]));
                keep_small(metric, i);
            }
            normalise(behind);
            for (int i = length - 1; i >= 0; --i) {
                const int at = place(first + i);
                const branches g(d_known[i], parity[first + i]);
                const findings now = find(d_metric + i * states, behind, g, d_scale);
                const F of_bit = clamp(now.bit, F(limits::extrinsic));
                if (OUTPUT) {
                    const F decided = g.x + of_bit;
                    if (CODE) {
                        same = same & same_sign(g.x + found[at], decided);
                        set<ALL>(posterior[at], active, decided);
                    }
                    set<ALL>(parity_out[first + i], active, g.y + now.parity);
                }
                set<ALL>(found[at], active, of_bit);
                backward(behind, g);
                keep_small(behind, length - 1 - i);
            }
        }
        return same;
    }

    /* Go back through the bits that end a code. */
    template <int CODE, bool ALL, bool OUTPUT>
    MP_FN void finish(mask active, F (&metric)[states], F (&behind)[states])
    {
        F before[memory][states];
        for (int t = 0; t < memory; ++t) {
            MP_UNROLL
            for (int s = 0; s < states; ++s)
                before[t][s] = metric[s];
            forward(metric, tail_branches(CODE, t));
        }
        for (int t = memory - 1; t >= 0; --t) {
            const branches g = tail_branches(CODE, t);
            if (OUTPUT) {
                const findings now = find(before[t], behind, g, d_scale);
                set<ALL>(posterior[steps::tail_place(d_size, CODE, t, 0)],
                         active,
                         g.x + now.bit);
                set<ALL>(posterior[steps::tail_place(d_size, CODE, t, 1)],
                         active,
                         g.y + now.parity);
            }
            backward(behind, g);
        }
    }

    MP_FN branches tail_branches(int code, int t) const
    {
        return branches(llr[steps::tail_place(d_size, code, t, 0)],
                        llr[steps::tail_place(d_size, code, t, 1)]);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

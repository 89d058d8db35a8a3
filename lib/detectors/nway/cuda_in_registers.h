/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* N-way and FPFSD (see detectors/nway/kernel.h) in registers. A thread has a vector. The
 * passes are one loop in which columns move: code for each pass would be too long. */
#pragma once
#include "cuda/registers.h"
#include "detectors/nway/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The candidates of all passes, by which a later pass recognises those of earlier passes.
 * A pass has a candidate for each symbol on top of its tree. The lists are in shared
 * memory where it has room, as threads look up different entries. A number that
 * identifies the candidate takes one or more words, each of as many columns as a float
 * has digits for. */
template <int NT, int WIDTH, column_order ORDER, bool USED>
class candidate_lists
{
public:
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int top = NT - 1;
    static constexpr int per_word = 24 / bits; /* columns */
    static constexpr int words = (NT + per_word - 1) / per_word;
    static constexpr int size = USED ? top * side * side * words : 0;
    static constexpr bool in_shared = size * 4 * MIMOPACK_THREADS <= 16 * 1024;
    static constexpr int shared_bytes = in_shared ? size * 4 * MIMOPACK_THREADS : 0;

    MP_FN candidate_lists(arena<lane>& a) : d_own(a, in_shared ? 0 : size) {}

    MP_FN void begin(int pass)
    {
        d_pass = pass;
        MP_UNROLL
        for (int i = 0; i < NT; ++i) {
            const int source = column_source(ORDER, i, pass, NT);
            MP_UNROLL
            for (int w = 0; w < words; ++w)
                d_place[i][w] =
                    source / per_word == w ? 1 << bits * (source % per_word) : 0;
        }
    }

    /* Put the candidate into the pass's list; return whether an earlier one has it. */
    MP_FN bool add(const register_candidate<NT, WIDTH>& x)
    {
        int own[words];
        MP_UNROLL
        for (int w = 0; w < words; ++w)
            own[w] = number(x, w);
        bool found = false;
        MP_UNROLL
        for (int earlier = 0; earlier < top; ++earlier) {
            /* for shared memory a branch would take longer */
            if (!in_shared && earlier >= d_pass)
                break;
            const int source = column_source(ORDER, top, earlier, NT);
            const int on_top = own[source / per_word] >> bits * (source % per_word);
            bool same = earlier < d_pass;
            MP_UNROLL
            for (int w = 0; w < words; ++w)
                same &=
                    entry(earlier, on_top & (side * side - 1), w).as_word().v == own[w];
            found |= same;
        }
        MP_UNROLL
        for (int w = 0; d_pass < top && w < words; ++w)
            entry(d_pass, x.number, w).v = __int_as_float(own[w]);
        return found;
    }

private:
    int d_pass;
    float d_place[NT][words];
    buffer<lane, 0> d_own;

    /* A word of the candidate's number, which is the same in all passes */
    MP_FN int number(const register_candidate<NT, WIDTH>& x, int word) const
    {
        const int columns = word < words - 1 ? per_word : NT - (words - 1) * per_word;
        float sum = 0.0f; /* levels lie round 0, so no partial sum exceeds the result */
        MP_UNROLL
        for (int i = 0; i < NT; ++i)
            sum = fmaf(fmaf(side, x.im[i], x.re[i]), d_place[i][word], sum);
        return __float2int_rn(sum + 0.5f * ((1 << columns * bits) - 1));
    }

    MP_FN lane& entry(int pass, int symbol, int word)
    {
        const int at = (pass * side * side + symbol) * words + word;
        if constexpr (in_shared) {
            __shared__ lane all[size][MIMOPACK_THREADS];
            return all[at][threadIdx.x];
        } else {
            return d_own[at];
        }
    }
};

/* The sum of the candidates' exp(-metric) for both values of each bit, relative to one
 * candidate's (see common/list_sums.h); metrics in units of the noise */
template <int NT, int WIDTH>
class register_sums : public bit_pairs<NT, WIDTH>
{
public:
    using base = bit_pairs<NT, WIDTH>;
    using base::bits;
    using base::one;
    using base::zero;

    MP_FN register_sums(float unit, float metric)
        : base(0.0f), d_unit(unit * log2_e), d_relative_to(metric)
    {
    }

    MP_FN void add(const register_candidate<NT, WIDTH>& x, bool found)
    {
        const float weight = found ? 0.0f : exp2f((d_relative_to - x.metric) * d_unit);
        MP_UNROLL
        for (int i = 0; i < NT; ++i) {
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                if (x.bit[i][b])
                    one[i][b] += weight;
                else
                    zero[i][b] += weight;
            }
        }
    }

    /* Make weights relative to this metric, if it is better. Return whether this pass
     * has to come again: the metric is so much better that its weight was too large for
     * the sums. Then they become 0, because earlier passes are negligible beside it. */
    MP_FN bool relate_to(float metric)
    {
        const float exponent = fminf((metric - d_relative_to) * d_unit, 0.0f);
        const bool too_large = exponent < -80.0f * log2_e;
        const float factor = exp2f(exponent);
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b) {
            float &no = zero[b / bits][b % bits], &yes = one[b / bits][b % bits];
            no = too_large ? 0.0f : no * factor;
            yes = too_large ? 0.0f : yes * factor;
        }
        d_relative_to = fminf(metric, d_relative_to);
        return too_large;
    }

    MP_FN float llr(int b, float max_log) const
    {
        return log_ratio(lane(one[b / bits][b % bits]),
                         lane(zero[b / bits][b % bits]),
                         lane(max_log))
            .v;
    }

private:
    static constexpr float log2_e = 1.44269504f;
    float d_unit, d_relative_to;
};

template <int NT, int NR, int WIDTH, column_order ORDER, bool KNOWN, bool LOG_SUM>
class nway_in_registers
{
public:
    using mask = lane::mask;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int top = NT - 1;
    static constexpr int shared_bytes =
        candidate_lists<NT, WIDTH, ORDER, LOG_SUM>::shared_bytes;

    /* any_rank: otherwise an H without full rank is an erasure */
    MP_FN nway_in_registers(arena<lane>& a,
                            const constellation& c,
                            int passes,
                            float clip,
                            bool any_rank = false)
        : d_passes(passes),
          d_any_rank(any_rank),
          d_scale(c.scale),
          d_clip(clip),
          d_columns(a, NT, NR),
          d_qr(a, NT, NR),
          d_lists(a)
    {
    }

    MP_FN void prepare(const lane* h)
    {
        if constexpr (sorted) {
            d_columns.sort_by_norm(h);
            d_qr.decompose(&d_columns.h[0]);
        } else {
            d_qr.decompose(h);
        }
    }

    MP_FN mask detect(const lane* y, lane noise_var, const lane* prior, lane* llr)
    {
        system base;
        const mask finite = base.set(d_qr, y, d_scale);
        lane known[KNOWN ? NT * bits : 1];
        if constexpr (KNOWN) {
            if constexpr (sorted)
                d_columns.to_columns(prior, bits, known);
            else
                for (int b = 0; b < NT * bits; ++b)
                    known[b] = prior[b];
            base.set_prior(known, noise_var.v);
        }
        const float unit = reciprocal(noise_var).v;
        bits_found found(unit, LOG_SUM ? sliced_metric(base) : 0.0f);
        search(base, found);
        lane by_column[NT * bits];
        found.llrs(unit, known, d_clip, by_column);
        if constexpr (sorted)
            d_columns.to_layers(by_column, bits, llr);
        else
            for (int b = 0; b < NT * bits; ++b)
                llr[b] = by_column[b];
        return finite & (d_any_rank ? d_qr.finite : d_qr.usable);
    }

private:
    using system = register_system<NT, WIDTH, KNOWN>;
    using candidates = candidate_lists<NT, WIDTH, ORDER, LOG_SUM>;
    static constexpr bool sorted = ORDER == column_order::raise;

    /* The bits' minima, and sums */
    struct bits_found {
        bit_minima<NT, WIDTH> minima;
        register_sums<NT, WIDTH> sums;

        MP_FN bits_found(float unit, float metric) : sums(unit, metric) {}

        MP_FN float best() const { return fminf(minima.zero[0][0], minima.one[0][0]); }

        MP_FN void search(const system& s, int pass, candidates& lists)
        {
            if constexpr (LOG_SUM) {
                lists.begin(pass);
                bool again = true;
#pragma unroll 1
                for (int attempt = 0; again && attempt < 2; ++attempt) {
                    expand_top<true, true>(
                        s, minima, [&](const auto& x) { sums.add(x, lists.add(x)); });
                    again = sums.relate_to(best());
                }
            } else {
                expand_top<true>(s, minima, [](const auto&) {});
            }
        }

        template <class Body>
        MP_FN void move(Body body)
        {
            body(minima);
            if constexpr (LOG_SUM)
                body(sums);
        }

        /* Clipping limits how far an LLR moves from its prior. */
        MP_FN void llrs(float unit, const lane* known, float clip, lane* llr)
        {
            MP_UNROLL
            for (int b = 0; b < NT * bits; ++b) {
                float difference = minima.difference(b) * unit;
                if constexpr (LOG_SUM)
                    difference = sums.llr(b, difference);
                if constexpr (KNOWN)
                    llr[b] = clipped(known[b], lane(difference), clip);
                else
                    llr[b] = clamp(lane(difference), lane(clip));
            }
        }
    };

    const int d_passes;
    const bool d_any_rank;
    const float d_scale, d_clip;
    ordered_columns<lane, NT, NR> d_columns;
    unscaled_qr<lane, NT, NR> d_qr;
    candidates d_lists;

    /* Make all passes. */
    MP_FN void search(system& base, bits_found& found)
    {
        if constexpr (!sorted) {
            /* In each pass the first column of the pass before comes on top. */
#pragma unroll 1
            for (int pass = 0; pass < d_passes; ++pass) {
                if (pass) {
                    base.raise(constant_column<0>());
                    found.move([](auto& m) { m.raise(constant_column<0>()); });
                }
                found.search(base, pass, d_lists);
            }
            for (int pass = d_passes; pass < NT + 1; ++pass)
                found.move([](auto& m) { m.raise(constant_column<0>()); });
        } else {
#pragma unroll 1
            for (int pass = 0; pass < NT; ++pass) {
                system s = base;
                /* As this column comes on top, the one before returns to its place. */
                at_column(top - pass, [&](auto column) {
                    s.raise(column);
                    found.move([=](auto& m) { m.swap_with_top(column); });
                });
                found.search(s, pass, d_lists);
            }
            found.move([](auto& m) { m.lower(constant_column<0>()); });
        }
    }

    /* Call body(constant_column) for a column below the top. */
    template <int N = 0, class Body>
    MP_FN static void at_column(int column, Body body)
    {
        if constexpr (N < top) {
            if (column == N)
                body(constant_column<N>());
            else
                at_column<N + 1>(column, body);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

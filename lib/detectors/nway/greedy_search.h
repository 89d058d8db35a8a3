/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The greedy search of the N-way detector of Wu, Yin and Cavallaro (001), in complex
 * arithmetic (see qr.h). A pass tries each symbol of the layer on top of the tree, and
 * slices the layers below. N-way makes several passes, each with another column order.
 * The fully parallel fixed sphere decoder (000 §4.3) has other orders.
 *
 * With x = 2 scale l the levels l are -(side-1)/2 ... (side-1)/2 on each axis, in steps
 * of one, so that slicing (001 Algorithm 2, lines 10-12) is a clamp and a rounding. With
 * a-priori LLRs each level has a cost, and slicing is a minimum over the levels of the
 * axis. The metric is the one of passes.h. */
#pragma once
#include "common/minima.h"
#include "common/slicing.h"
#include "common/soft_symbols.h"
#include "detectors/nway/candidate_sums.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class F, int NT, int NR, int WIDTH>
class greedy_search : pass_systems<F, NT, NR>
{
    using base = pass_systems<F, NT, NR>;
    using base::d_nt;
    using base::d_order;
    using base::d_passes;

public:
    using mask = decltype(F() < F());
    using word = decltype(F().as_word());
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;

    MP_FN greedy_search(arena<F>& a,
                        const constellation& c,
                        int nt,
                        int nr,
                        int passes,
                        float clip,
                        column_order order,
                        bool log_sum = false)
        : base(a, nt, nr, passes, c.scale, order),
          d_clip(clip),
          d_log_sum(log_sum),
          d_base(a, 2 * nt),
          d_l(a, 2 * nt * together),
          d_nearest(a, 2 * nt * bits),
          d_cost(a, 2 * nt * side),
          d_distance(a, side * side),
          d_words(a, side * side * nt),
          d_sums(a, nt, passes, order, log_sum)
    {
    }

    MP_FN void prepare(const F* h) { base::prepare(h); }

    /* Compute the LLRs, and return where the vector could be detected. prior, llr:
     * nt*bits lanes in canonical order. Clipping limits how far an LLR moves from its
     * prior. */
    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const mask usable = this->receive(y);
        detect_received(noise_var, prior, llr);
        return usable;
    }

    /* Detect with metrics that are comparable with the metrics of other column orders,
     * even if columns are nearly dependent (see qr.h). y is overwritten. */
    MP_FN mask detect_stepwise(F* y, F noise_var, const F* prior, F* llr)
    {
        const mask usable = this->receive_stepwise(y);
        detect_received(noise_var, prior, llr);
        return usable;
    }

    /* Return the nearest candidates of the last detect, in canonical order: [2*b + value]
     * is the least metric of the candidates with this value of bit b (1e30 without a
     * candidate), in units of y^2. The metric is |y - Hx|^2 minus a constant independent
     * of x, plus noise_var times the prior's cost (see axis_penalties). */
    MP_FN const F* nearest() const { return &d_nearest[0]; }

private:
    /* Candidates handled at once. A layer waits for the layer above it, and meanwhile the
     * other candidates keep the processor busy. */
    static constexpr int together = side < 4 ? side : 4;

    const float d_clip;
    const bool d_log_sum;
    /* one pass: */
    buffer<F, 2 * NT> d_base;
    buffer<F, 2 * NT * together> d_l;
    buffer<F, 2 * NT * bits> d_nearest;
    buffer<F, 2 * NT * side> d_cost;
    buffer<F, NT == 0 ? 0 : side * side> d_distance;
    /* A candidate's symbols below the top, the layer next to it first: k_re + side * k_im
     * in the low bits of a float. The top layer's follows from the candidate's number. */
    buffer<F, NT == 0 ? 0 : side * side * NT> d_words;
    candidate_sums<F, NT, WIDTH> d_sums;

    MP_FN void detect_received(F noise_var, const F* prior, F* llr)
    {
        const int nt = d_nt;
        /* metrics are distances here, so the prior comes in units of the noise */
        for (int axis = 0; prior && axis < 2 * nt; ++axis) {
            F* const cost = &d_cost[axis * side];
            axis_penalties<WIDTH>(prior + axis * WIDTH, cost);
            for (int k = 0; k < side; ++k)
                cost[k] = cost[k] * noise_var;
        }
        const F unit = reciprocal(noise_var);
        for (int pass = 0; pass < d_passes; ++pass) {
            if (pass)
                this->turn(pass);
            if (NT == 2 && d_passes == 2 && !d_log_sum) {
                if (prior)
                    search_top<true>(pass);
                else if (near_is_best(pass))
                    search_near(pass);
                else
                    search_top<false>(pass);
                continue;
            }
            if (prior)
                search<true>(pass);
            else
                search<false>(pass);
            collect(pass);
            if (d_log_sum)
                d_sums.add(pass, &d_distance[0], &d_words[0], unit);
        }
        for (int b = 0; b < nt * bits; ++b) {
            F difference = (d_nearest[2 * b] - d_nearest[2 * b + 1]) * unit;
            if (d_log_sum)
                difference = d_sums.llr(b, difference);
            llr[b] = prior ? clipped(prior[b], difference, d_clip)
                           : clamp(difference, F(d_clip));
        }
    }

    MP_FN static F level(int k) { return F(axis_level<WIDTH>(k)); }

    /* Return the cost by prior of the levels of an axis, for the layer in a column of a
     * pass. */
    MP_FN const F* costs(int pass, int column, int axis) const
    {
        return &d_cost[(2 * column_source(d_order, column, pass, d_nt) + axis) * side];
    }

    /* Return the distance that a level of the top layer's axis adds. */
    template <bool KNOWN>
    MP_FN F top_part(int pass, int axis, int k) const
    {
        const int top = d_nt - 1;
        const F e = this->v(pass)[2 * top + axis] - level(k);
        const F part = this->w(pass)[top] * e * e;
        return KNOWN ? part + costs(pass, top, axis)[k] : part;
    }

    /* Run Algorithms 2 and 3 for two layers, each on top once. A pass finds the nearest
     * candidates of the top layer's bits, because slicing the only other layer is
     * exact. */
    template <bool KNOWN>
    MP_FN void search_top(int pass)
    {
        const F* const c = this->c(pass);
        const F* const v = this->v(pass);
        const F w = this->w(pass)[0];
        F im_part[side], low_re[side], low_im[side];
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            im_part[k] = top_part<KNOWN>(pass, 1, k);
            low_im[k] = F(no_metric);
        }
        for (int k_re = 0; k_re < side; ++k_re) {
            const F re_part = top_part<KNOWN>(pass, 0, k_re);
            F re = fnma(c[2], level(k_re), fma(c[3], level(0), v[0]));
            F im = fnma(c[3], level(k_re), fnma(c[2], level(0), v[1]));
            F low(no_metric);
            MP_UNROLL
            for (int k = 0; k < side; ++k) {
                F distance = re_part + im_part[k];
                if (KNOWN) {
                    best_level(re, w, costs(pass, 0, 0), distance);
                    best_level(im, w, costs(pass, 0, 1), distance);
                } else {
                    distance = sliced(re, im, w, distance);
                }
                low = min(low, distance);
                low_im[k] = min(low_im[k], distance);
                re = re + c[3];
                im = im - c[2];
            }
            low_re[k_re] = low;
        }
        const int layer = column_source(d_order, 1, pass, 2);
        collect_axis(0, layer, 0, low_re);
        collect_axis(0, layer, 1, low_im);
    }

    /* Return a distance with that of the lower of two layers, which is sliced. */
    MP_FN static F sliced(F re, F im, F w, F distance)
    {
        F l_re, l_im;
        slice(re, side, l_re);
        slice(im, side, l_im);
        const F e_re = re - l_re, e_im = im - l_im;
        return fma(w, fma(e_re, e_re, e_im * e_im), distance);
    }

    /* Return whether search_near() is faster than search_top(): with many levels, if the
     * top layer is not much weaker than the other one. */
    MP_FN bool near_is_best(int pass) const
    {
        const F* const w = this->w(pass);
        return WIDTH > 3 && !any(F(4.0f) * w[1] < w[0]);
    }

    /* Do the same as search_top<false>() with fewer candidates. Take one level of an axis
     * of the top layer after another. The best candidate with this level is among the
     * three nearest to v on the other axis, unless all three are further than a bound. */
    MP_FN void search_near(int pass)
    {
        const int layer = column_source(d_order, 1, pass, 2);
        F part[2][side], low[side];
        MP_UNROLL
        for (int k = 0; k < side; ++k)
            for (int axis = 0; axis < 2; ++axis)
                part[axis][k] = top_part<false>(pass, axis, k);
        for (int axis = 0; axis < 2; ++axis) {
            search_levels(pass, axis, part[axis], part[1 - axis], low);
            collect_axis(0, layer, axis, low);
        }
    }

    /* Set low[k] to the distance of the best candidate with level k on an axis of the top
     * layer, or to more if none of the axis's bits needs it. part, across: distances that
     * the levels of this axis and of the other one add. */
    MP_FN void search_levels(int pass, int axis, const F* part, const F* across, F* low)
    {
        constexpr int tried = 3;
        const F* const c = this->c(pass);
        const F* const v = this->v(pass);
        const F w = this->w(pass)[0], top_w = this->w(pass)[1], at = v[3 - axis];
        /* what a level of either axis adds to the layer below */
        const F steps[2][2] = { { F(0.0f) - c[2], F(0.0f) - c[3] },
                                { c[3], F(0.0f) - c[2] } };
        const F *const step = steps[axis], *const step_across = steps[1 - axis];
        const F first_re = fma(step[0], level(0), v[0]),
                first_im = fma(step[1], level(0), v[1]);
        F middle;
        slice(at, side, middle);
        middle = clamp(middle, level(side - 2));
        F re[tried], im[tried], distance[tried], nearest[side], farthest(0.0f);
        MP_UNROLL
        for (int n = 0; n < tried; ++n) {
            const F l = middle + F(n - 1.0f), e = at - l;
            re[n] = fma(step_across[0], l, first_re);
            im[n] = fma(step_across[1], l, first_im);
            distance[n] = top_w * e * e;
        }
        for (int k = 0; k < side; ++k) {
            F best(no_metric);
            MP_UNROLL
            for (int n = 0; n < tried; ++n) {
                best = min(best, sliced(re[n], im[n], w, distance[n]));
                re[n] = re[n] + step[0];
                im[n] = im[n] + step[1];
            }
            nearest[k] = best;
            farthest = max(farthest, best);
            low[k] = part[k] + best;
        }
        /* The least distance of other candidates of a level, without its own part */
        const F above = middle + F(2.0f) - at, below = at - middle + F(2.0f);
        const F bound =
            min(select(middle < level(side - 2), top_w * above * above, F(no_metric)),
                select(level(1) < middle, top_w * below * below, F(no_metric)));
        if (!any(bound < farthest))
            return;
        F zero[WIDTH], one[WIDTH];
        MP_UNROLL
        for (int g = 0; g < WIDTH; ++g)
            bit_minima_of_axis<WIDTH>(low, g, zero[g], one[g]);
        for (int k = 0; k < side; ++k) {
            F most(0.0f);
            MP_UNROLL
            for (int g = 0; g < WIDTH; ++g)
                most = max(most, gray_bit<WIDTH>(k, g) ? one[g] : zero[g]);
            if (!any((bound < nearest[k]) & (part[k] + bound < most)))
                continue;
            F best(no_metric);
            F u_re = fma(step[0], level(k), fma(step_across[0], level(0), v[0]));
            F u_im = fma(step[1], level(k), fma(step_across[1], level(0), v[1]));
            MP_UNROLL
            for (int n = 0; n < side; ++n) {
                best = min(best, sliced(u_re, u_im, w, across[n]));
                u_re = u_re + step_across[0];
                u_im = u_im + step_across[1];
            }
            low[k] = part[k] + best;
        }
    }

    /* Run Algorithm 2: set d_distance and d_words. */
    template <bool KNOWN>
    MP_STEP void search(int pass)
    {
        const int nt = d_nt, top = nt - 1;
        const F* const c = this->c(pass);
        const F* const w = this->w(pass);
        const F* const v = this->v(pass);
        F im_part[side];
        MP_UNROLL
        for (int k = 0; k < side; ++k)
            im_part[k] = top_part<KNOWN>(pass, 1, k);
        for (int k_re = 0; k_re < side; ++k_re) {
            const F re_part = top_part<KNOWN>(pass, 0, k_re);
            MP_UNROLL_UP_TO(4)
            for (int i = 0; i < top; ++i) {
                const F* const t = &c[2 * (i * nt + top)];
                d_base[2 * i] = fnma(t[0], level(k_re), fma(t[1], level(0), v[2 * i]));
                d_base[2 * i + 1] =
                    fnma(t[1], level(k_re), fnma(t[0], level(0), v[2 * i + 1]));
            }
            MP_UNROLL_BY(side > 16 ? 1 : side)
            for (int first = 0; first < side; first += together) {
                const int candidate = k_re * side + first;
                F distance[together];
                MP_UNROLL
                for (int n = 0; n < together; ++n)
                    distance[n] = re_part + im_part[first + n];
                MP_UNROLL_UP_TO(4)
                for (int i = top - 1; i >= 0; --i) {
                    MP_UNROLL
                    for (int n = 0; n < together; ++n)
                        d_words[(candidate + n) * top + top - 1 - i] =
                            descend<KNOWN>(pass, c, w[i], i, n, distance[n]);
                }
                MP_UNROLL
                for (int n = 0; n < together; ++n)
                    d_distance[candidate + n] = distance[n];
            }
        }
    }

    /* Return the level with the least w (u - level)^2 + cost, and add this minimum to the
     * distance. */
    MP_FN static F best_level(F u, F w, const F* cost, F& distance)
    {
        F chosen, least;
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const F e = u - level(k);
            const F metric = fma(w * e, e, cost[k]);
            chosen = k ? select(metric < least, level(k), chosen) : level(k);
            least = k ? min(metric, least) : metric;
        }
        distance = distance + least;
        return chosen;
    }

    /* Slice layer i of candidate n, add it to the distance, and return its symbol. */
    template <bool KNOWN>
    MP_FN F descend(int pass, const F* c, F w, int i, int n, F& distance)
    {
        const int nt = d_nt, top = nt - 1;
        F re = d_base[2 * i], im = d_base[2 * i + 1];
        /* the next candidate's top symbol is j further on */
        d_base[2 * i] = re + c[2 * (i * nt + top) + 1];
        d_base[2 * i + 1] = im - c[2 * (i * nt + top)];
        MP_UNROLL_UP_TO(4)
        for (int j = top - 1; j > i; --j) {
            const F* const l = &d_l[2 * (j * together + n)];
            subtract_product(c + 2 * (i * nt + j), l[0], l[1], re, im);
        }
        F l_re, l_im, k_re;
        if (KNOWN) {
            l_re = best_level(re, w, costs(pass, i, 0), distance);
            l_im = best_level(im, w, costs(pass, i, 1), distance);
            /* as slice() returns it */
            k_re = (l_re + F(0.5f * (side - 1))) + F(rounding_offset);
        } else {
            k_re = slice(re, side, l_re);
            slice(im, side, l_im);
        }
        d_l[2 * (i * together + n)] = l_re;
        d_l[2 * (i * together + n) + 1] = l_im;
        if (!KNOWN) {
            const F e_re = re - l_re, e_im = im - l_im;
            distance = fma(w, fma(e_re, e_re, e_im * e_im), distance);
        }
        /* l_im begins at -(side-1)/2 */
        return fma(l_im, F(side), k_re + F(0.5f * side * (side - 1)));
    }

    /* Run Algorithm 3: find each bit's nearest candidate for either value. */
    MP_STEP void collect(int pass)
    {
        const int nt = d_nt, top = nt - 1;
        const F best = collect_top(pass);
        MP_UNROLL_UP_TO(4)
        for (int place = 0; place < top; ++place) {
            const F* const symbols = &d_words[place];
            F chosen = symbols[0];
            MP_UNROLL_BY(side > 16 ? 4 : side * side)
            for (int candidate = 1; candidate < side * side; ++candidate)
                chosen = select(
                    best < d_distance[candidate], chosen, symbols[candidate * top]);
            symbol_minima<F, WIDTH> minima;
            minima.clear();
            minima.add(side * side, symbols, top, &d_distance[0], best, chosen.as_word());
            const int first = bits * column_source(d_order, top - 1 - place, pass, nt);
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                keep_nearest(pass, first + b, minima.zero[b], minima.one[b]);
        }
    }

    MP_FN void keep_nearest(int pass, int bit, F zero, F one)
    {
        d_nearest[2 * bit] = pass ? min(d_nearest[2 * bit], zero) : zero;
        d_nearest[2 * bit + 1] = pass ? min(d_nearest[2 * bit + 1], one) : one;
    }

    /* Collect the top layer, whose bits are known for every candidate. Return the pass's
     * best distance. */
    MP_FN F collect_top(int pass)
    {
        const int layer = column_source(d_order, d_nt - 1, pass, d_nt);
        F best(no_metric);
        MP_UNROLL
        for (int axis = 0; axis < 2; ++axis) {
            F low[side];
            level_minima<WIDTH>(&d_distance[0], axis, low);
            MP_UNROLL
            for (int k = 0; axis && k < side; ++k)
                best = min(best, low[k]);
            collect_axis(pass, layer, axis, low);
        }
        return best;
    }

    /* Collect the bits of a layer's axis from the nearest candidate of each of its
     * levels. */
    MP_FN void collect_axis(int pass, int layer, int axis, const F* low)
    {
        MP_UNROLL
        for (int g = 0; g < WIDTH; ++g) {
            F zero, one;
            bit_minima_of_axis<WIDTH>(low, g, zero, one);
            keep_nearest(pass, layer * bits + axis * WIDTH + g, zero, one);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

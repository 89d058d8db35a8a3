/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbols from bit LLRs, as costs -ln p and as moments, and max-log LLRs of symbols.
 * Square QAM with Gray labels is handled per axis (levels 2k - (side-1), bits in
 * canonical order), any other constellation per point. */
#pragma once
#include "common/elementary.h"
#include "common/minima.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Set cost[k] to the sum of |LLR| over the bits of level k that differ from the sign of
 * their LLR. The best guess by the prior has cost 0, and no cost is negative. Differences
 * between candidates are the ones of 002 eq. 4. */
template <int WIDTH, class F>
MP_FN void axis_penalties(const F* prior, F* cost)
{
    for (int k = 0; k < 1 << WIDTH; ++k) {
        F sum(0.0f);
        for (int g = 0; g < WIDTH; ++g)
            sum =
                sum + max(gray_bit<WIDTH>(k, g) ? F(0.0f) - prior[g] : prior[g], F(0.0f));
        cost[k] = sum;
    }
}

/* Compute the mean and variance of a level.
 *
 * A level is s_0 z_0 with z_j = 2^(WIDTH-1-j) - s_{j+1} z_{j+1}. The last z is 1, and s_j
 * = +-1 is the sign of bit j. As bits are independent, Var(s z) = Var z + (1 - t^2) (E
 * z)^2 with t = E s = tanh(L/2). This takes no difference of large numbers, however sure
 * the bits are. */
template <int WIDTH, class F>
MP_FN void axis_moments(const F* prior, F& mean, F& variance)
{
    mean = F(1.0f);
    variance = F(0.0f);
    MP_UNROLL
    for (int g = WIDTH - 1; g >= 0; --g) {
        const F e = exp_minus(abs(prior[g]));
        const F inverse = F(1.0f) / (F(1.0f) + e);
        const F t = (F(1.0f) - e) * inverse;
        const F spread = F(4.0f) * e * inverse * inverse; /* 1 - t^2 */
        variance = fma(spread, mean * mean, variance);
        mean = select(prior[g] < F(0.0f), F(0.0f) - t, t) * mean;
        if (g > 0)
            mean = F(static_cast<float>(1 << (WIDTH - g))) - mean;
    }
}

/* Compute max-log LLRs from the metrics of an axis's levels. */
template <int WIDTH, class F>
MP_FN void axis_llrs(const F* metric, F* llr)
{
    MP_UNROLL
    for (int g = 0; g < WIDTH; ++g) {
        F zero, one;
        bit_minima_of_axis<WIDTH>(metric, g, zero, one);
        llr[g] = zero - one;
    }
}

/* Compute the max-log LLRs of a symbol of square QAM from its estimate: 2*WIDTH lanes.
 * precision: 1 / noise
 *
 * Fold the axis at its middle g times: bit g then tells on which side of 0 a level lies.
 * The nearest level with this bit's other value is the first one beyond 0, and the
 * nearest with the same value is the nearest of all. */
template <int WIDTH, class F>
MP_FN void demap_axes(const F* x, F precision, float scale, F* llr)
{
    MP_UNROLL
    for (int axis = 0; axis < 2; ++axis) {
        F folded[WIDTH];
        folded[0] = x[axis];
        MP_UNROLL
        for (int g = 1; g < WIDTH; ++g)
            folded[g] = F(scale * (1 << (WIDTH - g))) - abs(folded[g - 1]);
        const F nearest = abs(folded[WIDTH - 1]) - F(scale);
        MP_UNROLL
        for (int g = 0; g < WIDTH; ++g) {
            const F other = abs(folded[g]) + F(scale);
            const F size = (other - nearest) * (other + nearest) * precision;
            const auto sign = folded[g].as_word() & 0x80000000u;
            llr[axis * WIDTH + g] = (size.as_word() ^ sign).as_float();
        }
    }
}

/* The same with a prior of 2*WIDTH lanes; null has the effect of 0. */
template <int WIDTH, class F>
MP_FN void demap_axes(const F* x, F precision, float scale, F* llr, const F* prior)
{
    constexpr int side = 1 << WIDTH;
    MP_UNROLL
    for (int axis = 0; axis < 2; ++axis) {
        F metric[side];
        if (prior)
            axis_penalties<WIDTH>(prior + axis * WIDTH, metric);
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const F e = x[axis] - F(scale * (2 * k - (side - 1)));
            const F weighted = e * precision;
            metric[k] = prior ? fma(weighted, e, metric[k]) : weighted * e;
        }
        axis_llrs<WIDTH>(metric, llr + axis * WIDTH);
    }
}

/* Set cost[label] as axis_penalties does. */
template <class F>
MP_FN void point_penalties(const F* prior, const constellation& c, F* cost)
{
    for (int s = 0; s < c.size; ++s) {
        F sum(0.0f);
        for (int b = 0; b < c.bits; ++b) {
            const bool one = s >> (c.bits - 1 - b) & 1;
            sum = sum + max(one ? F(0.0f) - prior[b] : prior[b], F(0.0f));
        }
        cost[s] = sum;
    }
}

/* Compute the mean (two lanes) and variance of the points. The least cost is 0. Overwrite
 * the costs with probabilities, up to a factor. */
template <class F>
MP_FN void point_moments(F* cost, const constellation& c, F* mean, F& variance)
{
    F sum(0.0f), re(0.0f), im(0.0f);
    for (int s = 0; s < c.size; ++s) {
        const F p = exp_minus(cost[s]);
        cost[s] = p;
        sum = sum + p;
        re = fma(p, F(c.re[s]), re);
        im = fma(p, F(c.im[s]), im);
    }
    const F inverse = F(1.0f) / sum;
    mean[0] = re * inverse;
    mean[1] = im * inverse;
    F spread(0.0f);
    for (int s = 0; s < c.size; ++s) {
        const F d_re = F(c.re[s]) - mean[0], d_im = F(c.im[s]) - mean[1];
        spread = fma(cost[s], fma(d_re, d_re, d_im * d_im), spread);
    }
    variance = spread * inverse;
}

/* Compute the max-log LLRs of a symbol of any constellation, in label order, from
 * metric(label). */
template <class F, class Metric>
MP_FN void label_llrs(Metric metric, const constellation& c, F* llr)
{
    F low[2 * max_bits_per_symbol];
    for (int b = 0; b < 2 * c.bits; ++b)
        low[b] = F(no_metric);
    for (int s = 0; s < c.size; ++s) {
        const F own = metric(s);
        for (int b = 0; b < c.bits; ++b) {
            F& entry = low[2 * b + (s >> (c.bits - 1 - b) & 1)];
            entry = min(entry, own);
        }
    }
    for (int b = 0; b < c.bits; ++b)
        llr[b] = low[2 * b] - low[2 * b + 1];
}

/* Do the same from an array of metrics. */
template <class F>
MP_FN void point_llrs(const F* metric, const constellation& c, F* llr)
{
    label_llrs([=](int s) { return metric[s]; }, c, llr);
}

/* The same as demap_axes for any constellation. cost: -ln p of the points by the prior,
 * or null */
template <class F>
MP_FN void demap_points(
    const F* x, F precision, const constellation& c, F* llr, const F* cost = nullptr)
{
    label_llrs(
        [&](int s) {
            const F re = x[0] - F(c.re[s]), im = x[1] - F(c.im[s]);
            const F distance = fma(re, re, im * im);
            return cost ? fma(distance, precision, cost[s]) : distance * precision;
        },
        c,
        llr);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

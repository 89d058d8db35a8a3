/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbols from bit LLRs, as costs -ln p and as moments, and max-log LLRs from metrics of
 * symbols. Square QAM with Gray labels is handled per axis (levels 2k - (side-1), bits in
 * canonical order), any other constellation per point. */
#pragma once
#include "common/elementary.h"
#include "common/minima.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Set cost[k] to minus the sum of the LLRs of level k's ones. */
template <int WIDTH, class F>
MP_FN void axis_costs(const F* prior, F* cost)
{
    MP_UNROLL
    for (int k = 0; k < 1 << WIDTH; ++k) {
        F sum(0.0f);
        MP_UNROLL
        for (int g = 0; g < WIDTH; ++g)
            if (gray_bit<WIDTH>(k, g))
                sum = sum - prior[g];
        cost[k] = sum;
    }
}

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

/* Set cost[label] to minus the sum of the LLRs of the point's ones. */
template <class F>
MP_FN void point_costs(const F* prior, const constellation& c, F* cost)
{
    for (int s = 0; s < c.size; ++s) {
        F sum(0.0f);
        for (int b = 0; b < c.bits; ++b)
            if (s >> (c.bits - 1 - b) & 1)
                sum = sum - prior[b];
        cost[s] = sum;
    }
}

/* Compute the mean (two lanes) and variance of the points. Overwrite the costs with
 * probabilities, up to a factor. */
template <class F>
MP_FN void point_moments(F* cost, const constellation& c, F* mean, F& variance)
{
    F least = cost[0];
    for (int s = 1; s < c.size; ++s)
        least = min(least, cost[s]);
    F sum(0.0f), re(0.0f), im(0.0f);
    for (int s = 0; s < c.size; ++s) {
        const F p = exp_minus(cost[s] - least);
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

/* Compute the mean and variance of equally likely points. */
MP_FN void
uniform_moments(const constellation& c, float* mean, float& variance)
{
    float re = 0.0f, im = 0.0f;
    for (int s = 0; s < c.size; ++s) {
        re += c.re[s];
        im += c.im[s];
    }
    mean[0] = re / c.size;
    mean[1] = im / c.size;
    float spread = 0.0f;
    for (int s = 0; s < c.size; ++s) {
        const float d_re = c.re[s] - mean[0], d_im = c.im[s] - mean[1];
        spread += d_re * d_re + d_im * d_im;
    }
    variance = spread / c.size;
}

template <class F>
MP_FN void point_llrs(const F* metric, const constellation& c, F* llr)
{
    for (int b = 0; b < c.bits; ++b) {
        F low[2] = { F(1e37f), F(1e37f) };
        for (int s = 0; s < c.size; ++s) {
            F& entry = low[s >> (c.bits - 1 - b) & 1];
            entry = min(entry, metric[s]);
        }
        llr[b] = low[0] - low[1];
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

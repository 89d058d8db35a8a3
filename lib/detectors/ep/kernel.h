/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Expectation propagation (Cespedes, Olmos, Sanchez-Fernandez, Perez-Cruz, 2014) in the
 * real-valued model: every axis of every layer is a PAM symbol. */
#pragma once
#include "common/cavity.h"
#include "common/large_qr.h"
#include "common/options.h"
#include "common/soft_symbols.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct ep_options {
    int num_iterations = 10;
    float smoothing = 0.9f;
    float initial_variance = 0.5f;

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("num_iterations", num_iterations);
        visit("smoothing", smoothing);
        visit("initial_variance", initial_variance);
    }
};

/* The Gaussian of an axis of a layer, and its steps */
template <class F, int WIDTH>
class ep_axis
{
public:
    static constexpr int side = 1 << WIDTH;

    MP_FN ep_axis(const constellation& c, const ep_options& o)
        : d_scale(c.scale),
          d_smoothing(o.smoothing),
          d_initial_variance(o.initial_variance)
    {
    }

    /* Set the first Gaussian: the initial variance, or the prior's moments. cost: -ln p
     * of the levels by the prior. */
    MP_FN void start(const F* prior, F* cost, F& lambda, F& gamma) const
    {
        const F without(1.0f / d_initial_variance);
        if (!prior) {
            lambda = without;
            gamma = F(0.0f);
            return;
        }
        axis_penalties<WIDTH>(prior, cost);
        F mean, variance;
        axis_moments<WIDTH>(prior, mean, variance);
        const F left = variance * F(3.0f / (side * side - 1));
        lambda = without / max(left, F(1e-12f));
        gamma = mean * F(d_scale) * lambda;
    }

    /* Set -ln p of the levels under a cavity and the prior, up to a constant. */
    MP_FN void set_metrics(F x, F of_cavity, const F* cost, F* metric) const
    {
        const F half = bounded(of_cavity) * F(0.5f);
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const F e = level(k) - x;
            const F weighted = e * half;
            metric[k] = cost ? fma(weighted, e, cost[k]) : weighted * e;
        }
    }

    /* Update the Gaussian so that, together with the cavity, it has the moments of the
     * PAM symbol under the cavity (eq. 33, 35-38), if its variance is positive. Means are
     * relative to the cavity's mean, because only their difference matters. */
    MP_FN void update(F x, F of_cavity, const F* cost, F& lambda, F& gamma) const
    {
        F p[side];
        set_metrics(x, of_cavity, cost, p);
        F least = p[0];
        MP_UNROLL
        for (int k = 1; k < side; ++k)
            least = min(least, p[k]);
        F sum(0.0f), mean(0.0f), variance(0.0f);
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            p[k] = exp_minus(p[k] - least);
            sum = sum + p[k];
            mean = fma(p[k], level(k) - x, mean);
        }
        const F inverse = reciprocal(sum);
        mean = mean * inverse;
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const F e = level(k) - x - mean;
            variance = fma(p[k] * e, e, variance);
        }
        const F given = reciprocal(max(variance * inverse, F(1e-12f)));
        const F precision = bounded(of_cavity);
        const F own_lambda = given - precision;
        const F own_gamma = fma(x, own_lambda, mean * given);
        /* If the cavity is wider than the points' spacing and narrower than the
         * constellation, the PAM symbol has the cavity's moments. Their difference is
         * then rounding noise, whose sign must not decide. */
        const auto improper = own_lambda < F(-3e-5f) * precision;
        const auto nothing = own_lambda < F(3e-5f) * precision;
        const F kept(d_smoothing),
            taken = select(nothing, F(0.0f), F(1.0f - d_smoothing));
        const F next_lambda = fma(taken, own_lambda, kept * lambda);
        const F next_gamma = fma(taken, own_gamma, kept * gamma);
        lambda = max(select(improper, lambda, next_lambda), F(1e-12f));
        gamma = select(improper, gamma, next_gamma);
    }

private:
    const float d_scale, d_smoothing, d_initial_variance;

    MP_FN F level(int k) const { return F(d_scale * (2 * k - (side - 1))); }

    /* No higher than the reference allows */
    MP_FN static F bounded(F precision) { return min(precision, F(1e12f)); }
};

template <class F, int NT, int NR, int WIDTH>
class ep
{
public:
    using mask = decltype(F() < F());

    MP_FN ep(arena<F>& a, const constellation& c, int nt, int nr, const ep_options& o)
        : d_axes(2 * nt),
          d_iterations(o.num_iterations),
          d_axis(c, o),
          d_qr(a, nt, nr),
          d_cavity(a, 2 * nt),
          d_r(a, 4 * nt * nt),
          d_z(a, 2 * nt),
          d_lambda(a, 2 * nt),
          d_gamma(a, 2 * nt),
          d_mean(a, 2 * nt),
          d_deviation(a, 2 * nt),
          d_cost(a, 2 * nt * side)
    {
    }

    /* Decompose h. R of the real-valued model (001 eq. 3) holds a block [re -im; im re]
     * for each entry of the complex R, whose diagonal is real. */
    MP_FN void prepare(const F* h)
    {
        const int n = d_axes;
        d_qr.decompose(h);
        MP_UNROLL_UP_TO(8)
        for (int j = 0; j < n; j += 2) {
            MP_UNROLL_UP_TO(8)
            for (int i = 0; i < j; i += 2) {
                const F* const entry = &d_qr.r[(i * n + 2 * j) / 2];
                d_r[j * n + i] = d_r[(j + 1) * n + i + 1] = entry[0];
                d_r[(j + 1) * n + i] = F(0.0f) - entry[1];
                d_r[j * n + i + 1] = entry[1];
            }
            d_r[j * n + j] = d_r[(j + 1) * n + j + 1] = d_qr.diagonal[j / 2];
            d_r[(j + 1) * n + j] = F(0.0f);
        }
    }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int n = d_axes;
        const mask usable = d_qr.finite & d_qr.rotate(y, &d_z[0]);
        noise_var = d_qr.floored(noise_var);
        const F variance = noise_var * F(0.5f); /* per real dimension */
        const F sigma = variance * rsqrt(variance);
        for (int i = 0; i < n; ++i)
            d_axis.start(prior ? prior + i * WIDTH : nullptr,
                         &d_cost[i * side],
                         d_lambda[i],
                         d_gamma[i]);
        for (int iteration = 0;; ++iteration) {
            for (int i = 0; i < n; ++i) {
                const F deviation = rsqrt(d_lambda[i]);
                d_deviation[i] = deviation;
                d_mean[i] = d_gamma[i] * deviation * deviation;
            }
            d_cavity.compute(&d_r[0], &d_z[0], &d_mean[0], &d_deviation[0], sigma);
            if (iteration == d_iterations - 1)
                break;
            for (int i = 0; i < n; ++i)
                d_axis.update(d_cavity.mean[i],
                              d_cavity.precision[i],
                              prior ? &d_cost[i * side] : nullptr,
                              d_lambda[i],
                              d_gamma[i]);
        }
        for (int i = 0; i < n; ++i) {
            F metric[side];
            d_axis.set_metrics(d_cavity.mean[i],
                               d_cavity.precision[i],
                               prior ? &d_cost[i * side] : nullptr,
                               metric);
            axis_llrs<WIDTH>(metric, llr + i * WIDTH);
        }
        return usable;
    }

private:
    static constexpr int side = 1 << WIDTH;
    const extent<2 * NT> d_axes;
    const int d_iterations;
    const ep_axis<F, WIDTH> d_axis;
    typename sized_qr<F, NT, NR>::type d_qr;
    cavity<F, 2 * NT, false> d_cavity;
    buffer<F, 4 * NT * NT> d_r; /* column-major */
    buffer<F, 2 * NT> d_z, d_lambda, d_gamma, d_mean, d_deviation;
    buffer<F, 2 * NT * side> d_cost;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

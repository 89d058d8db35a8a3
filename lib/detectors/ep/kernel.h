/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Expectation propagation (Cespedes, Olmos, Sanchez-Fernandez, Perez-Cruz, 2014) in the
 * real-valued model: every axis of every layer is a PAM symbol. */
#pragma once
#include "common/cavity.h"
#include "common/options.h"
#include "common/qr.h"
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


template <class F, int NT, int NR, int WIDTH>
class ep
{
public:
    using mask = decltype(F() < F());

    MP_FN ep(arena<F>& a,
             const constellation& c,
             int nt,
             int nr,
             int iterations,
             float smoothing,
             float initial_variance)
        : d_axes(2 * nt),
          d_iterations(iterations),
          d_scale(c.scale),
          d_smoothing(smoothing),
          d_initial_variance(initial_variance),
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
        MP_UNROLL
        for (int i = 0; i < n; i += 2) {
            d_r[i * n + i] = d_r[(i + 1) * n + i + 1] = d_qr.diagonal[i / 2];
            d_r[i * n + i + 1] = F(0.0f);
            MP_UNROLL
            for (int j = i + 2; j < n; j += 2) {
                const F* const entry = &d_qr.r[(i * n + 2 * j) / 2];
                d_r[i * n + j] = d_r[(i + 1) * n + j + 1] = entry[0];
                d_r[i * n + j + 1] = F(0.0f) - entry[1];
                d_r[(i + 1) * n + j] = entry[1];
            }
        }
    }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int n = d_axes;
        const mask usable = d_qr.usable & d_qr.rotate(y, &d_z[0]);
        const F variance = noise_var * F(0.5f); /* per real dimension */
        const F sigma = variance * rsqrt(variance);
        start(prior);
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
                update(i, prior != nullptr);
        }
        for (int i = 0; i < n; ++i) {
            F metric[side];
            set_metrics(i, prior != nullptr, metric);
            axis_llrs<WIDTH>(metric, llr + i * WIDTH);
        }
        return usable;
    }

private:
    static constexpr int side = 1 << WIDTH;
    const extent<2 * NT> d_axes;
    const int d_iterations;
    const float d_scale, d_smoothing, d_initial_variance;
    qr<F, NT, NR> d_qr;
    cavity<F, 2 * NT, false> d_cavity;
    buffer<F, 4 * NT * NT> d_r;
    buffer<F, 2 * NT> d_z, d_lambda, d_gamma, d_mean, d_deviation;
    buffer<F, 2 * NT * side> d_cost;

    /* Set the first Gaussians: the initial variance, or the prior's moments. */
    MP_FN void start(const F* prior)
    {
        const int n = d_axes;
        const F without(1.0f / d_initial_variance);
        for (int i = 0; i < n; ++i) {
            if (!prior) {
                d_lambda[i] = without;
                d_gamma[i] = F(0.0f);
                continue;
            }
            axis_costs<WIDTH>(prior + i * WIDTH, &d_cost[i * side]);
            F mean, variance;
            axis_moments<WIDTH>(prior + i * WIDTH, mean, variance);
            const F left = variance * F(3.0f / (side * side - 1));
            d_lambda[i] = without / max(left, F(1e-12f));
            d_gamma[i] = mean * F(d_scale) * d_lambda[i];
        }
    }

    MP_FN F level(int k) const { return F(d_scale * (2 * k - (side - 1))); }

    /* Return the precision of a cavity, no higher than the reference allows. */
    MP_FN F precision(int i) const { return min(d_cavity.precision[i], F(1e12f)); }

    /* Set -ln p of the symbols of axis i under its cavity and the prior, up to a
     * constant. */
    MP_FN void set_metrics(int i, bool has_prior, F* metric) const
    {
        const F x = d_cavity.mean[i], half = precision(i) * F(0.5f);
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const F e = level(k) - x;
            const F weighted = e * half;
            metric[k] = has_prior ? fma(weighted, e, d_cost[i * side + k]) : weighted * e;
        }
    }

    /* Update axis i with the moments of the PAM symbol under the cavity (eq. 33), and the
     * Gaussian that would give them if it is a proper one (eq. 35-38). Means are relative
     * to the cavity's mean, because only differences of the two follow. */
    MP_FN void update(int i, bool has_prior)
    {
        const F x = d_cavity.mean[i];
        F p[side];
        set_metrics(i, has_prior, p);
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
        const F of_cavity = precision(i);
        const F lambda = given - of_cavity;
        const F gamma = fma(x, lambda, mean * given);
        /* A cavity that is wider than the points' spacing and narrower than the
         * constellation gives a PAM symbol its own moments. The difference then says
         * nothing, and rounding must not decide whether it is proper. */
        const mask improper = lambda < F(-3e-5f) * of_cavity;
        const mask nothing = lambda < F(3e-5f) * of_cavity;
        const F kept(d_smoothing),
            taken = select(nothing, F(0.0f), F(1.0f - d_smoothing));
        const F next_lambda = fma(taken, lambda, kept * d_lambda[i]);
        const F next_gamma = fma(taken, gamma, kept * d_gamma[i]);
        d_lambda[i] = max(select(improper, d_lambda[i], next_lambda), F(1e-12f));
        d_gamma[i] = select(improper, d_gamma[i], next_gamma);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* MMSE with parallel interference cancellation (Studer, Fateh, Seethaler, 2011). */
#pragma once
#include "common/cavity.h"
#include "common/options.h"
#include "common/qr.h"
#include "common/soft_symbols.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct mmsepic_options {
    int num_iterations = 1;

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("num_iterations", num_iterations);
    }
};


/* WIDTH = 0: any constellation, LLRs in label order. */
template <class F, int NT, int NR, int WIDTH>
class mmsepic
{
public:
    using mask = decltype(F() < F());

    MP_FN mmsepic(arena<F>& a, const constellation& c, int nt, int nr, int iterations)
        : d_c(c),
          d_nt(nt),
          d_iterations(iterations),
          d_qr(a, nt, nr),
          d_cavity(a, nt),
          d_r(a, 2 * nt * nt),
          d_z(a, 2 * nt),
          d_mean(a, 2 * nt),
          d_deviation(a, nt),
          d_metric(a, WIDTH > 0 ? side : c.size)
    {
        if (WIDTH == 0)
            uniform_moments(c, d_uniform_mean, d_uniform_variance);
    }

    MP_FN void prepare(const F* h)
    {
        const int nt = d_nt;
        d_qr.decompose(h);
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            d_r[2 * (i * nt + i)] = d_qr.diagonal[i];
            d_r[2 * (i * nt + i) + 1] = F(0.0f);
            MP_UNROLL
            for (int j = i + 1; j < nt; ++j)
                for (int part = 0; part < 2; ++part)
                    d_r[2 * (i * nt + j) + part] = d_qr.r[2 * (i * nt + j) + part];
        }
    }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const mask usable = d_qr.usable & d_qr.rotate(y, &d_z[0]);
        const F sigma = noise_var * rsqrt(noise_var);
        for (int iteration = 0; iteration < d_iterations; ++iteration) {
            make_symbols(iteration ? llr : prior);
            d_cavity.compute(&d_r[0], &d_z[0], &d_mean[0], &d_deviation[0], sigma);
            demap(prior, llr);
        }
        return usable;
    }

private:
    static constexpr int side = 1 << WIDTH;
    const constellation& d_c;
    const extent<NT> d_nt;
    const int d_iterations;
    qr<F, NT, NR> d_qr;
    cavity<F, NT, true> d_cavity;
    buffer<F, 2 * NT * NT> d_r;
    buffer<F, 2 * NT> d_z, d_mean;
    buffer<F, NT> d_deviation;
    buffer<F, WIDTH == 0 ? 0 : side> d_metric;
    /* Moments of a symbol without a prior. Square QAM has mean 0. */
    float d_uniform_mean[2] = { 0.0f, 0.0f }, d_uniform_variance = 1.0f;

    /* Set the means and standard deviations of the symbols whose bits have these LLRs. */
    MP_FN void make_symbols(const F* known)
    {
        const int nt = d_nt;
        for (int i = 0; i < nt; ++i) {
            F* const mean = &d_mean[2 * i];
            F variance(0.0f);
            if (!known) {
                mean[0] = F(d_uniform_mean[0]);
                mean[1] = F(d_uniform_mean[1]);
                if (WIDTH > 0) { /* exactly, without a root */
                    d_deviation[i] = F(1.0f);
                    continue;
                }
                variance = F(d_uniform_variance);
            } else if (WIDTH > 0) {
                F spread[2];
                for (int axis = 0; axis < 2; ++axis) {
                    axis_moments<(WIDTH > 0 ? WIDTH : 1)>(
                        known + (2 * i + axis) * WIDTH, mean[axis], spread[axis]);
                    mean[axis] = mean[axis] * F(d_c.scale);
                }
                /* relative to the mean energy, exactly 1 without knowledge */
                variance = (spread[0] + spread[1]) * F(1.5f / (side * side - 1));
            } else {
                point_costs(known + i * d_c.bits, d_c, &d_metric[0]);
                point_moments(&d_metric[0], d_c, mean, variance);
            }
            /* A symbol known better than this does not differ from a known one. */
            const F bounded = max(variance, F(1e-16f));
            d_deviation[i] = bounded * rsqrt(bounded);
        }
    }

    MP_FN void demap(const F* prior, F* llr)
    {
        const int nt = d_nt;
        for (int i = 0; i < nt; ++i) {
            const F* const x = &d_cavity.mean[2 * i];
            const F precision = d_cavity.precision[i];
            if (WIDTH > 0) {
                for (int axis = 0; axis < 2; ++axis) {
                    const int first = (2 * i + axis) * WIDTH;
                    if (prior)
                        axis_costs<(WIDTH > 0 ? WIDTH : 1)>(prior + first, &d_metric[0]);
                    MP_UNROLL
                    for (int k = 0; k < side; ++k) {
                        const F e = x[axis] - F(d_c.scale * (2 * k - (side - 1)));
                        const F weighted = e * precision;
                        d_metric[k] =
                            prior ? fma(weighted, e, d_metric[k]) : weighted * e;
                    }
                    axis_llrs<(WIDTH > 0 ? WIDTH : 1)>(&d_metric[0], llr + first);
                }
            } else {
                if (prior)
                    point_costs(prior + i * d_c.bits, d_c, &d_metric[0]);
                for (int s = 0; s < d_c.size; ++s) {
                    const F re = x[0] - F(d_c.re[s]), im = x[1] - F(d_c.im[s]);
                    const F distance = fma(re, re, im * im);
                    d_metric[s] = prior ? fma(distance, precision, d_metric[s])
                                        : distance * precision;
                }
                point_llrs(&d_metric[0], d_c, llr + i * d_c.bits);
            }
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* MMSE with parallel interference cancellation (Studer, Fateh, Seethaler, 2011). */
#pragma once
#include "common/cavity.h"
#include "common/large_qr.h"
#include "common/options.h"
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


/* The steps of a layer. WIDTH = 0: any constellation, LLRs in label order. */
template <class F, int WIDTH>
class mmsepic_layer
{
public:
    static constexpr int side = 1 << WIDTH;

    MP_FN explicit mmsepic_layer(const constellation& c) : d_c(c) {}

    MP_FN int bits() const { return WIDTH > 0 ? 2 * WIDTH : d_c.bits; }

    /* The other steps need room for the costs of this many points. */
    MP_FN int num_costs() const { return WIDTH > 0 ? 0 : d_c.size; }

    /* Set the mean and standard deviation of a symbol whose bits have these LLRs; none if
     * null. */
    MP_FN void make_symbol(const F* known, F* cost, F* mean, F& deviation) const
    {
        F variance(0.0f);
        if (WIDTH > 0 && !known) { /* exactly, without a root */
            mean[0] = mean[1] = F(0.0f);
            deviation = F(1.0f);
            return;
        }
        if (WIDTH > 0) {
            F spread[2];
            for (int axis = 0; axis < 2; ++axis) {
                axis_moments<(WIDTH > 0 ? WIDTH : 1)>(
                    known + axis * WIDTH, mean[axis], spread[axis]);
                mean[axis] = mean[axis] * F(d_c.scale);
            }
            /* relative to the mean energy, exactly 1 without knowledge */
            variance = (spread[0] + spread[1]) * F(1.5f / (side * side - 1));
        } else {
            for (int s = 0; !known && s < d_c.size; ++s)
                cost[s] = F(0.0f);
            if (known)
                point_penalties(known, d_c, cost);
            point_moments(cost, d_c, mean, variance);
        }
        /* A symbol known better than this does not differ from a known one. */
        const F bounded = max(variance, F(1e-16f));
        /* Take one more Newton step: some processors' rsqrt(1) is not 1. */
        const F inverse = rsqrt(bounded), root = bounded * inverse;
        deviation = fma(fnma(root, root, bounded), inverse * F(0.5f), root);
    }

    /* Compute the LLRs of a symbol from its estimate and its prior; none if null. */
    MP_FN void demap(const F* x, F precision, const F* prior, F* cost, F* llr) const
    {
        if (WIDTH > 0) {
            demap_axes<(WIDTH > 0 ? WIDTH : 1)>(x, precision, d_c.scale, llr, prior);
        } else {
            if (prior)
                point_penalties(prior, d_c, cost);
            demap_points(x, precision, d_c, llr, prior ? cost : nullptr);
        }
    }

private:
    const constellation& d_c;
};

template <class F, int NT, int NR, int WIDTH>
class mmsepic
{
public:
    using mask = decltype(F() < F());

    MP_FN mmsepic(arena<F>& a, const constellation& c, int nt, int nr, int iterations)
        : d_layer(c),
          d_nt(nt),
          d_iterations(iterations),
          d_qr(a, nt, nr),
          d_cavity(a, nt),
          d_r(a, 2 * nt * nt),
          d_z(a, 2 * nt),
          d_mean(a, 2 * nt),
          d_deviation(a, nt),
          d_cost(a, d_layer.num_costs())
    {
    }

    MP_FN void prepare(const F* h)
    {
        const int nt = d_nt;
        d_noise_var = F(0.0f);
        d_qr.decompose(h);
        MP_UNROLL_UP_TO(4)
        for (int j = 0; j < nt; ++j) {
            MP_UNROLL_UP_TO(4)
            for (int i = 0; i < j; ++i)
                for (int part = 0; part < 2; ++part)
                    d_r[2 * (j * nt + i) + part] = d_qr.r[2 * (i * nt + j) + part];
            d_r[2 * (j * nt + j)] = d_qr.diagonal[j];
            d_r[2 * (j * nt + j) + 1] = F(0.0f);
        }
    }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const mask usable = d_qr.finite & d_qr.rotate(y, &d_z[0]);
        noise_var = d_qr.floored(noise_var);
        const F sigma = noise_var * rsqrt(noise_var);
        for (int iteration = 0; iteration < d_iterations; ++iteration) {
            const F* const known = iteration ? llr : prior;
            if (NT > 0 || known || !same(noise_var, d_noise_var)) {
                make_symbols(known);
                d_cavity.prepare(&d_r[0], &d_deviation[0], sigma);
                d_noise_var = known ? F(0.0f) : noise_var;
            }
            d_cavity.estimate(&d_r[0], &d_z[0], &d_mean[0]);
            demap(prior, llr);
        }
        return usable;
    }

private:
    const mmsepic_layer<F, WIDTH> d_layer;
    const extent<NT> d_nt;
    const int d_iterations;
    typename sized_qr<F, NT, NR>::type d_qr;
    cavity<F, NT, true> d_cavity;
    buffer<F, 2 * NT * NT> d_r; /* column-major */
    buffer<F, 2 * NT> d_z, d_mean;
    buffer<F, NT> d_deviation;
    buffer<F, 0> d_cost;
    /* Noise of the last preparation of d_cavity without a-priori LLRs, or 0. Vectors with
     * the same matrix and noise share the preparation. */
    F d_noise_var;

    MP_FN static bool same(F a, F b) { return !any((a < b) | (b < a)); }

    MP_FN void make_symbols(const F* known)
    {
        for (int i = 0; i < d_nt; ++i)
            d_layer.make_symbol(known ? known + i * d_layer.bits() : nullptr,
                                &d_cost[0],
                                &d_mean[2 * i],
                                d_deviation[i]);
    }

    MP_FN void demap(const F* prior, F* llr)
    {
        for (int i = 0; i < d_nt; ++i)
            d_layer.demap(&d_cavity.mean[2 * i],
                          d_cavity.precision[i],
                          prior ? prior + i * d_layer.bits() : nullptr,
                          &d_cost[0],
                          llr + i * d_layer.bits());
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

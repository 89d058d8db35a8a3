/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* ZF and MMSE with soft demapping of each stream (002 §2.2).
 *
 * ZF: x_hat = R^-1 Q^H y; stream i's noise is sigma^2 |row i of R^-1|^2.
 * MMSE: the same with the QR decomposition of [H; sigma I], without squaring H's
 * condition number. sigma^2 |row i of R^-1|^2 is then the mean squared error e_i of
 * stream i; unbiased, mu_i = 1 - e_i, x_hat_i / mu_i has noise e_i / mu_i.
 *
 * With R = D U, D its diagonal, and Q not normalised, Q D, these are U^-1 D^-2 (Q D)^H y
 * and sum_j |(U^-1)_ij|^2 / d_j^2: no roots. */
#pragma once
#include "common/options.h"
#include "common/qr.h"
#include "common/soft_symbols.h"

namespace mimopack {
namespace MIMOPACK_ISA {

using linear_options = no_options;

/* Compute the max-log LLRs of a layer with fewer levels (see grid_layer). */
template <int WIDTH, class F>
MP_FN void demap_layer(const F* x, F inverse_noise, const grid_layer& own, F* llr)
{
    constexpr int side = 1 << WIDTH;
    for (int axis = 0; axis < 2; ++axis) {
        F metric[side];
        for (int k = 0; k < side; ++k) {
            const F e = x[axis] - F(own.scale * (2 * k - (own.sides[axis] - 1)));
            metric[k] = k < own.sides[axis] ? e * e * inverse_noise : F(no_metric);
        }
        axis_llrs<WIDTH>(metric, llr + axis * WIDTH);
    }
}

/* WIDTH = 0: any constellation. */
template <class F, int NT, int NR, int WIDTH, bool MMSE>
class linear
{
public:
    using mask = decltype(F() < F());

    MP_FN linear(arena<F>& a, const constellation& c, int nt, int nr)
        : d_constellation(c),
          d_nt(nt),
          d_nr(nr),
          d_qr(a, nt, nr),
          d_h(nullptr),
          d_z(a, 2 * nt),
          d_inverse(a, 2 * nt * nt),
          d_spread(a, nt),
          d_extended(a, MMSE ? nt : 0, MMSE ? nr + nt : 0),
          d_stacked(a, MMSE ? 2 * nt * (nr + nt) : 0)
    {
    }

    MP_FN void prepare(const F* h)
    {
        d_h = h;
        d_qr.decompose_from(h, [](int c) { return c; });
        if (!MMSE)
            invert(d_qr);
    }

    MP_FN mask detect(const F* y, F noise_var, const F*, F* llr)
    {
        const int nt = d_nt, nr = d_nr;
        if (MMSE) {
            noise_var = d_qr.floored(noise_var);
            extend(noise_var * rsqrt(noise_var));
            invert(d_extended);
            project(d_extended, y);
        } else {
            project(d_qr, y);
        }
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i) {
            F x[2] = { d_z[2 * i], d_z[2 * i + 1] };
            MP_UNROLL_UP_TO(4)
            for (int j = i + 1; j < nt; ++j)
                add_product(&d_inverse[2 * (i * nt + j)], &d_z[2 * j], x);
            F inverse_noise;
            if (MMSE) {
                const F error = noise_var * d_spread[i];
                const F mu = max(F(1.0f) - error, F(1e-9f)); /* more than rounding */
                const F unbiased = F(1.0f) / mu;
                x[0] = x[0] * unbiased;
                x[1] = x[1] * unbiased;
                inverse_noise = mu / error;
            } else {
                inverse_noise = F(1.0f) / (noise_var * d_spread[i]);
            }
            if (WIDTH > 0 && F::width == 1 && d_constellation.layers)
                demap_layer<(WIDTH > 0 ? WIDTH : 1)>(
                    x, inverse_noise, d_constellation.layers[i], llr + 2 * WIDTH * i);
            else if (WIDTH > 0)
                demap_axes<(WIDTH > 0 ? WIDTH : 1)>(
                    x, inverse_noise, d_constellation.scale, llr + 2 * WIDTH * i);
            else
                demap_points(
                    x, inverse_noise, d_constellation, llr + d_constellation.bits * i);
        }
        return (MMSE ? d_qr.finite : d_qr.usable) &
               (d_qr.energy(y, nr) < F(largest_energy));
    }

private:
    static constexpr int extended_nr = NT > 0 && NR > 0 ? NT + NR : 0;
    const constellation& d_constellation;
    const extent<NT> d_nt;
    const extent<NR> d_nr;
    unscaled_qr<F, NT, NR> d_qr;
    const F* d_h;
    buffer<F, 2 * NT> d_z;            /* D^-2 (Q D)^H y */
    buffer<F, 2 * NT * NT> d_inverse; /* U^-1 above the diagonal, where it is 1 */
    buffer<F, NT> d_spread;           /* |row i of R^-1|^2 */
    unscaled_qr<F, NT, extended_nr> d_extended;
    buffer<F, 2 * NT * extended_nr> d_stacked;

    /* Invert U by back substitution, column by column. */
    template <class QR>
    MP_FN void invert(const QR& qr)
    {
        const int nt = d_nt;
        MP_UNROLL_UP_TO(4)
        for (int j = 1; j < nt; ++j) {
            MP_UNROLL_UP_TO(4)
            for (int i = j - 1; i >= 0; --i) {
                F re = F(0.0f) - qr.r[2 * (i * nt + j)];
                F im = F(0.0f) - qr.r[2 * (i * nt + j) + 1];
                MP_UNROLL_UP_TO(4)
                for (int k = i + 1; k < j; ++k) {
                    const F* const x = &d_inverse[2 * (k * nt + j)];
                    subtract_product(&qr.r[2 * (i * nt + k)], x[0], x[1], re, im);
                }
                d_inverse[2 * (i * nt + j)] = re;
                d_inverse[2 * (i * nt + j) + 1] = im;
            }
        }
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i) {
            F sum = qr.inverse2[i];
            MP_UNROLL_UP_TO(4)
            for (int j = i + 1; j < nt; ++j) {
                const F re = d_inverse[2 * (i * nt + j)],
                        im = d_inverse[2 * (i * nt + j) + 1];
                sum = fma(fma(re, re, im * im), qr.inverse2[j], sum);
            }
            d_spread[i] = sum;
        }
    }

    template <class QR>
    MP_FN void project(const QR& qr, const F* y)
    {
        const int nt = d_nt, nr = d_nr;
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i) {
            qr.project(&qr.q[2 * qr.d_nr * i], y, nr, d_z[2 * i], d_z[2 * i + 1]);
            d_z[2 * i] = d_z[2 * i] * qr.inverse2[i];
            d_z[2 * i + 1] = d_z[2 * i + 1] * qr.inverse2[i];
        }
    }

    /* Extend the QR decomposition to [H; sigma I]. */
    MP_FN void extend(F sigma)
    {
        const int nt = d_nt, nr = d_nr;
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < 2 * nr * nt; ++i)
            d_stacked[i] = d_h[i];
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i) {
            MP_UNROLL_UP_TO(4)
            for (int j = 0; j < nt; ++j) {
                const int entry = 2 * ((nr + i) * nt + j);
                d_stacked[entry] = i == j ? sigma : F(0.0f);
                d_stacked[entry + 1] = F(0.0f);
            }
        }
        d_extended.decompose_from(&d_stacked[0], [](int c) { return c; });
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

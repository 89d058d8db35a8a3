/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* QR decomposition by modified Gram-Schmidt (001, Algorithm 1), in complex arithmetic.
 *
 * The real-valued decomposition of the paper keeps the two axes of a column orthogonal
 * and of equal norm, so its R holds 2x2 blocks [a -b; b a] with r*I on the diagonal: the
 * complex R, whose diagonal is real, holds the same numbers once. */
#pragma once
#include "storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A column of which less than this share of its norm is left after projection counts as
 * dependent on those before it: what float32 can still tell from zero, whose rounding
 * grows with the root of the column's length. Its square is 1e-12 (num_rx / 4), at least
 * 1e-12. */
MP_FN float rank_tolerance2(int num_rx)
{
    return num_rx > 4 ? 0.25e-12f * num_rx : 1e-12f;
}

/* A complex matrix is an array of lanes, row-major, real and imaginary part adjacent. */

/* h = Q R; column c of h is column source(c) of what is given. NT, NR as in extent. */
template <class F, int NT, int NR>
struct qr {
    using mask = decltype(F() < F());
    const extent<NT> d_nt;
    const extent<NR> d_nr;
    buffer<F, 2 * NT * NR> q; /* column-major here: column c at 2*nr*c */
    buffer<F, 2 * NT * NT> r; /* r_ij at 2*(i*nt + j), j > i */
    buffer<F, NT> diagonal;   /* r_ii */
    buffer<F, NT> inverse;    /* 1 / r_ii */
    buffer<F, NT> norm2;      /* |h_i|^2 */
    mask usable;              /* finite and of full column rank */

    MP_FN qr(arena<F>& a, int nt_, int nr_)
        : d_nt(nt_),
          d_nr(nr_),
          q(a, 2 * nt_ * nr_),
          r(a, 2 * nt_ * nt_),
          diagonal(a, nt_),
          inverse(a, nt_),
          norm2(a, nt_)
    {
    }

    MP_FN void decompose(const F* h)
    {
        decompose(h, [](int c) { return c; });
    }

    template <class Source>
    MP_FN void decompose(const F* h, Source source)
    {
        const int nt = d_nt, nr = d_nr;
        MP_UNROLL
        for (int c = 0; c < nt; ++c) {
            const int from = source(c);
            F sum(0.0f);
            MP_UNROLL
            for (int i = 0; i < nr; ++i) {
                const F re = h[2 * (i * nt + from)], im = h[2 * (i * nt + from) + 1];
                q[2 * (nr * c + i)] = re;
                q[2 * (nr * c + i) + 1] = im;
                sum = fma(re, re, fma(im, im, sum));
            }
            norm2[c] = sum;
        }
        usable = F(0.0f) < F(1.0f);
        MP_UNROLL
        for (int c = 0; c < nt; ++c) {
            F* const v = &q[2 * nr * c];
            F sum(0.0f);
            if (c == 0) {
                sum = norm2[0];
            } else {
                MP_UNROLL
                for (int i = 0; i < 2 * nr; ++i)
                    sum = fma(v[i], v[i], sum);
            }
            /* Also false for NaN and Inf: norm2 < 1e37 holds for neither. */
            usable = usable & (F(rank_tolerance2(nr)) * norm2[c] < sum) &
                     (norm2[c] < F(1e37f)) & (F(1e-37f) < sum);
            const F inv = rsqrt(sum);
            inverse[c] = inv;
            diagonal[c] = sum * inv;
            MP_UNROLL
            for (int i = 0; i < 2 * nr; ++i)
                v[i] = v[i] * inv;
            MP_UNROLL
            for (int k = c + 1; k < nt; ++k) {
                F* const w = &q[2 * nr * k];
                F re(0.0f), im(0.0f);
                project(v, w, re, im);
                r[2 * (c * nt + k)] = re;
                r[2 * (c * nt + k) + 1] = im;
                MP_UNROLL
                for (int i = 0; i < nr; ++i) {
                    w[2 * i] = fma(v[2 * i + 1], im, fnma(v[2 * i], re, w[2 * i]));
                    w[2 * i + 1] =
                        fnma(v[2 * i + 1], re, fnma(v[2 * i], im, w[2 * i + 1]));
                }
            }
        }
    }

    /* (re, im) = v^H w */
    MP_FN void project(const F* v, const F* w, F& re, F& im) const
    {
        const int nr = d_nr;
        re = F(0.0f);
        im = F(0.0f);
        MP_UNROLL
        for (int i = 0; i < nr; ++i) {
            re = fma(v[2 * i], w[2 * i], fma(v[2 * i + 1], w[2 * i + 1], re));
            im = fma(v[2 * i], w[2 * i + 1], fnma(v[2 * i + 1], w[2 * i], im));
        }
    }

    /* z = Q^H y, 2*nt lanes; returns where y is finite */
    MP_FN mask rotate(const F* y, F* z) const
    {
        const int nt = d_nt, nr = d_nr;
        F energy(0.0f);
        MP_UNROLL
        for (int i = 0; i < 2 * nr; ++i)
            energy = fma(y[i], y[i], energy);
        MP_UNROLL
        for (int c = 0; c < nt; ++c)
            project(&q[2 * nr * c], y, z[2 * c], z[2 * c + 1]);
        return energy < F(1e37f);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear estimates under Gaussian assumptions on the other layers, for MMSE-PIC and EP.
 *
 * z = R x + n, R upper triangular, noise sigma^2, x_i ~ N(m_i, s_i^2). What z and the
 * other layers' distributions say of x_i, its own left out, is again Gaussian: MMSE-PIC's
 * unbiased estimate, EP's cavity. With S = diag(s) and the QR decomposition
 *
 *     [R S; sigma I] = [Q1; Q2] U,   t_i = [Q2 Q1^H R]_ii,
 *
 * its mean is m_i + [Q2 Q1^H (z - R m)]_i / t_i and its variance |row i of Q2|^2 s_i
 * sigma / t_i: the posterior filter is S^-1 Q2 Q1^H / sigma. This neither squares R's
 * condition number nor takes the difference of two precisions, of which the prior's may
 * be any times as large: for s_i -> 0 both t_i and what it divides go as s_i. */
#pragma once
#include "common/complex.h"
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Products of real entries (a lane each) or complex entries (two lanes each) */
template <class F, bool COMPLEX>
struct entries {
    static constexpr int parts = COMPLEX ? 2 : 1;

    /* sum += conj(a) b */
    MP_FN static void add_conjugate(F* sum, const F* a, const F* b)
    {
        if constexpr (COMPLEX)
            add_conjugate_product(a, b, sum);
        else
            *sum = fma(*a, *b, *sum);
    }

    /* sum += a b */
    MP_FN static void add(F* sum, const F* a, const F* b)
    {
        if constexpr (COMPLEX)
            add_product(a, b, sum);
        else
            *sum = fma(*a, *b, *sum);
    }

    /* sum -= a b */
    MP_FN static void subtract(F* sum, const F* a, const F* b)
    {
        if constexpr (COMPLEX)
            subtract_product(a, b, sum);
        else
            *sum = fnma(*a, *b, *sum);
    }
};

/* An estimator for N layers, or axes of layers, and the same number of entries in z. N =
 * 0: number known when running. */
template <class F, int N, bool COMPLEX>
class cavity
{
public:
    using entry = entries<F, COMPLEX>;
    static constexpr int parts = entry::parts;
    buffer<F, parts * N> mean;
    buffer<F, N> precision; /* 1 / variance */

    MP_FN cavity(arena<F>& a, int n)
        : mean(a, parts * n),
          precision(a, n),
          d_n(n),
          d_q1(a, parts * n * n),
          d_q2(a, parts * n * n),
          d_rotated(a, parts * n)
    {
    }

    /* Compute the estimates. r: row-major with its diagonal; m, s: means and standard
     * deviations of the layers. */
    MP_FN void compute(const F* r, const F* z, const F* m, const F* s, F sigma)
    {
        const int n = d_n;
        decompose(r, s, sigma);
        rotate(r, z, m);
        MP_UNROLL
        for (int i = 0; i < n; ++i) {
            F numerator[2] = { F(0.0f), F(0.0f) };
            F others(0.0f); /* row i of Q2 ends on the diagonal of Q1^H R S */
            MP_UNROLL
            for (int j = i; j < n; ++j) {
                const F* const q2 = &d_q2[parts * (n * j + i)];
                entry::add(numerator, q2, &d_rotated[parts * j]);
                for (int part = 0; j > i && part < parts; ++part)
                    others = fma(q2[part], q2[part], others);
            }
            F own[2] = { F(0.0f), F(0.0f) };
            MP_UNROLL
            for (int k = 0; k <= i; ++k)
                entry::add_conjugate(
                    own, &d_q1[parts * (n * i + k)], &r[parts * (k * n + i)]);
            const F q2 = d_q2[parts * (n * i + i)];
            const F t =
                max(fnma(others * sigma, reciprocal(s[i]), q2 * own[0]), F(1e-30f));
            const F inverse = reciprocal(t);
            for (int part = 0; part < parts; ++part)
                mean[parts * i + part] =
                    fma(numerator[part], inverse, m[parts * i + part]);
            precision[i] =
                t * reciprocal(max(fma(q2, q2, others) * s[i] * sigma, F(1e-30f)));
        }
    }

private:
    const extent<N> d_n;
    buffer<F, parts * N * N> d_q1, d_q2; /* entry (row, column) at n * column + row */
    buffer<F, parts * N> d_rotated;

    /* Decompose by modified Gram-Schmidt, a column at a time, in registers if N is known.
     * Column c of either half ends with row c. */
    MP_FN void decompose(const F* r, const F* s, F sigma)
    {
        const int n = d_n;
        MP_UNROLL
        for (int k = 0; k < n; ++k) {
            F local[N > 0 ? 2 * parts * N : 1];
            F* const w1 = N > 0 ? local : &d_q1[parts * n * k];
            F* const w2 = N > 0 ? local + parts * N : &d_q2[parts * n * k];
            MP_UNROLL
            for (int i = 0; i <= k; ++i) {
                for (int part = 0; part < parts; ++part) {
                    w1[parts * i + part] = r[parts * (i * n + k) + part] * s[k];
                    w2[parts * i + part] = i == k && part == 0 ? sigma : F(0.0f);
                }
            }
            MP_UNROLL
            for (int c = 0; c < k; ++c) {
                const F* const v1 = &d_q1[parts * n * c];
                const F* const v2 = &d_q2[parts * n * c];
                F share[2] = { F(0.0f), F(0.0f) }, lower[2] = { F(0.0f), F(0.0f) };
                MP_UNROLL
                for (int i = 0; i <= c; ++i) {
                    entry::add_conjugate(share, v1 + parts * i, w1 + parts * i);
                    if (i < c) /* row c of w2 is still zero */
                        entry::add_conjugate(lower, v2 + parts * i, w2 + parts * i);
                }
                for (int part = 0; part < parts; ++part)
                    share[part] = share[part] + lower[part];
                MP_UNROLL
                for (int i = 0; i <= c; ++i) {
                    entry::subtract(w1 + parts * i, v1 + parts * i, share);
                    entry::subtract(w2 + parts * i, v2 + parts * i, share);
                }
            }
            F norm2(0.0f), lower(0.0f);
            MP_UNROLL
            for (int i = 0; i < parts * (k + 1); ++i) {
                norm2 = fma(w1[i], w1[i], norm2);
                lower = fma(w2[i], w2[i], lower);
            }
            const F inverse = rsqrt(norm2 + lower);
            MP_UNROLL
            for (int i = 0; i < parts * (k + 1); ++i) {
                d_q1[parts * n * k + i] = w1[i] * inverse;
                d_q2[parts * n * k + i] = w2[i] * inverse;
            }
        }
    }

    /* Set d_rotated = Q1^H (z - R m). */
    MP_FN void rotate(const F* r, const F* z, const F* m)
    {
        const int n = d_n;
        MP_UNROLL
        for (int j = 0; j < parts * n; ++j)
            d_rotated[j] = F(0.0f);
        MP_UNROLL
        for (int i = 0; i < n; ++i) {
            F residual[2] = { z[parts * i], z[parts * i + parts - 1] };
            MP_UNROLL
            for (int j = i; j < n; ++j)
                entry::subtract(residual, &r[parts * (i * n + j)], &m[parts * j]);
            MP_UNROLL
            for (int j = i; j < n; ++j)
                entry::add_conjugate(
                    &d_rotated[parts * j], &d_q1[parts * (n * j + i)], residual);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

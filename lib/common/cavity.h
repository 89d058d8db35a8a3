/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear estimates under Gaussian assumptions on the other layers, for MMSE-PIC and EP.
 *
 * z = R x + n, R upper triangular, noise sigma^2, x_i ~ N(m_i, s_i^2). The distribution
 * of x_i given z and the other layers' distributions, without its own, is again Gaussian:
 * MMSE-PIC's unbiased estimate, EP's cavity. With S = diag(s) and the QR decomposition
 *
 *     [R S; sigma I] = [Q1; Q2] U,   t_i = [Q2 Q1^H R]_ii,
 *
 * its mean is m_i + [Q2 Q1^H (z - R m)]_i / t_i and its variance |row i of Q2|^2 s_i
 * sigma / t_i: the posterior filter is S^-1 Q2 Q1^H / sigma. This neither squares R's
 * condition number nor subtracts two precisions, which would lose digits if the prior's
 * is much larger. For s_i -> 0, t_i and its numerators are proportional to s_i. */
#pragma once
#include "common/complex.h"
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Products of real entries (a lane each) or complex entries (two lanes each) */
template <class F, bool COMPLEX>
struct entry_products {
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
    /* Lanes from a column to the next one. Columns that are a multiple of 4 KiB apart
     * would have the same few places in the first cache. */
    static constexpr int stride(int n)
    {
        return 2 * entry_products<F, COMPLEX>::parts * n + (N ? 0 : 2);
    }

public:
    using entry = entry_products<F, COMPLEX>;
    static constexpr int parts = entry::parts;
    buffer<F, parts * N> mean;
    buffer<F, N> precision; /* 1 / variance */

    MP_FN cavity(arena<F>& a, int n)
        : mean(a, parts * n),
          precision(a, n),
          d_n(n),
          d_q(a, stride(n) * n),
          d_residual(a, parts * n),
          d_rotated(a, parts * n),
          d_gain(a, n)
    {
    }

    /* Compute the estimates. r: column-major with its diagonal, entry (row, column) at n
     * * column + row; m, s: means and standard deviations of the layers. */
    MP_FN void compute(const F* r, const F* z, const F* m, const F* s, F sigma)
    {
        prepare(r, s, sigma);
        estimate(r, z, m);
    }

    /* Compute the precisions and everything else that does not depend on z and the
     * means. */
    MP_FN void prepare(const F* r, const F* s, F sigma)
    {
        const int n = d_n;
        decompose(r, s, sigma);
        /* Row i of Q2 ends on the diagonal of Q1^H R S. First, sum the other entries. */
        F* const others = &precision[0];
        MP_UNROLL_UP_TO(8)
        for (int j = 0; j < n; ++j) {
            others[j] = F(0.0f);
            MP_UNROLL_UP_TO(8)
            for (int i = 0; i < j; ++i) {
                for (int part = 0; part < parts; ++part)
                    others[i] = fma(q2(i, j)[part], q2(i, j)[part], others[i]);
            }
        }
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < n; ++i) {
            F own[2] = { F(0.0f), F(0.0f) };
            MP_UNROLL_UP_TO(8)
            for (int k = 0; k <= i; ++k)
                entry::add_conjugate(own, q1(k, i), &r[parts * (n * i + k)]);
            const F last = *q2(i, i);
            /* No precision is below 1e-9: if a layer has no column, or a stronger column
             * hides it, rounding must not decide its mean. */
            const F unit = s[i] * sigma;
            const F t = max(fnma(others[i] * sigma, reciprocal(s[i]), last * own[0]),
                            fma(F(1e-9f), unit, F(1e-30f)));
            d_gain[i] = reciprocal(t);
            precision[i] =
                t * reciprocal(max(fma(last, last, others[i]) * unit, F(1e-30f)));
        }
    }

    MP_FN void estimate(const F* r, const F* z, const F* m)
    {
        const int n = d_n;
        rotate(r, z, m);
        MP_UNROLL_UP_TO(8)
        for (int j = 0; j < n; ++j) {
            for (int part = 0; part < parts; ++part)
                mean[parts * j + part] = F(0.0f);
            MP_UNROLL_UP_TO(8)
            for (int i = 0; i <= j; ++i)
                entry::add(&mean[parts * i], q2(i, j), &d_rotated[parts * j]);
        }
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < n; ++i) {
            for (int part = 0; part < parts; ++part)
                mean[parts * i + part] =
                    fma(mean[parts * i + part], d_gain[i], m[parts * i + part]);
        }
    }

private:
    const extent<N> d_n;
    buffer<F, stride(N) * N> d_q; /* columns of [Q1; Q2], whose entries alternate */
    buffer<F, parts * N> d_residual, d_rotated;
    buffer<F, N> d_gain; /* 1 / t_i */

    MP_FN F* column(int c) { return &d_q[stride(d_n) * c]; }
    MP_FN F* q1(int row, int c) { return column(c) + 2 * parts * row; }
    MP_FN F* q2(int row, int c) { return q1(row, c) + parts; }

    /* Column k begins as that of [R S; sigma I]. Column c of either half ends with row c.
     */
    MP_FN static void begin_column(F* w, const F* r, int n, int k, F deviation, F sigma)
    {
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i <= k; ++i) {
            for (int part = 0; part < parts; ++part) {
                w[2 * parts * i + part] = r[parts * (n * k + i) + part] * deviation;
                w[2 * parts * i + parts + part] = i == k && part == 0 ? sigma : F(0.0f);
            }
        }
    }

    /* Set `unit` to the column with length 1; they may be the same. */
    MP_FN static void normalise(const F* w, int rows, F* unit)
    {
        F norm2(0.0f), lower(0.0f);
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < rows; ++i) {
            for (int part = 0; part < parts; ++part) {
                const int upper = 2 * parts * i + part;
                norm2 = fma(w[upper], w[upper], norm2);
                lower = fma(w[upper + parts], w[upper + parts], lower);
            }
        }
        const F inverse = rsqrt(norm2 + lower);
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < 2 * parts * rows; ++i)
            unit[i] = w[i] * inverse;
    }

    /* Modified Gram-Schmidt, a column at a time; in registers if N > 0 */
    MP_FN void decompose(const F* r, const F* s, F sigma)
    {
        const int n = d_n;
        MP_UNROLL_UP_TO(8)
        for (int k = 0; k < n; ++k) {
            F local[N ? 2 * parts * N : 1];
            F* const w = N ? local : column(k);
            begin_column(w, r, n, k, s[k], sigma);
            MP_UNROLL_UP_TO(8)
            for (int c = 0; c < k; ++c) {
                F share[2] = { F(0.0f), F(0.0f) }, lower[2] = { F(0.0f), F(0.0f) };
                MP_UNROLL_UP_TO(8)
                for (int i = 0; i <= c; ++i) {
                    entry::add_conjugate(share, q1(i, c), w + 2 * parts * i);
                    if (i < c) /* row c of the lower half is still zero */
                        entry::add_conjugate(lower, q2(i, c), w + 2 * parts * i + parts);
                }
                for (int part = 0; part < parts; ++part)
                    share[part] = share[part] + lower[part];
                MP_UNROLL_UP_TO(8)
                for (int i = 0; i <= c; ++i) {
                    entry::subtract(w + 2 * parts * i, q1(i, c), share);
                    entry::subtract(w + 2 * parts * i + parts, q2(i, c), share);
                }
            }
            normalise(w, k + 1, column(k));
        }
    }

    /* Set d_rotated = Q1^H (z - R m). */
    MP_FN void rotate(const F* r, const F* z, const F* m)
    {
        const int n = d_n;
        MP_UNROLL_UP_TO(8)
        for (int j = 0; j < n; ++j) {
            for (int part = 0; part < parts; ++part)
                d_residual[parts * j + part] = z[parts * j + part];
            MP_UNROLL_UP_TO(8)
            for (int i = 0; i <= j; ++i)
                entry::subtract(
                    &d_residual[parts * i], &r[parts * (n * j + i)], &m[parts * j]);
        }
        MP_UNROLL_UP_TO(8)
        for (int j = 0; j < n; ++j) {
            F sum[2] = { F(0.0f), F(0.0f) };
            MP_UNROLL_UP_TO(8)
            for (int i = 0; i <= j; ++i)
                entry::add_conjugate(sum, q1(i, j), &d_residual[parts * i]);
            for (int part = 0; part < parts; ++part)
                d_rotated[parts * j + part] = sum[part];
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

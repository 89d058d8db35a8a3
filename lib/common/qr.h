/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* QR decomposition by modified Gram-Schmidt (001, Algorithm 1), in complex arithmetic.
 *
 * The real-valued decomposition of the paper keeps the two axes of a column orthogonal
 * and of equal norm, so its R holds 2x2 blocks [a -b; b a] with r*I on the diagonal: the
 * complex R, whose diagonal is real, holds the same numbers once. */
#pragma once
#include "common/complex.h"
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A column counts as dependent on the columns before it if less than this share of its
 * norm is left after projection. float32 can just tell this share from zero; rounding
 * grows with the root of the column's length. Its square is 1e-12 (num_rx / 4), at least
 * 1e-12. The rest of such a column is rounding noise. It is set to zero, so that h = Q R
 * for every rank. */
MP_FN float rank_tolerance2(int num_rx)
{
    return num_rx > 4 ? 0.25e-12f * num_rx : 1e-12f;
}

/* Return the noise variance; where h lacks rank, at least 50 dB below its strongest
 * column. Estimates from [h; sigma I] have an error of rounding times |h|^2 / sigma^2
 * there. */
template <class F, class Mask>
MP_FN F floored_noise(F noise_var, Mask full_rank, const F* norm2, int nt)
{
    F largest = norm2[0];
    MP_UNROLL_UP_TO(4)
    for (int c = 1; c < nt; ++c)
        largest = max(largest, norm2[c]);
    return select(full_rank, noise_var, max(noise_var, F(1e-5f) * largest));
}

/* A complex matrix is an array of lanes, row-major, real and imaginary part adjacent. */

/* h = Q R with Q's columns orthogonal but of any length and ones on R's diagonal:
 * modified Gram-Schmidt without roots, for kernels that divide by r_ii anyway. NT, NR as
 * in extent.
 *
 * Every column waits for the one before it, so sums are kept in several short chains, and
 * a column's projections do not wait for the reciprocal of its length. */
template <class F, int NT, int NR>
struct unscaled_qr {
    using mask = decltype(F() < F());
    const extent<NT> d_nt;
    const extent<NR> d_nr;
    buffer<F, 2 * NT * NR> q; /* column-major: column c at 2*nr*c */
    buffer<F, 2 * NT * NT> r; /* r_ij at 2*(i*nt + j), j > i */
    buffer<F, NT> length2;  /* |q_i|^2, r_ii^2 of the usual R; 0 for a dependent column */
    buffer<F, NT> inverse2; /* 1 / |q_i|^2; 0 for a dependent column */
    buffer<F, NT> norm2;    /* |h_i|^2 */
    mask finite;            /* no NaN, no Inf, and no column is too large */
    mask usable;            /* finite and of full column rank */

    MP_FN unscaled_qr(arena<F>& a, int nt_, int nr_)
        : d_nt(nt_),
          d_nr(nr_),
          q(a, 2 * nt_ * nr_),
          r(a, 2 * nt_ * nt_),
          length2(a, nt_),
          inverse2(a, nt_),
          norm2(a, nt_)
    {
    }

    /* Decompose h, with its first `first` columns moved to the end. */
    MP_STEP void decompose(const F* h, int first = 0)
    {
        const int nt = d_nt;
        decompose_from(
            h, [=](int c) { return c + first < nt ? c + first : c + first - nt; });
    }

    /* Decompose the matrix whose column c is column source(c) of h. */
    template <class Source>
    MP_FN void decompose_from(const F* h, Source source)
    {
        const int nt = d_nt, nr = d_nr;
        MP_UNROLL_UP_TO(4)
        for (int c = 0; c < nt; ++c) {
            const int from = source(c);
            MP_UNROLL_UP_TO(8)
            for (int i = 0; i < nr; ++i) {
                q[2 * (nr * c + i)] = h[2 * (i * nt + from)];
                q[2 * (nr * c + i) + 1] = h[2 * (i * nt + from) + 1];
            }
            norm2[c] = energy(&q[2 * nr * c], nr);
        }
        finite = usable = F(0.0f) < F(1.0f);
        MP_UNROLL_UP_TO(4)
        for (int c = 0; c < nt; ++c) {
            F* const v = &q[2 * nr * c];
            const F sum = c ? energy(v, nr) : norm2[0];
            /* Also false for NaN and Inf */
            finite = finite & (norm2[c] < F(largest_energy));
            const mask independent = is_independent(sum, norm2[c], nr);
            usable = usable & finite & independent;
            length2[c] = select(independent, sum, F(0.0f));
            inverse2[c] = select(independent, reciprocal(sum), F(0.0f));
            MP_UNROLL_UP_TO(4)
            for (int k = c + 1; k < nt; ++k) {
                F* const w = &q[2 * nr * k];
                F re, im;
                project(v, w, nr, re, im);
                re = re * inverse2[c];
                im = im * inverse2[c];
                r[2 * (c * nt + k)] = re;
                r[2 * (c * nt + k) + 1] = im;
                remove(v, nr, re, im, w);
            }
        }
    }

    /* Return where enough of a column's energy is left. */
    MP_FN static mask is_independent(F left, F whole, int nr)
    {
        return (F(rank_tolerance2(nr)) * whole < left) & (F(least_energy) < left);
    }

    /* z = Q^H y, 2*nt lanes; returns where y is finite */
    MP_FN mask rotate(const F* y, F* z) const
    {
        const int nt = d_nt, nr = d_nr;
        MP_UNROLL_UP_TO(4)
        for (int c = 0; c < nt; ++c)
            project(&q[2 * nr * c], y, nr, z[2 * c], z[2 * c + 1]);
        return energy(y, nr) < F(largest_energy);
    }

    /* The same with y as one more column of the decomposition: each column's share is
     * subtracted from y. Q is not orthogonal where columns are nearly dependent, and only
     * this way metrics of different column orders have the same error. */
    MP_FN mask rotate_stepwise(F* y, F* z) const
    {
        return rotate_stepwise(y, z, [this](int c) { return inverse2[c]; });
    }

    template <class Weight>
    MP_FN mask rotate_stepwise(F* y, F* z, Weight inverse_length2) const
    {
        const int nt = d_nt, nr = d_nr;
        const mask finite = energy(y, nr) < F(largest_energy);
        MP_UNROLL_UP_TO(4)
        for (int c = 0; c < nt; ++c) {
            const F* const v = &q[2 * nr * c];
            project(v, y, nr, z[2 * c], z[2 * c + 1]);
            const F re = z[2 * c] * inverse_length2(c),
                    im = z[2 * c + 1] * inverse_length2(c);
            remove(v, nr, re, im, y);
        }
        return finite;
    }

    MP_FN F floored(F noise_var) const
    {
        return floored_noise(noise_var, usable, &norm2[0], d_nt);
    }

    /* |v|^2 */
    MP_FN static F energy(const F* v, int nr)
    {
        F re = v[0] * v[0], im = v[1] * v[1];
        MP_UNROLL_UP_TO(8)
        for (int i = 1; i < nr; ++i) {
            re = fma(v[2 * i], v[2 * i], re);
            im = fma(v[2 * i + 1], v[2 * i + 1], im);
        }
        return re + im;
    }

    /* (re, im) = v^H w over nr rows */
    MP_FN static void project(const F* v, const F* w, int nr, F& re, F& im)
    {
        F re_im = v[1] * w[1], im_re = v[1] * w[0];
        re = v[0] * w[0];
        im = v[0] * w[1];
        MP_UNROLL_UP_TO(8)
        for (int i = 1; i < nr; ++i) {
            re = fma(v[2 * i], w[2 * i], re);
            re_im = fma(v[2 * i + 1], w[2 * i + 1], re_im);
            im = fma(v[2 * i], w[2 * i + 1], im);
            im_re = fma(v[2 * i + 1], w[2 * i], im_re);
        }
        re = re + re_im;
        im = im - im_re;
    }

    /* w -= (re + j im) v over nr rows: subtracts a column's share from another column */
    MP_FN static void remove(const F* v, int nr, F re, F im, F* w)
    {
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < nr; ++i)
            subtract_product(v + 2 * i, re, im, w[2 * i], w[2 * i + 1]);
    }
};

/* The usual h = Q R: orthonormal columns, and r_ii > 0 on the diagonal. A dependent
 * column has zeros in Q, and in its row of R. */
template <class F, int NT, int NR>
struct qr : unscaled_qr<F, NT, NR> {
    using base = unscaled_qr<F, NT, NR>;
    using base::d_nr;
    using base::d_nt;
    using base::length2;
    using base::q;
    using base::r;
    buffer<F, NT> diagonal; /* r_ii */
    buffer<F, NT> inverse;  /* 1 / r_ii */

    MP_FN qr(arena<F>& a, int nt_, int nr_)
        : base(a, nt_, nr_), diagonal(a, nt_), inverse(a, nt_)
    {
    }

    MP_STEP void decompose(const F* h, int first = 0)
    {
        const int nt = d_nt;
        decompose_from(
            h, [=](int c) { return c + first < nt ? c + first : c + first - nt; });
    }

    template <class Source>
    MP_FN void decompose_from(const F* h, Source source)
    {
        const int nt = d_nt, nr = d_nr;
        base::decompose_from(h, source);
        MP_UNROLL_UP_TO(4)
        for (int c = 0; c < nt; ++c) {
            inverse[c] = select(F(0.0f) < length2[c], rsqrt(length2[c]), F(0.0f));
            diagonal[c] = length2[c] * inverse[c];
            MP_UNROLL_UP_TO(8)
            for (int i = 2 * nr * c; i < 2 * nr * (c + 1); ++i)
                q[i] = q[i] * inverse[c];
            MP_UNROLL_UP_TO(8)
            for (int j = 2 * (c * nt + c + 1); j < 2 * nt * (c + 1); ++j)
                r[j] = r[j] * diagonal[c];
        }
    }

    MP_FN decltype(F() < F()) rotate_stepwise(F* y, F* z) const
    {
        return base::rotate_stepwise(y, z, [](int) { return F(1.0f); });
    }

    /* Set row i of c_ij = r_ij / r_ii. Set the shift of v_i = y_tilde_i / r_ii for
     * symbols that are integers 0..side-1 on each axis: (side-1)/2 (1+j) sum_{j>=i} c_ij.
     */
    MP_FN void divide_row(int i, int side, F* c, F* offset) const
    {
        const int nt = d_nt;
        const F half_side(0.5f * (side - 1));
        F sum_re(1.0f), sum_im(0.0f);
        MP_UNROLL_UP_TO(4)
        for (int j = i + 1; j < nt; ++j) {
            const int ij = 2 * (i * nt + j);
            c[ij] = r[ij] * inverse[i];
            c[ij + 1] = r[ij + 1] * inverse[i];
            sum_re = sum_re + c[ij];
            sum_im = sum_im + c[ij + 1];
        }
        /* (1 + j)(sum_re + j sum_im) */
        offset[2 * i] = half_side * (sum_re - sum_im);
        offset[2 * i + 1] = half_side * (sum_re + sum_im);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

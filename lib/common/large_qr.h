/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* h = Q R for sizes known when running, which may be large.
 *
 * Where h is tall and its columns are far from dependent, R is the Cholesky factor of H^H
 * H, which takes half the work, and z = Q^H y is R^-H H^H y. This squares the condition
 * number, so other matrices take Gram-Schmidt. Each lane keeps its own form: neighbours
 * must not change a result. */
#pragma once
#include "common/column_block.h"
#include "common/qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class F>
class large_qr
{
public:
    using mask = decltype(F() < F());
    buffer<F, 0> r;        /* r_ij at 2*(i*nt + j), j > i */
    buffer<F, 0> diagonal; /* r_ii */
    mask finite;           /* no NaN, no Inf, and no column is too large */
    mask usable;           /* finite and of full column rank */

    /* Return whether h has so many rows that H^H H may take the place of h. */
    MP_FN static constexpr bool is_tall(int nt, int nr) { return nr >= 2 * nt; }

    MP_FN large_qr(arena<F>& a, int nt, int nr)
        : r(a, 2 * nt * nt),
          diagonal(a, nt),
          d_nt(nt),
          d_nr(nr),
          d_inverse(a, nt),
          d_norm2(a, nt),
          d_q(a, 2 * nt * nr),
          d_gram(a, 2 * nt * nt + 2 * nt),
          d_other(a, 2 * nt),
          d_h(nullptr),
          d_all_gram(false),
          d_any_gram(false)
    {
    }

    /* h stays where it is until the last vector is rotated. */
    MP_FN void decompose(const F* h)
    {
        d_h = h;
        d_all_gram = d_any_gram = false;
        if (is_tall(d_nt, d_nr)) {
            factorise();
            d_from_gram = usable;
            d_any_gram = any(d_from_gram);
            d_all_gram = !any(~d_from_gram);
        }
        if (d_all_gram)
            return;
        if (d_any_gram)
            exchange<false>();
        orthogonalise();
        if (d_any_gram)
            exchange<true>();
    }

    /* z = Q^H y, 2*nt lanes; returns where y is finite */
    MP_FN mask rotate(const F* y, F* z)
    {
        if (d_any_gram) {
            multiply(d_h, 2 * d_nt, 2, y, z);
            solve(z);
        }
        if (!d_all_gram) {
            F* const q_y = d_any_gram ? &d_other[0] : z;
            multiply(&d_q[0], 2, 2 * d_nr, y, q_y);
            if (d_any_gram) {
                MP_ROLLED
                for (int i = 0; i < 2 * d_nt; ++i)
                    z[i] = select(d_from_gram, z[i], q_y[i]);
            }
        }
        return unscaled_qr<F, 0, 0>::energy(y, d_nr) < F(largest_energy);
    }

    MP_FN F floored(F noise_var) const
    {
        return floored_noise(noise_var, usable, &d_norm2[0], d_nt);
    }

private:
    /* A column counts as nearly dependent if less than this share of its energy is left:
     * H^H H would then lose more than two digits. */
    static constexpr float least_share = 0.02f;
    /* Rows of H that stay in the first cache while all pairs of columns use them */
    static constexpr int rows_at_once = 8;
    const int d_nt, d_nr;
    buffer<F, 0> d_inverse; /* 1 / r_ii */
    buffer<F, 0> d_norm2;   /* |h_i|^2 */
    buffer<F, 0> d_q;       /* column-major: column c at 2*nr*c */
    buffer<F, 0> d_gram;    /* r, diagonal and d_inverse from factorise() */
    buffer<F, 0> d_other;
    const F* d_h;
    mask d_from_gram;
    bool d_all_gram, d_any_gram;

    /* The columns of Q while they are made */
    struct columns_of_q {
        large_qr& qr;
        MP_FN F* column(int c) { return &qr.d_q[2 * qr.d_nr * c]; }
        MP_FN int rows(int) const { return qr.d_nr; }
        MP_FN void keep(int c, int k, const F* share)
        {
            F* const entry = &qr.r[2 * (c * qr.d_nt + k)];
            entry[0] = share[0];
            entry[1] = share[1];
        }
        MP_FN void unit(int c)
        {
            F* const v = column(c);
            const F sum = unscaled_qr<F, 0, 0>::energy(v, qr.d_nr);
            qr.set_diagonal(
                c,
                sum,
                unscaled_qr<F, 0, 0>::is_independent(sum, qr.d_norm2[c], qr.d_nr));
            MP_ROLLED
            for (int i = 0; i < 2 * qr.d_nr; ++i)
                v[i] = v[i] * qr.d_inverse[c];
        }
    };

    /* Set r_cc from its square. independent: whether this is enough of the column's
     * energy. Otherwise the column of Q and the row of R are zeros. */
    MP_FN void set_diagonal(int c, F sum, mask independent)
    {
        /* Also false for NaN and Inf */
        finite = finite & (d_norm2[c] < F(largest_energy));
        usable = usable & finite & independent;
        d_inverse[c] = select(independent, rsqrt(sum), F(0.0f));
        diagonal[c] = sum * d_inverse[c];
    }

    /* Keep the results of factorise(), or put them back where they are accurate. */
    template <bool BACK>
    MP_FN void exchange()
    {
        const int nt = d_nt;
        exchange<BACK>(&r[0], 2 * nt * nt, &d_gram[0]);
        exchange<BACK>(&diagonal[0], nt, &d_gram[2 * nt * nt]);
        exchange<BACK>(&d_inverse[0], nt, &d_gram[2 * nt * nt + nt]);
        if (BACK)
            usable = usable | d_from_gram;
    }

    template <bool BACK>
    MP_FN void exchange(F* values, int count, F* kept) const
    {
        MP_ROLLED
        for (int i = 0; i < count; ++i) {
            if (BACK)
                values[i] = select(d_from_gram, kept[i], values[i]);
            else
                kept[i] = values[i];
        }
    }

    MP_STEP void orthogonalise()
    {
        const int nt = d_nt, nr = d_nr;
        MP_ROLLED
        for (int c = 0; c < nt; ++c) {
            F* const v = &d_q[2 * nr * c];
            MP_ROLLED
            for (int i = 0; i < nr; ++i) {
                v[2 * i] = d_h[2 * (i * nt + c)];
                v[2 * i + 1] = d_h[2 * (i * nt + c) + 1];
            }
            d_norm2[c] = unscaled_qr<F, 0, 0>::energy(v, nr);
        }
        finite = usable = F(0.0f) < F(1.0f);
        orthogonalise_all<F, true, 2>(nt, columns_of_q{ *this });
    }

    /* Compute R from H^H H; `usable` tells where it is accurate. */
    MP_STEP void factorise()
    {
        const int nt = d_nt;
        MP_ROLLED
        for (int i = 0; i < 2 * nt * nt; ++i)
            r[i] = F(0.0f);
        MP_ROLLED
        for (int first = 0; first < d_nr; first += rows_at_once) {
            const int left = d_nr - first;
            add_rows(d_h + 2 * nt * first, left < rows_at_once ? left : rows_at_once);
        }
        MP_ROLLED
        for (int c = 0; c < nt; ++c)
            d_norm2[c] = r[2 * (c * nt + c)];
        finite = usable = F(0.0f) < F(1.0f);
        MP_ROLLED
        for (int c = 0; c < nt; ++c) {
            F* const row = &r[2 * c * nt];
            set_diagonal(c,
                         row[2 * c],
                         (F(least_share) * d_norm2[c] < row[2 * c]) &
                             (F(least_energy) < row[2 * c]));
            MP_ROLLED
            for (int j = 2 * (c + 1); j < 2 * nt; ++j)
                row[j] = row[j] * d_inverse[c];
            MP_ROLLED
            for (int i = c + 1; i < nt; ++i) {
                const F re = row[2 * i], minus_im = F(0.0f) - row[2 * i + 1];
                F* const below = &r[2 * i * nt];
                MP_ROLLED
                for (int j = i; j < nt; ++j)
                    subtract_product(
                        row + 2 * j, re, minus_im, below[2 * j], below[2 * j + 1]);
            }
        }
    }

    /* Add the rows' share to the upper half of H^H H. */
    MP_FN void add_rows(const F* h, int rows)
    {
        int i = 0;
        MP_ROLLED
        for (; i + 2 <= d_nt; i += 2) {
            int j = i;
            MP_ROLLED
            for (; j + 2 <= d_nt; j += 2)
                add_products<2, 2>(h, rows, i, j);
            if (j < d_nt)
                add_products<2, 1>(h, rows, i, j);
        }
        if (i < d_nt)
            add_products<1, 1>(h, rows, i, i);
    }

    template <int I, int J>
    MP_FN void add_products(const F* h, int rows, int i, int j)
    {
        const int nt = d_nt;
        F sum[I][2 * J];
        MP_UNROLL
        for (int a = 0; a < I; ++a) {
            MP_UNROLL
            for (int b = 0; b < 2 * J; ++b)
                sum[a][b] = r[2 * ((i + a) * nt + j) + b];
        }
        MP_ROLLED
        for (int row = 0; row < rows; ++row, h += 2 * nt) {
            MP_UNROLL
            for (int a = 0; a < I; ++a) {
                MP_UNROLL
                for (int b = 0; b < J; ++b)
                    add_conjugate_product(
                        h + 2 * (i + a), h + 2 * (j + b), &sum[a][2 * b]);
            }
        }
        MP_UNROLL
        for (int a = 0; a < I; ++a) {
            MP_UNROLL
            for (int b = 0; b < 2 * J; ++b)
                r[2 * ((i + a) * nt + j) + b] = sum[a][b];
        }
    }

    /* z = A^H y; entries of a column are `down` lanes apart, columns `across` lanes. */
    MP_STEP void multiply(const F* a, int down, int across, const F* y, F* z) const
    {
        int c = 0;
        MP_ROLLED
        for (; c + 4 <= d_nt; c += 4)
            multiply_columns<4>(a + across * c, down, across, y, z + 2 * c);
        MP_ROLLED
        for (; c < d_nt; ++c)
            multiply_columns<1>(a + across * c, down, across, y, z + 2 * c);
    }

    template <int COLUMNS>
    MP_FN void multiply_columns(const F* a, int down, int across, const F* y, F* z) const
    {
        F sum[2 * COLUMNS];
        MP_UNROLL
        for (int p = 0; p < 2 * COLUMNS; ++p)
            sum[p] = F(0.0f);
        MP_ROLLED
        for (int i = 0; i < d_nr; ++i) {
            MP_UNROLL
            for (int c = 0; c < COLUMNS; ++c)
                add_conjugate_product(a + down * i + across * c, y + 2 * i, sum + 2 * c);
        }
        MP_UNROLL
        for (int p = 0; p < 2 * COLUMNS; ++p)
            z[p] = sum[p];
    }

    /* z = R^-H z */
    MP_FN void solve(F* z) const
    {
        const int nt = d_nt;
        MP_ROLLED
        for (int c = 0; c < nt; ++c) {
            const F* const row = &r[2 * c * nt];
            const F re = z[2 * c] * d_inverse[c], im = z[2 * c + 1] * d_inverse[c];
            z[2 * c] = re;
            z[2 * c + 1] = im;
            MP_ROLLED
            for (int j = c + 1; j < nt; ++j) {
                /* z_j -= conj(r_cj) z_c */
                const F a_re = row[2 * j], a_im = row[2 * j + 1];
                z[2 * j] = fnma(a_im, im, fnma(a_re, re, z[2 * j]));
                z[2 * j + 1] = fma(a_im, re, fnma(a_re, im, z[2 * j + 1]));
            }
        }
    }
};

/* The decomposition for a size: qr.h where it is known when compiling */
template <class F, int NT, int NR>
struct sized_qr {
    using type = qr<F, NT, NR>;
};

template <class F>
struct sized_qr<F, 0, 0> {
    using type = large_qr<F>;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

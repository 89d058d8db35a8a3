/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* h = Q R for sizes known when running.
 *
 * Where h is tall and its columns are far from dependent, R is the Cholesky factor of H^H
 * H, which takes half the work, and z = Q^H y is R^-H H^H y. This squares the condition
 * number, so other matrices take Gram-Schmidt. Each lane keeps its own form: neighbours
 * must not change a result. */
#pragma once
#include "common/qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class F>
class large_qr : public qr<F, 0, 0>
{
    using base = qr<F, 0, 0>;

public:
    using mask = decltype(F() < F());
    using base::diagonal;
    using base::finite;
    using base::inverse;
    using base::norm2;
    using base::r;
    using base::usable;

    /* Return whether h has so many rows that H^H H may take the place of h. */
    MP_FN static constexpr bool is_tall(int nt, int nr) { return nr >= 2 * nt; }

    MP_FN large_qr(arena<F>& a, int nt, int nr)
        : base(a, nt, nr),
          d_nt(nt),
          d_nr(nr),
          d_gram(a, is_tall(nt, nr) ? 2 * nt * nt + 2 * nt : 0),
          d_other(a, is_tall(nt, nr) ? 2 * nt : 0)
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
        base::decompose(h);
        if (d_any_gram)
            exchange<true>();
    }

    /* z = Q^H y, 2*nt lanes; returns where y is finite */
    MP_FN mask rotate(const F* y, F* z)
    {
        if (!d_any_gram)
            return base::rotate(y, z);
        multiply(y, z);
        solve(z);
        if (!d_all_gram) {
            base::rotate(y, &d_other[0]);
            MP_ROLLED
            for (int i = 0; i < 2 * d_nt; ++i)
                z[i] = select(d_from_gram, z[i], d_other[i]);
        }
        return base::energy(y, d_nr) < F(largest_energy);
    }

private:
    /* A column counts as nearly dependent if less than this share of its energy is left:
     * H^H H would then lose more than two digits. */
    static constexpr float least_share = 0.02f;
    /* Rows of H that stay in the first cache while all pairs of columns use them */
    static constexpr int rows_at_once = 8;
    const int d_nt, d_nr;
    buffer<F, 0> d_gram; /* r, diagonal and inverse from factorise() */
    buffer<F, 0> d_other;
    const F* d_h = nullptr;
    mask d_from_gram;
    bool d_all_gram = false, d_any_gram = false;

    /* Keep the results of factorise(), or put them back where they are accurate. */
    template <bool BACK>
    MP_FN void exchange()
    {
        const int nt = d_nt;
        exchange<BACK>(&r[0], 2 * nt * nt, &d_gram[0]);
        exchange<BACK>(&diagonal[0], nt, &d_gram[2 * nt * nt]);
        exchange<BACK>(&inverse[0], nt, &d_gram[2 * nt * nt + nt]);
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
            norm2[c] = r[2 * (c * nt + c)];
        finite = usable = F(0.0f) < F(1.0f);
        MP_ROLLED
        for (int c = 0; c < nt; ++c) {
            F* const row = &r[2 * c * nt];
            const F sum = row[2 * c];
            const mask independent =
                (F(least_share) * norm2[c] < sum) & (F(least_energy) < sum);
            finite = finite & (norm2[c] < F(largest_energy)); /* no NaN, no Inf */
            usable = usable & finite & independent;
            inverse[c] = select(independent, rsqrt(sum), F(0.0f));
            diagonal[c] = sum * inverse[c];
            MP_ROLLED
            for (int j = 2 * (c + 1); j < 2 * nt; ++j)
                row[j] = row[j] * inverse[c];
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

    /* z = H^H y */
    MP_STEP void multiply(const F* y, F* z) const
    {
        int c = 0;
        MP_ROLLED
        for (; c + 4 <= d_nt; c += 4)
            multiply_columns<4>(c, y, z);
        MP_ROLLED
        for (; c < d_nt; ++c)
            multiply_columns<1>(c, y, z);
    }

    template <int COLUMNS>
    MP_FN void multiply_columns(int first, const F* y, F* z) const
    {
        F sum[2 * COLUMNS];
        MP_UNROLL
        for (int p = 0; p < 2 * COLUMNS; ++p)
            sum[p] = F(0.0f);
        MP_ROLLED
        for (int i = 0; i < d_nr; ++i) {
            MP_UNROLL
            for (int c = 0; c < COLUMNS; ++c)
                add_conjugate_product(
                    d_h + 2 * (d_nt * i + first + c), y + 2 * i, sum + 2 * c);
        }
        MP_UNROLL
        for (int p = 0; p < 2 * COLUMNS; ++p)
            z[2 * first + p] = sum[p];
    }

    /* z = R^-H z */
    MP_FN void solve(F* z) const
    {
        const int nt = d_nt;
        MP_ROLLED
        for (int c = 0; c < nt; ++c) {
            const F* const row = &r[2 * c * nt];
            const F re = z[2 * c] * inverse[c], im = z[2 * c + 1] * inverse[c];
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

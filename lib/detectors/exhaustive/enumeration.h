/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* MLA as in 000: the distance of each of the M^nt paths by itself (kernel 1), compared
 * with the hypothesis of every bit (kernel 3). With Table the products of R and the
 * constellation come from the table T of 000 §3.3, and a path costs additions only. This
 * form serves comparisons: kernel.h and sliced.h find the same result with less
 * work. */
#pragma once
#include "detectors/exhaustive/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class F, bool Table>
class enumeration
{
public:
    using mask = decltype(F() < F());

    MP_FN enumeration(arena<F>& a, const constellation& c, int nt, int nr)
        : d_c(c),
          d_nt(nt),
          d_qr(a, nt, nr),
          d_y(a, 2 * nt),
          d_r(a, 2 * nt * nt),
          d_table(a, Table ? nt * (nt + 1) * c.size : 0),
          d_nearest(a, 2 * nt * c.bits)
    {
    }

    MP_FN void prepare(const F* h) { d_qr.decompose(h); }

    /* Compute the LLRs, and return where the vector could be detected. llr: nt*bits lanes
     * in label order. */
    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int nt = d_nt, bits = d_c.bits;
        const mask usable = d_qr.finite & d_qr.rotate(y, &d_y[0]);
        const F unit = rsqrt(noise_var);
        for (int i = 0; i < nt; ++i) {
            for (int part = 0; part < 2; ++part) {
                d_y[2 * i + part] = d_y[2 * i + part] * unit;
                for (int j = i + 1; j < nt; ++j)
                    d_r[2 * (i * nt + j) + part] = d_qr.r[2 * (i * nt + j) + part] * unit;
            }
            d_r[2 * (i * nt + i)] = d_qr.diagonal[i] * unit;
            d_r[2 * (i * nt + i) + 1] = F(0.0f);
        }
        if (Table)
            fill_table();
        for (int b = 0; b < 2 * nt * bits; ++b)
            d_nearest[b] = F(no_metric);
        for (int i = 0; i < nt; ++i)
            d_path[i] = 0;
        do {
            F m = distance();
            if (prior)
                for (int b = 0; b < nt * bits; ++b)
                    if (bit(b))
                        m = m - prior[b];
            for (int b = 0; b < nt * bits; ++b) {
                F& nearest = d_nearest[2 * b + bit(b)];
                nearest = min(nearest, m);
            }
        } while (next());
        for (int b = 0; b < nt * bits; ++b)
            llr[b] = d_nearest[2 * b] - d_nearest[2 * b + 1];
        return usable;
    }

private:
    const constellation& d_c;
    const int d_nt;
    qr<F, 0, 0> d_qr;
    buffer<F, 0> d_y, d_r, d_table, d_nearest;
    int d_path[16];

    MP_FN int bit(int b) const
    {
        return d_path[b / d_c.bits] >> (d_c.bits - 1 - b % d_c.bits) & 1;
    }

    MP_FN bool next()
    {
        for (int i = 0; i < d_nt; ++i) {
            if (++d_path[i] < d_c.size)
                return true;
            d_path[i] = 0;
        }
        return false;
    }

    /* Fill the table (eq. 7). Column l of the paper's T is a block of M complex values
     * here. */
    MP_FN void fill_table()
    {
        int l = 0;
        for (int i = 0; i < d_nt; ++i) {
            for (int j = i; j < d_nt; ++j, ++l) {
                const F r_re = d_r[2 * (i * d_nt + j)],
                        r_im = d_r[2 * (i * d_nt + j) + 1];
                for (int s = 0; s < d_c.size; ++s) {
                    const F re(d_c.re[s]), im(d_c.im[s]);
                    F* const product = &d_table[2 * (l * d_c.size + s)];
                    product[0] = fnma(r_im, im, r_re * re);
                    product[1] = fma(r_im, re, r_re * im);
                }
            }
        }
    }

    /* Return a path's distance by Algorithm 1, or by eq. 6 without the table. */
    MP_FN F distance() const
    {
        F m(0.0f);
        int l = 0;
        for (int i = 0; i < d_nt; ++i) {
            F re = d_y[2 * i], im = d_y[2 * i + 1];
            for (int j = i; j < d_nt; ++j, ++l) {
                const int s = d_path[j];
                if (Table) {
                    const F* const product = &d_table[2 * (l * d_c.size + s)];
                    re = re - product[0];
                    im = im - product[1];
                } else {
                    subtract_product(
                        &d_r[2 * (i * d_nt + j)], F(d_c.re[s]), F(d_c.im[s]), re, im);
                }
            }
            m = fma(re, re, fma(im, im, m));
        }
        return m;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

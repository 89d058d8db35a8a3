/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "common/ordering.h"
#include "common/qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Column order of the fixed sphere decoder (Barbero and Thompson, 2008), and without
 * expanded levels that of V-BLAST. From the top of the tree, an expanded level takes the
 * remaining layer with the largest noise amplification, because it tries all symbols.
 * Every other level takes the layer with the smallest amplification.
 *
 * A layer's amplification is the norm of its row of the pseudo-inverse, that is, of R^-1.
 * When a layer is taken, the other rows lose their part along its row. This loses less
 * precision than an update of (H^H H)^-1. */
template <class F, int NT, int NR>
struct amplification_order {
    ordered_columns<F, NT, NR> columns;

    MP_FN amplification_order(arena<F>& a, int nt, int nr)
        : columns(a, nt, nr),
          d_nt(nt),
          d_qr(a, nt, nr),
          d_w(a, 2 * nt * nt),
          d_norm2(a, nt)
    {
    }

    MP_FN void sort(const F* h, int expanded)
    {
        const int nt = d_nt;
        columns.copy(h);
        d_qr.decompose(h);
        invert();
        MP_UNROLL
        for (int last = nt - 1; last > 0; --last) {
            MP_UNROLL
            for (int row = 0; row <= last; ++row)
                d_norm2[row] = product(row, row).re;
            MP_UNROLL
            for (int row = 0; row < last; ++row) {
                const auto where = nt - 1 - last < expanded
                                       ? d_norm2[last] < d_norm2[row]
                                       : d_norm2[row] < d_norm2[last];
                swap_where(where, d_norm2[row], d_norm2[last]);
                MP_UNROLL
                for (int i = 0; i < 2 * nt; ++i)
                    swap_where(where, d_w[2 * nt * row + i], d_w[2 * nt * last + i]);
                columns.swap(where, row, last);
            }
            if (last == 1)
                break;
            const F inverse = F(1.0f) / d_norm2[last];
            MP_UNROLL
            for (int row = 0; row < last; ++row) {
                const complex along = product(row, last);
                const F re = along.re * inverse, im = along.im * inverse;
                MP_UNROLL
                for (int i = 0; i < nt; ++i) {
                    F &w_re = d_w[2 * (nt * row + i)],
                      &w_im = d_w[2 * (nt * row + i) + 1];
                    const F u_re = d_w[2 * (nt * last + i)],
                            u_im = d_w[2 * (nt * last + i) + 1];
                    w_re = fma(im, u_im, fnma(re, u_re, w_re));
                    w_im = fnma(im, u_re, fnma(re, u_im, w_im));
                }
            }
        }
    }

private:
    struct complex {
        F re, im;
    };
    const extent<NT> d_nt;
    qr<F, NT, NR> d_qr;
    buffer<F, 2 * NT * NT> d_w; /* R^-1, row-major, rows in order of columns */
    buffer<F, NT> d_norm2;

    MP_FN void invert()
    {
        const int nt = d_nt;
        MP_UNROLL
        for (int j = 0; j < nt; ++j) {
            MP_UNROLL
            for (int i = nt - 1; i >= 0; --i) {
                F re = i == j ? d_qr.inverse[j] : F(0.0f), im(0.0f);
                MP_UNROLL
                for (int k = i + 1; k <= j; ++k) {
                    const F r_re = d_qr.r[2 * (i * nt + k)],
                            r_im = d_qr.r[2 * (i * nt + k) + 1];
                    const F w_re = d_w[2 * (k * nt + j)],
                            w_im = d_w[2 * (k * nt + j) + 1];
                    re = fma(r_im, w_im, fnma(r_re, w_re, re));
                    im = fnma(r_im, w_re, fnma(r_re, w_im, im));
                }
                if (i < j) {
                    re = re * d_qr.inverse[i];
                    im = im * d_qr.inverse[i];
                }
                d_w[2 * (i * nt + j)] = re;
                d_w[2 * (i * nt + j) + 1] = im;
            }
        }
    }

    /* Return the product of row a with the conjugate of row b. */
    MP_FN complex product(int a, int b) const
    {
        const int nt = d_nt;
        complex sum = { F(0.0f), F(0.0f) };
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const F a_re = d_w[2 * (nt * a + i)], a_im = d_w[2 * (nt * a + i) + 1];
            const F b_re = d_w[2 * (nt * b + i)], b_im = d_w[2 * (nt * b + i) + 1];
            sum.re = fma(a_re, b_re, fma(a_im, b_im, sum.re));
            sum.im = fma(a_im, b_re, fnma(a_re, b_im, sum.im));
        }
        return sum;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "common/ordering.h"
#include "common/qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Column order of the fixed sphere decoder (Barbero and Thompson, 2008); without expanded
 * levels, the order of V-BLAST. From the top of the tree, an expanded level takes the
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
        MP_UNROLL_UP_TO(4)
        for (int last = nt - 1; last > 0; --last) {
            MP_UNROLL_UP_TO(4)
            for (int row = 0; row <= last; ++row)
                d_norm2[row] = norm2(row);
            MP_UNROLL_UP_TO(4)
            for (int row = 0; row < last; ++row) {
                const auto where = nt - 1 - last < expanded
                                       ? d_norm2[last] < d_norm2[row]
                                       : d_norm2[row] < d_norm2[last];
                swap_where(where, d_norm2[row], d_norm2[last]);
                MP_UNROLL_UP_TO(8)
                for (int i = 0; i < 2 * nt; ++i)
                    swap_where(where, d_w[2 * nt * row + i], d_w[2 * nt * last + i]);
                columns.swap(where, row, last);
            }
            if (last == 1)
                break;
            const F inverse = F(1.0f) / d_norm2[last];
            MP_UNROLL_UP_TO(4)
            for (int row = 0; row < last; ++row) {
                F along[2];
                product(row, last, along);
                along[0] = along[0] * inverse;
                along[1] = along[1] * inverse;
                MP_UNROLL_UP_TO(4)
                for (int i = 0; i < nt; ++i)
                    subtract_product(along, entry(last, i), entry(row, i));
            }
        }
    }

private:
    const extent<NT> d_nt;
    qr<F, NT, NR> d_qr;
    buffer<F, 2 * NT * NT> d_w; /* R^-1, row-major, rows in order of columns */
    buffer<F, NT> d_norm2;

    MP_FN void invert()
    {
        const int nt = d_nt;
        MP_UNROLL_UP_TO(4)
        for (int j = 0; j < nt; ++j) {
            MP_UNROLL_UP_TO(4)
            for (int i = nt - 1; i >= 0; --i) {
                F re = i == j ? d_qr.inverse[j] : F(0.0f), im(0.0f);
                MP_UNROLL_UP_TO(4)
                for (int k = i + 1; k <= j; ++k)
                    subtract_product(&d_qr.r[2 * (i * nt + k)],
                                     entry(k, j)[0],
                                     entry(k, j)[1],
                                     re,
                                     im);
                if (i < j) {
                    re = re * d_qr.inverse[i];
                    im = im * d_qr.inverse[i];
                }
                entry(i, j)[0] = re;
                entry(i, j)[1] = im;
            }
        }
    }

    MP_FN F* entry(int row, int column) { return &d_w[2 * (d_nt * row + column)]; }

    /* Write the product of row a with the conjugate of row b to sum. */
    MP_FN void product(int a, int b, F* sum)
    {
        const int nt = d_nt;
        sum[0] = sum[1] = F(0.0f);
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i)
            add_conjugate_product(entry(b, i), entry(a, i), sum);
    }

    MP_FN F norm2(int row)
    {
        F sum[2];
        product(row, row, sum);
        return sum[0];
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Givens rotations of a triangular system whose rows have weights instead of roots, and
 * ones on the diagonal: sum_i w_i |v_i - sum_{j>i} c_ij s_j - s_i|^2 stays the same. */
#pragma once
#include "common/complex.h"
#include "common/config.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* In one column, row x has the entry a and row y has 1. The rotated rows are s x + t y,
 * with 1 in this column, and x - a y, with 0. */
template <class F>
struct weighted_rotation {
    F a[2], s[2], t;

    /* The upper row's weight goes to `upper`; x's weight becomes the lower row's. If
     * neither row has anything in the column, x stays as it is. */
    MP_FN static weighted_rotation
    removing(const F* entry, F& x_weight, F y_weight, F& upper)
    {
        const F re = entry[0], im = entry[1];
        upper = fma(x_weight, fma(re, re, im * im), y_weight);
        const auto empty = upper < F(least_energy);
        const F inverse = select(empty, F(0.0f), reciprocal(upper));
        const F share = inverse * x_weight,
                t = select(empty, F(1.0f), inverse * y_weight);
        x_weight = x_weight * t;
        return { { re, im }, { share * re, minus(share * im) }, t };
    }

    /* An entry of both rows: x becomes the lower row's. */
    MP_FN void turn(F* x, const F* y, F* upper) const
    {
        const F old[2] = { x[0], x[1] }, y_re = y[0], y_im = y[1];
        F sum[2] = { t * y_re, t * y_im };
        add_product(s, old, sum);
        upper[0] = sum[0];
        upper[1] = sum[1];
        subtract_product(a, y_re, y_im, x[0], x[1]);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

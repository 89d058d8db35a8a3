/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* QR decomposition that sorts the columns on the way (sorted QR of Wübben et al.). The
 * next column is always the one with the smallest remainder. Strong columns therefore end
 * on top of the tree, where a wrong decision costs most. */
#pragma once
#include "common/ordering.h"
#include "common/qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class F>
struct sorted_qr : qr<F, 0, 0> {
    using base = qr<F, 0, 0>;
    using mask = decltype(F() < F());
    using base::d_nr;
    using base::d_nt;
    using base::diagonal;
    using base::inverse;
    using base::norm2;
    using base::q;
    using base::r;
    using base::usable;
    column_layers<F, 0> columns;
    buffer<F, 0> left; /* remainder of |h_i|^2 after projection */

    MP_FN sorted_qr(arena<F>& a, int nt, int nr)
        : base(a, nt, nr), columns(a, nt), left(a, nt)
    {
    }

    MP_STEP void decompose(const F* h, bool sort)
    {
        const int nt = d_nt, nr = d_nr;
        columns.in_order();
        MP_UNROLL_UP_TO(4)
        for (int c = 0; c < nt; ++c) {
            F sum(0.0f);
            MP_UNROLL_UP_TO(4)
            for (int i = 0; i < nr; ++i) {
                const F re = h[2 * (i * nt + c)], im = h[2 * (i * nt + c) + 1];
                q[2 * (nr * c + i)] = re;
                q[2 * (nr * c + i) + 1] = im;
                sum = fma(re, re, fma(im, im, sum));
            }
            norm2[c] = left[c] = sum;
        }
        usable = F(0.0f) < F(1.0f);
        MP_UNROLL_UP_TO(4)
        for (int c = 0; c < nt; ++c) {
            MP_UNROLL_UP_TO(4)
            for (int k = c + 1; sort && k < nt; ++k)
                swap(left[k] < left[c], c, k);
            F* const v = &q[2 * nr * c];
            F sum(0.0f);
            MP_UNROLL_UP_TO(8)
            for (int i = 0; i < 2 * nr; ++i)
                sum = fma(v[i], v[i], sum);
            usable = usable & (F(rank_tolerance2(nr)) * norm2[c] < sum) &
                     (norm2[c] < F(largest_energy)) & (F(least_energy) < sum);
            const F inv = rsqrt(sum);
            inverse[c] = inv;
            diagonal[c] = sum * inv;
            MP_UNROLL_UP_TO(8)
            for (int i = 0; i < 2 * nr; ++i)
                v[i] = v[i] * inv;
            MP_UNROLL_UP_TO(4)
            for (int k = c + 1; k < nt; ++k) {
                F* const w = &q[2 * nr * k];
                F re(0.0f), im(0.0f);
                base::project(v, w, nr, re, im);
                r[2 * (c * nt + k)] = re;
                r[2 * (c * nt + k) + 1] = im;
                left[k] = fnma(re, re, fnma(im, im, left[k]));
                base::remove(v, nr, re, im, w);
            }
        }
    }

private:
    MP_FN void swap(mask where, int a, int b)
    {
        const int nt = d_nt, nr = d_nr;
        swap_where(where, columns.layer[a], columns.layer[b]);
        swap_where(where, norm2[a], norm2[b]);
        swap_where(where, left[a], left[b]);
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < 2 * nr; ++i)
            swap_where(where, q[2 * nr * a + i], q[2 * nr * b + i]);
        MP_UNROLL_UP_TO(4)
        for (int row = 0; row < a; ++row)
            for (int part = 0; part < 2; ++part)
                swap_where(
                    where, r[2 * (row * nt + a) + part], r[2 * (row * nt + b) + part]);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

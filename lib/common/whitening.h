/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Whitening of received vectors. If the noise has the covariance R = L L^H, with L lower
 * triangular, then L^-1 y = (L^-1 H) x + w with w ~ CN(0, I). If R is not positive
 * definite, L^-1 y becomes NaN, and every detector erases the vector. */
#pragma once
#include "common/complex.h"
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* NR: as in extent. STORED: NR if the arrays are members, 0 if they are in an arena. */
template <class F, int NR, int STORED = 0>
struct noise_whitener {
    const extent<NR> nr;
    buffer<F, 2 * STORED * STORED> factor; /* R, then L, row-major; the lower triangle */
    buffer<F, STORED> inverse; /* 1 / L_ii; NaN if R is not positive definite */

    /* wanted: whether there is a covariance; without one, no memory is taken */
    MP_FN noise_whitener(arena<F>& a, int nr_, bool wanted)
        : nr(nr_), factor(a, wanted ? 2 * nr_ * nr_ : 0), inverse(a, wanted ? nr_ : 0)
    {
    }

    /* Replace R in factor by L (Cholesky). A pivot that is only rounding noise of R's
     * diagonal does not count as positive. */
    MP_STEP void factorise()
    {
        const int n = nr;
        auto positive = F(0.0f) < F(1.0f);
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < n; ++i) {
            F* const row = &factor[2 * i * n];
            const F variance = row[2 * i];
            F pivot = variance;
            MP_UNROLL_UP_TO(8)
            for (int j = 0; j < i; ++j) {
                const F* const other = &factor[2 * j * n];
                F sum[2] = { row[2 * j], row[2 * j + 1] };
                MP_UNROLL_UP_TO(8)
                for (int k = 0; k < j; ++k)
                    subtract_product(row + 2 * k,
                                     other[2 * k],
                                     F(0.0f) - other[2 * k + 1],
                                     sum[0],
                                     sum[1]);
                const F re = sum[0] * inverse[j], im = sum[1] * inverse[j];
                row[2 * j] = re;
                row[2 * j + 1] = im;
                pivot = fnma(re, re, fnma(im, im, pivot));
            }
            positive = positive & (F(least_noise) < variance) &
                       (variance < F(largest_noise)) &
                       (F(least_pivot * n) * variance < pivot);
            inverse[i] = rsqrt(pivot);
        }
        inverse[0] = select(positive, inverse[0], F(not_a_number));
    }

    /* Multiply a matrix, row-major, by L^-1. */
    template <int COLUMNS>
    MP_STEP void whiten(F* rows, extent<COLUMNS> columns) const
    {
        const int n = nr, width = columns;
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < n; ++i) {
            F* const row = rows + 2 * i * width;
            MP_UNROLL_UP_TO(8)
            for (int j = 0; j < i; ++j) {
                const F re = factor[2 * (i * n + j)], im = factor[2 * (i * n + j) + 1];
                const F* const other = rows + 2 * j * width;
                MP_UNROLL_UP_TO(8)
                for (int c = 0; c < width; ++c)
                    subtract_product(other + 2 * c, re, im, row[2 * c], row[2 * c + 1]);
            }
            const F gain = inverse[i];
            MP_UNROLL_UP_TO(16)
            for (int c = 0; c < 2 * width; ++c)
                row[c] = row[c] * gain;
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

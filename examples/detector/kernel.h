/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Matched filter: layer i is detected by x_i = h_i^H y / |h_i|^2, as if the other layers were
 * not there, then demapped with the noise sigma^2 / |h_i|^2 plus what they leave at most. */
#pragma once
#include "common/options.h"
#include "common/soft_symbols.h"
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The parameters of the Python class */
struct matched_options {
    float interference = 0.0f; /* power of each other layer, added to the noise */

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("interference", interference);
    }
};

/* F is a SIMD register, with a vector in each of its lanes, or a thread of a GPU. */
template <class F>
class matched_filter
{
public:
    using mask = decltype(F() < F());

    MP_FN matched_filter(arena<F>& a,
                         const constellation& points,
                         int nt,
                         int nr,
                         float interference)
        : d_points(points),
          d_nt(nt),
          d_nr(nr),
          d_interference(interference),
          d_h(a, 2 * nr * nt),
          d_metric(a, points.size)
    {
    }

    /* h: nr rows of nt complex numbers, real parts before imaginary ones */
    MP_FN void prepare(const F* h)
    {
        for (int i = 0; i < 2 * d_nr * d_nt; ++i)
            d_h[i] = h[i];
    }

    /* Writes the LLRs of a vector; false where there are none, because of NaN or Inf. */
    MP_FN mask detect(const F* y, F noise_var, const F*, F* llr)
    {
        mask usable = F(0.0f) < noise_var;
        const F noise = noise_var + F(d_interference * (d_nt - 1));
        for (int i = 0; i < d_nt; ++i) {
            F strength(0.0f), re(0.0f), im(0.0f);
            for (int r = 0; r < d_nr; ++r) {
                const F h_re = d_h[2 * (r * d_nt + i)], h_im = d_h[2 * (r * d_nt + i) + 1];
                strength = fma(h_re, h_re, fma(h_im, h_im, strength));
                re = fma(h_re, y[2 * r], fma(h_im, y[2 * r + 1], re));
                im = fma(h_re, y[2 * r + 1], im) - h_im * y[2 * r];
            }
            usable = usable & (F(1e-37f) < strength) & (strength < F(1e37f)) &
                     (fma(re, re, im * im) < F(1e37f));
            const F inverse = F(1.0f) / strength, weight = strength / noise;
            for (int s = 0; s < d_points.size; ++s) {
                const F d_re = re * inverse - F(d_points.re[s]);
                const F d_im = im * inverse - F(d_points.im[s]);
                d_metric[s] = weight * fma(d_re, d_re, d_im * d_im);
            }
            point_llrs(&d_metric[0], d_points, llr + i * d_points.bits);
        }
        return usable;
    }

private:
    const constellation& d_points;
    const int d_nt, d_nr;
    const float d_interference;
    buffer<F, 0> d_h, d_metric;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

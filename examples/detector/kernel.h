/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Matched filter: layer i is detected by x_i = h_i^H y / |h_i|^2, as if the other layers
 * were not there. Its noise has the power sigma^2 / |h_i|^2. Layer j adds at most
 * |h_j|^2 / |h_i|^2 to that; here a parameter stands for the |h_j|^2 of all of them. */
#pragma once
#include "common/options.h"
#include "common/qr.h"
#include "common/soft_symbols.h"
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The parameters of the Python class */
struct matched_options {
    float interference = 0.0f; /* |h_j|^2 of each other layer */

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("interference", interference);
    }
};

/* F is a SIMD register, with a vector in each of its lanes, or a float of a GPU's thread.
 * cpu/simd.h lists what F can do. Comparing two gives a mask: use select(), not if. */
template <class F>
class matched_filter
{
public:
    using mask = decltype(F() < F());

    MP_FN matched_filter(
        arena<F>& a, const constellation& points, int nt, int nr, float interference)
        : d_points(points),
          d_nt(nt),
          d_nr(nr),
          d_interference(interference),
          d_qr(a, nt, nr),
          d_h(a, 2 * nr * nt),
          d_metric(a, points.size)
    {
    }

    /* h: nr rows of nt complex numbers, each a real part and then an imaginary one. The
     * QR decomposition is only there to find matrices of deficient rank. */
    MP_FN void prepare(const F* h)
    {
        for (int i = 0; i < 2 * d_nr * d_nt; ++i)
            d_h[i] = h[i];
        d_qr.decompose(h);
    }

    /* Writes the LLRs of a vector, layer by layer. Returns false for an erasure: where y
     * or h has NaN or Inf, or h has deficient rank. */
    MP_FN mask detect(const F* y, F noise_var, const F*, F* llr)
    {
        const F noise = noise_var + F(d_interference * (d_nt - 1));
        for (int i = 0; i < d_nt; ++i) {
            const F strength = d_qr.norm2[i];
            F re(0.0f), im(0.0f);
            for (int r = 0; r < d_nr; ++r) {
                const F h_re = d_h[2 * (r * d_nt + i)],
                        h_im = d_h[2 * (r * d_nt + i) + 1];
                re = fma(h_re, y[2 * r], fma(h_im, y[2 * r + 1], re));
                im = fma(h_re, y[2 * r + 1], fnma(h_im, y[2 * r], im));
            }
            const F inverse = F(1.0f) / strength, weight = strength / noise;
            for (int s = 0; s < d_points.size; ++s) {
                const F d_re = re * inverse - F(d_points.re[s]);
                const F d_im = im * inverse - F(d_points.im[s]);
                d_metric[s] = weight * fma(d_re, d_re, d_im * d_im);
            }
            point_llrs(&d_metric[0], d_points, llr + i * d_points.bits);
        }
        return d_qr.usable & (d_qr.energy(y, d_nr) < F(largest_energy));
    }

private:
    const constellation& d_points;
    const int d_nt, d_nr;
    const float d_interference;
    unscaled_qr<F, 0, 0> d_qr;
    buffer<F, 0> d_h, d_metric;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

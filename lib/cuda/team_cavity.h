/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The estimates of common/cavity.h by a team of threads, from G = H^H H and f = H^H y.
 *
 * With B = S G S + sigma^2 I the QR decomposition of cavity.h has Q2 Q2^H = sigma^2 B^-1
 * and Q2 Q1^H R = sigma B^-1 S G. B is scaled to ones on its diagonal, which multiplies
 * s_i by 1 / sqrt(B_ii) and leaves the formulas as they are. The pivots of B are then at
 * least those of G with such a scale: a team that finds these large enough, once for a
 * matrix, loses no more digits for any S and sigma. */
#pragma once
#include "cuda/lane.h"
#include "cuda/sweep.h"
#include "cuda/team_gram.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* AXES = 1: complex layers; 2: the real-valued model, in which a layer has two axes */
template <int AXES>
class team_cavity
{
    static constexpr bool is_complex = AXES == 1;
    static constexpr int nt = team_gram::nt, n = nt * AXES;
    using columns = swept_columns<n, AXES, is_complex>;
    using complex_columns = swept_columns<nt, 1, true>;

public:
    struct storage {
        alignas(16) float rows[2][columns::room];
        alignas(16) float complex_rows[2][complex_columns::room];
        float scale[n];
        float2 symbol[nt], target[nt];
    };

    float mean[2];
    float precision[AXES]; /* 1 / variance */

    MP_FN team_cavity(const team_gram& gram, storage& s) : d_gram(gram), d_at(s) {}

    /* Return whether the matrix is far from deficient rank. */
    MP_FN bool check() const
    {
        const float own = rsqrt_of(d_gram.diagonal());
        share(own);
        complex_columns matrix;
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const float2 g = d_gram.of_column(i);
            const float factor = own * scale(i, 0);
            matrix.entry[i][0] = i == d_gram.layer() ? 1.0f : g.x * factor;
            matrix.entry[i][1] = i == d_gram.layer() ? 0.0f : g.y * factor;
        }
        return matrix.check(d_at.complex_rows, d_gram.rank, least_pivot);
    }

    /* Compute what does not depend on f and the means; return whether the matrix is far
     * from deficient rank. s: the layer's standard deviations; noise: sigma^2 in B;
     * scaling: the sigma^2 that scales the variances. */
    MP_FN bool prepare(const float* s, float noise, float scaling)
    {
        const float diagonal = d_gram.diagonal();
        float own[AXES];
        MP_UNROLL
        for (int q = 0; q < AXES; ++q)
            own[q] = s[q] * rsqrt_of(fmaf(s[q] * s[q], diagonal, noise));
        share(own);
        build(own);
        const bool enough = d_matrix.invert(d_at.rows, d_gram.rank, least_pivot);
        float last[AXES], t[AXES];
        MP_UNROLL
        for (int q = 0; q < AXES; ++q)
            last[q] = t[q] = 0.0f;
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const float2 g = d_gram.of_column(i);
            add(i,
                g.x * scale(i, 0),
                g.y * scale(i, 0),
                g.x * scale(i, 1),
                g.y * scale(i, 1),
                t);
            MP_UNROLL
            for (int q = 0; q < AXES; ++q)
                last[q] = i == d_gram.layer() ? -own_entry(i, q) : last[q];
        }
        MP_UNROLL
        for (int q = 0; q < AXES; ++q) {
            const float bounded = fmaxf(t[q], 1e-30f);
            d_gain[q] = reciprocal(bounded);
            precision[q] =
                bounded * reciprocal(fmaxf(last[q] * own[q] * scaling, 1e-30f));
        }
        return enough;
    }

    /* m: the layer's mean, or null for 0 in all layers */
    MP_FN void estimate(float2 matched, const float* m)
    {
        float left[2] = { matched.x, matched.y };
        __syncwarp();
        if (m) {
            if (d_gram.has_layer())
                d_at.symbol[d_gram.rank] = float2{ m[0], m[1] };
            __syncwarp();
            MP_UNROLL
            for (int i = 0; i < nt; ++i) { /* row i of G is its column's conjugate */
                const float2 g = d_gram.of_column(i), x = d_at.symbol[i];
                left[0] = fmaf(-g.x, x.x, fmaf(-g.y, x.y, left[0]));
                left[1] = fmaf(-g.x, x.y, fmaf(g.y, x.x, left[1]));
            }
        }
        if (d_gram.has_layer()) {
            const int own = d_gram.rank;
            d_at.target[own] = float2{ left[0] * scale(own, 0), left[1] * scale(own, 1) };
        }
        __syncwarp();
        float sum[2] = { 0.0f, 0.0f };
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const float2 z = d_at.target[i];
            if constexpr (is_complex) {
                /* minus the conjugate of what is left of B */
                const float re = -d_matrix.entry[i][0], im = -d_matrix.entry[i][1];
                sum[0] = fmaf(re, z.x, fmaf(im, z.y, sum[0]));
                sum[1] = fmaf(re, z.y, fmaf(-im, z.x, sum[1]));
            } else {
                MP_UNROLL
                for (int q = 0; q < 2; ++q)
                    sum[q] = fmaf(-d_matrix.entry[2 * i][q],
                                  z.x,
                                  fmaf(-d_matrix.entry[2 * i + 1][q], z.y, sum[q]));
            }
        }
        MP_UNROLL
        for (int part = 0; part < 2; ++part)
            mean[part] = fmaf(sum[part], d_gain[part % AXES], m ? m[part] : 0.0f);
    }

private:
    /* The share of a column's energy that others leave: below it, float32 would keep
     * fewer than three digits. It is below in about 14 of a thousand 16x16 Rayleigh
     * channels. */
    static constexpr float least_pivot = 1e-3f;
    const team_gram& d_gram;
    storage& d_at;
    columns d_matrix; /* minus the inverse of B */
    float d_gain[AXES];

    /* 0 stays 0 and NaN stays NaN: both fail the check. */
    MP_FN static float rsqrt_of(float x) { return rsqrt(lane(x)).v; }

    MP_FN float scale(int i, int axis) const
    {
        return d_at.scale[AXES * i + axis % AXES];
    }

    MP_FN void share(float own) const
    {
        const float of_axes[AXES] = { own };
        share(of_axes);
    }

    MP_FN void share(const float* own) const
    {
        __syncwarp();
        if (d_gram.has_layer()) {
            MP_UNROLL
            for (int q = 0; q < AXES; ++q)
                d_at.scale[AXES * d_gram.rank + q] = own[q];
        }
        __syncwarp();
    }

    MP_FN float own_entry(int i, int q) const
    {
        return is_complex ? d_matrix.entry[i][0] : d_matrix.entry[AXES * i + q][q];
    }

    MP_FN void build(const float* own)
    {
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const float2 g = d_gram.of_column(i);
            const bool same = i == d_gram.layer();
            if constexpr (is_complex) {
                const float factor = own[0] * scale(i, 0);
                d_matrix.entry[i][0] = same ? 1.0f : g.x * factor;
                d_matrix.entry[i][1] = same ? 0.0f : g.y * factor;
            } else {
                const float re = scale(i, 0), im = scale(i, 1);
                d_matrix.entry[2 * i][0] = same ? 1.0f : g.x * re * own[0];
                d_matrix.entry[2 * i + 1][0] = same ? 0.0f : g.y * im * own[0];
                d_matrix.entry[2 * i][1] = same ? 0.0f : -g.y * re * own[1];
                d_matrix.entry[2 * i + 1][1] = same ? 1.0f : g.x * im * own[1];
            }
        }
    }

    /* Add layer i's share of the diagonal of B^-1 S G: g_re and g_im times the scales of
     * the layer's two axes. */
    MP_FN void
    add(int i, float re, float im, float re_by_im, float im_by_im, float* t) const
    {
        if constexpr (is_complex) {
            t[0] = fmaf(-d_matrix.entry[i][0], re, fmaf(-d_matrix.entry[i][1], im, t[0]));
        } else {
            const auto& e = d_matrix.entry;
            t[0] = fmaf(-e[2 * i][0], re, fmaf(-e[2 * i + 1][0], im_by_im, t[0]));
            t[1] = fmaf(e[2 * i][1], im, fmaf(-e[2 * i + 1][1], re_by_im, t[1]));
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The estimates of common/cavity.h by a team of threads, from G = H^H H and f = H^H y.
 *
 * With B = S G S + sigma^2 I the QR decomposition of cavity.h has Q2 Q2^H = sigma^2 B^-1
 * and Q2 Q1^H R = sigma B^-1 S G. B is scaled to ones on its diagonal, which multiplies
 * s_i by 1 / sqrt(B_ii) and leaves the formulas as they are. Its pivots say how many
 * digits are lost; the noise keeps them away from zero. */
#pragma once
#include "cuda/lane.h"
#include "cuda/sweep.h"
#include "cuda/team_gram.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* AXES = 1: complex layers; 2: the real-valued model, in which a layer has two axes.
 * Real: type of all numbers */
template <int AXES, class Real>
class team_cavity
{
    static constexpr bool is_complex = AXES == 1;
    using gram_of_h = team_gram_of<Real>;
    using complex = complex_of<Real>;
    static constexpr int nt = gram_of_h::nt, n = nt * AXES;
    using columns = swept_columns<is_complex, n, Real>;

public:
    struct storage {
        alignas(16) Real rows[2][columns::room];
        Real scale[n];
        complex symbol[nt], target[nt];
    };

    Real mean[2];
    Real precision[AXES]; /* 1 / variance */
    bool enough;          /* whether B is far from deficient rank, from prepare() */

    MP_FN team_cavity(const gram_of_h& gram, storage& s) : d_gram(gram), d_at(s) {}

    /* Compute everything that does not depend on f and the means. s: the layer's standard
     * deviations; noise: sigma^2 in B; scaling: the sigma^2 that scales the variances. */
    MP_FN void prepare(const Real* s, Real noise, Real scaling)
    {
        const Real diagonal = d_gram.diagonal();
        Real own[AXES];
        MP_UNROLL
        for (int q = 0; q < AXES; ++q)
            own[q] = s[q] * reciprocal_root(multiply_add(s[q] * s[q], diagonal, noise));
        share(own);
        build(own);
        enough = d_matrix.invert(d_at.rows, d_gram.rank, least_pivot);
        Real last[AXES], t[AXES];
        MP_UNROLL
        for (int q = 0; q < AXES; ++q)
            last[q] = t[q] = Real(0);
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const complex g = d_gram.of_column(i);
            add(i,
                g.x * scale(i, 0),
                g.y * scale(i, 0),
                g.x * scale(i, 1),
                g.y * scale(i, 1),
                t);
            MP_UNROLL
            for (int q = 0; q < AXES; ++q) {
                const Real entry = own_entry(i, q); /* a load that depended on i == layer
                                                       would have a variable index */
                last[q] = i == d_gram.layer() ? -entry : last[q];
            }
        }
        MP_UNROLL
        for (int q = 0; q < AXES; ++q) {
            const Real bounded = at_least(t[q], Real(1e-30));
            d_gain[q] = reciprocal(bounded);
            precision[q] =
                bounded * reciprocal(at_least(last[q] * own[q] * scaling, Real(1e-30)));
        }
    }

    /* m: the layer's mean, or null for 0 in all layers */
    MP_FN void estimate(complex matched, const Real* m)
    {
        Real left[2] = { matched.x, matched.y };
        __syncwarp();
        if (m) {
            if (d_gram.has_layer())
                d_at.symbol[d_gram.rank] = complex{ m[0], m[1] };
            __syncwarp();
            MP_UNROLL
            for (int i = 0; i < nt; ++i) { /* row i of G is its column's conjugate */
                const complex g = d_gram.of_column(i), x = d_at.symbol[i];
                left[0] = multiply_add(-g.x, x.x, multiply_add(-g.y, x.y, left[0]));
                left[1] = multiply_add(-g.x, x.y, multiply_add(g.y, x.x, left[1]));
            }
        }
        if (d_gram.has_layer()) {
            const int own = d_gram.rank;
            d_at.target[own] =
                complex{ left[0] * scale(own, 0), left[1] * scale(own, 1) };
        }
        __syncwarp();
        Real sum[2] = { Real(0), Real(0) };
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const complex z = d_at.target[i];
            if constexpr (is_complex) {
                /* minus the conjugate of the inverse of B */
                const Real re = -d_matrix.entry[i][0], im = -d_matrix.entry[i][1];
                sum[0] = multiply_add(re, z.x, multiply_add(im, z.y, sum[0]));
                sum[1] = multiply_add(re, z.y, multiply_add(-im, z.x, sum[1]));
            } else {
                MP_UNROLL
                for (int q = 0; q < 2; ++q)
                    sum[q] = multiply_add(
                        -d_matrix.entry[2 * i][q],
                        z.x,
                        multiply_add(-d_matrix.entry[2 * i + 1][q], z.y, sum[q]));
            }
        }
        MP_UNROLL
        for (int part = 0; part < 2; ++part)
            mean[part] =
                multiply_add(sum[part], d_gain[part % AXES], m ? m[part] : Real(0));
    }

private:
    /* The least share of a column's energy that the other columns may leave. Below it,
     * float would keep fewer than three digits, and double fewer than five. Without
     * noise, about 14 in a thousand 16x16 Rayleigh channels are below the limit of
     * float. */
    static constexpr bool is_float = sizeof(Real) == sizeof(float);
    static constexpr Real least_pivot = is_float ? 1e-3 : 1e-10;
    const gram_of_h& d_gram;
    storage& d_at;
    columns d_matrix; /* minus the inverse of B */
    Real d_gain[AXES];

    MP_FN Real scale(int i, int axis) const { return d_at.scale[AXES * i + axis % AXES]; }

    MP_FN void share(const Real* own) const
    {
        __syncwarp();
        if (d_gram.has_layer()) {
            MP_UNROLL
            for (int q = 0; q < AXES; ++q)
                d_at.scale[AXES * d_gram.rank + q] = own[q];
        }
        __syncwarp();
    }

    MP_FN Real own_entry(int i, int q) const
    {
        return is_complex ? d_matrix.entry[i][0] : d_matrix.entry[AXES * i + q][q];
    }

    MP_FN void build(const Real* own)
    {
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const complex g = d_gram.of_column(i);
            const bool same = i == d_gram.layer();
            if constexpr (is_complex) {
                const Real factor = own[0] * scale(i, 0);
                d_matrix.entry[i][0] = same ? Real(1) : g.x * factor;
                d_matrix.entry[i][1] = same ? Real(0) : g.y * factor;
            } else {
                const Real re = scale(i, 0), im = scale(i, 1);
                d_matrix.entry[2 * i][0] = same ? Real(1) : g.x * re * own[0];
                d_matrix.entry[2 * i + 1][0] = same ? Real(0) : g.y * im * own[0];
                d_matrix.entry[2 * i][1] = same ? Real(0) : -g.y * re * own[1];
                d_matrix.entry[2 * i + 1][1] = same ? Real(1) : g.x * im * own[1];
            }
        }
    }

    /* Add layer i's share of the diagonal of B^-1 S G: g_re and g_im times the scales of
     * the layer's two axes. */
    MP_FN void add(int i, Real re, Real im, Real re_by_im, Real im_by_im, Real* t) const
    {
        if constexpr (is_complex) {
            t[0] = multiply_add(
                -d_matrix.entry[i][0], re, multiply_add(-d_matrix.entry[i][1], im, t[0]));
        } else {
            const auto& e = d_matrix.entry;
            t[0] = multiply_add(
                -e[2 * i][0], re, multiply_add(-e[2 * i + 1][0], im_by_im, t[0]));
            t[1] = multiply_add(
                e[2 * i][1], im, multiply_add(-e[2 * i + 1][1], re_by_im, t[1]));
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

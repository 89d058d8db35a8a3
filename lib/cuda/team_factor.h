/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The triangular system of a search by a team of threads, a thread a column: H^H H = C^H
 * W C for an order of columns, and v = C^-H H^H y / W. Only relative errors of H^H H
 * disturb the metrics
 *
 *     |y - H x|^2 = sum_i w_i |v_i - sum_{j>=i} c_ij l_j|^2 + ..., x = 2 scale l,
 *
 * so that columns may be nearly dependent. */
#pragma once
#include "common/config.h"
#include "cuda/real.h"
#include "cuda/team.h"
#include "cuda/team_gram.h"

namespace mimopack {
namespace MIMOPACK_ISA {

class team_factor
{
    static constexpr int nt = asked::num_tx, threads = team_gram::threads;
    /* A column of which less than this share of its energy is left is left to the CPU's
     * form. */
    static constexpr float least_share = 1e-5f, least_share_on_top = 1e-7f;

public:
    struct storage {
        float2 c[nt][nt]; /* c_ij, j > i */
        float2 v[nt];
        float w[nt];
        int layer[nt]; /* of each column, sorted by norm */
    };

    const team_gram& gram;
    storage& at;

    MP_FN team_factor(const team_gram& g, storage& s) : gram(g), at(s) {}

    /* Sort columns by rising norm; equal ones stay in order. Return the column of the
     * thread's layer. */
    MP_FN int sort_by_norm()
    {
        const float own = gram.diagonal();
        int column = 0;
        MP_UNROLL
        for (int l = 0; l < nt; ++l) {
            const float other = gram.at.product[l][l].x;
            column += other < own || (!(own < other) && l < gram.layer());
        }
        column = column < nt ? column : nt - 1; /* NaN keeps no order */
        if (gram.has_layer())
            at.layer[gram.rank] = gram.rank;
        __syncwarp();
        if (gram.has_layer())
            at.layer[column] = gram.rank;
        __syncwarp();
        return column;
    }

    /* Set c, w and v where layer_of(i) is in column i. matched: the layer's entry of H^H
     * y */
    template <class Layer>
    MP_FN void factorise(Layer layer_of, float2 matched)
    {
        const int layer = layer_of(gram.layer());
        float2 g[nt];
        MP_UNROLL
        for (int i = 0; i < nt; ++i)
            g[i] = gram.at.product[layer_of(i)][layer];
        float2 left = from_thread(matched, layer);
        MP_UNROLL
        for (int k = 0; k < nt; ++k) {
            const float pivot = __shfl_sync(~0u, g[k].x, k, threads);
            const float inverse = reciprocal(pivot);
            const float2 z = from_thread(left, k);
            const float2 c{ g[k].x * inverse, g[k].y * inverse };
            if (gram.has_layer())
                at.c[k][gram.rank] = c;
            if (gram.rank == k) {
                const float unit = inverse * (0.5f / asked::points.scale);
                at.w[k] = pivot * unit2();
                at.v[k] = float2{ z.x * unit, z.y * unit };
            }
            __syncwarp();
            MP_UNROLL
            for (int i = k + 1; i < nt; ++i)
                subtract_conjugate(at.c[k][i], g[k], g[i]);
            subtract_conjugate(c, z, left);
        }
    }

    /* Return whether the thread's column has enough energy left when it is the last one:
     * the inverse of the diagonal of the inverse of H^H H. factorise() comes first. */
    MP_FN bool is_independent(int column) const
    {
        float2 row[nt];
        set_inverse_row(column, row);
        __syncwarp();
        return has_energy(norm2(row), least_share);
    }

    /* Sort columns as common/amplification_order.h does. Set the column of the thread's
     * layer; return whether it has enough energy left there. Expanded levels need no more
     * than a pivot, because nothing is sliced in them. */
    MP_FN bool sort_by_amplification(int expanded, int& column)
    {
        factorise([](int i) { return i; }, float2{ 0.0f, 0.0f });
        float2 row[nt];
        set_inverse_row(gram.layer(), row);
        column = 0;
        bool is_left = gram.has_layer(), independent = !is_left;
#pragma unroll 1
        for (int last = nt - 1; last >= 0; --last) {
            __syncwarp();
            const bool is_expanded = nt - 1 - last < expanded;
            const float own = norm2(row);
            const float rank = !is_left ? -infinity : is_expanded ? own : -own;
            const float first =
                over_team<threads>(rank, [](float a, float b) { return fmaxf(a, b); });
            const unsigned layer =
                team_most<threads>(is_left && rank == first ? gram.rank : 0u);
            if (gram.rank == static_cast<int>(layer)) {
                at.layer[last] = gram.rank;
                column = last;
                is_left = false;
                independent =
                    has_energy(own, is_expanded ? least_share_on_top : least_share);
                MP_UNROLL
                for (int i = 0; i < nt; ++i)
                    at.v[i] = row[i];
            }
            __syncwarp();
            subtract_part_along(at.v, fabsf(first), row);
        }
        __syncwarp();
        return independent;
    }

private:
    /* (2 scale)^2 */
    MP_FN static float unit2()
    {
        return 4.0f * asked::points.scale * asked::points.scale;
    }

    /* Set `to` to the conjugate of a row of R^-1, in the order of factorise(). */
    MP_FN void set_inverse_row(int column, float2* to) const
    {
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            to[i] = float2{ i == column ? 1.0f : 0.0f, 0.0f };
            MP_UNROLL
            for (int k = 0; k < i; ++k)
                subtract_conjugate(at.c[k][i], to[k], to[i]);
        }
        const float unit = 2.0f * asked::points.scale;
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const float inverse = unit * reciprocal_root(at.w[i]);
            to[i] = float2{ to[i].x * inverse, to[i].y * inverse };
        }
    }

    /* Return whether the thread's column, which has the inverse of this energy left, has
     * a share of its own left. */
    MP_FN bool has_energy(float inverse, float share) const
    {
        return inverse * gram.diagonal() < 1.0f / share;
    }

    MP_FN static float norm2(const float2* row)
    {
        float sum = 0.0f;
        MP_UNROLL
        for (int i = 0; i < nt; ++i)
            sum = fmaf(row[i].x, row[i].x, fmaf(row[i].y, row[i].y, sum));
        return sum;
    }

    /* Subtract from `row` its part along a row with this square of the norm. */
    MP_FN static void subtract_part_along(const float2* other, float square, float2* row)
    {
        float2 along{ 0.0f, 0.0f };
        MP_UNROLL
        for (int i = 0; i < nt; ++i)
            subtract_conjugate(other[i], row[i], along);
        const float inverse = reciprocal(square);
        along = float2{ along.x * inverse, along.y * inverse };
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const float2 b = other[i];
            row[i].x = fmaf(along.x, b.x, fmaf(-along.y, b.y, row[i].x));
            row[i].y = fmaf(along.x, b.y, fmaf(along.y, b.x, row[i].y));
        }
    }

    /* a -= conj(c) b */
    MP_FN static void subtract_conjugate(float2 c, float2 b, float2& a)
    {
        a.x = fmaf(-c.x, b.x, fmaf(-c.y, b.y, a.x));
        a.y = fmaf(-c.x, b.y, fmaf(c.y, b.x, a.y));
    }

    MP_FN static float2 from_thread(float2 own, int rank)
    {
        return float2{ __shfl_sync(~0u, own.x, rank, threads),
                       __shfl_sync(~0u, own.y, rank, threads) };
    }
};

/* Whether shared memory has room for what the teams of a block keep */
template <class Storage>
constexpr bool teams_fit_shared()
{
    return (sizeof(Storage) + sizeof(team_gram::storage)) *
               (MIMOPACK_THREADS / team_gram::threads) <=
           47 * 1024;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

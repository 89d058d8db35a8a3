/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The triangular system of a search by a team of threads, a thread a column: H^H H = C^H
 * W C for an order of columns, and v = C^-H H^H y / W. Only relative errors of H^H H
 * disturb the metrics
 *
 *     |y - H x|^2 = sum_i w_i |v_i - sum_{j>=i} c_ij l_j|^2 + ..., x = 2 scale l,
 *
 * so that columns may be nearly dependent. Real: type of the linear algebra */
#pragma once
#include "common/config.h"
#include "cuda/real.h"
#include "cuda/team.h"
#include "cuda/team_gram.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class Real>
class team_factor
{
    using complex = complex_of<Real>;
    using gram_of_h = team_gram_of<Real>;
    static constexpr int nt = program::num_tx, threads = gram_of_h::threads;
    /* Real is not accurate enough if less than this share of a column's energy is left.
     * Tensor cores cost two bits. */
    static constexpr bool is_float = sizeof(Real) == sizeof(float);
    static constexpr Real unit = gram_of_h::tiled ? 4 : 1;
    static constexpr Real least_share = unit * (is_float ? 1e-5 : 1e-12),
                          least_share_on_top = unit * (is_float ? 1e-7 : 1e-14);

public:
    struct storage {
        complex c[nt][nt]; /* c_ij, j > i */
        complex v[nt];
        Real w[nt];
        int layer[nt]; /* of each column, if they are sorted */
    };

    const gram_of_h& gram;
    storage& at;

    MP_FN team_factor(const gram_of_h& g, storage& s) : gram(g), at(s) {}

    /* Sort columns by rising norm; equal ones stay in order. Return the column of the
     * thread's layer. */
    MP_FN int sort_by_norm()
    {
        const Real own = gram.diagonal();
        int column = 0;
        MP_UNROLL
        for (int l = 0; l < nt; ++l) {
            const Real other = __shfl_sync(~0u, own, l, threads);
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
    MP_FN void factorise(Layer layer_of, complex matched)
    {
        set_system<true>(layer_of, matched);
    }

    /* Set v alone; c and w are there for the same layers. */
    template <class Layer>
    MP_FN void solve(Layer layer_of, complex matched)
    {
        set_system<false>(layer_of, matched);
    }

    /* Return whether the thread's column has enough energy left when it is the last one:
     * the inverse of the diagonal of the inverse of H^H H. factorise() comes first. */
    MP_FN bool is_independent(int column) const
    {
        complex row[nt];
        set_inverse_row(column, row);
        __syncwarp();
        return has_energy(norm2(row), least_share);
    }

    /* Sort columns as common/amplification_order.h does. Set the column of the thread's
     * layer; return whether it has enough energy left there. Expanded levels need no more
     * than a pivot, because nothing is sliced in them. */
    MP_FN bool sort_by_amplification(int expanded, int& column)
    {
        factorise([](int i) { return i; }, complex{ 0, 0 });
        complex row[nt];
        set_inverse_row(gram.layer(), row);
        column = 0;
        bool is_left = gram.has_layer(), independent = !is_left;
#pragma unroll 1
        for (int last = nt - 1; last >= 0; --last) {
            __syncwarp();
            const bool is_expanded = nt - 1 - last < expanded;
            const Real own = norm2(row);
            const Real rank = !is_left ? -infinity : is_expanded ? own : -own;
            const Real first =
                over_team<threads>(rank, [](Real a, Real b) { return at_least(a, b); });
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
            subtract_part_along(at.v, first < 0 ? -first : first, row);
        }
        __syncwarp();
        return independent;
    }

private:
    /* Column i of H^H H in an order of the layers, in this thread */
    template <class Layer>
    MP_FN void load(Layer layer_of, int layer, complex* column) const
    {
        if constexpr (!gram_of_h::shares) {
            __syncwarp();
            MP_UNROLL
            for (int i = 0; i < nt; ++i)
                if (gram.has_layer())
                    at.c[i][gram.rank] = gram.of_column(i);
            __syncwarp();
        }
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const int row = layer_of(i);
            if constexpr (gram_of_h::shares)
                column[i] = gram.at.product[row][layer];
            else
                column[i] = at.c[row][layer];
        }
        if constexpr (!gram_of_h::shares)
            __syncwarp();
    }

    template <bool WITH_MATRIX, class Layer>
    MP_FN void set_system(Layer layer_of, complex matched)
    {
        const int layer = layer_of(gram.layer());
        complex g[WITH_MATRIX ? nt : 1];
        Real own_inverse = 0;
        if constexpr (WITH_MATRIX)
            load(layer_of, layer, g);
        else
            own_inverse = unit2() * reciprocal(at.w[gram.layer()]);
        complex left = from_thread(matched, layer);
        MP_UNROLL
        for (int k = 0; k < nt; ++k) {
            const complex z = from_thread(left, k);
            complex c;
            Real inverse = own_inverse;
            if constexpr (WITH_MATRIX) {
                const Real pivot = __shfl_sync(~0u, g[k].x, k, threads);
                inverse = reciprocal(pivot);
                c = complex{ g[k].x * inverse, g[k].y * inverse };
                if (gram.has_layer())
                    at.c[k][gram.rank] = c;
                if (gram.rank == k)
                    at.w[k] = pivot * unit2();
            } else {
                c = at.c[k][gram.layer()];
            }
            if (gram.rank == k) {
                const Real unit = inverse * (Real(0.5) / program::points.scale);
                at.v[k] = complex{ z.x * unit, z.y * unit };
            }
            if constexpr (WITH_MATRIX) {
                __syncwarp();
                MP_UNROLL
                for (int i = k + 1; i < nt; ++i)
                    subtract_conjugate(at.c[k][i], g[k], g[i]);
            }
            subtract_conjugate(c, z, left);
        }
        if constexpr (!WITH_MATRIX)
            __syncwarp();
    }

    /* (2 scale)^2 */
    MP_FN static Real unit2()
    {
        return Real(4) * program::points.scale * program::points.scale;
    }

    /* Set `to` to the conjugate of a row of R^-1, in the order of factorise(). */
    MP_FN void set_inverse_row(int column, complex* to) const
    {
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            to[i] = complex{ Real(i == column), 0 };
            MP_UNROLL
            for (int k = 0; k < i; ++k)
                subtract_conjugate(at.c[k][i], to[k], to[i]);
        }
        const Real unit = Real(2) * program::points.scale;
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const Real inverse = unit * reciprocal_root(at.w[i]);
            to[i] = complex{ to[i].x * inverse, to[i].y * inverse };
        }
    }

    /* Return whether at least this share of the thread's column is left. inverse: of the
     * energy that is left */
    MP_FN bool has_energy(Real inverse, Real share) const
    {
        return inverse * gram.diagonal() < Real(1) / share;
    }

    MP_FN static Real norm2(const complex* row)
    {
        Real sum = 0;
        MP_UNROLL
        for (int i = 0; i < nt; ++i)
            sum = multiply_add(row[i].x, row[i].x, multiply_add(row[i].y, row[i].y, sum));
        return sum;
    }

    /* Subtract from `row` its part along a row with this square of the norm. */
    MP_FN static void subtract_part_along(const complex* other, Real square, complex* row)
    {
        complex along{ 0, 0 };
        MP_UNROLL
        for (int i = 0; i < nt; ++i)
            subtract_conjugate(other[i], row[i], along);
        const Real inverse = reciprocal(square);
        along = complex{ along.x * inverse, along.y * inverse };
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const complex b = other[i];
            row[i].x = multiply_add(along.x, b.x, multiply_add(-along.y, b.y, row[i].x));
            row[i].y = multiply_add(along.x, b.y, multiply_add(along.y, b.x, row[i].y));
        }
    }

    /* a -= conj(c) b */
    MP_FN static void subtract_conjugate(complex c, complex b, complex& a)
    {
        a.x = multiply_add(-c.x, b.x, multiply_add(-c.y, b.y, a.x));
        a.y = multiply_add(-c.x, b.y, multiply_add(c.y, b.x, a.y));
    }

    MP_FN static complex from_thread(complex own, int rank)
    {
        return complex{ __shfl_sync(~0u, own.x, rank, threads),
                        __shfl_sync(~0u, own.y, rank, threads) };
    }
};

/* Whether shared memory has room for the data of a block's teams */
template <class Storage, class Real>
constexpr bool teams_fit_shared()
{
    return (sizeof(Storage) + sizeof(typename team_gram_of<Real>::storage)) *
               (MIMOPACK_THREADS / team_gram::threads) <=
           47 * 1024;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

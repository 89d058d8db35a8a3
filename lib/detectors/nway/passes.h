/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The column orders of the greedy search's passes, and each pass's triangular system.
 * With R's rows divided by r_ii, c_ij = r_ij / r_ii, and v_i = (Q^H y)_i / (2 scale
 * r_ii),
 *
 *     |y_tilde - R x|^2 = sum_i w_i |v_i - sum_{j>=i} c_ij l_j|^2,  w_i = (2 scale
 * r_ii)^2,
 *
 * where x = 2 scale l. Only the first pass decomposes H: moving a column to the end of
 * the tree takes a few Givens rotations. */
#pragma once
#include "common/qr.h"
#include "common/weighted_rotation.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The place of H's columns in pass p. N-way rotates them. FPFSD, whose columns come
 * sorted by norm, moves a column of the first pass to the top and keeps the others in
 * order. */
enum class column_order { rotate, raise };

MP_FN int column_source(column_order order, int column, int pass, int nt)
{
    if (order == column_order::rotate)
        return column + pass < nt ? column + pass : column + pass - nt;
    const int raised = nt - 1 - pass;
    return column == nt - 1 ? raised : column < raised ? column : column + 1;
}

/* Return the inverse: the place in pass p of column number `source` of the first pass. */
MP_FN int column_place(column_order order, int source, int pass, int nt)
{
    if (order == column_order::rotate)
        return source < pass ? source - pass + nt : source - pass;
    const int raised = nt - 1 - pass;
    return source == raised ? nt - 1 : source < raised ? source : source - 1;
}

/* The systems of all passes. A pass has c_ij at 2 (i nt + j), and w_i and v_i. */
template <class F, int NT, int NR>
class pass_systems
{
public:
    using mask = decltype(F() < F());

    MP_FN
    pass_systems(arena<F>& a, int nt, int nr, int passes, float scale, column_order order)
        : d_nt(nt),
          d_passes(passes),
          d_order(order),
          d_scale(scale),
          d_qr(a, nt, nr),
          d_unit(a, nt),
          d_c(a, passes * 2 * nt * nt),
          d_w(a, passes * nt),
          d_turns(a, passes * turn_size * nt),
          d_v(a, passes * 2 * nt),
          d_row(a, 2 * nt)
    {
    }

    MP_FN const F* c(int pass) const { return &d_c[pass * 2 * d_nt * d_nt]; }
    MP_FN const F* w(int pass) const { return &d_w[pass * d_nt]; }
    MP_FN const F* v(int pass) const { return &d_v[pass * 2 * d_nt]; }

    MP_STEP void prepare(const F* h)
    {
        const int nt = d_nt;
        d_qr.decompose(h);
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i) {
            d_unit[i] = d_qr.inverse2[i] * F(0.5f / d_scale);
            d_w[i] = d_qr.length2[i] * F(4.0f * d_scale * d_scale);
            MP_UNROLL_UP_TO(8)
            for (int ij = 2 * (i * nt + i + 1); ij < 2 * nt * (i + 1); ++ij)
                d_c[ij] = d_qr.r[ij];
        }
        for (int pass = 1; pass < d_passes; ++pass) {
            MP_UNROLL_UP_TO(4)
            for (int column = 0; column < nt; ++column)
                if (column == moved(pass))
                    move_to_top(pass, column);
        }
    }

    /* Set the v_i of the first pass, and return where the vector can be detected. */
    MP_FN mask receive(const F* y)
    {
        const mask finite = d_qr.rotate(y, &d_v[0]);
        to_units();
        return d_qr.usable & finite;
    }

    /* Do the same stepwise. Metrics are then comparable with the metrics of other column
     * orders, even if columns are nearly dependent (see qr.h). y is overwritten. */
    MP_FN mask receive_stepwise(F* y)
    {
        const mask finite = d_qr.rotate_stepwise(y, &d_v[0]);
        to_units();
        return d_qr.usable & finite;
    }

    /* Set the v_i of a later pass from an earlier pass's. */
    MP_FN void turn(int pass)
    {
        const int nt = d_nt, top = nt - 1, column = moved(pass);
        const F* const from = &d_v[follows(pass) * 2 * nt];
        F* const to = &d_v[pass * 2 * nt];
        F x[2] = { from[2 * column], from[2 * column + 1] };
        for (int i = 0; i < 2 * column; ++i)
            to[i] = from[i];
        for (int i = column; i < top; ++i)
            turn_of(pass, i).turn(x, from + 2 * (i + 1), to + 2 * i);
        to[2 * top] = x[0];
        to[2 * top + 1] = x[1];
    }

protected:
    static constexpr int max_passes = NT;
    using rotation = weighted_rotation<F>;
    static constexpr int turn_size = sizeof(rotation) / sizeof(F);

    const extent<NT> d_nt;
    const int d_passes;
    const column_order d_order;
    const float d_scale;
    unscaled_qr<F, NT, NR> d_qr;
    buffer<F, NT> d_unit;
    /* all passes: */
    buffer<F, max_passes * 2 * NT * NT> d_c;
    buffer<F, max_passes * NT> d_w;
    buffer<F, max_passes * turn_size * NT> d_turns; /* rotations */
    buffer<F, max_passes * 2 * NT> d_v;
    /* one pass: */
    buffer<F, 2 * NT> d_row;

    /* Divide the first pass's v_i by 2 scale r_ii. */
    MP_FN void to_units()
    {
        const int nt = d_nt;
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < 2 * nt; ++i)
            d_v[i] = d_v[i] * d_unit[i / 2];
    }

    /* Return the column of an earlier pass that becomes the last one of this pass. */
    MP_FN int moved(int pass) const
    {
        return d_order == column_order::rotate ? 0 : d_nt - 1 - pass;
    }
    MP_FN int follows(int pass) const
    {
        return d_order == column_order::rotate ? pass - 1 : 0;
    }

    /* Return the rotation of a pass that makes row i. */
    MP_FN rotation& turn_of(int pass, int i)
    {
        return reinterpret_cast<rotation*>(&d_turns[0])[pass * d_nt + i];
    }

    /* Move a column to the top. The rows below the column's own lose their first entry
     * one after another to the row that began with it. */
    MP_FN void move_to_top(int pass, int column)
    {
        const int nt = d_nt, top = nt - 1;
        const F* const from = &d_c[follows(pass) * 2 * nt * nt];
        const F* const from_w = &d_w[follows(pass) * nt];
        F* const to = &d_c[pass * 2 * nt * nt];
        F* const to_w = &d_w[pass * nt];
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < column; ++i) {
            MP_UNROLL_UP_TO(4)
            for (int j = i + 1; j < nt; ++j) {
                const int place = j == column ? top : j < column ? j : j - 1;
                to[2 * (i * nt + place)] = from[2 * (i * nt + j)];
                to[2 * (i * nt + place) + 1] = from[2 * (i * nt + j) + 1];
            }
            to_w[i] = from_w[i];
        }
        MP_UNROLL_UP_TO(8)
        for (int j = 2 * (column + 1); j < 2 * nt; ++j)
            d_row[j] = from[2 * column * nt + j];
        F w = from_w[column];
        MP_UNROLL_UP_TO(4)
        for (int i = column; i < top; ++i) {
            const rotation r =
                rotation::removing(&d_row[2 * (i + 1)], w, from_w[i + 1], to_w[i]);
            turn_of(pass, i) = r;
            MP_UNROLL_UP_TO(4)
            for (int j = i + 2; j < nt; ++j)
                r.turn(&d_row[2 * j],
                       from + 2 * ((i + 1) * nt + j),
                       to + 2 * (i * nt + j - 1));
            to[2 * (i * nt + top)] = r.s[0];
            to[2 * (i * nt + top) + 1] = r.s[1];
        }
        to_w[top] = w;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

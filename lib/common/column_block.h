/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Modified Gram-Schmidt with several columns at a time, for sizes known when running.
 *
 * With one column at a time, a step loads and stores more than it computes. Here each
 * entry of an earlier column serves several later ones, and one pass takes out a column's
 * share and computes the next column's. */
#pragma once
#include "common/complex.h"
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Products of real entries (a lane each) or complex entries (two lanes each) */
template <class F, bool COMPLEX>
struct entry_products {
    static constexpr int parts = COMPLEX ? 2 : 1;

    /* sum += conj(a) b */
    MP_FN static void add_conjugate(F* sum, const F* a, const F* b)
    {
        if constexpr (COMPLEX)
            add_conjugate_product(a, b, sum);
        else
            *sum = fma(*a, *b, *sum);
    }

    /* sum += a b */
    MP_FN static void add(F* sum, const F* a, const F* b)
    {
        if constexpr (COMPLEX)
            add_product(a, b, sum);
        else
            *sum = fma(*a, *b, *sum);
    }

    /* sum -= a b */
    MP_FN static void subtract(F* sum, const F* a, const F* b)
    {
        if constexpr (COMPLEX)
            subtract_product(a, b, sum);
        else
            *sum = fnma(*a, *b, *sum);
    }
};

/* Columns that are made orthogonal to the same earlier ones. */
template <class F, bool COMPLEX, int COLUMNS>
class column_block
{
public:
    using entry = entry_products<F, COMPLEX>;
    static constexpr int parts = entry::parts;
    F* column[COLUMNS];
    F share[COLUMNS * parts]; /* of an earlier column v in each column: v^H w */

    MP_FN void project(const F* v, int rows) { pass<false>(nullptr, 0, v, rows); }

    /* Take out the share of v, and compute that of the next column. */
    MP_FN void exchange(const F* v, int rows, const F* next, int next_rows)
    {
        pass<true>(v, rows, next, next_rows);
    }

    MP_FN void remove(const F* v, int rows)
    {
        F taken[COLUMNS * parts];
        copy(share, taken);
        MP_ROLLED
        for (int i = 0; i < rows; ++i) {
            MP_UNROLL
            for (int c = 0; c < COLUMNS; ++c)
                entry::subtract(column[c] + parts * i, v + parts * i, taken + parts * c);
        }
    }

private:
    /* Local arrays stay in registers: a store to a column could change other ones. */
    MP_FN static void copy(const F* from, F* to)
    {
        MP_UNROLL
        for (int p = 0; p < COLUMNS * parts; ++p)
            to[p] = from[p];
    }

    template <bool REMOVES>
    MP_FN void pass(const F* v, int rows, const F* next, int next_rows)
    {
        F* w[COLUMNS];
        F taken[COLUMNS * parts], sum[COLUMNS * parts];
        copy(share, taken);
        MP_UNROLL
        for (int c = 0; c < COLUMNS; ++c)
            w[c] = column[c];
        MP_UNROLL
        for (int p = 0; p < COLUMNS * parts; ++p)
            sum[p] = F(0.0f);
        int i = 0;
        MP_ROLLED
        for (; REMOVES && i < rows; ++i) {
            F old[parts], other[parts];
            MP_UNROLL
            for (int p = 0; p < parts; ++p) {
                old[p] = v[parts * i + p];
                other[p] = next[parts * i + p];
            }
            MP_UNROLL
            for (int c = 0; c < COLUMNS; ++c) {
                F left[parts];
                MP_UNROLL
                for (int p = 0; p < parts; ++p)
                    left[p] = w[c][parts * i + p];
                entry::subtract(left, old, taken + parts * c);
                entry::add_conjugate(sum + parts * c, other, left);
                MP_UNROLL
                for (int p = 0; p < parts; ++p)
                    w[c][parts * i + p] = left[p];
            }
        }
        MP_ROLLED
        for (; i < next_rows; ++i) {
            MP_UNROLL
            for (int c = 0; c < COLUMNS; ++c)
                entry::add_conjugate(sum + parts * c, next + parts * i, w[c] + parts * i);
        }
        copy(sum, share);
    }
};

/* Make COLUMNS columns from `first` on orthonormal that are orthogonal to all earlier
 * ones. */
template <class F, bool COMPLEX, int COLUMNS, class Columns>
MP_FN void finish_block(int first, Columns& columns)
{
    columns.unit(first);
    if constexpr (COLUMNS > 1) {
        constexpr int parts = COMPLEX ? 2 : 1;
        column_block<F, COMPLEX, COLUMNS - 1> rest;
        MP_UNROLL
        for (int a = 0; a < COLUMNS - 1; ++a)
            rest.column[a] = columns.column(first + 1 + a);
        rest.project(columns.column(first), columns.rows(first));
        MP_UNROLL
        for (int a = 0; a < COLUMNS - 1; ++a)
            columns.keep(first, first + 1 + a, rest.share + parts * a);
        rest.remove(columns.column(first), columns.rows(first));
        finish_block<F, COMPLEX, COLUMNS - 1>(first + 1, columns);
    }
}

/* Make COLUMNS columns from `first` on orthogonal to all earlier ones, which have length
 * 1, and to each other. column(c): where column c begins; rows(c): its entries; keep(c,
 * k, share): called with column c's share of column k; unit(c): normalises column c. */
template <class F, bool COMPLEX, int COLUMNS, class Columns>
MP_FN void orthogonalise(int first, Columns& columns)
{
    column_block<F, COMPLEX, COLUMNS> block;
    constexpr int parts = column_block<F, COMPLEX, COLUMNS>::parts;
    MP_UNROLL
    for (int a = 0; a < COLUMNS; ++a)
        block.column[a] = columns.column(first + a);
    const auto keep = [&](int c) {
        MP_UNROLL
        for (int a = 0; a < COLUMNS; ++a)
            columns.keep(c, first + a, block.share + parts * a);
    };
    if (first > 0) {
        block.project(columns.column(0), columns.rows(0));
        MP_ROLLED
        for (int c = 0; c + 1 < first; ++c) {
            keep(c);
            block.exchange(columns.column(c),
                           columns.rows(c),
                           columns.column(c + 1),
                           columns.rows(c + 1));
        }
        keep(first - 1);
        block.remove(columns.column(first - 1), columns.rows(first - 1));
    }
    finish_block<F, COMPLEX, COLUMNS>(first, columns);
}

/* Make all columns orthonormal. On the CPU it is a function of its own, which detectors
 * for all constellations share. */
template <class F, bool COMPLEX, int COLUMNS, class Columns>
MP_STEP void orthogonalise_all(int count, Columns columns)
{
    int c = 0;
    MP_ROLLED
    for (; c + COLUMNS <= count; c += COLUMNS)
        orthogonalise<F, COMPLEX, COLUMNS>(c, columns);
    MP_ROLLED
    for (; c < count; ++c)
        orthogonalise<F, COMPLEX, 1>(c, columns);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

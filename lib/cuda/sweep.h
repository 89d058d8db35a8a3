/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Inverse of a Hermitian matrix in the registers of a team of threads, by the sweep
 * operator (Goodnight, 1979), which keeps the matrix Hermitian.
 *
 * A step takes the pivot's row from all threads through shared memory. By symmetry it is
 * the pivot's column, too, so each thread then updates its own columns alone. Rows move
 * up by one register in each step: the pivot's row is always the first, and the loop over
 * the steps needs no index that is known when compiling. */
#pragma once
#include "cuda/real.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* COLUMNS columns for each thread of an N x N matrix with ones on its diagonal */
template <int N, int COLUMNS, bool COMPLEX, class Real = float>
struct swept_columns {
    static_assert(!COMPLEX || COLUMNS == 1);
    static constexpr int parts = COMPLEX ? 2 : 1;
    using loaded = loaded_together<Real>;
    static constexpr int at_once = loaded::size / parts; /* entries */
    /* Numbers of a row */
    static constexpr int room = (N + at_once - 1) / at_once * loaded::size;
    Real entry[N][COLUMNS * parts];

    /* Replace the matrix by minus its inverse. rows: two rows in shared memory; rank: the
     * thread's place in the team. Return whether every pivot is at least this large. */
    MP_FN bool invert(Real (*rows)[room], int rank, Real least)
    {
        return sweep<true>(rows, rank, least);
    }

    /* Only find the pivots, which leaves no matrix. */
    MP_FN bool check(Real (*rows)[room], int rank, Real least)
    {
        return sweep<false>(rows, rank, least);
    }

private:
    template <bool WHOLE>
    MP_FN bool sweep(Real (*rows)[room], int rank, Real least)
    {
        bool enough = true;
#pragma unroll 1
        for (int c = 0; c < N; ++c) {
            /* A row is overwritten two steps later, when all have read it. */
            Real* const row = rows[c & 1];
            Real factor[COLUMNS * parts];
            bool own[COLUMNS];
            MP_UNROLL
            for (int q = 0; q < COLUMNS; ++q) {
                const int column = rank * COLUMNS + q;
                const int place = column - c + (column < c ? N : 0);
                own[q] = place == 0;
                if (column < N) {
                    MP_UNROLL
                    for (int p = 0; p < parts; ++p)
                        row[parts * place + p] = entry[0][parts * q + p];
                }
            }
            __syncwarp();
            const Real pivot = row[0], inverse = reciprocal(pivot);
            enough = enough && pivot >= least; /* false for NaN, too */
            MP_UNROLL
            for (int q = 0; q < COLUMNS; ++q) {
                MP_UNROLL
                for (int p = 0; p < parts; ++p) {
                    const Real mine = entry[0][parts * q + p] * inverse;
                    const Real last = own[q] ? (p == 0 ? -inverse : Real(0)) : mine;
                    /* The pivot's own column a becomes a / pivot = a - a (1 - 1 / pivot).
                     * Pivots are at most 1, so the difference keeps its digits. */
                    factor[parts * q + p] = own[q] && p == 0 ? 1 + last : last;
                    entry[0][parts * q + p] = last;
                }
            }
            Real first[COLUMNS * parts];
            MP_UNROLL
            for (int q = 0; q < COLUMNS * parts; ++q)
                first[q] = entry[0][q];
            MP_UNROLL
            for (int v = 0; v < room / loaded::size; ++v) {
                if (!WHOLE && v * at_once >= N - c)
                    break; /* rows of earlier pivots */
                const loaded some = reinterpret_cast<const loaded*>(row)[v];
                MP_UNROLL
                for (int e = 0; e < at_once; ++e) {
                    const int i = v * at_once + e;
                    if (i > 0 && i < N)
                        update(i, some.of + parts * e, factor);
                }
            }
            MP_UNROLL
            for (int q = 0; q < COLUMNS * parts; ++q)
                entry[N - 1][q] = first[q];
        }
        return enough;
    }

    /* Row i moves up and loses x^* times the pivot's row over the pivot. */
    MP_FN void update(int i, const Real* x, const Real* factor)
    {
        if constexpr (COMPLEX) {
            const Real re = multiply_add(-x[0], factor[0], entry[i][0]);
            const Real im = multiply_add(-x[0], factor[1], entry[i][1]);
            entry[i - 1][0] = multiply_add(-x[1], factor[1], re);
            entry[i - 1][1] = multiply_add(x[1], factor[0], im);
        } else {
            MP_UNROLL
            for (int q = 0; q < COLUMNS; ++q)
                entry[i - 1][q] = multiply_add(-x[0], factor[q], entry[i][q]);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

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
#include "common/scalar.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* COLUMNS columns for each thread of an N x N matrix with ones on its diagonal */
template <int N, int COLUMNS, bool COMPLEX>
struct swept_columns {
    static_assert(!COMPLEX || COLUMNS == 1);
    static constexpr int parts = COMPLEX ? 2 : 1;
    static constexpr int at_once = 4 / parts;                    /* entries of 16 bytes */
    static constexpr int room = (N + at_once - 1) / at_once * 4; /* floats of a row */
    float entry[N][COLUMNS * parts];

    /* Replace the matrix by minus its inverse. rows: two rows in shared memory; rank: the
     * thread's place in the team. Return whether every pivot is at least this large. */
    MP_FN bool invert(float (*rows)[room], int rank, float least)
    {
        return sweep<true>(rows, rank, least);
    }

    /* Only find the pivots, which leaves no matrix. */
    MP_FN bool check(float (*rows)[room], int rank, float least)
    {
        return sweep<false>(rows, rank, least);
    }

private:
    template <bool WHOLE>
    MP_FN bool sweep(float (*rows)[room], int rank, float least)
    {
        bool enough = true;
#pragma unroll 1
        for (int c = 0; c < N; ++c) {
            /* A row is overwritten two steps later, when all have read it. */
            float* const row = rows[c & 1];
            float factor[COLUMNS * parts];
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
            const float pivot = row[0], inverse = reciprocal(pivot);
            enough = enough && pivot >= least; /* false for NaN, too */
            MP_UNROLL
            for (int q = 0; q < COLUMNS; ++q) {
                MP_UNROLL
                for (int p = 0; p < parts; ++p) {
                    const float mine = entry[0][parts * q + p] * inverse;
                    const float last = own[q] ? (p == 0 ? -inverse : 0.0f) : mine;
                    /* The pivot's own column a becomes a / pivot = a - a (1 - 1 / pivot).
                     * Pivots are at most 1, so the difference keeps its digits. */
                    factor[parts * q + p] = own[q] && p == 0 ? 1.0f + last : last;
                    entry[0][parts * q + p] = last;
                }
            }
            float first[COLUMNS * parts];
            MP_UNROLL
            for (int q = 0; q < COLUMNS * parts; ++q)
                first[q] = entry[0][q];
            MP_UNROLL
            for (int v = 0; v < room / 4; ++v) {
                if (!WHOLE && v * at_once >= N - c)
                    break; /* rows of earlier pivots */
                const float4 four = reinterpret_cast<const float4*>(row)[v];
                const float of[4] = { four.x, four.y, four.z, four.w };
                MP_UNROLL
                for (int e = 0; e < at_once; ++e) {
                    const int i = v * at_once + e;
                    if (i > 0 && i < N)
                        update(i, of + parts * e, factor);
                }
            }
            MP_UNROLL
            for (int q = 0; q < COLUMNS * parts; ++q)
                entry[N - 1][q] = first[q];
        }
        return enough;
    }

    /* Row i moves up and loses x^* times the pivot's row over the pivot. */
    MP_FN void update(int i, const float* x, const float* factor)
    {
        if constexpr (COMPLEX) {
            const float re = fmaf(-x[0], factor[0], entry[i][0]);
            const float im = fmaf(-x[0], factor[1], entry[i][1]);
            entry[i - 1][0] = fmaf(-x[1], factor[1], re);
            entry[i - 1][1] = fmaf(x[1], factor[0], im);
        } else {
            MP_UNROLL
            for (int q = 0; q < COLUMNS; ++q)
                entry[i - 1][q] = fmaf(-x[0], factor[q], entry[i][q]);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Inverse of a Hermitian matrix in the registers of a team of threads, by the sweep
 * operator (Goodnight, 1979), which keeps the matrix Hermitian.
 *
 * A step takes the pivots' rows from all threads through shared memory. By symmetry they
 * are the pivots' columns, too, so each thread then updates its own columns alone. Rows
 * move up in each step: those of the pivots are always the first, and the loop over the
 * steps needs no index that is known when compiling.
 *
 * invert() replaces the matrix, which has ones on its diagonal, by minus its inverse.
 * rows: those of two steps in shared memory; rank: the thread's place in the team. It
 * returns whether every pivot is at least as large as wanted. */
#pragma once
#include "cuda/real.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A column of an N x N matrix for each thread. entry: real and imaginary parts */
template <int N, class Real>
struct swept_complex {
    using loaded = loaded_together<Real>;
    static constexpr int at_once = loaded::size / 2; /* entries */
    /* Numbers of a row */
    static constexpr int room = (N + at_once - 1) / at_once * loaded::size;
    Real entry[N][2];

    MP_FN bool invert(Real (*rows)[room], int rank, Real least)
    {
        bool enough = true;
#pragma unroll 1
        for (int c = 0; c < N; ++c) {
            /* A row is overwritten two steps later, when all have read it. */
            Real* const row = rows[c & 1];
            const int place = rank - c + (rank < c ? N : 0);
            const bool own = place == 0;
            if (rank < N) {
                row[2 * place] = entry[0][0];
                row[2 * place + 1] = entry[0][1];
            }
            __syncwarp();
            const Real pivot = row[0], inverse = reciprocal(pivot);
            enough = enough && pivot >= least; /* false for NaN, too */
            const Real last[2] = { own ? -inverse : entry[0][0] * inverse,
                                   own ? Real(0) : entry[0][1] * inverse };
            /* The pivot's own column a becomes a / pivot = a - a (1 - 1 / pivot). Pivots
             * are at most 1, so the difference keeps its digits. */
            const Real factor[2] = { own ? 1 + last[0] : last[0], last[1] };
            MP_UNROLL
            for (int v = 0; v < room / loaded::size; ++v) {
                const loaded some = reinterpret_cast<const loaded*>(row)[v];
                MP_UNROLL
                for (int e = 0; e < at_once; ++e) {
                    const int i = v * at_once + e;
                    if (i > 0 && i < N)
                        update(i, some.of + 2 * e, factor);
                }
            }
            entry[N - 1][0] = last[0];
            entry[N - 1][1] = last[1];
        }
        return enough;
    }

private:
    /* Row i moves up and loses x^* times the pivot's row over the pivot. */
    MP_FN void update(int i, const Real* x, const Real* factor)
    {
        const Real re = multiply_add(-x[0], factor[0], entry[i][0]);
        const Real im = multiply_add(-x[0], factor[1], entry[i][1]);
        entry[i - 1][0] = multiply_add(-x[1], factor[1], re);
        entry[i - 1][1] = multiply_add(x[1], factor[0], im);
    }
};

/* Two columns of a real N x N matrix for each thread. A step takes a thread's two pivots
 * together. */
template <int N, class Real>
struct swept_pairs {
    static_assert(N % 2 == 0);
    using loaded = loaded_together<Real>;
    using pair = complex_of<Real>; /* two numbers */
    /* Numbers of a row, and of the rows of a step */
    static constexpr int length = (N + loaded::size - 1) / loaded::size * loaded::size;
    static constexpr int room = 2 * length;
    Real entry[N][2];

    MP_FN bool invert(Real (*rows)[room], int rank, Real least)
    {
        bool enough = true;
#pragma unroll 1
        for (int c = 0; c < N / 2; ++c) {
            Real *const row = rows[c & 1], *const second = row + length;
            const int place = rank - c + (rank < c ? N / 2 : 0);
            const bool own = place == 0;
            if (rank < N / 2) {
                reinterpret_cast<pair*>(row)[place] = pair{ entry[0][0], entry[0][1] };
                reinterpret_cast<pair*>(second)[place] = pair{ entry[1][0], entry[1][1] };
            }
            __syncwarp();
            /* With the pivots' block P = [a, b; b, d]: */
            const Real a = row[0], b = row[1], inverse = reciprocal(a);
            const Real share = b * inverse, left = multiply_add(-share, b, second[1]);
            const Real last_inverse = reciprocal(left);
            enough = enough && a >= least && left >= least; /* false for NaN, too */
            const Real by_both = share * last_inverse;
            const Real of_p[2][2] = { { multiply_add(share, by_both, inverse), -by_both },
                                      { -by_both, last_inverse } }; /* P^-1 */
            Real last[2][2], factor[2][2];
            MP_UNROLL
            for (int q = 0; q < 2; ++q) {
                const Real u = entry[0][q];
                const Real w = multiply_add(-share, u, entry[1][q]) * last_inverse;
                last[0][q] = own ? -of_p[0][q] : multiply_add(-share, w, u * inverse);
                last[1][q] = own ? -of_p[1][q] : w;
                MP_UNROLL
                for (int r = 0; r < 2; ++r) /* see above */
                    factor[r][q] = own && r == q ? 1 + last[r][q] : last[r][q];
            }
            MP_UNROLL
            for (int v = 0; v < length / loaded::size; ++v) {
                const loaded x = reinterpret_cast<const loaded*>(row)[v],
                             z = reinterpret_cast<const loaded*>(second)[v];
                MP_UNROLL
                for (int e = 0; e < loaded::size; ++e) {
                    const int i = v * loaded::size + e;
                    MP_UNROLL
                    for (int q = 0; q < 2; ++q)
                        if (i > 1 && i < N)
                            entry[i - 2][q] = multiply_add(
                                -z.of[e],
                                factor[1][q],
                                multiply_add(-x.of[e], factor[0][q], entry[i][q]));
                }
            }
            MP_UNROLL
            for (int r = 0; r < 2; ++r) {
                entry[N - 2 + r][0] = last[r][0];
                entry[N - 2 + r][1] = last[r][1];
            }
        }
        return enough;
    }
};

template <bool COMPLEX, int N, class Real>
struct swept_columns : swept_complex<N, Real> {
};
template <int N, class Real>
struct swept_columns<false, N, Real> : swept_pairs<N, Real> {
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

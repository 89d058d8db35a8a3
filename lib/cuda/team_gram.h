/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* H^H H and H^H y by a team of threads, one for each column of H (layer). */
#pragma once
#include "common/config.h"
#include "cuda/asked.h"
#include "cuda/real.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The least power of two that is not less than n */
constexpr int power_of_two(int n) { return n <= 1 ? 1 : 2 * power_of_two((n + 1) / 2); }

/* Real: type of the sums. In float, H^H H is in shared memory. In double it would be too
 * large there, so each thread keeps its own column. */
template <class Real>
struct team_gram_of {
    using complex = complex_of<Real>;
    static constexpr bool shares = sizeof(Real) == sizeof(float);
    static constexpr int nt = asked::num_tx, nr = asked::num_rx;
    static constexpr int threads = power_of_two(nt);
    static constexpr int rows = 8; /* of H in shared memory at a time */
    static constexpr int vectors = asked::matrix_each ? 1 : 7; /* that share a pass */
    static constexpr int width = (nt + 1) / 2 * 2; /* rows begin at 16 bytes */

    struct storage {
        alignas(16) float2 h[rows][width];
        float2 y[rows][vectors];
        complex product[shares ? nt : 1][nt]; /* H^H H */
        complex matched[vectors][nt];         /* H^H y */
    };

    storage& at;
    const int rank;
    int count = 0, vector = 0; /* of the vectors that share the pass; the present one */
    Real energy[vectors];      /* |y|^2 */

    MP_FN team_gram_of(storage& s, int rank_) : at(s), rank(rank_) {}
    MP_FN bool has_layer() const { return rank < nt; }
    MP_FN int layer() const { return has_layer() ? rank : nt - 1; }
    MP_FN complex of_column(int i) const
    {
        if constexpr (shares)
            return at.product[i][layer()];
        else
            return d_column[i];
    }
    MP_FN Real diagonal() const
    {
        if constexpr (shares)
            return at.product[layer()][layer()].x;
        else
            return d_column[layer()].x;
    }

    /* Compute H^H y of `length` vectors, and H^H H with the first ones of a matrix. */
    MP_FN void compute(const float* h, const float* y, int length, bool first)
    {
        count = length;
        if (first)
            pass<true>(h, y);
        else
            pass<false>(h, y);
    }

private:
    complex d_column[shares ? 1 : nt]; /* the thread's column of H^H H */

    template <bool FIRST>
    MP_FN void pass(const float* h, const float* y)
    {
        Real sum[FIRST ? nt : 1][2], of_y[vectors][2];
        MP_UNROLL
        for (int i = 0; FIRST && i < nt; ++i)
            sum[i][0] = sum[i][1] = 0;
        MP_UNROLL
        for (int v = 0; v < vectors; ++v)
            of_y[v][0] = of_y[v][1] = energy[v] = 0;
        float2 next[rows];
        load(h, 0, next);
#pragma unroll 1
        for (int from = 0; from < nr; from += rows) {
            float2 own[rows];
            __syncwarp();
            MP_UNROLL
            for (int r = 0; r < rows; ++r) {
                own[r] = next[r];
                if (FIRST && has_layer())
                    at.h[r][rank] = own[r];
            }
            for (int k = rank; k < rows * vectors; k += threads) {
                const int v = k / rows, r = k % rows;
                const bool exists = v < count && from + r < nr;
                at.y[r][v] = exists
                                 ? reinterpret_cast<const float2*>(y)[v * nr + from + r]
                                 : float2{ 0.0f, 0.0f };
            }
            __syncwarp();
            load(h, from + rows, next);
            MP_UNROLL
            for (int r = 0; r < rows; ++r) {
                if constexpr (FIRST)
                    add_row(at.h[r], own[r], sum);
                MP_UNROLL
                for (int v = 0; v < vectors; ++v) {
                    const float2 z = at.y[r][v];
                    const Real parts[2] = { z.x, z.y };
                    add_conjugate(own[r], z, of_y[v]);
                    energy[v] = multiply_add(
                        parts[0], parts[0], multiply_add(parts[1], parts[1], energy[v]));
                }
            }
        }
        MP_UNROLL
        for (int i = 0; FIRST && !shares && i < nt; ++i)
            d_column[i] = complex{ sum[i][0], sum[i][1] };
        if (has_layer()) {
            MP_UNROLL
            for (int i = 0; FIRST && shares && i < nt; ++i)
                at.product[i][rank] = complex{ sum[i][0], sum[i][1] };
            MP_UNROLL
            for (int v = 0; v < vectors; ++v)
                at.matched[v][rank] = complex{ of_y[v][0], of_y[v][1] };
        }
        __syncwarp();
    }

    /* The thread's entries of the rows; zeros behind the last one */
    MP_FN void load(const float* h, int from, float2* to) const
    {
        MP_UNROLL
        for (int r = 0; r < rows; ++r)
            to[r] = from + r < nr
                        ? reinterpret_cast<const float2*>(h)[(from + r) * nt + layer()]
                        : float2{ 0.0f, 0.0f };
    }

    MP_FN static void add_row(const float2* row, float2 own, Real (*sum)[2])
    {
        MP_UNROLL
        for (int i = 0; i < nt; i += 2) {
            const float4 two = *reinterpret_cast<const float4*>(row + i);
            add_conjugate(float2{ two.x, two.y }, own, sum[i]);
            if (i + 1 < nt)
                add_conjugate(float2{ two.z, two.w }, own, sum[i + 1]);
        }
    }

    /* sum += a^* b */
    MP_FN static void add_conjugate(float2 a, float2 b, Real* sum)
    {
        const Real x = a.x, y = a.y, of_b[2] = { b.x, b.y };
        sum[0] = multiply_add(x, of_b[0], multiply_add(y, of_b[1], sum[0]));
        sum[1] = multiply_add(x, of_b[1], multiply_add(-y, of_b[0], sum[1]));
    }
};

using team_gram = team_gram_of<float>;

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* H^H H and H^H y by a team of threads, one for each column of H (layer). */
#pragma once
#include "common/config.h"
#include "cuda/batch.h"
#include "cuda/program.h"
#include "cuda/real.h"
#include "cuda/team.h"
#include "cuda/tiles.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The least power of two that is not less than n */
constexpr int power_of_two(int n) { return n <= 1 ? 1 : 2 * power_of_two((n + 1) / 2); }

/* Whether i.i.d. matrices often have nearly dependent columns. Otherwise the form in
 * double precision would only cause more spills. */
constexpr bool often_dependent = program::num_rx < 2 * program::num_tx;

/* Whether the warp computes for its teams in turn on tensor cores. They cost two bits of
 * H^H H, which nearly dependent columns need. Few layers would leave most of a tile
 * empty. */
constexpr bool uses_tiles = MP_TENSOR_CORES && program::num_tx > 4 && !often_dependent;

/* Real: type of the sums. In float, H^H H is in shared memory. In double it would be too
 * large there, so each thread keeps its own column. */
template <class Real>
struct team_gram_of {
    using complex = complex_of<Real>;
    static constexpr bool shares = sizeof(Real) == sizeof(float);
    static constexpr int nt = program::num_tx, nr = program::num_rx;
    static constexpr int threads = power_of_two(nt);
    static constexpr int rows = 8; /* of H in shared memory at a time */
    static constexpr int vectors = program::matrix_each ? 1 : 7; /* that share a pass */
    static constexpr int width = (nt + 1) / 2 * 2; /* rows begin at 16 bytes */

    static constexpr int places = vectors > 1 ? 8 : 1; /* of vectors, likewise */

    static constexpr bool tiled = shares && uses_tiles;
    struct storage {
        alignas(16) float2 h[tiled ? 1 : rows][width];
        alignas(16) float2 y[tiled ? 1 : rows][places];
        complex product[shares ? nt : 1][nt]; /* H^H H */
        complex matched[vectors][nt];         /* H^H y */
        float energy[places];                 /* |y|^2 */
    };

    storage& at;
    const int rank;
    int count = 0, vector = 0; /* of the vectors that share the pass; the present one */

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

    /* Compute H^H y of `length` vectors, and H^H H with the first ones of a matrix.
     * place, vector: of the team; apart: bytes between the storages of two teams */
    MP_FN void compute(const batch& all,
                       unsigned long long place,
                       unsigned long long vector,
                       int length,
                       bool first,
                       int apart)
    {
        count = length;
        if constexpr (tiled) {
            compute_by_tiles(all, place, vector, first, apart);
        } else {
            const float *const h = all.h + place * (2 * nr * nt), *const y =
                                                                      all.y +
                                                                      vector * (2 * nr);
            if (first)
                pass<true>(h, y);
            else
                pass<false>(h, y);
        }
    }

private:
    complex d_column[shares ? 1 : nt]; /* the thread's column of H^H H */

    /* Threads that load a vector's entries of a block of rows, and entries per thread */
    static constexpr int takers = threads < rows ? threads : rows;
    static constexpr int entries = (rows * vectors + threads - 1) / threads;
    static constexpr int energies = threads < rows ? vectors : entries; /* of a thread */

    /* The vector and row of a thread's entry, and the energy that it belongs to */
    MP_FN int vector_of(int e) const { return (rank + threads * e) / rows; }
    MP_FN int row_of(int e) const { return (rank + threads * e) % rows; }
    MP_FN static constexpr int energy_of(int e)
    {
        return threads < rows ? threads * e / rows : e;
    }

    MP_FN void compute_by_tiles(const batch& all,
                                unsigned long long place,
                                unsigned long long vector,
                                bool first,
                                int apart)
    {
        char* const storages =
            reinterpret_cast<char*>(&at) - threadIdx.x % 32 / threads * apart;
        tile_grams<team_gram_of> warp(all, place, vector, storages, apart);
        __syncwarp();
        if (first)
            warp.template compute<true, vectors == 1>(1);
        if constexpr (vectors > 1)
            warp.template compute<false, 8>(count);
        __syncwarp();
    }

    template <bool FIRST>
    MP_FN void pass(const float* h, const float* y)
    {
        Real sum[FIRST ? nt : 1][2], of_y[vectors][2];
        float energy[energies];
        MP_UNROLL
        for (int i = 0; FIRST && i < nt; ++i)
            sum[i][0] = sum[i][1] = 0;
        MP_UNROLL
        for (int v = 0; v < vectors; ++v)
            of_y[v][0] = of_y[v][1] = 0;
        MP_UNROLL
        for (int e = 0; e < energies; ++e)
            energy[e] = 0.0f;
        float2 next[rows], next_y[entries];
        load(h, 0, next);
        load_y(y, 0, next_y);
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
            MP_UNROLL
            for (int e = 0; e < entries; ++e) {
                const float2 z = next_y[e];
                float& to = energy[energy_of(e)];
                to = fmaf(z.x, z.x, fmaf(z.y, z.y, to));
                if (rank + threads * e < rows * vectors)
                    at.y[row_of(e)][vector_of(e)] = z;
            }
            __syncwarp();
            load(h, from + rows, next);
            load_y(y, from + rows, next_y);
            MP_UNROLL
            for (int r = 0; r < rows; ++r) {
                if constexpr (FIRST)
                    add_row(at.h[r], own[r], sum);
                add_vectors(at.y[r], own[r], of_y);
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
        MP_UNROLL
        for (int e = 0; e < energies; ++e) {
            const int v = threads < rows ? e : vector_of(e);
            const float all =
                over_team<takers>(energy[e], [](float a, float b) { return a + b; });
            if (rank % takers == 0 && v < vectors)
                at.energy[v] = all;
        }
        __syncwarp();
    }

    /* The thread's entries of y in the rows; zeros behind the last row and vector */
    MP_FN void load_y(const float* y, int from, float2* to) const
    {
        MP_UNROLL
        for (int e = 0; e < entries; ++e) {
            const int v = vector_of(e), r = from + row_of(e);
            to[e] = v < count && r < nr ? reinterpret_cast<const float2*>(y)[v * nr + r]
                                        : float2{ 0.0f, 0.0f };
        }
    }

    MP_FN static void add_vectors(const float2* row, float2 own, Real (*sum)[2])
    {
        if constexpr (vectors == 1) {
            add_conjugate(own, row[0], sum[0]);
        } else {
            MP_UNROLL
            for (int v = 0; v < vectors; v += 2) {
                const float4 two = *reinterpret_cast<const float4*>(row + v);
                add_conjugate(own, float2{ two.x, two.y }, sum[v]);
                if (v + 1 < vectors)
                    add_conjugate(own, float2{ two.z, two.w }, sum[v + 1]);
            }
        }
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

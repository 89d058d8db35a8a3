/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* H^H H and H^H y on tensor cores, which multiply tiles of TF32 numbers (11 bits) and
 * ignore further bits. A float is the sum of two of them, within 2^-23. The product of
 * two floats leaves out only the product of the smaller parts. Tensor cores truncate sums
 * instead of rounding them. */
#pragma once
#include "common/config.h"
#include "cuda/batch.h"
#include "cuda/program.h"

/* From compute capability 8.0 on */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define MP_TENSOR_CORES 1
#else
#define MP_TENSOR_CORES 0
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

/* Thread 4 g + t of a warp holds row t of columns g and g + 8 of A, and of column g of B.
 * It holds four sums: those of A's column g with columns 2 t and 2 t + 1 of B, then those
 * of A's column g + 8 with the same. */

/* Add A^T B to a tile of 16 x 8 sums; A and B have 4 rows. */
MP_FN void add_tile(const unsigned* a, unsigned b, float* sum)
{
#ifdef __CUDA_ARCH__
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
#else /* tests without a GPU, where sums are rounded */
    const auto from = [](unsigned bits, int column, int row) {
        return __uint_as_float(__shfl_sync(~0u, bits & ~0x1fffu, 4 * column + row));
    };
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (int row = 0; row < 4; ++row)
        for (int s = 0; s < 4; ++s)
            sum[s] += from(a[s / 2], g, row) * from(b, 2 * t + s % 2, row);
#endif
}

/* Complex numbers of 8 columns and 4 rows: real and imaginary part, each in two parts */
struct tile_columns {
    unsigned high[2], low[2];

    MP_FN void set(float2 z)
    {
        const float x[2] = { z.x, z.y };
        MP_UNROLL
        for (int i = 0; i < 2; ++i) {
            high[i] = (__float_as_uint(x[i]) + 0x1000u) & ~0x1fffu;
            low[i] = __float_as_uint(x[i] - __uint_as_float(high[i])); /* NaN stays NaN */
        }
    }
};

/* The sums a^* b for 8 columns a, and 8 columns b */
struct tile_product {
    float with_real[4], with_imaginary[4];

    MP_FN void clear()
    {
        MP_UNROLL
        for (int i = 0; i < 4; ++i)
            with_real[i] = with_imaginary[i] = 0.0f;
    }

    MP_FN void add(const unsigned* a, const unsigned* b)
    {
        add_tile(a, b[0], with_real);
        add_tile(a, b[1], with_imaginary);
    }

    /* For column g of a and column 2 t + n of b */
    MP_FN float2 get(int n) const
    {
        return float2{ with_real[n] + with_imaginary[2 + n],
                       with_imaginary[n] - with_real[2 + n] };
    }
};

/* A warp computes for its teams in turn. Gram: team_gram_of, whose storages lie so many
 * bytes apart */
template <class Gram>
class tile_grams
{
    using storage = typename Gram::storage;
    static constexpr int nt = Gram::nt, nr = Gram::nr;
    static constexpr int blocks = (nt + 7) / 8, pairs = blocks * (blocks + 1) / 2;
    static constexpr int threads = Gram::threads, teams = 32 / threads;
    /* Rows that are loaded while the ones before are multiplied */
    static constexpr int rows = blocks <= 2 ? 16 : 8, own_rows = rows / 4;

public:
    /* place, vector: those of this thread's team */
    MP_FN tile_grams(const batch& all,
                     unsigned long long place,
                     unsigned long long vector,
                     char* storages,
                     int apart)
        : d_all(all),
          d_place(place),
          d_vector(vector),
          d_storages(storages),
          d_apart(apart)
    {
        /* Hide the thread's number, so that the compiler does not keep all that follows
         * from it in registers. */
        int thread = threadIdx.x % 32;
        asm volatile("" : "+r"(thread));
        d_g = thread / 4;
        d_t = thread % 4;
    }

    /* Compute H^H H if MATRIX. If VECTORS, compute H^H y and |y|^2 of `count` vectors, at
     * most VECTORS: one in plain float, or 8 on tensor cores. */
    template <bool MATRIX, int VECTORS>
    MP_FN void compute(int count)
    {
        float2 next[blocks][own_rows], next_y[own_rows];
        const int place = VECTORS > 1 ? d_g : 0; /* of the thread's vector */
        const bool exists = place < count;
        const float2 *h = matrix_of(0), *y = vector_of(0) + place * nr;
        load(h, 0, true, next);
        if constexpr (VECTORS > 0)
            load_vector(y, 0, exists, next_y);
#pragma unroll 1
        for (int team = 0; team < teams; ++team) {
            const bool has_next = team + 1 < teams;
            const float2* const next_h = matrix_of(has_next ? team + 1 : team);
            const float2* const first_y =
                vector_of(has_next ? team + 1 : team) + place * nr;
            tile_product of_h[MATRIX ? pairs : 1], of_y[VECTORS > 1 ? blocks : 1];
            float2 matched[blocks];
            float energy = 0.0f;
            MP_UNROLL
            for (int p = 0; MATRIX && p < pairs; ++p)
                of_h[p].clear();
            MP_UNROLL
            for (int i = 0; i < blocks; ++i) {
                if constexpr (VECTORS > 1)
                    of_y[i].clear();
                matched[i] = float2{ 0.0f, 0.0f };
            }
#pragma unroll 1
            for (int from = 0; from < nr; from += rows) {
                tile_columns columns[own_rows][blocks], vectors[own_rows];
                MP_UNROLL
                for (int i = 0; i < blocks; ++i) {
                    MP_UNROLL
                    for (int r = 0; r < own_rows; ++r)
                        columns[r][i].set(next[i][r]);
                    if constexpr (VECTORS == 1)
                        add_conjugate(next[i], next_y, matched[i]);
                }
                const bool ends = from + rows >= nr;
                const int following = ends ? 0 : from + rows;
                if constexpr (VECTORS > 0) {
                    MP_UNROLL
                    for (int r = 0; VECTORS > 1 && r < own_rows; ++r)
                        vectors[r].set(next_y[r]);
                    add_energy(next_y, energy);
                    y = ends ? first_y : y + rows;
                    load_vector(y, following, exists && (!ends || has_next), next_y);
                }
                h = ends ? next_h : h + rows * nt;
                load(h, following, !ends || has_next, next);
                MP_UNROLL
                for (int part = 0; part < 3 * own_rows; ++part) {
                    const tile_columns *const c = columns[part / 3],
                                              &v = vectors[part / 3];
                    MP_UNROLL
                    for (int i = 0, p = 0; i < blocks; ++i) {
                        const unsigned* const own = part % 3 == 0 ? c[i].low : c[i].high;
                        MP_UNROLL
                        for (int j = i; MATRIX && j < blocks; ++j, ++p)
                            of_h[p].add(own, part % 3 == 1 ? c[j].low : c[j].high);
                        if constexpr (VECTORS > 1)
                            of_y[i].add(own, part % 3 == 1 ? v.low : v.high);
                    }
                }
            }
            storage& to = storage_of(team);
            MP_UNROLL
            for (int i = 0, p = 0; i < blocks; ++i) {
                const int column = 8 * i + d_g;
                MP_UNROLL
                for (int j = i; MATRIX && j < blocks; ++j, ++p) {
                    MP_UNROLL
                    for (int n = 0; n < 2; ++n)
                        store(to, column, 8 * j + 2 * d_t + n, of_h[p].get(n), i != j);
                }
                if constexpr (VECTORS == 1) {
                    const float2 all{ over_rows(matched[i].x), over_rows(matched[i].y) };
                    if (d_t == 0 && is_column(column))
                        to.matched[0][column] = all;
                } else if constexpr (VECTORS > 1) {
                    MP_UNROLL
                    for (int n = 0; n < 2; ++n)
                        if (2 * d_t + n < count && is_column(column))
                            to.matched[2 * d_t + n][column] = of_y[i].get(n);
                }
            }
            if constexpr (VECTORS > 0) {
                energy = over_rows(energy);
                if (d_t == 0 && exists && d_g < VECTORS)
                    to.energy[d_g] = energy;
            }
        }
    }

private:
    const batch& d_all;
    const unsigned long long d_place, d_vector;
    char* const d_storages;
    const int d_apart;
    int d_g, d_t;

    MP_FN storage& storage_of(int team) const
    {
        return *reinterpret_cast<storage*>(d_storages + team * d_apart);
    }

    /* The thread's first entry of a team's matrix, and of its vector */
    MP_FN const float2* matrix_of(int team) const
    {
        return reinterpret_cast<const float2*>(d_all.h) +
               __shfl_sync(~0u, d_place, team * threads) * (nr * nt) + d_t * nt + d_g;
    }
    MP_FN const float2* vector_of(int team) const
    {
        return reinterpret_cast<const float2*>(d_all.y) +
               __shfl_sync(~0u, d_vector, team * threads) * nr + d_t;
    }

    MP_FN static bool is_column(int i) { return nt % 8 == 0 || i < nt; }

    /* Whether there is row from + 4 r + t */
    MP_FN bool is_row(int from, int r) const
    {
        return nr % rows == 0 || from + 4 * r + d_t < nr;
    }

    /* The entries of all columns in rows from + t, from + t + 4 and so on; zeros behind
     * the last row and column */
    MP_FN void load(const float2* h, int from, bool exists, float2 (*to)[own_rows]) const
    {
        MP_UNROLL
        for (int i = 0; i < blocks; ++i) {
            MP_UNROLL
            for (int r = 0; r < own_rows; ++r)
                to[i][r] = exists && is_row(from, r) && is_column(8 * i + d_g)
                               ? h[4 * r * nt + 8 * i]
                               : float2{ 0.0f, 0.0f };
        }
    }

    MP_FN void load_vector(const float2* y, int from, bool exists, float2* to) const
    {
        MP_UNROLL
        for (int r = 0; r < own_rows; ++r)
            to[r] = exists && is_row(from, r) ? y[4 * r] : float2{ 0.0f, 0.0f };
    }

    MP_FN static void store(storage& to, int i, int j, float2 value, bool mirror)
    {
        if (!is_column(i) || !is_column(j))
            return;
        to.product[i][j] = value;
        if (mirror)
            to.product[j][i] = float2{ value.x, -value.y };
    }

    /* sum += a^* b over the thread's rows */
    MP_FN static void add_conjugate(const float2* a, const float2* b, float2& sum)
    {
        MP_UNROLL
        for (int r = 0; r < own_rows; ++r) {
            const float2 u = a[r], v = b[r];
            sum.x = fmaf(u.x, v.x, fmaf(u.y, v.y, sum.x));
            sum.y = fmaf(u.x, v.y, fmaf(-u.y, v.x, sum.y));
        }
    }

    MP_FN static void add_energy(const float2* y, float& sum)
    {
        MP_UNROLL
        for (int r = 0; r < own_rows; ++r)
            sum = fmaf(y[r].x, y[r].x, fmaf(y[r].y, y[r].y, sum));
    }

    /* The sum over the threads with the same g */
    MP_FN static float over_rows(float x)
    {
        x += __shfl_xor_sync(~0u, x, 1);
        return x + __shfl_xor_sync(~0u, x, 2);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

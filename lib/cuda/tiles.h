/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* H^H H and H^H y on tensor cores, which multiply tiles of TF32 numbers (11 bits) and leave
 * out further bits. A float is the sum of two of them, within 2^-23; of the product of two
 * floats, only that of the lesser parts is left out. Tensor cores do not round sums, but cut
 * them off. */
#pragma once
#include "common/config.h"
#include "cuda/asked.h"

/* From compute capability 8.0 on */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define MP_TENSOR_CORES 1
#else
#define MP_TENSOR_CORES 0
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

/* What follows is in the order of the instruction: of 8 x 8 numbers, the thread 4 g + t of
 * a warp has those of column g in rows t and t + 4. */

/* Add A^T B to a tile of 16 x 8 sums. a: the columns of A from 0 and from 8 on, in row t
 * and then in row t + 4; b: a column of B. The thread has the sums of A's column g, then
 * g + 8, with the columns 2 t and 2 t + 1 of B. */
MP_FN void add_tile(const unsigned* a, const unsigned* b, float* sum)
{
#ifdef __CUDA_ARCH__
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (int row = 0; row < 8; ++row)
        for (int s = 0; s < 4; ++s)
            sum[s] += __uint_as_float(__shfl_sync(
                          ~0u, a[row / 4 * 2 + s / 2] & ~0x1fffu, 4 * g + row % 4)) *
                      __uint_as_float(__shfl_sync(
                          ~0u, b[row / 4] & ~0x1fffu, 4 * (2 * t + s % 2) + row % 4));
#endif
}

/* Complex numbers of 8 columns and 8 rows, in two parts: real and imaginary part in row t,
 * then in row t + 4 */
struct tile_columns {
    unsigned high[4], low[4];

    MP_FN void set(const float2* rows)
    {
        const float x[4] = { rows[0].x, rows[0].y, rows[1].x, rows[1].y };
        MP_UNROLL
        for (int i = 0; i < 4; ++i) {
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
        const unsigned real[2] = { b[0], b[2] }, imaginary[2] = { b[1], b[3] };
        add_tile(a, real, with_real);
        add_tile(a, imaginary, with_imaginary);
    }

    /* For column g of a and column 2 t + n of b */
    MP_FN float2 get(int n) const
    {
        return float2{ with_real[n] + with_imaginary[2 + n],
                       with_imaginary[n] - with_real[2 + n] };
    }
};

/* A warp takes one matrix. Storage: see team_gram_of */
template <class Storage>
class tile_gram
{
    static constexpr int nt = asked::num_tx, nr = asked::num_rx;
    static constexpr int blocks = (nt + 7) / 8, pairs = blocks * (blocks + 1) / 2;

public:
    MP_FN explicit tile_gram(Storage& to)
        : d_to(to), d_g(threadIdx.x % 32 / 4), d_t(threadIdx.x % 4)
    {
    }

    /* Compute H^H H, and H^H y and |y|^2 if there is one vector. */
    template <bool WITH_Y>
    MP_FN void compute_product(const float2* h, const float2* y)
    {
        tile_product sum[pairs];
        float2 matched[blocks], next[blocks][2], next_y[2];
        float energy = 0.0f;
        MP_UNROLL
        for (int p = 0; p < pairs; ++p)
            sum[p].clear();
        MP_UNROLL
        for (int i = 0; i < blocks; ++i)
            matched[i] = float2{ 0.0f, 0.0f };
        load(h, 0, next);
        if constexpr (WITH_Y)
            load_vector(y, 0, true, next_y);
#pragma unroll 1
        for (int from = 0; from < nr; from += 8) {
            tile_columns columns[blocks];
            MP_UNROLL
            for (int i = 0; i < blocks; ++i) {
                columns[i].set(next[i]);
                if constexpr (WITH_Y)
                    add_conjugate(next[i], next_y, matched[i]);
            }
            if constexpr (WITH_Y) {
                energy += energy_of(next_y);
                load_vector(y, from + 8, true, next_y);
            }
            load(h, from + 8, next);
            MP_UNROLL
            for (int part = 0; part < 3; ++part) {
                MP_UNROLL
                for (int i = 0, p = 0; i < blocks; ++i) {
                    MP_UNROLL
                    for (int j = i; j < blocks; ++j, ++p)
                        sum[p].add(part == 0 ? columns[i].low : columns[i].high,
                                   part == 1 ? columns[j].low : columns[j].high);
                }
            }
        }
        MP_UNROLL
        for (int i = 0, p = 0; i < blocks; ++i) {
            MP_UNROLL
            for (int j = i; j < blocks; ++j, ++p) {
                MP_UNROLL
                for (int n = 0; n < 2; ++n)
                    store(8 * i + d_g, 8 * j + 2 * d_t + n, sum[p].get(n), i != j);
            }
            if constexpr (WITH_Y) {
                const float2 all{ over_rows(matched[i].x), over_rows(matched[i].y) };
                if (d_t == 0 && is_column(8 * i + d_g))
                    d_to.matched[0][8 * i + d_g] = all;
            }
        }
        if constexpr (WITH_Y) {
            energy = over_rows(energy);
            if (threadIdx.x % 32 == 0)
                d_to.energy[0] = energy;
        }
    }

    /* Compute H^H y and |y|^2 of up to 8 vectors, of which count exist. */
    MP_FN void compute_matched(const float2* h, const float2* y, int count)
    {
        tile_product sum[blocks];
        float2 next[blocks][2], next_y[2];
        float energy = 0.0f;
        MP_UNROLL
        for (int i = 0; i < blocks; ++i)
            sum[i].clear();
        y += d_g * nr;
        load(h, 0, next);
        load_vector(y, 0, d_g < count, next_y);
#pragma unroll 1
        for (int from = 0; from < nr; from += 8) {
            tile_columns columns[blocks], vectors;
            MP_UNROLL
            for (int i = 0; i < blocks; ++i)
                columns[i].set(next[i]);
            vectors.set(next_y);
            energy += energy_of(next_y);
            load(h, from + 8, next);
            load_vector(y, from + 8, d_g < count, next_y);
            MP_UNROLL
            for (int part = 0; part < 3; ++part) {
                MP_UNROLL
                for (int i = 0; i < blocks; ++i)
                    sum[i].add(part == 0 ? columns[i].low : columns[i].high,
                               part == 1 ? vectors.low : vectors.high);
            }
        }
        MP_UNROLL
        for (int i = 0; i < blocks; ++i) {
            MP_UNROLL
            for (int n = 0; n < 2; ++n)
                if (2 * d_t + n < count && is_column(8 * i + d_g))
                    d_to.matched[2 * d_t + n][8 * i + d_g] = sum[i].get(n);
        }
        energy = over_rows(energy);
        if (d_t == 0 && d_g < count)
            d_to.energy[d_g] = energy;
    }

private:
    Storage& d_to;
    const int d_g, d_t;

    MP_FN static bool is_column(int i) { return nt % 8 == 0 || i < nt; }

    /* The thread's entries of all columns in rows from + t and from + t + 4; zeros behind
     * the last row and column */
    MP_FN void load(const float2* h, int from, float2 (*to)[2]) const
    {
        MP_UNROLL
        for (int i = 0; i < blocks; ++i) {
            MP_UNROLL
            for (int half = 0; half < 2; ++half) {
                const int row = from + 4 * half + d_t, column = 8 * i + d_g;
                to[i][half] = row < nr && is_column(column) ? h[row * nt + column]
                                                            : float2{ 0.0f, 0.0f };
            }
        }
    }

    MP_FN void load_vector(const float2* y, int from, bool exists, float2* to) const
    {
        MP_UNROLL
        for (int half = 0; half < 2; ++half) {
            const int row = from + 4 * half + d_t;
            to[half] = exists && row < nr ? y[row] : float2{ 0.0f, 0.0f };
        }
    }

    MP_FN void store(int i, int j, float2 value, bool mirror)
    {
        if (!is_column(i) || !is_column(j))
            return;
        d_to.product[i][j] = value;
        if (mirror)
            d_to.product[j][i] = float2{ value.x, -value.y };
    }

    /* sum += a^* b over the two rows */
    MP_FN static void add_conjugate(const float2* a, const float2* b, float2& sum)
    {
        MP_UNROLL
        for (int half = 0; half < 2; ++half) {
            const float2 u = a[half], v = b[half];
            sum.x = fmaf(u.x, v.x, fmaf(u.y, v.y, sum.x));
            sum.y = fmaf(u.x, v.y, fmaf(-u.y, v.x, sum.y));
        }
    }

    MP_FN static float energy_of(const float2* y)
    {
        return fmaf(y[0].x, y[0].x, y[0].y * y[0].y) +
               fmaf(y[1].x, y[1].x, y[1].y * y[1].y);
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

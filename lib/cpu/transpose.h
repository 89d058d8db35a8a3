/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the contract's layout (a row per vector) and lanes (a lane per column). */
#pragma once
#include "simd.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* One stage: exchanges blocks of S elements between rows S apart. */
template <int S>
MP_FN void exchange(simd* rows)
{
    constexpr int W = simd::width;
    typedef float raw __attribute__((vector_size(4 * W)));
    typedef int index __attribute__((vector_size(4 * W)));
    index low, high;
    for (int j = 0; j < W; ++j) {
        const bool first = j / S % 2 == 0;
        low[j] = first ? j : W + j - S;
        high[j] = first ? j + S : W + j;
    }
    MP_UNROLL
    for (int i = 0; i < W; ++i) {
        if (i / S % 2)
            continue;
        const raw a = (raw)rows[i].v, b = (raw)rows[i + S].v;
        rows[i].v = decltype(rows[i].v)(__builtin_shuffle(a, b, low));
        rows[i + S].v = decltype(rows[i].v)(__builtin_shuffle(a, b, high));
    }
}

/* W x W, in place */
MP_FN void transpose(simd* rows)
{
    exchange<1>(rows);
    exchange<2>(rows);
    if (simd::width > 4)
        exchange<(simd::width > 4 ? 4 : 1)>(rows);
    if (simd::width > 8)
        exchange<(simd::width > 8 ? 8 : 1)>(rows);
}

/* The first `columns` floats at p; the rest is 0. Never reads past them. */
MP_FN simd load_part(const float* p, int columns)
{
#if defined(__AVX512F__)
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << columns) - 1), p);
#else
    float part[simd::width] = {};
    for (int i = 0; i < columns; ++i)
        part[i] = p[i];
    return simd::load(part);
#endif
}

MP_FN void store_part(float* p, int columns, simd v)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << columns) - 1), v.v);
#else
    float part[simd::width];
    v.store(part);
    for (int i = 0; i < columns; ++i)
        p[i] = part[i];
#endif
}

/* lanes[c] = column c of W rows; row l starts at rows[l] */
MP_FN void load_rows(const float* const* rows, int columns, simd* lanes)
{
    constexpr int W = simd::width;
    int c = 0;
    for (; c + W <= columns; c += W) {
        simd block[W];
        MP_UNROLL
        for (int l = 0; l < W; ++l)
            block[l] = simd::load(rows[l] + c);
        transpose(block);
        MP_UNROLL
        for (int i = 0; i < W; ++i)
            lanes[c + i] = block[i];
    }
    if (c < columns) {
        simd block[W];
        MP_UNROLL
        for (int l = 0; l < W; ++l)
            block[l] = load_part(rows[l] + c, columns - c);
        transpose(block);
        MP_UNROLL
        for (int i = 0; i < W; ++i)
            if (i < columns - c)
                lanes[c + i] = block[i];
    }
}

/* The reverse, for the first `count` rows */
MP_FN void store_rows(float* const* rows, int count, int columns, const simd* lanes)
{
    constexpr int W = simd::width;
    for (int c = 0; c < columns; c += W) {
        const int part = columns - c < W ? columns - c : W;
        simd block[W];
        MP_UNROLL
        for (int i = 0; i < W; ++i)
            block[i] = i < part ? lanes[c + i] : simd(0.0f);
        transpose(block);
        if (part == W && count == W) {
            MP_UNROLL
            for (int l = 0; l < W; ++l)
                block[l].store(rows[l] + c);
        } else {
            MP_UNROLL
            for (int l = 0; l < W; ++l)
                if (l < count)
                    store_part(rows[l] + c, part, block[l]);
        }
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

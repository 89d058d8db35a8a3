/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the contract's layout (a row per vector) and lanes (a lane per column). */
#pragma once
#include "simd.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* One stage: exchanges blocks of S elements between rows S apart, of which there are N.
 */
template <int S, int N>
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
    for (int i = 0; i < N; ++i) {
        if (i / S % 2)
            continue;
        const raw a = (raw)rows[i].v, b = (raw)rows[i + S].v;
        rows[i].v = decltype(rows[i].v)(__builtin_shuffle(a, b, low));
        rows[i + S].v = decltype(rows[i].v)(__builtin_shuffle(a, b, high));
    }
}

/* N x N, in place; with N = W / 2 of both halves of N rows, each by itself */
template <int N>
MP_FN void transpose(simd* rows)
{
    exchange<1, N>(rows);
    if (N > 2)
        exchange<(N > 2 ? 2 : 1), N>(rows);
    if (N > 4)
        exchange<(N > 4 ? 4 : 1), N>(rows);
    if (N > 8)
        exchange<(N > 8 ? 8 : 1), N>(rows);
}

/* Half a lane from either place, and back */
MP_FN simd load_halves(const float* low, const float* high)
{
#if defined(__AVX512F__)
    return _mm512_insertf32x8(
        _mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1);
#else
    constexpr int bytes = 2 * simd::width;
    simd both;
    __builtin_memcpy(&both, low, bytes);
    __builtin_memcpy(reinterpret_cast<char*>(&both) + bytes, high, bytes);
    return both;
#endif
}

MP_FN void store_halves(float* low, float* high, simd both)
{
    constexpr int bytes = 2 * simd::width;
    __builtin_memcpy(low, &both, bytes);
    __builtin_memcpy(high, reinterpret_cast<const char*>(&both) + bytes, bytes);
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
[[gnu::noinline]] static void
load_rows(const float* const* rows, int columns, simd* lanes)
{
    constexpr int W = simd::width;
    int c = 0;
    for (; c + W <= columns; c += W) {
        simd block[W];
        MP_UNROLL
        for (int l = 0; l < W; ++l)
            block[l] = simd::load(rows[l] + c);
        transpose<W>(block);
        MP_UNROLL
        for (int i = 0; i < W; ++i)
            lanes[c + i] = block[i];
    }
    if (columns - c >= W / 2) { /* as y of four antennas with AVX-512 */
        simd block[W / 2];
        MP_UNROLL
        for (int l = 0; l < W / 2; ++l)
            block[l] = load_halves(rows[l] + c, rows[l + W / 2] + c);
        transpose<W / 2>(block);
        MP_UNROLL
        for (int i = 0; i < W / 2; ++i)
            lanes[c + i] = block[i];
        c += W / 2;
    }
    if (c < columns) {
        simd block[W];
        MP_UNROLL
        for (int l = 0; l < W; ++l)
            block[l] = load_part(rows[l] + c, columns - c);
        transpose<W>(block);
        MP_UNROLL
        for (int i = 0; i < W; ++i)
            if (i < columns - c)
                lanes[c + i] = block[i];
    }
}

/* The reverse, for the first `count` rows */
[[gnu::noinline]] static void
store_rows(float* const* rows, int count, int columns, const simd* lanes)
{
    constexpr int W = simd::width;
    for (int c = 0; c < columns; c += W) {
        if (columns - c == W / 2 && count == W) {
            simd block[W / 2];
            MP_UNROLL
            for (int i = 0; i < W / 2; ++i)
                block[i] = lanes[c + i];
            transpose<W / 2>(block);
            MP_UNROLL
            for (int l = 0; l < W / 2; ++l)
                store_halves(rows[l] + c, rows[l + W / 2] + c, block[l]);
            return;
        }
        const int part = columns - c < W ? columns - c : W;
        simd block[W];
        MP_UNROLL
        for (int i = 0; i < W; ++i)
            block[i] = i < part ? lanes[c + i] : simd(0.0f);
        transpose<W>(block);
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

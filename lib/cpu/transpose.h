/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversion between the contract's layout (a row per vector) and lanes (a vector per
 * element). */
#pragma once
#include "cpu/shuffle.h"
#include "cpu/simd.h"
#include <cstddef>

namespace mimopack {
namespace MIMOPACK_ISA {

/* Set a to the first, third, ... blocks of S elements of both, in turns from a and b, and
 * b to the second, fourth, ... blocks. */
template <int S>
MP_FN void exchange(simd& a, simd& b)
{
    constexpr int W = simd::width;
    const auto low = [](int j) { return j / S % 2 == 0 ? j : W + j - S; };
    const auto high = [](int j) { return j / S % 2 == 0 ? j + S : W + j; };
    const floats x = a.v, y = b.v;
    a.v = shuffle<W>(x, y, low);
    b.v = shuffle<W>(x, y, high);
}

/* Take one stage: exchange blocks between rows that are S apart, of N rows. */
template <int S, int N>
MP_FN void exchange(simd* rows)
{
    MP_UNROLL
    for (int i = 0; i < N; ++i)
        if (i / S % 2 == 0)
            exchange<S>(rows[i], rows[i + S]);
}

/* Sum each of W rows: lane r of the result is the sum of row r. With S > 1 there are W /
 * S rows, and the stages below S are done already. The rows are overwritten. */
template <int S = 1>
MP_FN simd sums(simd* rows)
{
    if constexpr (S == simd::width) {
        return rows[0];
    } else {
        MP_UNROLL
        for (int i = 0; i < simd::width / S; i += 2) {
            exchange<S>(rows[i], rows[i + 1]);
            rows[i / 2] = rows[i] + rows[i + 1];
        }
        return sums<2 * S>(rows);
    }
}

/* Transpose N x N in place. With N = W / 2, transpose both halves of N rows, each by
 * itself, and so on. */
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

/* Load or store G floats from each of rows 0, G, 2G, ... side by side in a register.
 * Elements that a load or a store puts in their place need no shuffle. `stride` floats
 * lie between rows. */
template <int G>
MP_FN simd load_pieces(const float* row, [[maybe_unused]] std::size_t apart)
{
#if defined(__AVX512F__)
    if (G == 4) {
        __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(row));
        v = _mm512_insertf32x4(v, _mm_loadu_ps(row + 4 * apart), 1);
        v = _mm512_insertf32x4(v, _mm_loadu_ps(row + 8 * apart), 2);
        return _mm512_insertf32x4(v, _mm_loadu_ps(row + 12 * apart), 3);
    }
    if (G == 8)
        return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(row)),
                                  _mm256_loadu_ps(row + 8 * apart),
                                  1);
#elif defined(__AVX2__)
    if (G == 4)
        return _mm256_insertf128_ps(
            _mm256_castps128_ps256(_mm_loadu_ps(row)), _mm_loadu_ps(row + 4 * apart), 1);
#endif
    return simd::load(row);
}

template <int G>
MP_FN void store_pieces(float* row, std::size_t apart, simd v)
{
    const float* const pieces = reinterpret_cast<const float*>(&v);
    MP_UNROLL
    for (int l = 0; l < simd::width; l += G)
        __builtin_memcpy(row + l * apart, pieces + l, sizeof(float) * G);
}

template <int G>
MP_FN void load_columns(const float* rows, std::size_t apart, simd* lanes)
{
    simd block[G];
    MP_UNROLL
    for (int l = 0; l < G; ++l)
        block[l] = load_pieces<G>(rows + l * apart, apart);
    transpose<G>(block);
    MP_UNROLL
    for (int i = 0; i < G; ++i)
        lanes[i] = block[i];
}

template <int G>
MP_FN void store_columns(float* rows, std::size_t apart, const simd* lanes)
{
    simd block[G];
    MP_UNROLL
    for (int i = 0; i < G; ++i)
        block[i] = lanes[i];
    transpose<G>(block);
    MP_UNROLL
    for (int l = 0; l < G; ++l)
        store_pieces<G>(rows + l * apart, apart, block[l]);
}

/* Columns taken at once, at most. The last group overlaps the one before if columns are
 * left over. */
constexpr int load_group = simd::width < 8 ? 4 : 8;

/* Set lanes[c] to column c of W rows. */
[[gnu::noinline, maybe_unused]] static void
load_rows(const float* rows, std::size_t apart, int columns, simd* lanes)
{
    if (columns == 1 && apart == 1) {
        lanes[0] = simd::load(rows);
        return;
    }
    int c = 0;
    for (; c + load_group <= columns; c += load_group)
        load_columns<load_group>(rows + c, apart, lanes + c);
    for (; c + 4 <= columns; c += 4)
        load_columns<4>(rows + c, apart, lanes + c);
    if (c < columns && columns >= 4) {
        load_columns<4>(rows + columns - 4, apart, lanes + columns - 4);
        return;
    }
    for (; c < columns; ++c) {
        float column[simd::width];
        for (int l = 0; l < simd::width; ++l)
            column[l] = rows[l * apart + c];
        lanes[c] = simd::load(column);
    }
}

/* Store lanes[c] as column c of W rows. */
[[gnu::noinline, maybe_unused]] static void
store_rows(float* rows, std::size_t apart, int columns, const simd* lanes)
{
    constexpr int half = simd::width / 2 < 4 ? 4 : simd::width / 2;
    int c = 0;
    for (; c + simd::width <= columns; c += simd::width)
        store_columns<simd::width>(rows + c, apart, lanes + c);
    for (; c + half <= columns; c += half)
        store_columns<half>(rows + c, apart, lanes + c);
    for (; c + 4 <= columns; c += 4)
        store_columns<4>(rows + c, apart, lanes + c);
    if (c < columns && columns >= 4) {
        store_columns<4>(rows + columns - 4, apart, lanes + columns - 4);
        return;
    }
    for (; c < columns; ++c) {
        float column[simd::width];
        lanes[c].store(column);
        for (int l = 0; l < simd::width; ++l)
            rows[l * apart + c] = column[l];
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Go back through the decisions of the forward recursion, all lanes together. */
#pragma once
#include "cpu/simd8.h"

namespace mimopack {
namespace MIMOPACK_ISA {

#if defined(__AVX2__)
typedef long long lane_words __attribute__((vector_size(8 * simd8::lanes)));
#else
/* A word for each lane, without shifts by a count that differs between lanes */
struct lane_words {
    std::uint64_t of[simd8::lanes];
    MP_FN std::uint64_t& operator[](int lane) { return of[lane]; }
};
#endif

/* Load each lane's decisions of a step as a word: bit p belongs to place p. */
MP_FN void load_decisions(const std::uint8_t* row, lane_words& to)
{
#if defined(__AVX512BW__)
    /* bytes [register][lane]: first within pairs of registers, then words */
    const __m512i pairs = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    alignas(64) static constexpr std::uint16_t order[32] = {
        0, 8,  16, 24, 1, 9,  17, 25, 2, 10, 18, 26, 3, 11, 19, 27,
        4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31
    };
    to = (lane_words)_mm512_permutexvar_epi16(
        _mm512_load_si512(order), _mm512_shuffle_epi8(_mm512_load_si512(row), pairs));
#elif defined(__AVX2__)
    const __m256i fours = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    to = (lane_words)_mm256_permutevar8x32_epi32(
        _mm256_shuffle_epi8(_mm256_load_si256((const __m256i*)row), fours),
        _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
#elif defined(__SSE2__)
    const __m128i x = _mm_load_si128((const __m128i*)row);
    _mm_storeu_si128(
        (__m128i*)to.of,
        _mm_packus_epi16(_mm_and_si128(x, _mm_set1_epi16(0xff)), _mm_srli_epi16(x, 8)));
#else
    to = {};
    for (int r = 0; r < viterbi_code::registers; ++r)
        for (int l = 0; l < simd8::lanes; ++l)
            to[l] |= static_cast<std::uint64_t>(row[r * simd8::lanes + l]) << 8 * r;
#endif
}

/* Move each lane from its place after a step to its place before the step. */
template <int PHASE>
MP_FN void back(const std::uint8_t* decisions, lane_words& place)
{
    constexpr int bit = viterbi_code::turn[PHASE];
    lane_words stays;
    load_decisions(decisions, stays);
#if defined(__AVX512F__)
    /* Each step waits for the step before it, so it has only two instructions. The
     * decision is turned to `bit`; place ^ (~decision & 1 << bit). */
    const __m512i at = (__m512i)place;
    const __m512i decision = _mm512_rorv_epi64(_mm512_rol_epi64((__m512i)stays, bit), at);
    place = (lane_words)_mm512_ternarylogic_epi64(
        at, decision, _mm512_set1_epi64(1 << bit), 0xd2);
#elif defined(__AVX2__)
    /* As above, but the decision becomes the sign, which chooses. */
    const __m256i at = (__m256i)place;
    const __m256i decision =
        _mm256_sllv_epi64((__m256i)stays, _mm256_xor_si256(at, _mm256_set1_epi64x(63)));
    const __m256i other = _mm256_xor_si256(at, _mm256_set1_epi64x(1 << bit));
    place = (lane_words)_mm256_blendv_pd((__m256d)other, (__m256d)at, (__m256d)decision);
#else
    for (int l = 0; l < simd8::lanes; ++l)
        place[l] ^= (~(stays[l] >> place[l]) & 1) << bit;
#endif
}

/* The six bits that led to a place of phase 0, the oldest first */
struct viterbi_bits {
    std::uint8_t bits[viterbi_code::states][8];
    constexpr viterbi_bits() : bits()
    {
        for (int place = 0; place < viterbi_code::states; ++place)
            for (int j = 0; j < viterbi_code::period; ++j)
                bits[place][j] = place >> viterbi_code::turn[j] & 1;
    }
};
alignas(64) constexpr viterbi_bits bits_of_place;

} // namespace MIMOPACK_ISA
} // namespace mimopack

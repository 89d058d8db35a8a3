/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Go back through the decisions of the forward recursion, all lanes together. */
#pragma once
#include "cpu/simd8.h"
#include <type_traits>

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

/* Load each lane's decisions of a step as a word: bit p belongs to place p. The row's
 * bytes are [register][lane]. */
MP_FN void load_decisions(const std::uint8_t* row, lane_words& to)
{
#if defined(__AVX2__)
    /* Sixteen bytes hold a few registers' decisions: first order the bytes within them,
     * then words of a lane's bytes. */
    constexpr int lanes = simd8::lanes, few = 16 / lanes;
    typedef std::conditional_t<few == 2, short, int> word;
    typedef word words __attribute__((vector_size(simd8::width)));
    const bytes x = simd8::load(row).v;
    const auto within = (words)shuffle<simd8::width>(
        x, x, [](int i) { return i / 16 * 16 + i % few * lanes + i % 16 / few; });
    to = (lane_words)shuffle<simd8::width / few>(within, within, [](int i) {
        constexpr int parts = simd8::width / 16;
        return i % parts * lanes + i / parts;
    });
#else
    typedef std::uint16_t both_lanes __attribute__((vector_size(16)));
    typedef std::uint8_t one_lane __attribute__((vector_size(8)));
    both_lanes x;
    __builtin_memcpy(&x, row, sizeof x);
    const one_lane first = __builtin_convertvector(x & 0xff, one_lane),
                   second = __builtin_convertvector(x >> 8, one_lane);
    __builtin_memcpy(&to.of[0], &first, sizeof first);
    __builtin_memcpy(&to.of[1], &second, sizeof second);
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

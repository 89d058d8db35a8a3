/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Compute the penalties that the forward recursion takes: round the LLRs, put 0 where a
 * bit was not sent, and order the lanes' pairs A B by trellis step. */
#pragma once
#include "codes/decoders.h"
#include "cpu/quantise.h"
#include "cpu/simd8.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Quantise in whole groups of 16. */
template <int RATE, class T>
MP_FN void quantise(const T* llr, int n, float scale, std::int8_t* to)
{
    const quantiser<viterbi_rates[RATE].largest> round(scale);
    by_groups<quantised_at_once>(
        llr, n, [&](const T* from, std::ptrdiff_t i) { round(from, to + i); });
}

#if defined(__AVX2__)
/* Places of the bytes of whole periods of A B pairs, up to 16, among the bytes that are
 * sent */
template <int RATE>
struct pair_places {
    static constexpr const puncturing& p = viterbi_rates[RATE];
    static constexpr int periods = 8 / p.steps;
    alignas(16) std::uint8_t from[16];

    constexpr pair_places() : from()
    {
        for (int i = 0; i < 16; ++i) {
            const int period = i / (2 * p.steps), j = i % (2 * p.steps);
            int place = static_cast<int>(coded_length(p, period * p.steps));
            for (int k = 0; k < j; ++k)
                place += p.kept >> k & 1;
            from[i] =
                static_cast<std::uint8_t>(p.kept >> j & 1 && place < 16 ? place : 0x80);
        }
    }
};
#endif

/* Restore the A B pairs of whole periods, with 0 for bits that were not sent. Reads and
 * writes reach up to 16 bytes past the end. */
template <int RATE>
MP_FN void insert_erasures(const std::int8_t* sent, std::int8_t* pairs)
{
    constexpr const puncturing& p = viterbi_rates[RATE];
#if defined(__AVX2__)
    static constexpr pair_places<RATE> places;
    constexpr int steps = places.periods * p.steps;
    constexpr int taken = static_cast<int>(coded_length(p, steps));
    static_assert(viterbi_chunk % steps == 0);
    const __m128i from = _mm_load_si128((const __m128i*)places.from);
    for (int i = 0; i < viterbi_chunk / steps; ++i)
        _mm_storeu_si128(
            (__m128i*)(pairs + 2 * steps * i),
            _mm_shuffle_epi8(_mm_loadu_si128((const __m128i*)(sent + taken * i)), from));
#else
    for (int i = 0; i < viterbi_chunk / p.steps; ++i, pairs += 2 * p.steps) {
        MP_UNROLL
        for (int j = 0; j < 2 * p.steps; ++j)
            pairs[j] = p.kept >> j & 1 ? *sent++ : 0;
    }
#endif
}

/* Room for bytes that insert_erasures and quantise write past the end */
constexpr int pairs_size = 2 * viterbi_chunk + 16;
static_assert(pairs_size % 16 == 0);

/* Write the A B pairs of steps [at, at + chunk) of a block, with zeros past its end. at
 * is a multiple of a chunk. */
template <int RATE, class T>
MP_FN void load_pairs(const viterbi_block& block, std::int64_t at, std::int8_t* pairs)
{
    constexpr const puncturing& p = viterbi_rates[RATE];
    std::int64_t steps = block.steps - at;
    steps = steps < 0 ? 0 : steps > viterbi_chunk ? viterbi_chunk : steps;
    const T* llr =
        static_cast<const T*>(block.llr) + at / p.steps * coded_length(p, p.steps);
    const int n = static_cast<int>(coded_length(p, steps));
    if constexpr (RATE == 0) {
        quantise<RATE>(llr, n, block.scale, pairs);
        __builtin_memset(pairs + n, 0, 2 * viterbi_chunk - n);
    } else {
        std::int8_t sent[pairs_size];
        quantise<RATE>(llr, n, block.scale, sent);
        __builtin_memset(sent + n, 0, pairs_size - n);
        insert_erasures<RATE>(sent, pairs);
    }
}

/* Reorder pairs from lane after lane to step after step. */
MP_FN void by_step(const std::int8_t (*pairs)[pairs_size], int steps, std::int8_t* to)
{
    constexpr int lanes = simd8::lanes;
#if defined(__SSE2__)
    for (int t = 0; t < steps; t += 8) {
        __m128i x[lanes], mixed[lanes];
        for (int l = 0; l < lanes; ++l)
            x[l] = _mm_loadu_si128((const __m128i*)(pairs[l] + 2 * t));
        /* Each pass joins the two halves of the registers like a riffle of cards. */
        MP_UNROLL
        for (int pass = 1; pass < lanes; pass *= 2) {
            MP_UNROLL
            for (int i = 0; i < lanes / 2; ++i) {
                mixed[2 * i] = _mm_unpacklo_epi16(x[i], x[i + lanes / 2]);
                mixed[2 * i + 1] = _mm_unpackhi_epi16(x[i], x[i + lanes / 2]);
            }
            __builtin_memcpy(x, mixed, sizeof x);
        }
        for (int i = 0; i < lanes; ++i)
            _mm_store_si128((__m128i*)(to + 2 * lanes * t) + i, x[i]);
    }
#else
    for (int t = 0; t < steps; ++t)
        for (int l = 0; l < lanes; ++l)
            __builtin_memcpy(to + 2 * (t * lanes + l), pairs[l] + 2 * t, 2);
#endif
}

/* Write the penalties that a path pays for sending 00, 01, 10 and 11, for n pairs in
 * groups of 16. */
MP_FN void to_penalties(const std::int8_t* pairs, int n, std::uint8_t* to)
{
#if defined(__AVX2__)
    const __m256i dwords = _mm256_setr_epi32(
        0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404, 0x08080808, 0x0c0c0c0c);
    const __m256i a = _mm256_or_si256(dwords, _mm256_set1_epi32(0x02020000));
    const __m256i b = _mm256_or_si256(dwords, _mm256_set1_epi32(0x03010301));
    for (int i = 0; i < n; i += 8) {
        const __m256i x =
            _mm256_cvtepu16_epi32(_mm_load_si128((const __m128i*)(pairs + 2 * i)));
        const __m256i zero = _mm256_setzero_si256();
        const __m256i both = _mm256_or_si256(
            _mm256_max_epi8(x, zero),
            _mm256_slli_epi32(_mm256_max_epi8(_mm256_sub_epi8(zero, x), zero), 16));
        _mm256_store_si256(
            (__m256i*)(to + 4 * i),
            _mm256_add_epi8(_mm256_shuffle_epi8(both, a), _mm256_shuffle_epi8(both, b)));
    }
#elif defined(__SSE2__)
    for (int i = 0; i < n; i += 8) {
        const __m128i x = _mm_load_si128((const __m128i*)(pairs + 2 * i));
        const __m128i zero = _mm_setzero_si128();
        /* all A, then all B */
        const __m128i apart = _mm_packus_epi16(_mm_and_si128(x, _mm_set1_epi16(0xff)),
                                               _mm_srli_epi16(x, 8));
        const __m128i below = _mm_cmplt_epi8(apart, zero);
        const __m128i if_0 = _mm_andnot_si128(below, apart);
        const __m128i if_1 = _mm_and_si128(below, _mm_sub_epi8(zero, apart));
        const __m128i a = _mm_unpacklo_epi8(if_0, if_1),
                      b = _mm_unpackhi_epi8(if_0, if_1);
        _mm_store_si128((__m128i*)(to + 4 * i),
                        _mm_add_epi8(_mm_unpacklo_epi8(a, a), _mm_unpacklo_epi16(b, b)));
        _mm_store_si128((__m128i*)(to + 4 * i) + 1,
                        _mm_add_epi8(_mm_unpackhi_epi8(a, a), _mm_unpackhi_epi16(b, b)));
    }
#else
    for (int i = 0; i < n; ++i)
        for (int out = 0; out < 4; ++out) {
            const int a = pairs[2 * i], b = pairs[2 * i + 1];
            const int pay = (out & 2 ? (a < 0 ? -a : 0) : (a > 0 ? a : 0)) +
                            (out & 1 ? (b < 0 ? -b : 0) : (b > 0 ? b : 0));
            to[4 * i + out] = static_cast<std::uint8_t>(pay);
        }
#endif
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

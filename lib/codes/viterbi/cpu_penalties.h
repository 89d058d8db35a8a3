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

/* Return the place of byte i of A B pairs among the bytes that are sent, or -1. */
template <int RATE>
constexpr int sent_place(int i)
{
    const puncturing& p = viterbi_rates[RATE];
    int place = 0;
    for (int k = 0; k < i; ++k)
        place += p.kept >> k % (2 * p.steps) & 1;
    return p.kept >> i % (2 * p.steps) & 1 ? place : -1;
}

/* Restore the A B pairs of whole periods, with 0 for bits that were not sent. Reads and
 * writes reach up to 16 bytes past the end. */
template <int RATE>
MP_FN void insert_erasures(const std::int8_t* sent, std::int8_t* pairs)
{
    constexpr const puncturing& p = viterbi_rates[RATE];
#if defined(__SSE2__) && !defined(__SSSE3__)
    for (int i = 0; i < viterbi_chunk / p.steps; ++i, pairs += 2 * p.steps) {
        MP_UNROLL
        for (int j = 0; j < 2 * p.steps; ++j)
            pairs[j] = p.kept >> j & 1 ? *sent++ : 0;
    }
#else
    typedef std::int8_t bytes16 __attribute__((vector_size(16)));
    constexpr int steps = 8 / p.steps * p.steps; /* whole periods in 16 bytes of pairs */
    constexpr int taken = static_cast<int>(coded_length(p, steps));
    static_assert(viterbi_chunk % steps == 0 && taken < 16);
    for (int i = 0; i < viterbi_chunk / steps; ++i) {
        bytes16 x;
        __builtin_memcpy(&x, sent + taken * i, sizeof x);
        x[15] = 0; /* not taken */
        x = shuffle<16>(x, x, [](int b) { return sent_place<RATE>(b) & 15; });
        __builtin_memcpy(pairs + 2 * steps * i, &x, sizeof x);
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
    typedef short pairs8 __attribute__((vector_size(16)));
    for (int t = 0; t < steps; t += 8) {
        pairs8 x[lanes], mixed[lanes];
        for (int l = 0; l < lanes; ++l)
            __builtin_memcpy(&x[l], pairs[l] + 2 * t, sizeof x[l]);
        /* Each pass joins the two halves of the registers like a riffle of cards. */
        MP_UNROLL
        for (int pass = 1; pass < lanes; pass *= 2) {
            MP_UNROLL
            for (int i = 0; i < lanes / 2; ++i) {
                const pairs8 a = x[i], b = x[i + lanes / 2];
                mixed[2 * i] = shuffle<8>(a, b, [](int e) { return e / 2 + e % 2 * 8; });
                mixed[2 * i + 1] =
                    shuffle<8>(a, b, [](int e) { return e / 2 + 4 + e % 2 * 8; });
            }
            __builtin_memcpy(x, mixed, sizeof x);
        }
        for (int i = 0; i < lanes; ++i)
            __builtin_memcpy(to + 2 * lanes * t + 16 * i, &x[i], sizeof x[i]);
    }
}

/* Write the penalties that a path pays for sending 00, 01, 10 and 11, for n pairs in
 * groups of 16. */
MP_FN void to_penalties(const std::int8_t* pairs, int n, std::uint8_t* to)
{
#if defined(__SSE2__) && !defined(__SSSE3__)
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
    typedef std::int8_t signs __attribute__((vector_size(register_bytes)));
    for (int i = 0; i < n; i += register_bytes / 4) {
        const auto x = (signs)machine::spread_twos(pairs + 2 * i);
        const signs zero = {}, minus = -x;
        /* A and B, what a path pays for bits 0, then for bits 1 */
        const auto both = (signs)((integers)(x > zero ? x : zero) |
                                  (integers)(minus > zero ? minus : zero) << 16);
        const auto a = [](int e) { return e / 4 * 4 + (e & 2); };
        const auto b = [](int e) { return e / 4 * 4 + e % 2 * 2 + 1; };
        const signs pay = shuffle<register_bytes>(both, both, a) +
                          shuffle<register_bytes>(both, both, b);
        __builtin_memcpy(to + 4 * i, &pay, sizeof pay);
    }
#endif
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Run a group of blocks through the Viterbi algorithm. LLRs are rounded and set out by
 * trellis step, codes/viterbi/kernel.h goes forward, and all lanes go back together. */
#include "codes/viterbi/kernel.h"
#include "codes/viterbi/plan.h"
#include "cpu/quantise.h"
#include "cpu/simd8.h"

namespace mimopack {
namespace MIMOPACK_ISA {

std::size_t decode_convolutional(const convolutional_plan&, const codeword_batch&);

namespace {

using code = viterbi_code;
using metrics = viterbi_metrics<simd8>;

constexpr int lanes = simd8::lanes;
constexpr int chunk = viterbi_chunk;
constexpr int normalise_every = code::normalise_every;
constexpr int snapshot = code::states * lanes;
static_assert(chunk % normalise_every == 0 && normalise_every % code::period == 0);

/* Metrics at a block's start, by place. A path from a state other than 0 must never win:
 * state s starts with the penalty that the lightest path from s to state 0 may pay, plus
 * 1. */
template <int RATE>
struct start_metrics {
    std::uint8_t known[code::states], unknown[code::states];

    constexpr start_metrics() : known(), unknown()
    {
        constexpr const puncturing& p = viterbi_rates[RATE];
        constexpr int far = 99;
        int weight[code::states] = {};
        for (int s = 1; s < code::states; ++s)
            weight[s] = far;
        for (int t = chunk - 1; t >= 0; --t) {
            const unsigned kept = p.kept >> 2 * (t % p.steps);
            int before[code::states] = {};
            for (int s = 0; s < code::states; ++s) {
                before[s] = far;
                for (int u = 0; u < 2; ++u) {
                    const int out = code::output_of(s, u);
                    const int then = weight[s >> 1 | u << 5] + (kept & out >> 1 & 1) +
                                     (kept >> 1 & out & 1);
                    before[s] = then < before[s] ? then : before[s];
                }
            }
            for (int s = 0; s < code::states; ++s)
                weight[s] = before[s];
        }
        for (int place = 0; place < code::states; ++place) {
            const int s = code::state(place);
            known[place] =
                static_cast<std::uint8_t>(s ? 254 - p.largest * weight[s] : 255);
            unknown[place] = 255;
        }
    }
};

template <int RATE>
constexpr start_metrics<RATE> start_of;

float mean(const void* llr, bool int8, std::int64_t n)
{
    return int8 ? mean_magnitude(static_cast<const std::int8_t*>(llr), n)
                : mean_magnitude(static_cast<const float*>(llr), n);
}

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

/* Restore the A B pairs of whole periods, with 0 for what is not sent. Reads and writes
 * reach up to 16 bytes past the end. */
template <int RATE>
MP_FN void insert_erasures(const std::int8_t* sent, std::int8_t* pairs)
{
    constexpr const puncturing& p = viterbi_rates[RATE];
#if defined(__AVX2__)
    static constexpr pair_places<RATE> places;
    constexpr int steps = places.periods * p.steps;
    constexpr int taken = static_cast<int>(coded_length(p, steps));
    static_assert(chunk % steps == 0);
    const __m128i from = _mm_load_si128((const __m128i*)places.from);
    for (int i = 0; i < chunk / steps; ++i)
        _mm_storeu_si128(
            (__m128i*)(pairs + 2 * steps * i),
            _mm_shuffle_epi8(_mm_loadu_si128((const __m128i*)(sent + taken * i)), from));
#else
    for (int i = 0; i < chunk / p.steps; ++i) {
        std::uint64_t w;
        if constexpr (RATE == 1) { /* A1 B1 A2 0 */
            __builtin_memcpy(&w, sent + 3 * i, 8);
            const auto out = static_cast<std::uint32_t>(w & 0xffffff);
            __builtin_memcpy(pairs + 4 * i, &out, 4);
        } else if constexpr (RATE == 2) { /* A1 B1 A2 0 0 B3 */
            __builtin_memcpy(&w, sent + 4 * i, 8);
            w = (w & 0xffffff) | (w >> 24 & 0xff) << 40;
            __builtin_memcpy(pairs + 6 * i, &w, 8);
        } else { /* A1 B1 A2 0 0 B3 A4 0 0 B5 */
            __builtin_memcpy(&w, sent + 6 * i, 8);
            const auto last = static_cast<std::uint16_t>(w >> 40 << 8);
            w = (w & 0xffffff) | (w >> 24 & 0xff) << 40 | (w >> 32 & 0xff) << 48;
            __builtin_memcpy(pairs + 10 * i, &w, 8);
            __builtin_memcpy(pairs + 10 * i + 8, &last, 2);
        }
    }
#endif
}

/* Room for bytes that insert_erasures and quantise write past the end */
constexpr int pairs_size = 2 * chunk + 16;
static_assert(pairs_size % 16 == 0);

/* Write the A B pairs of steps [at, at + chunk) of a block, with zeros past its end. at
 * is a multiple of a chunk. */
template <int RATE, class T>
MP_FN void load_pairs(const viterbi_block& block, std::int64_t at, std::int8_t* pairs)
{
    constexpr const puncturing& p = viterbi_rates[RATE];
    std::int64_t steps = block.steps - at;
    steps = steps < 0 ? 0 : steps > chunk ? chunk : steps;
    const T* llr =
        static_cast<const T*>(block.llr) + at / p.steps * coded_length(p, p.steps);
    const int n = static_cast<int>(coded_length(p, steps));
    if constexpr (RATE == 0) {
        quantise<RATE>(llr, n, block.scale, pairs);
        __builtin_memset(pairs + n, 0, 2 * chunk - n);
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
#if defined(__SSE2__)
    for (int t = 0; t < steps; t += 8) {
        __m128i in[lanes], out[lanes];
        for (int l = 0; l < lanes; ++l)
            in[l] = _mm_loadu_si128((const __m128i*)(pairs[l] + 2 * t));
        if constexpr (lanes == 8) {
            __m128i two[8], four[8];
            MP_UNROLL
            for (int l = 0; l < 8; l += 2) {
                two[l] = _mm_unpacklo_epi16(in[l], in[l + 1]);
                two[l + 1] = _mm_unpackhi_epi16(in[l], in[l + 1]);
            }
            MP_UNROLL
            for (int l = 0; l < 8; l += 4)
                for (int half = 0; half < 2; ++half) {
                    four[l + 2 * half] =
                        _mm_unpacklo_epi32(two[l + half], two[l + half + 2]);
                    four[l + 2 * half + 1] =
                        _mm_unpackhi_epi32(two[l + half], two[l + half + 2]);
                }
            MP_UNROLL
            for (int i = 0; i < 4; ++i) {
                out[2 * i] = _mm_unpacklo_epi64(four[i], four[i + 4]);
                out[2 * i + 1] = _mm_unpackhi_epi64(four[i], four[i + 4]);
            }
        } else if constexpr (lanes == 4) {
            MP_UNROLL
            for (int half = 0; half < 2; ++half) {
                const __m128i low = half ? _mm_unpackhi_epi16(in[0], in[1])
                                         : _mm_unpacklo_epi16(in[0], in[1]);
                const __m128i high = half ? _mm_unpackhi_epi16(in[2], in[3])
                                          : _mm_unpacklo_epi16(in[2], in[3]);
                out[2 * half] = _mm_unpacklo_epi32(low, high);
                out[2 * half + 1] = _mm_unpackhi_epi32(low, high);
            }
        } else {
            out[0] = _mm_unpacklo_epi16(in[0], in[1]);
            out[1] = _mm_unpackhi_epi16(in[0], in[1]);
        }
        for (int i = 0; i < lanes; ++i)
            _mm_store_si128((__m128i*)(to + 2 * lanes * t) + i, out[i]);
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
#if defined(__AVX512BW__)
    const __m512i a = _mm512_set1_epi32(0x02020000), b = _mm512_set1_epi32(0x03010301);
    const __m512i dwords =
        _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
    for (int i = 0; i < n; i += 16) {
        const __m512i x =
            _mm512_cvtepu16_epi32(_mm256_load_si256((const __m256i*)(pairs + 2 * i)));
        const __m512i zero = _mm512_setzero_si512();
        const __m512i both = _mm512_or_si512(
            _mm512_max_epi8(x, zero),
            _mm512_slli_epi32(_mm512_max_epi8(_mm512_sub_epi8(zero, x), zero), 16));
        _mm512_store_si512(
            to + 4 * i,
            _mm512_add_epi8(_mm512_shuffle_epi8(both, _mm512_or_si512(a, dwords)),
                            _mm512_shuffle_epi8(both, _mm512_or_si512(b, dwords))));
    }
#elif defined(__AVX2__)
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

#if defined(__AVX2__)
typedef long long lane_words __attribute__((vector_size(8 * lanes)));
#else
/* A word for each lane, without shifts by a count that differs between lanes */
struct lane_words {
    std::uint64_t of[lanes];
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
    for (int r = 0; r < code::registers; ++r)
        for (int l = 0; l < lanes; ++l)
            to[l] |= static_cast<std::uint64_t>(row[r * lanes + l]) << 8 * r;
#endif
}

/* Move each lane from its place after a step to its place before the step. */
template <int PHASE>
MP_FN void back(const std::uint8_t* decisions, lane_words& place)
{
    constexpr int bit = code::turn[PHASE];
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
    for (int l = 0; l < lanes; ++l)
        place[l] ^= (~(stays[l] >> place[l]) & 1) << bit;
#endif
}

/* The six bits that led to a place of phase 0, the oldest first */
struct bits_of_place {
    std::uint8_t bits[code::states][8];
    constexpr bits_of_place() : bits()
    {
        for (int place = 0; place < code::states; ++place)
            for (int j = 0; j < code::period; ++j)
                bits[place][j] = place >> code::turn[j] & 1;
    }
};
alignas(64) constexpr bits_of_place expand;

/* Memory of a group, for steps up to a multiple of normalise_every */
struct memory_plan {
    std::size_t decisions, snapshots, places;

    explicit memory_plan(std::int64_t steps)
    {
        const std::size_t most = (steps + chunk - 1) / chunk * chunk;
        decisions = most * metrics::row;
        snapshots = (most / chunk + 1) * snapshot;
        places = most / code::period * sizeof(lane_words);
    }
};

std::size_t memory(std::int64_t steps)
{
    const memory_plan plan(steps);
    return plan.decisions + plan.snapshots + plan.places;
}

/* One group of jobs */
template <int RATE, class T>
struct group {
    viterbi_job* const* jobs;
    const int count;
    std::int64_t length = 0; /* steps of the longest job */
    std::uint8_t *decisions, *snapshots, *places;

    group(viterbi_job* const* jobs_, int count_, std::uint8_t* space)
        : jobs(jobs_), count(count_)
    {
        for (int l = 0; l < count; ++l)
            if (jobs[l]->to - jobs[l]->from > length)
                length = jobs[l]->to - jobs[l]->from;
        const memory_plan plan(length);
        decisions = space;
        snapshots = decisions + plan.decisions;
        places = snapshots + plan.snapshots;
    }

    void forward()
    {
        for (int l = 0; l < lanes; ++l)
            write_metrics(l,
                          l < count && jobs[l]->from == 0 ? start_of<RATE>.known
                                                          : start_of<RATE>.unknown);
        metrics m;
        m.load(snapshots);
        alignas(64) std::int8_t pairs[lanes][pairs_size] = {};
        alignas(64) std::int8_t steps[2 * lanes * chunk];
        alignas(64) std::uint8_t penalties[4 * lanes * chunk];
        for (std::int64_t at = 0; at < length; at += chunk) {
            for (int l = 0; l < count; ++l)
                load_pairs<RATE, T>(*jobs[l]->block, jobs[l]->from + at, pairs[l]);
            std::int64_t rest = length - at + normalise_every - 1;
            rest -= rest % normalise_every;
            const int now = rest < chunk ? static_cast<int>(rest) : chunk;
            by_step(pairs, now, steps);
            to_penalties(steps, now * lanes, penalties);
            std::uint8_t* const rows = decisions + at * metrics::row;
            for (int t = 0; t < now; t += normalise_every) {
                six(m, penalties + 4 * lanes * t, rows + t * metrics::row);
                six(m, penalties + 4 * lanes * (t + 6), rows + (t + 6) * metrics::row);
                m.normalise();
            }
            m.store(snapshots + (at / chunk + 1) * snapshot);
        }
    }

    MP_FN static void six(metrics& m, const std::uint8_t* paid, std::uint8_t* rows)
    {
        constexpr int width = 4 * lanes, row = metrics::row;
        m.template step<0>(paid, rows);
        m.template step<1>(paid + width, rows + row);
        m.template step<2>(paid + 2 * width, rows + 2 * row);
        m.template step<3>(paid + 3 * width, rows + 3 * row);
        m.template step<4>(paid + 4 * width, rows + 4 * row);
        m.template step<5>(paid + 5 * width, rows + 5 * row);
    }

    /* Set a lane's first metrics. */
    void write_metrics(int lane, const std::uint8_t* from)
    {
        for (int r = 0; r < code::registers; ++r)
            __builtin_memcpy(snapshots + r * simd8::width + lane * code::group,
                             from + r * code::group,
                             code::group);
    }

    /* Read a lane's metrics after a number of steps, a multiple of a chunk. */
    void read_metrics(std::int64_t steps, int lane, std::uint8_t* to) const
    {
        const std::uint8_t* const from = snapshots + steps / chunk * snapshot;
        for (int r = 0; r < code::registers; ++r)
            __builtin_memcpy(to + r * code::group,
                             from + r * simd8::width + lane * code::group,
                             code::group);
    }

    int place_after(std::int64_t steps, int lane) const
    {
        return places[(steps / code::period - 1) * sizeof(lane_words) +
                      lane * sizeof(std::uint64_t)];
    }

    /* Return the place in which a lane ends. */
    int last_place(int lane) const
    {
        const viterbi_job& job = *jobs[lane];
        if (job.to == job.block->steps)
            return 0;
        std::uint8_t last[code::states];
        read_metrics(job.to - job.from, lane, last);
        int best = 0;
        for (int p = 1; p < code::states; ++p)
            if (last[p] > last[best])
                best = p;
        return best;
    }

    /* Trace all lanes back, and keep their places after every six steps. The places of a
     * lane that has not begun yet are meaningless. */
    void backward()
    {
        std::int64_t ends[lanes] = {};
        int last[lanes] = {};
        for (int l = 0; l < count; ++l) {
            ends[l] = jobs[l]->to - jobs[l]->from;
            last[l] = last_place(l);
        }
        lane_words place = {};
        std::int64_t next = length; /* step at which a lane begins */
        for (std::int64_t t = (length + 5) / 6 * 6 - 6; t >= 0; t -= 6) {
            std::uint8_t* const kept = places + t / 6 * sizeof place;
            const std::uint8_t* const rows = decisions + t * metrics::row;
            if (next > t) {
                begin(t + 6, ends, last, place);
                __builtin_memcpy(kept, &place, sizeof place);
                back<5>(rows + 5 * metrics::row, place);
                begin(t + 5, ends, last, place);
                back<4>(rows + 4 * metrics::row, place);
                begin(t + 4, ends, last, place);
                back<3>(rows + 3 * metrics::row, place);
                begin(t + 3, ends, last, place);
                back<2>(rows + 2 * metrics::row, place);
                begin(t + 2, ends, last, place);
                back<1>(rows + metrics::row, place);
                begin(t + 1, ends, last, place);
                back<0>(rows, place);
                next = 0;
                for (int l = 0; l < count; ++l)
                    if (ends[l] <= t && ends[l] > next)
                        next = ends[l];
            } else {
                __builtin_memcpy(kept, &place, sizeof place);
                back<5>(rows + 5 * metrics::row, place);
                back<4>(rows + 4 * metrics::row, place);
                back<3>(rows + 3 * metrics::row, place);
                back<2>(rows + 2 * metrics::row, place);
                back<1>(rows + metrics::row, place);
                back<0>(rows, place);
            }
        }
    }

    MP_FN void begin(std::int64_t at,
                     const std::int64_t* ends,
                     const int* last,
                     lane_words& place) const
    {
        for (int l = 0; l < lanes; ++l)
            if (ends[l] == at)
                place[l] = last[l];
    }

    void write(int lane)
    {
        viterbi_job& job = *jobs[lane];
        const std::int64_t most = job.block->steps - viterbi_tail;
        const std::int64_t end = job.end < most ? job.end : most;
        const std::uint8_t* at =
            places + (job.begin - job.from) / code::period * sizeof(lane_words) +
            lane * sizeof(std::uint64_t);
        std::uint8_t* to = job.block->bits + job.begin;
        std::int64_t left = end - job.begin;
        for (; left >= 8; left -= 6, to += 6, at += sizeof(lane_words))
            __builtin_memcpy(to, expand.bits[*at], 8);
        for (; left > 0; left -= 6, to += 6, at += sizeof(lane_words))
            __builtin_memcpy(to, expand.bits[*at], left < 6 ? left : 6);
    }

    /* Keep what neighbours compare. */
    void keep(int lane)
    {
        viterbi_job& job = *jobs[lane];
        const std::int64_t at[2] = { job.begin, job.end };
        for (int side = 0; side < 2; ++side)
            if (at[side] > job.from && at[side] < job.to) {
                read_metrics(at[side] - job.from, lane, job.metrics[side]);
                job.state[side] =
                    static_cast<std::uint8_t>(place_after(at[side] - job.from, lane));
            }
    }
};

template <int RATE, class T>
void decode_group(viterbi_job* const* jobs, int count, std::uint8_t* memory)
{
    group<RATE, T> g(jobs, count, memory);
    g.forward();
    g.backward();
    for (int l = 0; l < count; ++l) {
        g.write(l);
        g.keep(l);
    }
}

void decode(
    viterbi_job* const* jobs, int count, int rate, bool int8, std::uint8_t* memory)
{
    using function = void (*)(viterbi_job* const*, int, std::uint8_t*);
    constexpr function functions[][2] = {
        { decode_group<0, float>, decode_group<0, std::int8_t> },
        { decode_group<1, float>, decode_group<1, std::int8_t> },
        { decode_group<2, float>, decode_group<2, std::int8_t> },
        { decode_group<3, float>, decode_group<3, std::int8_t> },
    };
    functions[rate][int8](jobs, count, memory);
}

} // namespace

#define MIMOPACK_STRING(x) MIMOPACK_STRING_(x)
#define MIMOPACK_STRING_(x) #x

extern const viterbi_build viterbi = {
    MIMOPACK_STRING(MIMOPACK_ISA), lanes, mean, memory, decode, decode_convolutional
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A vector of unsigned bytes for codes/viterbi/kernel.h, in groups of eight. A lane is a
 * group. */
#pragma once
#include "codes/viterbi/kernel.h"
#include "cpu/shuffle.h"
#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

#if defined(__AVX2__)
/* Indices that shuffle bytes within 16, for two groups */
struct viterbi_shuffles {
    alignas(64) std::uint8_t lookup[viterbi_code::period][4][64];
    alignas(64) std::uint8_t exchange[3][64];

    constexpr viterbi_shuffles() : lookup(), exchange()
    {
        for (int i = 0; i < 64; ++i) {
            const int group = i & 8, e = i & 7;
            for (int phase = 0; phase < viterbi_code::period; ++phase)
                for (int flip = 0; flip < 4; ++flip)
                    lookup[phase][flip][i] = static_cast<std::uint8_t>(
                        group + (viterbi_code::output(phase, e) ^ flip));
            for (int d = 0; d < 3; ++d)
                exchange[d][i] = static_cast<std::uint8_t>(group + (e ^ 1 << d));
        }
    }
};
static constexpr viterbi_shuffles shuffles;
#endif

#if defined(__AVX512BW__)

struct simd8 {
    static constexpr int width = 64, lanes = 8;
    struct penalties {
        __m512i v;
        MP_FN explicit penalties(const std::uint8_t* p)
            : v(_mm512_cvtepu32_epi64(_mm256_load_si256((const __m256i*)p)))
        {
        }
    };
    __m512i v;

    simd8() = default;
    MP_FN simd8(__m512i v_) : v(v_) {}
    MP_FN static simd8 load(const std::uint8_t* p) { return _mm512_load_si512(p); }
    MP_FN void store(std::uint8_t* p) const { _mm512_store_si512(p, v); }
    MP_FN friend simd8 operator-(simd8 a, simd8 b) { return _mm512_subs_epu8(a.v, b.v); }
    MP_FN friend simd8 max(simd8 a, simd8 b) { return _mm512_max_epu8(a.v, b.v); }
    MP_FN friend simd8 operator+(simd8 a, simd8 b) { return _mm512_add_epi8(a.v, b.v); }
    MP_FN simd8 operator~() const { return _mm512_xor_si512(v, _mm512_set1_epi8(-1)); }
    template <int D>
    MP_FN simd8 exchange() const
    {
        return _mm512_shuffle_epi8(v, _mm512_load_si512(shuffles.exchange[D / 2]));
    }
    template <int PHASE, int FLIP>
    MP_FN static simd8 lookup(const penalties& p)
    {
        return _mm512_shuffle_epi8(p.v, _mm512_load_si512(shuffles.lookup[PHASE][FLIP]));
    }
    MP_FN friend simd8 choose(simd8 a, simd8 b, std::uint8_t* p)
    {
        const std::uint64_t bits = _mm512_cmpge_epu8_mask(a.v, b.v);
        __builtin_memcpy(p, &bits, sizeof bits);
        return max(a, b);
    }
};

#elif defined(__AVX2__)

struct simd8 {
    static constexpr int width = 32, lanes = 4;
    struct penalties {
        __m256i v;
        MP_FN explicit penalties(const std::uint8_t* p)
            : v(_mm256_cvtepu32_epi64(_mm_load_si128((const __m128i*)p)))
        {
        }
    };
    __m256i v;

    simd8() = default;
    MP_FN simd8(__m256i v_) : v(v_) {}
    MP_FN static simd8 load(const std::uint8_t* p)
    {
        return _mm256_load_si256((const __m256i*)p);
    }
    MP_FN void store(std::uint8_t* p) const { _mm256_store_si256((__m256i*)p, v); }
    MP_FN friend simd8 operator-(simd8 a, simd8 b) { return _mm256_subs_epu8(a.v, b.v); }
    MP_FN friend simd8 max(simd8 a, simd8 b) { return _mm256_max_epu8(a.v, b.v); }
    MP_FN friend simd8 operator+(simd8 a, simd8 b) { return _mm256_add_epi8(a.v, b.v); }
    MP_FN simd8 operator~() const { return _mm256_xor_si256(v, _mm256_set1_epi8(-1)); }
    template <int D>
    MP_FN simd8 exchange() const
    {
        return _mm256_shuffle_epi8(
            v, _mm256_load_si256((const __m256i*)shuffles.exchange[D / 2]));
    }
    template <int PHASE, int FLIP>
    MP_FN static simd8 lookup(const penalties& p)
    {
        return _mm256_shuffle_epi8(
            p.v, _mm256_load_si256((const __m256i*)shuffles.lookup[PHASE][FLIP]));
    }
    MP_FN friend simd8 choose(simd8 a, simd8 b, std::uint8_t* p)
    {
        const simd8 larger = max(a, b);
        const int bits = _mm256_movemask_epi8(_mm256_cmpeq_epi8(larger.v, a.v));
        __builtin_memcpy(p, &bits, sizeof bits);
        return larger;
    }
};

#elif defined(__SSE2__)

/* SSE2 shuffles words but not bytes. Penalties are therefore loaded as words of two
 * bytes: the penalty of output i, and of the output that byte 1 of a group has if byte 0
 * has i. */
struct simd8 {
    static constexpr int width = 16, lanes = 2;
    struct penalties {
        __m128i v;
        MP_FN explicit penalties(const std::uint8_t* p)
            : v(_mm_loadl_epi64((const __m128i*)p))
        {
        }
    };
    __m128i v;

    simd8() = default;
    MP_FN simd8(__m128i v_) : v(v_) {}
    MP_FN static simd8 load(const std::uint8_t* p)
    {
        return _mm_load_si128((const __m128i*)p);
    }
    MP_FN void store(std::uint8_t* p) const { _mm_store_si128((__m128i*)p, v); }
    MP_FN friend simd8 operator-(simd8 a, simd8 b) { return _mm_subs_epu8(a.v, b.v); }
    MP_FN friend simd8 max(simd8 a, simd8 b) { return _mm_max_epu8(a.v, b.v); }
    MP_FN friend simd8 operator+(simd8 a, simd8 b) { return _mm_add_epi8(a.v, b.v); }
    MP_FN simd8 operator~() const { return _mm_xor_si128(v, _mm_set1_epi8(-1)); }
    template <int D>
    MP_FN simd8 exchange() const
    {
        if constexpr (D == 4)
            return _mm_shuffle_epi32(v, 0xb1);
        else if constexpr (D == 2)
            return _mm_shufflehi_epi16(_mm_shufflelo_epi16(v, 0xb1), 0xb1);
        else
            return _mm_or_si128(_mm_srli_epi16(v, 8), _mm_slli_epi16(v, 8));
    }
    template <int PHASE, int FLIP>
    MP_FN static simd8 lookup(const penalties& p)
    {
        constexpr int beside = viterbi_code::output(PHASE, 1);
        simd8 second(p.v);
        if constexpr (beside & 1)
            second = second.exchange<1>();
        if constexpr (beside & 2)
            second = _mm_shufflelo_epi16(second.v, 0xb1);
        const __m128i pairs = _mm_unpacklo_epi8(p.v, second.v);
        constexpr int order = (viterbi_code::output(PHASE, 0) ^ FLIP) |
                              (viterbi_code::output(PHASE, 2) ^ FLIP) << 2 |
                              (viterbi_code::output(PHASE, 4) ^ FLIP) << 4 |
                              (viterbi_code::output(PHASE, 6) ^ FLIP) << 6;
        return _mm_shufflehi_epi16(_mm_shufflelo_epi16(pairs, order), order);
    }
    MP_FN friend simd8 choose(simd8 a, simd8 b, std::uint8_t* p)
    {
        const simd8 larger = max(a, b);
        const auto bits =
            static_cast<std::uint16_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(larger.v, a.v)));
        __builtin_memcpy(p, &bits, sizeof bits);
        return larger;
    }
};

#else

struct simd8 {
    static constexpr int width = 16, lanes = 2;
    typedef std::uint8_t raw __attribute__((vector_size(width)));
    struct penalties {
        raw v;
        MP_FN explicit penalties(const std::uint8_t* p) : v()
        {
            __builtin_memcpy(&v, p, 8);
        }
    };
    raw v;

    simd8() = default;
    MP_FN simd8(raw v_) : v(v_) {}
    MP_FN static simd8 load(const std::uint8_t* p)
    {
        simd8 a;
        __builtin_memcpy(&a.v, p, width);
        return a;
    }
    MP_FN void store(std::uint8_t* p) const { __builtin_memcpy(p, &v, width); }
    MP_FN friend simd8 operator-(simd8 a, simd8 b) { return max(a, b).v - b.v; }
    MP_FN friend simd8 max(simd8 a, simd8 b) { return a.v > b.v ? a.v : b.v; }
    MP_FN friend simd8 operator+(simd8 a, simd8 b) { return a.v + b.v; }
    MP_FN simd8 operator~() const { return ~v; }
    template <int D>
    MP_FN simd8 exchange() const
    {
        return shuffle<width>(v, v, [](int i) { return i ^ D; });
    }
    template <int PHASE, int FLIP>
    MP_FN static simd8 lookup(const penalties& p)
    {
        return shuffle<width>(p.v, p.v, [](int i) {
            return i / 8 * 4 + (viterbi_code::output(PHASE, i % 8) ^ FLIP);
        });
    }
    MP_FN friend simd8 choose(simd8 a, simd8 b, std::uint8_t* p)
    {
        const raw stays = (raw)(a.v >= b.v);
        std::uint64_t groups[lanes];
        __builtin_memcpy(groups, &stays, sizeof groups);
        for (int l = 0; l < lanes; ++l) /* gathers a bit of each byte in the top byte */
            p[l] = static_cast<std::uint8_t>(
                ((groups[l] & 0x8040201008040201u) * 0x0101010101010101u) >> 56);
        return max(a, b);
    }
};

#endif

} // namespace MIMOPACK_ISA
} // namespace mimopack

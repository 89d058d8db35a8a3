/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A vector of unsigned bytes for codes/viterbi/kernel.h, in groups of eight. A lane is a
 * group. */
#pragma once
#include "codes/viterbi/kernel.h"
#include "cpu/instructions.h"
#include "cpu/shuffle.h"
#include <cstdint>

namespace mimopack {
namespace MIMOPACK_ISA {

struct simd8 {
    static constexpr int width = register_bytes, lanes = width / 8;
    bytes v;

    simd8() = default;
    MP_FN simd8(bytes v_) : v(v_) {}
    /* Load from or store to an aligned place. */
    MP_FN static simd8 load(const std::uint8_t* p)
    {
        simd8 a;
        __builtin_memcpy(&a.v, __builtin_assume_aligned(p, width), width);
        return a;
    }
    MP_FN void store(std::uint8_t* p) const
    {
        __builtin_memcpy(__builtin_assume_aligned(p, width), &v, width);
    }
    MP_FN friend simd8 operator-(simd8 a, simd8 b) { return machine::subtract(a.v, b.v); }
    MP_FN friend simd8 max(simd8 a, simd8 b) { return machine::max(a.v, b.v); }
    MP_FN friend simd8 operator+(simd8 a, simd8 b) { return a.v + b.v; }
    /* Invert integers, not bytes: of bytes, the compiler would make a + ~b two
     * operations. */
    MP_FN simd8 operator~() const { return (bytes) ~(integers)v; }

#if defined(__SSE2__) && !defined(__SSSE3__)
    /* SSE2 shuffles words but not bytes. Penalties are therefore loaded as words of two
     * bytes: the penalty of output i, and of the output that byte 1 of a group has if
     * byte 0 has i. */
    struct penalties {
        __m128i v;
        MP_FN explicit penalties(const std::uint8_t* p)
            : v(_mm_loadl_epi64((const __m128i*)p))
        {
        }
    };
    template <int D>
    MP_FN simd8 exchange() const
    {
        return (bytes)exchanged<D>((__m128i)v);
    }
    template <int PHASE, int FLIP>
    MP_FN static simd8 lookup(const penalties& p)
    {
        constexpr int beside = viterbi_code::output(PHASE, 1);
        __m128i second = p.v;
        if constexpr (beside & 1)
            second = exchanged<1>(second);
        if constexpr (beside & 2)
            second = _mm_shufflelo_epi16(second, 0xb1);
        const __m128i pairs = _mm_unpacklo_epi8(p.v, second);
        constexpr int order = (viterbi_code::output(PHASE, 0) ^ FLIP) |
                              (viterbi_code::output(PHASE, 2) ^ FLIP) << 2 |
                              (viterbi_code::output(PHASE, 4) ^ FLIP) << 4 |
                              (viterbi_code::output(PHASE, 6) ^ FLIP) << 6;
        return (bytes)_mm_shufflehi_epi16(_mm_shufflelo_epi16(pairs, order), order);
    }

    template <int D>
    MP_FN static __m128i exchanged(__m128i v)
    {
        if constexpr (D == 4)
            return _mm_shuffle_epi32(v, 0xb1);
        else if constexpr (D == 2)
            return _mm_shufflehi_epi16(_mm_shufflelo_epi16(v, 0xb1), 0xb1);
        else
            return _mm_or_si128(_mm_srli_epi16(v, 8), _mm_slli_epi16(v, 8));
    }
#else
    /* The four penalties of a lane in the first bytes of its group */
    struct penalties {
        bytes v;
        MP_FN explicit penalties(const std::uint8_t* p) : v(machine::spread_fours(p)) {}
    };
    template <int D>
    MP_FN simd8 exchange() const
    {
        return shuffle<width>(v, v, [](int i) { return i ^ D; });
    }
    template <int PHASE, int FLIP>
    MP_FN static simd8 lookup(const penalties& p)
    {
        return shuffle<width>(p.v, p.v, [](int i) {
            return i / 8 * 8 + (viterbi_code::output(PHASE, i % 8) ^ FLIP);
        });
    }
#endif

    /* The decisions of a step, stored at p: a bit for each place, 1 where `a` is the
     * larger of two; a byte for each lane, register after register */
    struct decisions {
        std::uint8_t* const p;
        MP_FN explicit decisions(std::uint8_t* p_) : p(p_) {}
#if defined(__aarch64__)
        bytes bits[viterbi_code::registers];
        MP_FN void set(int r, simd8 a, simd8 larger)
        {
            constexpr bytes places = { 1, 2, 4, 8, 16, 32, 64, 128,
                                       1, 2, 4, 8, 16, 32, 64, 128 };
            bits[r] = (bytes)(a.v == larger.v) & places;
        }
        /* Add the bits of each group. */
        MP_FN void store()
        {
            MP_UNROLL
            for (int n = viterbi_code::registers; n > 1; n /= 2)
                for (int r = 0; r < n; r += 2)
                    bits[r / 2] = vpaddq_u8(bits[r], bits[r + 1]);
            vst1q_u8(p, bits[0]);
        }
#else
        MP_FN void set(int r, simd8 a, simd8 larger)
        {
#if defined(__AVX512BW__)
            const std::uint64_t bits =
                _mm512_cmpeq_epi8_mask((__m512i)a.v, (__m512i)larger.v);
#elif defined(__AVX2__)
            const int bits = _mm256_movemask_epi8((__m256i)(a.v == larger.v));
#elif defined(__SSE2__)
            const int bits = _mm_movemask_epi8((__m128i)(a.v == larger.v));
#else
            std::uint8_t bits[lanes] = {};
            for (int i = 0; i < width; ++i)
                bits[i / 8] |=
                    static_cast<std::uint8_t>((a.v[i] == larger.v[i]) << i % 8);
#endif
            __builtin_memcpy(p + r * lanes, &bits, lanes);
        }
        MP_FN void store() {}
#endif
    };
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

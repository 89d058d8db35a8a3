/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Layered decoding, as in kernel.h, of a code made of circulant blocks, with
 * integers of 16 bits. The checks of a block row have no bit in common, so a lane is a
 * check, and all data of a codeword stay in the caches.
 *
 * The bits of a block column lie one after the other, and its first bits follow once
 * more. So the bits of neighbouring checks are neighbours, whatever the block's shift. */
#pragma once
#include "codes/decoders.h"
#include "common/aligned_memory.h"
#include "cpu/simd16.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

class quasi_cyclic_decoder
{
public:
    using word = std::int16_t;

    explicit quasi_cyclic_decoder(const quasi_cyclic_plan& p)
        : d_p(p),
          d_step((p.size + 2 * lanes - 1) / lanes * lanes),
          d_given(p.columns * d_step),
          d_bits(p.columns * d_step),
          d_messages(p.first[p.rows] * d_step)
    {
        for (int i = 0; i < p.first[p.rows]; ++i)
            d_blocks.push_back({ p.column[i] * d_step, i * d_step, p.shift[i] });
    }

    /* Decode a codeword. Return whether it could be decoded: its LLRs are numbers, and
     * some differ from 0. If not, all results are 0. */
    bool decode(const float* llr, bool& found, int& iterations)
    {
        found = false;
        iterations = 0;
        d_is_usable = load(llr);
        if (!d_is_usable)
            return false;
        std::fill(d_messages.begin(), d_messages.end(), word{ 0 });
        found = d_p.early_stop && is_codeword();
        while (iterations < d_p.iterations && !found) {
            for (int row = 0; row < d_p.rows; ++row)
                process(row);
            ++iterations;
            found = (d_p.early_stop || iterations == d_p.iterations) && is_codeword();
        }
        return true;
    }

    /* Write the a-posteriori LLRs of the last codeword, whose LLRs are given. */
    void store(const float* llr, float* posterior) const
    {
        for_each(llr, [=](int place, float value) { posterior[place] = value; });
    }

    /* Write whether these a-posteriori LLRs are positive. */
    void decide(const float* llr, std::uint8_t* decisions) const
    {
        for_each(llr, [=](int place, float value) { decisions[place] = value > 0; });
    }

private:
    static constexpr int lanes = simd16::width;
    /* Largest magnitudes: an a-posteriori value minus a message, plus a message, fits
     * into a word. LLRs of a larger magnitude than `certain` are not part of the mean. */
    static constexpr float most_given = 4095, most_message = 8191, most_bit = 16383;
    static constexpr float certain = 1e15f, mean = 64;

    /* A block of a block row: where its bits and messages begin, and its shift */
    struct block {
        int bits, message, shift;
    };

    const quasi_cyclic_plan& d_p;
    const int d_step; /* words from block to block in memory */
    aligned_vector<word> d_given, d_bits, d_messages;
    std::vector<block> d_blocks;
    float d_steps = 0; /* integers per LLR */
    bool d_is_usable = false;

    template <class Take>
    MP_FN void for_each(const float* llr, Take take) const
    {
        /* Local copies, which no store to a byte can change */
        const int size = d_p.size, columns = d_p.columns, step = d_step;
        const float unit = d_is_usable ? 1 / d_steps : 0.0f;
        const float limit = d_is_usable ? most_given : 2 * most_given;
        const word *bits = d_bits.data(), *given = d_given.data();
        for (int column = 0; column < columns; ++column, bits += step, given += step) {
            const int first = column * size;
            for (int z = 0; z < size; ++z) {
                const float x = given[z], own = llr[first + z];
                const bool limited = x * x == limit * limit;
                take(first + z,
                     (limited ? own - unit * x : 0.0f) +
                         unit * static_cast<float>(bits[z]));
            }
        }
    }

    MP_FN static simd16 read(const word* from)
    {
        simd16 x;
        std::memcpy(&x, from, sizeof x);
        return x;
    }

    MP_FN static void write(simd16 x, word* to, int count = lanes)
    {
        if (count >= lanes)
            std::memcpy(to, &x, sizeof x);
        else
            std::memcpy(to, &x, count * sizeof(word));
    }

    /* Round the LLRs to integers. Their mean magnitude becomes `mean`. */
    bool load(const float* llr)
    {
        const int num_bits = d_p.columns * d_p.size;
        simd sum(0.0f), count(0.0f), nan(0.0f);
        for (int i = 0; i < num_bits; i += simd::width) {
            float last[simd::width] = {};
            const bool whole = i + simd::width <= num_bits;
            if (!whole)
                std::copy(llr + i, llr + num_bits, last);
            const simd x = simd::load(whole ? llr + i : last);
            const simd size = abs(x), zero(0.0f);
            const auto counts = (zero < size) & (size < simd(certain));
            sum = sum + select(counts, size, zero);
            count = count + select(counts, simd(1.0f), zero);
            nan = fma(x, zero, nan);
        }
        const float number = total(count);
        if (!(number > 0 && total(nan) == 0))
            return false;
        d_steps = mean * number / total(sum);
        for (int column = 0; column < d_p.columns; ++column) {
            const float* const from = llr + column * d_p.size;
            word* const to = d_given.data() + column * d_step;
            for (int z = 0; z < d_p.size; ++z) {
                const float x =
                    std::min(std::max(from[z] * d_steps, -most_given), most_given);
                to[z] = static_cast<word>(static_cast<int>(x + (x < 0 ? -0.5f : 0.5f)));
            }
            write(read(to), to + d_p.size);
        }
        std::copy(d_given.begin(), d_given.end(), d_bits.begin());
        return true;
    }

    MP_FN static float total(simd a)
    {
        float sum = 0;
        for (int l = 0; l < simd::width; ++l)
            sum += a.v[l];
        return sum;
    }

    /* Return where a block's bits of checks from z on begin. */
    MP_FN static word* bits_of(const block& b, int z, word* all, int size)
    {
        const int k = z + b.shift;
        return all + b.bits + (k < size ? k : k - size);
    }

    void process(int row)
    {
        const int begin = d_p.first[row], degree = d_p.first[row + 1] - begin;
        const block* const blocks = d_blocks.data() + begin;
        if (d_p.min_star)
            process<true>(blocks, degree);
        else
            process<false>(blocks, degree);
        for (int e = 0; e < degree; ++e)
            repeat_first(blocks[e]);
    }

    template <bool STAR>
    MP_FN void process(const block* blocks, int degree)
    {
        const int size = d_p.size;
        const float most = STAR ? most_message / 8 : most_message;
        const float offset = std::min(d_p.offset * d_steps + 0.5f, most);
        int z = 0;
        for (; z + 2 * lanes <= size; z += 2 * lanes)
            process<STAR, 2>(blocks, degree, z, lanes, offset);
        for (; z < size; z += lanes)
            process<STAR, 1>(blocks, degree, z, std::min(lanes, size - z), offset);
    }

    /* Process N vectors of checks of a block row, from check z on. The last vector has
     * `count` checks. */
    template <bool STAR, int N>
    MP_FN void process(const block* blocks, int degree, int z, int count, float offset_)
    {
        const simd16 offset(offset_), zero(0.0f), most(most_bit);
        const float factor = d_p.factor;
        const int size = d_p.size;
        word *const all_bits = d_bits.data(), *const all_messages = d_messages.data() + z;
        simd16 own[N * quasi_cyclic_degree];
        word* bits[N * quasi_cyclic_degree];
        simd16 least[N], second[N], signs[N];
        MP_UNROLL
        for (int n = 0; n < N; ++n) {
            least[n] = second[n] = simd16(most_message);
            signs[n] = simd16(degree % 2 ? -1.0f : 0.0f);
        }
        for (int e = 0; e < degree; ++e) {
            const block b = blocks[e];
            MP_UNROLL
            for (int n = 0; n < N; ++n) {
                const int i = N * e + n;
                bits[i] = bits_of(b, z + n * lanes, all_bits, size);
                own[i] = read(bits[i]) - read(all_messages + b.message + n * lanes);
                const simd16 magnitude = absolute(own[i]);
                signs[n] = signs[n].v ^ own[i].v;
                const simd16 larger = max(least[n], magnitude);
                second[n] =
                    STAR ? box_plus(second[n], larger, offset) : min(second[n], larger);
                least[n] = min(least[n], magnitude);
            }
        }
        simd16 of_least[N], of_others[N];
        MP_UNROLL
        for (int n = 0; n < N; ++n) {
            const auto weaken = [=](simd16 magnitude) {
                return max(scaled(magnitude, factor) - offset, zero);
            };
            of_least[n] = STAR ? second[n] : weaken(second[n]);
            of_others[n] =
                STAR ? box_plus(second[n], least[n], offset) : weaken(least[n]);
        }
        for (int e = 0; e < degree; ++e) {
            const block b = blocks[e];
            MP_UNROLL
            for (int n = 0; n < N; ++n) {
                const int i = N * e + n;
                const simd16 found =
                    least[n].v < absolute(own[i]).v ? of_others[n].v : of_least[n].v;
                const simd16 sign = (signs[n].v ^ own[i].v) >> 15;
                const simd16 message = (found.v ^ sign.v) - sign.v;
                write(message, all_messages + b.message + n * lanes);
                write(clamp(own[i] + message, most), bits[i], n == N - 1 ? count : lanes);
            }
        }
    }

    /* See kernel.h. Eighths are rounded downwards. */
    MP_FN static simd16 box_plus(simd16 a, simd16 b, simd16 offset)
    {
        const simd16 low = min(a, b), high = max(a, b);
        const simd16 apart = (high - low).v >> 3, both = (high + low).v >> 3;
        return low + min(apart, offset) - min(both, offset);
    }

    MP_FN static simd16 absolute(simd16 a) { return max(a, simd16(0.0f) - a); }

    /* Bits behind the last one belong to the beginning. Take those that the checks just
     * wrote there, and let all first bits follow the last one again. */
    MP_FN void repeat_first(const block& b)
    {
        const int size = d_p.size;
        const int z = (size - b.shift - 1) / lanes * lanes; /* of the last bit's vector */
        const int behind = z + b.shift + std::min(lanes, size - z) - size;
        word* const first = d_bits.data() + b.bits;
        const simd16 own = read(first), written = read(first + size);
        simd16 lane;
        for (int l = 0; l < lanes; ++l)
            lane.v[l] = l;
        const simd16 all =
            lane.v < simd16(static_cast<float>(behind)).v ? written.v : own.v;
        write(all, first);
        write(all, first + size);
    }

    /* Return whether the decisions are a codeword. A value of 0 counts as bit 0. */
    bool is_codeword()
    {
        word* const bits = d_bits.data();
        const int size = d_p.size;
        for (int row = 0; row < d_p.rows; ++row)
            for (int z = 0; z < size; z += lanes) {
                simd16 odd(0.0f);
                for (int i = d_p.first[row]; i < d_p.first[row + 1]; ++i)
                    odd = odd.v ^
                          (simd16(0.0f) - read(bits_of(d_blocks[i], z, bits, size))).v;
                simd16 counted(0.0f);
                std::memcpy(&counted, &odd, std::min(lanes, size - z) * sizeof(word));
                if (any(simd16::mask{ counted.v >> 15 }))
                    return false;
            }
        return true;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

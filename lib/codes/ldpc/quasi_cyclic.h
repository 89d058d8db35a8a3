/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Layered min-sum decoding, as in kernel.h, of a code made of circulant blocks, with
 * integers of 16 bits. The checks of a block row have no bit in common, so a lane is a
 * check, and all data of a codeword stay in the caches.
 *
 * The bits of a block column lie one after the other, and its first bits follow once more.
 * So the bits of neighbouring checks are neighbours, whatever the block's shift. */
#pragma once
#include "codes/decoders.h"
#include "common/aligned_memory.h"
#include "cpu/simd16.h"
#include <algorithm>
#include <cmath>
#include <cstring>

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
    }

    /* Decode a codeword. Return whether it could be decoded: its LLRs are numbers, and some
     * differ from 0. If not, all results are 0. */
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
    /* Largest magnitudes: an a-posteriori value minus a message, plus a message, fits into a
     * word. LLRs of a larger magnitude than `certain` are not part of the mean. */
    static constexpr float most_given = 4095, most_message = 8191, most_bit = 16383;
    static constexpr float certain = 1e15f, mean = 64;

    const quasi_cyclic_plan& d_p;
    const int d_step; /* words from block to block in memory */
    aligned_vector<word> d_given, d_bits, d_messages;
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

    word* bits_of(int block) { return d_bits.data() + d_p.column[block] * d_step; }

    /* Return where the bits of checks from z on begin. */
    MP_FN int place(int block, int z) const
    {
        const int k = z + d_p.shift[block];
        return k < d_p.size ? k : k - d_p.size;
    }

    /* A block of a block row: its bits and messages, and those of its first check */
    struct block {
        word *bits, *message;
        int shift;
    };

    void process(int row)
    {
        /* Local copies, which no store to a word can change */
        block blocks[quasi_cyclic_degree];
        const int begin = d_p.first[row], degree = d_p.first[row + 1] - begin;
        for (int e = 0; e < degree; ++e)
            blocks[e] = { bits_of(begin + e),
                          d_messages.data() + (begin + e) * d_step,
                          d_p.shift[begin + e] };
        const int size = d_p.size, whole = size / lanes * lanes;
        const float offset = std::min(d_p.offset * d_steps + 0.5f, most_message);
        for (int z = 0; z < whole; z += lanes)
            process(blocks, degree, z, size, lanes, d_p.factor, offset);
        if (whole < size)
            process(blocks, degree, whole, size, size - whole, d_p.factor, offset);
        for (int e = 0; e < degree; ++e)
            repeat_first(begin + e);
    }

    /* Process the checks of a block row from z on. */
    MP_FN static void process(const block* blocks,
                              int degree,
                              int z,
                              int size,
                              int count,
                              float factor,
                              float offset_)
    {
        const simd16 offset(offset_), zero(0.0f), most(most_bit);
        simd16 own[quasi_cyclic_degree];
        word* bits[quasi_cyclic_degree];
        simd16 least(most_message), second(most_message);
        simd16 signs(degree % 2 ? -1.0f : 0.0f);
        for (int e = 0; e < degree; ++e) {
            const int k = z + blocks[e].shift;
            bits[e] = blocks[e].bits + (k < size ? k : k - size);
            own[e] = read(bits[e]) - read(blocks[e].message + z);
            const simd16 magnitude = absolute(own[e]);
            signs = signs.v ^ own[e].v;
            second = min(second, max(least, magnitude));
            least = min(least, magnitude);
        }
        const simd16 of_least = max(scaled(second, factor) - offset, zero);
        const simd16 of_others = max(scaled(least, factor) - offset, zero);
        for (int e = 0; e < degree; ++e) {
            const simd16 found = least.v < absolute(own[e]).v ? of_others.v : of_least.v;
            const simd16 sign = (signs.v ^ own[e].v) >> 15;
            const simd16 message = (found.v ^ sign.v) - sign.v;
            write(message, blocks[e].message + z);
            write(clamp(own[e] + message, most), bits[e], count);
        }
    }

    MP_FN static simd16 absolute(simd16 a) { return max(a, simd16(0.0f) - a); }

    /* Bits behind the last one belong to the beginning. Take those that the checks just
     * wrote there, and let all first bits follow the last one again. */
    MP_FN void repeat_first(int block)
    {
        const int shift = d_p.shift[block], size = d_p.size;
        const int z = (size - shift - 1) / lanes * lanes; /* of the last bit's vector */
        const int behind = z + shift + std::min(lanes, size - z) - size;
        word* const first = bits_of(block);
        if (behind > 0)
            std::memcpy(first, first + size, behind * sizeof(word));
        write(read(first), first + size);
    }

    /* Return whether the decisions are a codeword. A value of 0 counts as bit 0. */
    bool is_codeword()
    {
        for (int row = 0; row < d_p.rows; ++row)
            for (int z = 0; z < d_p.size; z += lanes) {
                simd16 odd(0.0f);
                for (int block = d_p.first[row]; block < d_p.first[row + 1]; ++block)
                    odd = odd.v ^ (simd16(0.0f) - read(bits_of(block) + place(block, z))).v;
                simd16 counted(0.0f);
                std::memcpy(&counted, &odd, std::min(lanes, d_p.size - z) * sizeof(word));
                if (any(simd16::mask{ counted.v >> 15 }))
                    return false;
            }
        return true;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Forward recursion of the Viterbi algorithm for the code K = 7, 133 and 171 octal, with
 * metrics of 8 bits that lose nothing.
 *
 * A state is the last six bits s5 (newest) to s0. A step drops s0 and takes in a bit u,
 * so that states with the same s5 to s1 exchange paths in pairs (a butterfly). Both
 * generators have the first and the last tap, so the path that enters with u = s0 sends
 * the complement of the one with u != s0.
 *
 * Metrics stay in place: the new state whose newest bit is u lies where the old state
 * with s0 = u lay. The place of a state then has its bits in an order that rotates from
 * step to step; after six it is the first again. A step of phase p compares places that
 * differ in bit turn[p] alone.
 *
 * Bits 3 to 5 of a place choose one of eight registers, bits 0 to 2 the byte within a
 * group of eight, and each group of a register is another lane (another block). Half of
 * the phases compare registers, which needs no shuffle.
 *
 * A metric is 255 minus the penalties of its path: |LLR| for each sent bit that the path
 * contradicts. After every normalise_every steps the best metric becomes 255 again. No
 * metric falls below 0: a path that leaves the best one differs from it in the bits of a
 * path that leaves state 0, and the lightest path from state 0 to any state sends 8 ones
 * at most (5, 4 and 4 at rates 2/3, 3/4 and 5/6). From there, and from a block's start,
 * no candidate pays more than 12 (8, 7, 6) penalties until the next normalisation,
 * whatever the LLRs' signs; tests/coding/test_viterbi_decoder.py tries them all. LLRs of
 * at most 21 (31, 36, 42) therefore fit, with at least 3 left. At a block's start the
 * metrics of the states other than 0 are 0 and stay 0, so their paths never win. */
#pragma once
#include "common/config.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct viterbi_code {
    static constexpr int registers = 8, group = 8; /* bytes of a lane in a register */
    static constexpr int states = registers * group, memory = 6;
    static constexpr int period = 6; /* phases */
    static constexpr int normalise_every = 12;
    /* Bits 0, 1, 2 compare bytes and bits 3, 4, 5 registers. They take turns, to spread
     * the work of the shuffle unit. */
    static constexpr int turn[period] = { 5, 2, 4, 1, 3, 0 };
    /* Output bits, 2 A + B, that u, s5, ... s0 toggle: IEEE 802.11-2020 §17.3.5.6, A =
     * 1011011, B = 1111001 */
    static constexpr int toggles[7] = { 3, 1, 3, 3, 0, 2, 3 };

    /* Return the state at a place before a step of phase 0. */
    static constexpr int state(int place)
    {
        int s = 0;
        for (int j = 0; j < period; ++j)
            s |= (place >> turn[j] & 1) << j;
        return s;
    }

    /* Return 2 A + B of the step from a state with a bit. */
    static constexpr int output_of(int state, int u)
    {
        int out = u ? toggles[0] : 0;
        for (int j = 0; j < period; ++j)
            if (state >> j & 1)
                out ^= toggles[period - j];
        return out;
    }

    /* Return 2 A + B of the path that stays at a place. There u and s0 are the same bit,
     * and cancel. */
    static constexpr int output(int phase, int place)
    {
        int out = 0;
        for (int j = 1; j < period; ++j)
            if (place >> turn[(phase + j) % period] & 1)
                out ^= toggles[period - j];
        return out;
    }
};

/* B is a vector of unsigned bytes, B::lanes groups of eight:
 *   a + b, a - b (at least 0), ~a, max(a, b)
 *   exchange<D>(a)        the byte at distance D = 1, 2 or 4 in the group
 *   B::penalties          what a step's penalties of all lanes are loaded as; a lane has
 *                         those of the outputs 0 to 3
 *   lookup<PHASE, FLIP>(penalties)  byte e of a group is that of output(PHASE, e) ^ FLIP
 *   B::decisions          of a step: set(register, a, max(a, b)) for every register, then
 *                         store(), which leaves a bit for each byte, 1 where a is chosen
 */
template <class B>
struct viterbi_metrics {
    using code = viterbi_code;
    static constexpr int row = code::registers * B::lanes; /* bytes of decisions */
    B metric[code::registers];

    MP_FN void load(const unsigned char* from)
    {
        MP_UNROLL
        for (int r = 0; r < code::registers; ++r)
            metric[r] = B::load(from + r * B::width);
    }

    MP_FN void store(unsigned char* to) const
    {
        MP_UNROLL
        for (int r = 0; r < code::registers; ++r)
            metric[r].store(to + r * B::width);
    }

    /* Take a step. Decisions are a bit for each place, 1 if the path was there already: a
     * byte for each lane, register after register. */
    template <int PHASE>
    MP_FN void step(const unsigned char* penalties, unsigned char* decisions)
    {
        constexpr int bit = code::turn[PHASE];
        const typename B::penalties paid(penalties);
        const B pay[4] = { B::template lookup<PHASE, 0>(paid),
                           B::template lookup<PHASE, 1>(paid),
                           B::template lookup<PHASE, 2>(paid),
                           B::template lookup<PHASE, 3>(paid) };
        typename B::decisions chosen(decisions);
        if constexpr (bit >= 3) {
            constexpr int other = 1 << (bit - 3);
            MP_UNROLL
            for (int r = 0; r < code::registers; ++r) {
                if (r & other)
                    continue;
                const int out = code::output(PHASE, r * code::group);
                const B low = metric[r], high = metric[r | other];
                join(r, low, high, pay[out], pay[3 ^ out], chosen);
                join(r | other, high, low, pay[out], pay[3 ^ out], chosen);
            }
        } else {
            MP_UNROLL
            for (int r = 0; r < code::registers; ++r) {
                const int out = code::output(PHASE, r * code::group);
                join(r,
                     metric[r],
                     metric[r].template exchange<1 << bit>(),
                     pay[out],
                     pay[3 ^ out],
                     chosen);
            }
        }
        chosen.store();
    }

    /* Raise the best metric of each lane to 255. */
    MP_FN void normalise()
    {
        B top = metric[0];
        MP_UNROLL
        for (int r = 1; r < code::registers; ++r)
            top = max(top, metric[r]);
        top = max(top, top.template exchange<4>());
        top = max(top, top.template exchange<2>());
        top = max(top, top.template exchange<1>());
        const B raise = ~top;
        MP_UNROLL
        for (int r = 0; r < code::registers; ++r)
            metric[r] = metric[r] + raise;
    }

private:
    MP_FN void
    join(int r, B own, B other, B pay_own, B pay_other, typename B::decisions& chosen)
    {
        const B stays = own - pay_own;
        metric[r] = max(stays, other - pay_other);
        chosen.set(r, stays, metric[r]);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The candidates of a team in shared memory, and the nearest ones for each value of each
 * bit: a thread follows candidates, then takes the bits of its layer from all of them. */
#pragma once
#include "common/minima.h"
#include "cuda/lane.h"
#include "cuda/team.h"
#include "cuda/team_gram.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* ROOM: candidates at a time */
template <int WIDTH, int ROOM>
class team_candidates
{
    static constexpr int nt = program::num_tx, threads = team_gram::threads;
    static constexpr int side = 1 << WIDTH, size = side * side, bits = 2 * WIDTH;
    static constexpr int fields = 32 / bits;

public:
    /* Words of a candidate, which have the symbols k_re + side k_im of its levels */
    static constexpr int words = (nt + fields - 1) / fields;

    struct storage {
        float metric[ROOM];
        unsigned symbols[words][ROOM + 1]; /* Gray codes; words in different banks */
    };

    /* Numbers that collect() keeps for a thread */
    static constexpr int record_size = 2 * bits;

    MP_FN explicit team_candidates(storage& s) : d_at(s) {}

    /* The word of a level, and the first bit of its symbol in it */
    MP_FN static constexpr int word_index(int level) { return level / fields; }
    MP_FN static constexpr int shift(int level) { return level % fields * bits; }

    MP_FN void clear()
    {
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            d_zero[b] = d_one[b] = no_metric;
    }

    MP_FN void put(int place, float metric, const unsigned* symbols) const
    {
        d_at.metric[place] = metric;
        MP_UNROLL
        for (int w = 0; w < words; ++w)
            d_at.symbols[w][place] = gray_codes<WIDTH>(symbols[w]);
    }

    /* Take the bits of the thread's layer, which is at this level, from `count`
     * candidates. */
    MP_FN void collect(int rank, int level, int count, int first = 0)
    {
        __syncwarp();
        const float* const metrics = d_at.metric + first;
        float best = no_metric;
        unsigned number = 0;
        for (int c = rank; c < count; c += threads) {
            number = metrics[c] < best ? c : number;
            best = fminf(best, metrics[c]);
        }
        const float own = best;
        best = over_team<threads>(best, [](float a, float b) { return fminf(a, b); });
        number = team_least<threads>(own > best ? count - 1u : number);
        const unsigned* const symbols = d_at.symbols[word_index(level)] + first;
        const unsigned chosen = symbols[number] >> shift(level);
        float other[bits];
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            other[b] = no_metric;
#pragma unroll 4
        for (int c = 0; c < count; ++c) {
            const unsigned differs = (symbols[c] >> shift(level)) ^ chosen;
            const float metric = metrics[c];
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                if (differs >> symbol_bits<WIDTH>::place(b) & 1)
                    other[b] = fminf(other[b], metric);
        }
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            const bool one = chosen >> symbol_bits<WIDTH>::place(b) & 1;
            d_zero[b] = fminf(d_zero[b], one ? other[b] : best);
            d_one[b] = fminf(d_one[b], one ? best : other[b]);
        }
        __syncwarp();
    }

    MP_FN void put_aside(float (*to)[threads], int rank) const
    {
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            to[b][rank] = d_zero[b];
            to[bits + b][rank] = d_one[b];
        }
    }
    MP_FN void take_up(const float (*from)[threads], int rank)
    {
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            d_zero[b] = from[b][rank];
            d_one[b] = from[bits + b][rank];
        }
    }

    /* The max-log LLR of a bit of the thread's layer; unit: 1 / sigma^2 */
    MP_FN lane llr(int b, lane unit) const { return lane(d_zero[b] - d_one[b]) * unit; }

private:
    storage& d_at;
    float d_zero[bits], d_one[bits]; /* the nearest candidates of the layer's bits */
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The K best paths of one vector, by a team of threads of a warp; all teams of the warp
 * come here together. The team's list, sorted, lies in the registers of its threads.
 *
 * A thread has one parent at a time, and the sorted keys of its two axes. A limit above
 * the K-th best key says which children matter. At first enough children of the best
 * parents are below it. It is then halved until the children below it fill no more than
 * two lists. These go to shared memory and from there into the list, whose K-th key is
 * the next limit. To count takes two instructions for each child near the limit; to sort
 * 64 keys takes 21 steps of four instructions.
 *
 * Keys are those of the CPU's form, so that ties fall as they do there. */
#pragma once
#include "cuda/sizes.h"
#include "cuda/sort_key.h"
#include "cuda/team.h"
#include "detectors/kbest/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH, int K, int TEAM>
class team_search
{
    static constexpr int nt = program::num_tx;
    static constexpr int least_of(int a, int b) { return a < b ? a : b; }
    static constexpr int most_of(int a, int b) { return a < b ? b : a; }
    static constexpr int side = 1 << WIDTH, size = side * side, bits = 2 * WIDTH;
    static constexpr int teams = 32 / TEAM;

    /* The keys of the list that each thread of the team has */
    static constexpr int index_bits = bits_for(K);
    static constexpr int count = (1 << index_bits) < TEAM ? 1 : (1 << index_bits) / TEAM;
    static constexpr int list_size = TEAM * count;
    using key_list = team_list<TEAM, count, sort_key>;

    /* Children of the team's present parents that are sorted */
    static constexpr int room = 2 * list_size;

    /* A key's fields from the lowest: k_re, k_im, parent, metric in steps. Only keys
     * below key_range count. A float holds the steps exactly. */
    static constexpr int origin_bits = most_of(bits + index_bits, 7);
    static constexpr unsigned key_range = 0x3e000000, never = 0xc0000000;
    static constexpr float step = 1 << origin_bits;
    static constexpr float most_steps = key_range >> origin_bits;
    static constexpr float bound_steps = 0.999f * key_range / step;
    static constexpr float magic = 1 << 23; /* a sum with it is an integer */
    static constexpr unsigned magic_word = 0x4b000000;

    /* Levels of each axis that make enough children */
    static constexpr int near = reach(K, side);

public:
    /* Loops over levels */
    static constexpr int unrolled = nt <= 8 ? nt : 1;

    /* A path's words have the labels of levels next to each other, see common/paths.h. */
    static constexpr int fields = 32 / bits, words = (nt + fields - 1) / fields;

    /* A row has a vector's model: v, w and c_ij of each level, then what a prior adds to
     * the metrics of its axes. The results take its place: each bit's nearest survivor
     * that differs from the best one, the best one's metric and bits. Rows and teams meet
     * in different banks. */
    static constexpr int costs_at = nt * (nt + 2);
    static constexpr int row_size =
        most_of(costs_at + (program::has_prior ? 2 * nt * side : 0),
                1 + words + nt * bits) |
        1;

    /* Where a level's part of a row begins */
    MP_FN static constexpr int place(int level) { return level * (2 * nt + 2 - level); }

    /* Set what the a-priori LLRs of a level's layer add to the metrics of its axes. */
    MP_FN static void set_costs(float* row, int level, const lane* prior)
    {
        MP_UNROLL
        for (int axis = 0; axis < 2; ++axis) {
            lane cost[side];
            axis_penalties<WIDTH>(prior + axis * WIDTH, cost);
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                row[costs_at + (2 * level + axis) * side + k] = cost[k].v;
        }
    }

    /* How far bit b of a level's layer moves the LLR, by the results in a row */
    MP_FN static lane moved(const float* row, int level, int b)
    {
        const unsigned value = __float_as_uint(row[nt * bits + 1 + level / fields]);
        const int place = level % fields * bits + symbol_bits<WIDTH>::place(b);
        const float above = row[level * bits + b] - row[nt * bits];
        return lane(value >> place & 1 ? above : -above);
    }

    /* Shared memory of a team */
    struct workspace {
        unsigned path[words][list_size];
        float metric[list_size]; /* of the parents */
        unsigned found[list_size + room + (teams > 1 ? TEAM : 0)];
    };

    MP_FN team_search(float* row_, workspace& shared) : row(row_), s(shared) {}

    /* Leave the results in the row. */
    MP_FN void run()
    {
        int level = nt - 1, parents = 1;
        if constexpr (size <= K) {
            take_all();
            --level;
            parents = size;
        } else if (rank() == 0) {
            s.metric[0] = 0.0f;
        }
        __syncwarp();
#pragma unroll 1
        for (; level >= 0; --level) {
            expand(level, parents);
            parents = least_of(parents * size, K);
        }
        collect(parents);
    }

private:
    float* const row;
    workspace& s;
    key_list best;
    unsigned limit; /* keys from here on do not matter */
    int filled;     /* children that wait in s.found */
    bool listed;    /* whether there is a list */

    MP_FN static int rank() { return threadIdx.x % TEAM; }

    /* The symbol of a path at an axis of a level */
    MP_FN float symbol(int path, int level, int axis) const
    {
        const unsigned word = s.path[level / fields][path];
        const unsigned k = word >> (level % fields * bits + axis * WIDTH) & (side - 1);
        return __uint_as_float(k | magic_word) - magic;
    }

    /* The part of y that a path leaves at a level */
    MP_FN void residual(int path, int level, float (&left)[2]) const
    {
        const float* const model = row + place(level);
        left[0] = model[0];
        left[1] = model[1];
#pragma unroll(unrolled)
        for (int j = unrolled > 1 ? 1 : level + 1; j < nt; ++j) {
            if (j <= level)
                continue;
            const float re = symbol(path, j, 0), im = symbol(path, j, 1);
            subtract_product(model + 1 + 2 * (j - level), re, im, left[0], left[1]);
        }
    }

    /* The metric of an axis's level */
    MP_FN float axis_metric(int level, int axis, int k, float left) const
    {
        const float e = left - k, weighted = e * row[place(level) + 2];
        return program::has_prior
                   ? fmaf(weighted, e, row[costs_at + (2 * level + axis) * side + k])
                   : weighted * e;
    }

    /* The metrics of all levels of both axes under a parent */
    struct axes {
        float metric[2][side];

        MP_FN axes(const team_search& of, int level, int parent)
        {
            float left[2];
            of.residual(parent, level, left);
            MP_UNROLL
            for (int axis = 0; axis < 2; ++axis) {
                MP_UNROLL
                for (int k = 0; k < side; ++k)
                    metric[axis][k] = of.axis_metric(level, axis, k, left[axis]);
            }
        }

        /* At least the metric of the worst of the min(K, M) best children */
        MP_FN float bound() const
        {
            lane sum(0.0f);
            MP_UNROLL
            for (int axis = 0; axis < 2; ++axis) {
                lane of[side];
                MP_UNROLL
                for (int k = 0; k < side; ++k)
                    of[k].v = metric[axis][k];
                if (near < side)
                    sort_runs<side, 1>(of);
                else
                    for (int k = 0; k + 1 < side; ++k)
                        of[side - 1] = max(of[side - 1], of[k]);
                sum = sum + of[near - 1];
            }
            return sum.v;
        }
    };

    /* At least the metric of the K-th best child: enough children of the best parents
     * are no worse. */
    MP_FN float bound(int level, int parents, const axes& first) const
    {
        constexpr int enough = (K - 1) / size + 1;
        const int those = least_of(parents, enough);
        float worst = 1e-25f;
        if (rank() < those)
            worst = fmaxf(worst, s.metric[rank()] + first.bound());
        for (int p = rank() + TEAM; enough > TEAM && p < those; p += TEAM)
            worst = fmaxf(worst, s.metric[p] + axes(*this, level, p).bound());
        return most(worst);
    }

    /* The greatest number of the team's; none is negative. */
    MP_FN static float most(float own)
    {
        return __uint_as_float(team_most<TEAM>(__float_as_uint(own)));
    }

    /* A key with a metric in steps, rounded down */
    MP_FN static unsigned to_key(float steps, unsigned origin)
    {
        const float cut = __fadd_rd(fminf(steps, most_steps), magic);
        return (__float_as_uint(cut) << origin_bits) +
               (origin - (magic_word << origin_bits));
    }

    /* The children of a parent: a child's key is the sum of a row's key, with the
     * parent's in it, and a column's. Both are sorted. */
    struct children {
        sort_key row[side], column[side];

        /* Call visit(is below the limit, key) for all children below the limit, and for
         * some others. */
        template <class Visit>
        MP_FN void below(unsigned limit, Visit visit) const
        {
            constexpr int columns = side < 4 ? side : 4;
            MP_UNROLL
            for (int i = 0; i < side; ++i) {
                const unsigned from = row[i].v;
                const unsigned room = (limit < from ? from : limit) - from;
                if (!__any_sync(~0u, column[0].v < room))
                    break;
                MP_UNROLL
                for (int j = 0; j < side; j += columns) {
                    if (j > 0 && !__any_sync(~0u, column[j].v < room))
                        break;
                    MP_UNROLL
                    for (int k = j; k < j + columns; ++k)
                        visit(column[k].v < room, from + column[k].v);
                }
            }
        }
    };

    MP_FN children children_of(const axes& from, int p, int parents, float unit) const
    {
        children c;
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            c.row[k].v = to_key(from.metric[0][k] * unit, k);
            c.column[k].v = to_key(from.metric[1][k] * unit, k << WIDTH);
        }
        sort_runs<side, 1>(c.row);
        sort_runs<side, 1>(c.column);
        const unsigned own = p < parents ? to_key(s.metric[p] * unit, p << bits) : never;
        MP_UNROLL
        for (int k = 0; k < side; ++k)
            c.row[k].v += own;
        return c;
    }

    /* Lower the limit by the children at one place of each of the best parents: the best
     * parents have enough children that are no worse. */
    MP_FN void tighten(const children& c, int parents)
    {
        MP_UNROLL
        for (int i = 0; i + 1 < near; ++i) {
            const int those = (K - 1) / ((i + 1) * (i + 1)) + 1;
            if (those <= least_of(TEAM, parents)) {
                const unsigned own = rank() < those ? c.row[i].v + c.column[i].v : 0;
                const unsigned worst = team_most<TEAM>(own) + 1;
                limit = worst < limit ? worst : limit;
            }
        }
    }

    /* Lower the limit until there is room for all children below it, but no further than
     * need be. As keys differ, there is such a limit. Return how many of the thread's
     * children are below it; all: of the team's. */
    MP_FN int settle(const children& c, int& all)
    {
        const unsigned start = limit;
        unsigned low = 0, high = limit;
#pragma unroll 1
        while (true) {
            int own = 0;
            c.below(limit, [&](bool is, unsigned) { own += is; });
            all = team_sum<TEAM>(own);
            const bool many = all > room, few = limit < start && all < K;
            if (!__any_sync(~0u, many || few))
                return own;
            low = few ? limit : low;
            high = many ? limit : high;
            limit = many || few ? low + (high - low) / 2 : limit;
        }
    }

    /* All symbols of the top level become survivors. */
    MP_FN void take_all()
    {
        constexpr int each = size < TEAM ? 1 : size / TEAM;
        const float* const model = row + place(nt - 1);
        float metric[each][2], worst = 1e-25f;
        MP_UNROLL
        for (int i = 0; i < each; ++i) {
            const int label = (i * TEAM + rank()) % size;
            MP_UNROLL
            for (int axis = 0; axis < 2; ++axis)
                metric[i][axis] = axis_metric(
                    nt - 1, axis, axis ? label / side : label % side, model[axis]);
            worst = fmaxf(worst, metric[i][0] + metric[i][1]);
        }
        worst = most(worst);
        const float unit = bound_steps / worst;
        best.fill({ ~0u });
        MP_UNROLL
        for (int i = 0; i < each; ++i)
            if (const int label = i * TEAM + rank(); label < size)
                best.of[i].v =
                    to_key(metric[i][0] * unit, label) + to_key(metric[i][1] * unit, 0);
        best.sort();
        adopt(nt - 1, worst);
    }

    /* The K best children of the survivors become the survivors. */
    MP_FN void expand(int level, int parents)
    {
        axes own(*this, level, rank());
        const float worst = bound(level, parents, own);
        const float unit = bound_steps / worst;
        limit = key_range;
        filled = 0;
        listed = false;
        best.fill({ ~0u });
#pragma unroll 1
        for (int first = 0; first < parents; first += TEAM) {
            if (first > 0)
                own = axes(*this, level, first + rank());
            const children c = children_of(own, first + rank(), parents, unit);
            if (first == 0 && parents * size > K)
                tighten(c, parents);
            int all;
            const int below = settle(c, all);
            unsigned* to = s.found + filled + team_sum_before<TEAM>(below);
            c.below(limit, [&](bool is, unsigned key) {
                if (is)
                    *to++ = key;
            });
            filled += all;
            if (__any_sync(~0u, filled >= K))
                merge();
        }
        if (__any_sync(~0u, filled > 0))
            merge();
        adopt(level, worst);
    }

    /* Merge the children that wait into the list. */
    MP_FN void merge()
    {
        __syncwarp();
#pragma unroll 1
        for (int first = 0; __any_sync(~0u, first < filled); first += list_size) {
            key_list more;
            MP_UNROLL
            for (int i = 0; i < count; ++i) {
                const int at = first + i * TEAM + rank();
                more.of[i].v = at < filled ? s.found[at] : ~0u;
            }
            more.sort();
            if (listed)
                best.keep_least(more);
            else
                best = more;
            listed = true;
        }
        const unsigned last = best.template get<K - 1>().v;
        limit = last < limit ? last : limit;
        filled = 0;
        __syncwarp();
    }

    /* The list's children become the survivors; their metrics are in units of the level's
     * bound. */
    MP_FN void adopt(int level, float worst)
    {
        const float unit = worst * (1.0f / (bound_steps * step)) * step;
        MP_UNROLL
        for (int w = 0; w < words; ++w) {
            unsigned word[count];
            MP_UNROLL
            for (int i = 0; i < count; ++i) {
                const unsigned key = best.of[i].v;
                const bool started = level + 1 < nt && (level + 1) / fields <= w;
                word[i] = started ? s.path[w][key >> bits & ((1u << index_bits) - 1)] : 0;
                if (level / fields == w)
                    word[i] |= (key & (size - 1)) << level % fields * bits;
            }
            __syncwarp();
            MP_UNROLL
            for (int i = 0; i < count; ++i)
                s.path[w][rank() * count + i] = word[i];
        }
        MP_UNROLL
        for (int i = 0; i < count; ++i) {
            const unsigned steps = best.of[i].v >> origin_bits;
            s.metric[rank() * count + i] =
                (__uint_as_float(steps | magic_word) - magic) * unit;
        }
        __syncwarp();
    }

    /* -ln p of a survivor, up to a constant */
    MP_FN float distance(int path) const
    {
        float sum = 0.0f;
#pragma unroll(unrolled)
        for (int level = 0; level < nt; ++level) {
            float left[2];
            residual(path, level, left);
            left[0] -= symbol(path, level, 0);
            left[1] -= symbol(path, level, 1);
            sum = fmaf(
                fmaf(left[0], left[0], left[1] * left[1]), row[place(level) + 2], sum);
            MP_UNROLL
            for (int axis = 0; program::has_prior && axis < 2; ++axis)
                sum += row[costs_at + (2 * level + axis) * side +
                           (s.path[level / fields][path] >>
                                (level % fields * bits + axis * WIDTH) &
                            (side - 1))];
        }
        return sum;
    }

    /* Each bit's nearest survivors of both values. The best of all survivors has one of
     * the values, so only survivors whose bit differs from its bit count. */
    MP_FN void collect(int survivors)
    {
        unsigned metric[count], least = __float_as_uint(no_metric);
        int nearest = rank();
        MP_UNROLL
        for (int i = 0; i < count; ++i) {
            const int c = i * TEAM + rank();
            metric[i] = __float_as_uint(c < survivors ? distance(c) : no_metric);
            nearest = metric[i] < least ? c : nearest;
            least = metric[i] < least ? metric[i] : least;
        }
        const unsigned of_best = team_least<TEAM>(least);
        const unsigned holders = __ballot_sync(~0u, least == of_best);
        const int team = threadIdx.x % 32 / TEAM * TEAM;
        const int chosen = __shfl_sync(
            ~0u, nearest, lowest_bit(holders >> team & (~0u >> (32 - TEAM))), TEAM);
        __syncwarp(); /* all have read the row */
#pragma unroll 1
        for (int w = 0; w < words; ++w) {
            const unsigned value = gray(s.path[w][chosen]);
            unsigned differs[count];
            MP_UNROLL
            for (int i = 0; i < count; ++i)
                differs[i] = gray(s.path[w][i * TEAM + rank()]) ^ value;
            const int first = w * fields * bits;
            MP_UNROLL
            for (int b = 0; b < fields * bits && first + b < nt * bits; ++b) {
                const unsigned at = 1u << symbol_bits<WIDTH>::place(b);
                sort_key other = { __float_as_uint(no_metric) };
                MP_UNROLL
                for (int i = 0; i < count; ++i)
                    other = min(other,
                                sort_key{ differs[i] & at ? metric[i]
                                                          : __float_as_uint(no_metric) });
                const unsigned nearest_other = team_least<TEAM>(other.v);
                if (rank() == 0)
                    row[first + b] = __uint_as_float(nearest_other);
            }
            if (rank() == 0)
                row[nt * bits + 1 + w] = __uint_as_float(value);
        }
        if (rank() == 0)
            row[nt * bits] = __uint_as_float(of_best);
        __syncwarp();
    }

    MP_FN static unsigned gray(unsigned labels)
    {
        return gray_codes<WIDTH>(lane::word{ static_cast<int>(labels) }).v;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* K-best (see detectors/kbest/kernel.h) by teams of threads: a vector's parents are
 * shared out among a team, its sorted list of the K best lies in the team's registers.
 * Before and after, each thread has a vector of its own, which it decomposes and whose
 * LLRs it writes.
 *
 * A thread has a parent at a time, with the keys of its two axes, sorted. Which children
 * are of interest says a limit, above the K-th best: at first one that enough children
 * of the best parents are below, then halved until the children below it are no more than
 * two lists. They go to shared memory, from there into the list, and its K-th is the next
 * limit. Counting them takes two instructions for each of a parent's children that are
 * near, sorting costs more: 21 steps of four instructions for 64 keys.
 *
 * Keys are those of the CPU, so that ties fall as they do there. Square QAM. */
#pragma once
#include "common/gray.h"
#include "common/ordering.h"
#include "common/paths.h"
#include "common/soft_symbols.h"
#include "cuda/keys.h"
#include "cuda/sizes.h"
#include "cuda/team.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int NT, int NR, int WIDTH, int K, int TEAM>
class team_kbest
{
    static constexpr int nt = asked::num_tx;
    static constexpr int least_of(int a, int b) { return a < b ? a : b; }
    static constexpr int most_of(int a, int b) { return a < b ? b : a; }
    static constexpr int side = 1 << WIDTH, size = side * side, bits = 2 * WIDTH;
    static constexpr int warps = MIMOPACK_THREADS / 32, teams = 32 / TEAM;
    /* Each thread of a team has so many of its list's keys. */
    static constexpr int index_bits = bits_for(K);
    static constexpr int count = (1 << index_bits) < TEAM ? 1 : (1 << index_bits) / TEAM;
    static constexpr int list_size = TEAM * count;
    using key_list = team_list<TEAM, count, key_value>;

    /* So many of the children of the parents that a team has at a time are sorted. */
    static constexpr int room = 2 * list_size;

    /* A key's fields from the lowest: k_re, k_im, parent, metric in steps, of which so
     * many count. */
    static constexpr int origin_bits = bits + index_bits;
    static constexpr unsigned key_range = 0x3e000000, never = 0xc0000000;
    static constexpr float step = 1 << origin_bits;
    static constexpr float most_steps = key_range >> origin_bits;
    static constexpr float bound_steps = 0.999f * key_range / step;
    static constexpr float magic = 1 << 23; /* a sum with it is an integer */
    static constexpr unsigned magic_word = 0x4b000000;

    /* A path's words have levels' labels next to each other, see common/paths.h. */
    static constexpr int fields = 32 / bits, words = (nt + fields - 1) / fields;

    static constexpr int unrolled = nt <= 8 ? nt : 1; /* loops over levels */

    /* A row has a vector's model: of each level v, w and c_ij, then what a prior adds to
     * its axes' metrics. In their place come each bit's nearest survivor that differs
     * from the best one, the best one's metric and bits. Rows and teams meet in different
     * banks. */
    static constexpr int costs_at = nt * (nt + 2);
    static constexpr int row_size =
        most_of(costs_at + (asked::has_prior ? 2 * nt * side : 0),
                1 + words + nt * bits) |
        1;

    /* So many have their models there at a time. */
    static constexpr int rows_at_once(int most = 32)
    {
        return most > teams && most * row_size > 2048 ? rows_at_once(most / 2) : most;
    }
    static constexpr int at_once = rows_at_once();

    struct workspace {
        unsigned path[words][list_size];
        float metric[list_size]; /* of the parents */
        unsigned found[list_size + room + (teams > 1 ? TEAM : 0)];
    };
    struct storage {
        float row[warps][at_once][row_size];
        workspace of[warps][teams];
    };

public:
    using mask = lane::mask;
    static constexpr int shared_bytes = sizeof(storage);
    static constexpr bool possible =
        origin_bits >= 7 && TEAM * count >= K && shared_bytes <= 47 * 1024;
    static constexpr int team_blocks = 8;

    MP_FN team_kbest(arena<lane>& a, const constellation& c, int nt_, int nr, float clip)
        : d_clip(clip),
          d_columns(a, nt_, nr),
          d_tree(a, c, nt_, nr, 0),
          d_prior(a, nt_ * bits),
          d_llr(a, nt_ * bits)
    {
        static_assert(possible);
    }

    MP_FN void use_rows(int rows) { d_rows = rows; }

    MP_FN void prepare(const lane* h)
    {
        d_columns.sort_by_norm(h);
        d_tree.prepare(&d_columns.h[0], [](int c) { return c; });
    }

    /* A warp's threads come here together. */
    MP_FN mask detect(const lane* y, lane noise_var, const lane* prior, lane* llr)
    {
        __shared__ storage s;
        const int warp = threadIdx.x / 32, in_warp = threadIdx.x % 32;
        const mask usable = d_tree.receive(y, noise_var);
        if constexpr (asked::has_prior)
            d_columns.to_columns(prior, bits, &d_prior[0]);
        float* const own = s.row[warp][in_warp % at_once];
#pragma unroll 1
        for (int first = 0; first < d_rows; first += at_once) {
            const bool turn = in_warp / at_once == first / at_once;
            if (turn)
                put(own);
            __syncwarp();
#pragma unroll 1
            for (int i = 0; i < least_of(at_once, d_rows - first); i += teams) {
                const int team = in_warp / TEAM;
                search it{ s.row[warp][i + team], s.of[warp][team] };
                it.run();
            }
            if (turn)
                take(own);
            __syncwarp();
        }
        d_columns.to_layers(&d_llr[0], bits, llr);
        return usable;
    }

private:
    const float d_clip;
    ordered_columns<lane, NT, NR> d_columns;
    path_tree<lane, NT, NR, WIDTH> d_tree;
    buffer<lane, NT * bits> d_prior, d_llr;
    int d_rows = 32;

    /* Where a level's part of a row begins */
    MP_FN static constexpr int place(int level) { return level * (2 * nt + 2 - level); }

    MP_FN void put(float* row) const
    {
#pragma unroll(unrolled)
        for (int i = 0; i < nt; ++i) {
            float* const to = row + place(i);
            to[0] = d_tree.target(i)[0].v;
            to[1] = d_tree.target(i)[1].v;
            to[2] = d_tree.weight(i).v;
#pragma unroll(unrolled)
            for (int j = i + 1; j < nt; ++j) {
                to[1 + 2 * (j - i)] = d_tree.coefficient(i, j)[0].v;
                to[2 + 2 * (j - i)] = d_tree.coefficient(i, j)[1].v;
            }
        }
#pragma unroll(2 * unrolled)
        for (int axis = 0; asked::has_prior && axis < 2 * nt; ++axis) {
            lane cost[side];
            axis_penalties<WIDTH>(&d_prior[axis * WIDTH], cost);
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                row[costs_at + axis * side + k] = cost[k].v;
        }
    }

    /* Clipping limits how far an LLR moves from its prior. */
    MP_FN void take(const float* row)
    {
#pragma unroll(unrolled* bits)
        for (int b = 0; b < nt * bits; ++b) {
            const int field = b / bits % fields, w = b / (fields * bits);
            const unsigned value = __float_as_uint(row[nt * bits + 1 + w]);
            const float above = row[b] - row[nt * bits];
            const lane known = asked::has_prior ? d_prior[b] : lane(0.0f);
            const lane moved(value >> (field * bits + place_of(b % bits)) & 1 ? above
                                                                              : -above);
            d_llr[b] = known + clamp(moved - known, lane(d_clip));
        }
    }

    /* Where a label has its bit b, counted from the most significant of the first axis */
    MP_FN static constexpr int place_of(int b)
    {
        return b / WIDTH * WIDTH + WIDTH - 1 - b % WIDTH;
    }

    /* So many of each axis' nearest levels make at least min(K, M) children. */
    static constexpr int reach(int levels = 1)
    {
        return levels < side && levels * levels < K ? reach(levels + 1) : levels;
    }

    /* One vector of a team's */
    struct search {
        float* const row;
        workspace& s;
        key_list best;
        unsigned limit; /* what is not below it is not looked at */
        int filled;     /* children that wait in s.found */
        bool listed;    /* whether there is a list */

        MP_FN static int rank() { return threadIdx.x % TEAM; }

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

        /* An axis' level of a path; what is left of y there */
        MP_FN float symbol(int path, int level, int axis) const
        {
            const unsigned word = s.path[level / fields][path];
            const unsigned k =
                word >> (level % fields * bits + axis * WIDTH) & (side - 1);
            return __uint_as_float(k | magic_word) - magic;
        }

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
                const float c_re = model[1 + 2 * (j - level)],
                            c_im = model[2 + 2 * (j - level)];
                left[0] = fmaf(c_im, im, fmaf(-c_re, re, left[0]));
                left[1] = fmaf(-c_im, re, fmaf(-c_re, im, left[1]));
            }
        }

        /* What an axis' level adds to the metric */
        MP_FN float axis_metric(int level, int axis, int k, float left) const
        {
            const float e = left - k, weighted = e * row[place(level) + 2];
            return asked::has_prior
                       ? fmaf(weighted, e, row[costs_at + (2 * level + axis) * side + k])
                       : weighted * e;
        }

        /* All those of a parent */
        struct axes {
            float metric[2][side];

            MP_FN axes(const search& of, int level, int parent)
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

            /* At least the metric of min(K, M) children */
            MP_FN float bound() const
            {
                lane sum(0.0f);
                MP_UNROLL
                for (int axis = 0; axis < 2; ++axis) {
                    lane of[side];
                    MP_UNROLL
                    for (int k = 0; k < side; ++k)
                        of[k].v = metric[axis][k];
                    if (reach() < side)
                        sort_runs<side, 1>(of);
                    else
                        for (int k = 0; k + 1 < side; ++k)
                            of[side - 1] = max(of[side - 1], of[k]);
                    sum = sum + of[reach() - 1];
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

        /* Of the team's, none of which is negative */
        MP_FN static float most(float own)
        {
            return __uint_as_float(team_most<TEAM>(__float_as_uint(own)));
        }

        /* So many steps, rounded down, in a key */
        MP_FN static unsigned to_key(float steps, unsigned origin)
        {
            const float cut = __fadd_rd(fminf(steps, most_steps), magic);
            return (__float_as_uint(cut) << origin_bits) +
                   (origin - (magic_word << origin_bits));
        }

        /* A parent's children: the sums of a row's key, which has the parent's as well,
         * and a column's, both sorted */
        struct children {
            key_value row[side], column[side];

            /* Calls visit(whether a child is below the limit, its key) of all that are,
             * and of some that are not. */
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
            const unsigned own =
                p < parents ? to_key(s.metric[p] * unit, p << bits) : never;
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                c.row[k].v += own;
            return c;
        }

        /* The best parents have enough children that are no worse than those of one place
         * in each. */
        MP_FN void tighten(const children& c, int parents)
        {
            MP_UNROLL
            for (int i = 0; i + 1 < reach(); ++i) {
                const int those = (K - 1) / ((i + 1) * (i + 1)) + 1;
                if (those <= least_of(TEAM, parents)) {
                    const unsigned own = rank() < those ? c.row[i].v + c.column[i].v : 0;
                    const unsigned worst = team_most<TEAM>(own) + 1;
                    limit = worst < limit ? worst : limit;
                }
            }
        }

        /* How many are below the limit, once it is so low that there is room for all, but
         * not lower than need be; as keys differ, there is such a limit. */
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

        /* The top level's symbols are survivors. */
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
                    best.of[i].v = to_key(metric[i][0] * unit, label) +
                                   to_key(metric[i][1] * unit, 0);
            best.sort();
            adopt(nt - 1, worst);
        }

        /* Finds the K best children of the survivors, then makes them the survivors. */
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

        /* Those that wait come into the list. */
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

        /* The list's children become the survivors, whose metrics are in units of the
         * level's bound. */
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
                    word[i] =
                        started ? s.path[w][key >> bits & ((1u << index_bits) - 1)] : 0;
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
                sum = fmaf(fmaf(left[0], left[0], left[1] * left[1]),
                           row[place(level) + 2],
                           sum);
                MP_UNROLL
                for (int axis = 0; asked::has_prior && axis < 2; ++axis)
                    sum += row[costs_at + (2 * level + axis) * side +
                               (s.path[level / fields][path] >>
                                    (level % fields * bits + axis * WIDTH) &
                                (side - 1))];
            }
            return sum;
        }

        /* Each bit's nearest survivor of either value: one value's is the best of all, so
         * that only those whose bit differs from it have to be looked at. */
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
            __syncwarp(); /* the row has been read */
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
                    const unsigned at = 1u << place_of(b);
                    key_value other = { __float_as_uint(no_metric) };
                    MP_UNROLL
                    for (int i = 0; i < count; ++i)
                        other = min(other,
                                    key_value{ differs[i] & at
                                                   ? metric[i]
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
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact max-log LLRs of four layers by teams of threads: the searches of tree_search.h,
 * in two column orders, each for the bits of its two upper levels.
 *
 * A thread prepares a vector and takes N-way's candidates as the first hypotheses. Then a
 * team of threads makes each search, so that no search waits for a longer one. Each of
 * its threads takes a node of level 3 and marks the children that can improve a
 * hypothesis. Every turn lists one marked child of each thread. As soon as the list has a
 * node for each thread, the team finishes these nodes: a thread goes through level 1 from
 * the nearest symbol outwards, slices level 0, and lowers the team's hypotheses to the
 * least metric found.
 *
 * Metrics are distances, not yet divided by the noise. Square QAM of two or more bits per
 * axis. */
#pragma once
#include "cuda/team.h"
#include "detectors/softsphere/kernel.h"
#include "detectors/sphere/cuda_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int NT, int NR, int WIDTH>
class team_soft_search
{
    static_assert(NT == 4 && WIDTH > 1);
    static constexpr bool with_prior = asked::has_prior;
    static constexpr int side = 1 << WIDTH, size = side * side, bits = 2 * WIDTH;
    static constexpr int searches = 2, wanted = NT / searches; /* levels of a search */
    static constexpr int team = size < 32 ? size : 32;
    static constexpr int teams = MIMOPACK_THREADS / team, in_warp = 32 / team;
    using system = register_system<NT, WIDTH, with_prior>;

    /* A system as register_system has it */
    struct model {
        float v[NT][2], w[NT], c[NT * (NT - 1)];

        MP_FN static constexpr int row(int i) { return i * (2 * NT - 3 - i) - 2; }
        MP_FN const float* at(int i, int j) const { return c + row(i) + 2 * j; }

        MP_FN void set(const system& s)
        {
            MP_UNROLL
            for (int i = 0; i < NT; ++i) {
                v[i][0] = s.v[2 * i];
                v[i][1] = s.v[2 * i + 1];
                w[i] = s.w[i];
                MP_UNROLL
                for (int j = i + 1; j < NT; ++j) {
                    c[row(i) + 2 * j] = s.c[i][j][0];
                    c[row(i) + 2 * j + 1] = s.c[i][j][1];
                }
            }
        }
    };

    /* A vector: the model of each search; for each column its bits' hypotheses, zero and
     * one, and half the a-priori LLRs in units of the metrics. Rows have an odd length,
     * to lie in different banks. */
    struct row {
        model of[searches];
        float hypothesis[NT][bits][2];
        float half[(with_prior ? NT * bits : 0) + 1];
    };

    /* The work of a team. Levels 2 and 3 are entries 0 and 1. */
    struct workspace {
        float limit[wanted][2][side]; /* U of each level of an axis, see tree_search.h */
        float cost[with_prior ? NT : 1][2][side]; /* of the a-priori LLRs, by level */
        unsigned open[size];                      /* symbols of level 3 */
        unsigned listed[2 * team];                /* nodes of level 2: both symbols, */
        float metric[2 * team];                   /* and their metrics */
    };

    struct storage {
        row vector[MIMOPACK_THREADS];
        float slack[MIMOPACK_THREADS];
        workspace of[teams];
    };

public:
    using mask = lane::mask;
    static constexpr int shared_bytes = sizeof(storage);
    static constexpr int team_blocks = (with_prior ? 320 : 512) / MIMOPACK_THREADS;
    static_assert(shared_bytes <= 48 * 1024);

    MP_FN team_soft_search(arena<lane>& a, const constellation& c, float clip)
        : d_scale(c.scale), d_clip(clip), d_columns(a, NT, NR), d_qr(a, NT, NR)
    {
    }

    MP_FN void use_rows(int rows) { d_rows = rows; }

    MP_FN void prepare(const lane* h)
    {
        split_in_pairs(d_columns, h, NR);
        d_qr.decompose(&d_columns.h[0]);
    }

    /* A warp's threads come here together. Clipping limits how far an LLR moves from its
     * prior. */
    MP_FN mask detect(const lane* y, lane noise_var, const lane* prior, lane* llr)
    {
        storage& s = shared();
        row& own = s.vector[threadIdx.x];
        lane known[NT * bits], by_column[NT * bits];
        if constexpr (with_prior)
            d_columns.to_columns(prior, bits, known);
        const mask usable = seed(y, noise_var, known, own);
        s.slack[threadIdx.x] = d_clip * noise_var.v;
        __syncwarp();
        const int first = threadIdx.x / 32 * 32;
#pragma unroll 1
        for (int task = threadIdx.x % 32 / team; task < searches * d_rows;
             task += in_warp) {
            const int vector = first + task / searches;
            search(s.of[threadIdx.x / team],
                   s.vector[vector],
                   s.slack[vector],
                   task % searches)
                .run();
        }
        __syncwarp();
        const float unit = reciprocal(noise_var).v;
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b) {
            const float* const pair = own.hypothesis[b / bits][b % bits];
            by_column[b] = clipped(with_prior ? known[b] : lane(0.0f),
                                   lane((pair[0] - pair[1]) * unit),
                                   d_clip);
        }
        d_columns.to_layers(by_column, bits, llr);
        return usable;
    }

private:
    const float d_scale, d_clip;
    ordered_columns<lane, NT, NR> d_columns;
    unscaled_qr<lane, NT, NR> d_qr;
    int d_rows = 32;

    MP_FN static storage& shared()
    {
        __shared__ storage s;
        return s;
    }

    /* Sets the row of a vector. Its hypotheses are those of N-way with all passes, or 0
     * where the vector is not usable, so that no node is of use. */
    MP_FN mask seed(const lane* y, lane noise_var, const lane* known, row& to) const
    {
        system s;
        bit_minima<NT, WIDTH> m;
        const mask usable = d_qr.usable & s.set(d_qr, y, d_scale);
        if constexpr (with_prior) {
            s.set_prior(known, noise_var.v);
            MP_UNROLL
            for (int b = 0; b < NT * bits; ++b)
                to.half[b] = s.half[b / bits][b % bits];
        }
#pragma unroll 1
        for (int pass = 0; pass < NT; ++pass) {
            if (pass % wanted == 0)
                to.of[pass / wanted].set(s);
            expand_top<true>(s, m, [](const auto&) {});
            s.raise(constant_column<0>());
            m.raise(constant_column<0>());
        }
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b) {
            float* const pair = to.hypothesis[b / bits][b % bits];
            pair[0] = usable.m ? m.zero[b / bits][b % bits] : 0.0f;
            pair[1] = usable.m ? m.one[b / bits][b % bits] : 0.0f;
        }
        return usable;
    }

    /* A team's search. The threads of a warp go through it together. */
    class search
    {
    public:
        MP_FN search(workspace& space, row& vector, float slack, int number)
            : d_space(space),
              d_vector(vector),
              d_model(vector.of[number]),
              d_slack(slack),
              d_shift(number * wanted)
        {
        }

        MP_FN void run()
        {
            if constexpr (with_prior)
                set_costs();
            refresh();
            open();
#pragma unroll 1
            for (int first = 0; __any_sync(~0u, first < d_opened); first += team)
                expand(first + rank() < d_opened, first + rank());
            while (__any_sync(~0u, d_listed > 0))
                finish(1);
        }

    private:
        workspace& d_space;
        row& d_vector;
        const model d_model;
        const float d_slack;
        const int d_shift; /* level i is column (i + shift) mod NT */
        int d_opened = 0, d_listed = 0;

        MP_FN static int rank() { return threadIdx.x % team; }
        MP_FN int column(int level) const { return (level + d_shift) % NT; }

        /* What the symbols above a level leave of y there */
        struct remainder {
            float re, im;
        };

        MP_FN remainder received(int level) const
        {
            return { d_model.v[level][0], d_model.v[level][1] };
        }

        MP_FN void cancel(remainder& u, int level, int above, float re, float im) const
        {
            subtract_product(d_model.at(level, above), re, im, u.re, u.im);
        }

        /* What a symbol adds to the metric, without its a-priori cost */
        MP_FN float distance(int level, remainder u, float re, float im) const
        {
            const float e_re = u.re - re, e_im = u.im - im;
            return d_model.w[level] * fmaf(e_re, e_re, e_im * e_im);
        }

        MP_FN float least_distance(int level, remainder u) const
        {
            return distance(
                level, u, axis_slice<WIDTH>(u.re).level, axis_slice<WIDTH>(u.im).level);
        }

        MP_FN float cost(int level, int k_re, int k_im) const
        {
            if constexpr (with_prior)
                return d_space.cost[level][0][k_re] + d_space.cost[level][1][k_im];
            return 0.0f;
        }

        /* U of a symbol of a wanted level */
        MP_FN float limit(int level, int symbol) const
        {
            const auto& of = d_space.limit[level - (NT - wanted)];
            return fmaxf(of[0][symbol / side], of[1][symbol % side]);
        }

        MP_FN void set_costs()
        {
#pragma unroll 1
            for (int i = rank(); i < NT * 2 * side; i += team) {
                const int level = i / (2 * side), axis = i / side % 2, k = i % side;
                const float* const half =
                    d_vector.half + column(level) * bits + axis * WIDTH;
                float sum = 0.0f;
                MP_UNROLL
                for (int b = 0; b < WIDTH; ++b)
                    sum += bit_penalty(gray_bit<WIDTH>(k, b), half[b]);
                d_space.cost[level][axis][k] = sum;
            }
        }

        /* Computes U from the hypotheses, which clipping limits. */
        MP_FN void refresh()
        {
            __syncwarp();
            const float* const best = d_vector.hypothesis[column(NT - 1)][0];
            const float least = fminf(best[0], best[1]);
            MP_UNROLL
            for (int i = rank(); i < wanted * 2 * side; i += team) {
                const int level = i / (2 * side), axis = i / side % 2, k = i % side;
                const int of = column(NT - wanted + level);
                float most = 0.0f;
                MP_UNROLL
                for (int b = 0; b < WIDTH; ++b) {
                    const int bit = axis * WIDTH + b, value = gray_bit<WIDTH>(k, b);
                    float slack = d_slack;
                    if constexpr (with_prior) {
                        const float known = 2.0f * d_vector.half[of * bits + bit];
                        slack = fmaxf(slack + (value ? -known : known), 0.0f);
                    }
                    most = fmaxf(
                        most, fminf(d_vector.hypothesis[of][bit][value], least + slack));
                }
                d_space.limit[level][axis][k] = most;
            }
            __syncwarp();
        }

        /* The place in a list for this thread's entry, if it has one */
        MP_FN static int place(bool lists, int& count)
        {
            const unsigned members = ~0u >> (32 - team);
            const unsigned who =
                __ballot_sync(~0u, lists) >> (threadIdx.x % 32 / team * team) & members;
            const int at = count + __popc(who & ((1u << rank()) - 1));
            count += __popc(who);
            return at;
        }

        /* Opens the nodes of level 3 that can improve a hypothesis. */
        MP_FN void open()
        {
            float below = 0.0f;
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                below =
                    fmaxf(below, fmaxf(d_space.limit[0][0][k], d_space.limit[0][1][k]));
#pragma unroll 1
            for (int symbol = rank(); symbol < size; symbol += team) {
                const int k_re = symbol / side, k_im = symbol % side;
                const float re = axis_level<WIDTH>(k_re), im = axis_level<WIDTH>(k_im);
                remainder u = received(2);
                cancel(u, 2, 3, re, im);
                const float metric = distance(3, received(3), re, im) +
                                     cost(3, k_re, k_im) + least_distance(2, u);
                const bool opens = metric < fmaxf(limit(3, symbol), below);
                const int at = place(opens, d_opened);
                if (opens)
                    d_space.open[at] = symbol;
            }
            __syncwarp();
        }

        /* Lists the children of an open node that can improve a hypothesis. */
        MP_FN void expand(bool exists, int number)
        {
            constexpr int at_once = size < 32 ? side : 32 / side; /* levels of an axis */
            const int symbol = exists ? d_space.open[number] : 0;
            const int k_re = symbol / side, k_im = symbol % side;
            const float re = axis_level<WIDTH>(k_re), im = axis_level<WIDTH>(k_im);
            const float metric = distance(3, received(3), re, im) + cost(3, k_re, k_im);
            remainder u2 = received(2), u1 = received(1);
            cancel(u2, 2, 3, re, im);
            cancel(u1, 1, 3, re, im);
            float of_im[side];
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                of_im[k] = axis_metric(2, 1, k, u2.im);
#pragma unroll 1
            for (int first = 0; first < side; first += at_once) {
                const float above = limit(3, symbol);
                unsigned marked = 0;
                MP_UNROLL
                for (int i = 0; i < at_once; ++i) {
                    const float of_re = metric + axis_metric(2, 0, first + i, u2.re);
                    const float most = fmaxf(above, d_space.limit[0][0][first + i]);
                    MP_UNROLL
                    for (int k = 0; k < side; ++k)
                        if (of_re + of_im[k] < fmaxf(most, d_space.limit[0][1][k]))
                            marked |= 1u << (i * side + k);
                }
                marked = exists ? marked : 0;
                while (__any_sync(~0u, marked)) {
                    const int child = marked ? first * side + lowest_bit(marked) : 0;
                    list(marked != 0, metric, symbol, child, u2, u1);
                    marked &= marked - 1;
                }
            }
        }

        MP_FN float axis_metric(int level, int axis, int k, float u) const
        {
            const float e = u - axis_level<WIDTH>(k);
            const float weighted = d_model.w[level] * e;
            if constexpr (with_prior)
                return fmaf(weighted, e, d_space.cost[level][axis][k]);
            return weighted * e;
        }

        /* Lists a child of a node at level 3, if a leaf below it can improve a
         * hypothesis. */
        MP_FN void
        list(bool exists, float metric, int symbol, int child, remainder u2, remainder u1)
        {
            const int k_re = child / side, k_im = child % side;
            const float re = axis_level<WIDTH>(k_re), im = axis_level<WIDTH>(k_im);
            metric += distance(2, u2, re, im) + cost(2, k_re, k_im);
            cancel(u1, 1, 2, re, im);
            const bool lists = exists && metric + least_distance(1, u1) <
                                             fmaxf(limit(3, symbol), limit(2, child));
            const int at = place(lists, d_listed);
            if (lists) {
                d_space.listed[at] = symbol * size + child;
                d_space.metric[at] = metric;
            }
            if (__any_sync(~0u, d_listed >= team))
                finish(team);
        }

        /* Finishes the last nodes of a list with at least so many. */
        MP_FN void finish(int least)
        {
            __syncwarp();
            const int count = d_listed < least ? 0 : d_listed < team ? d_listed : team;
            d_listed -= count;
            const bool exists = rank() < count;
            const int at = exists ? d_listed + rank() : 0;
            const int node = exists ? d_space.listed[at] : 0;
            const int above = node / size, own = node % size;
            const float most = exists ? fmaxf(limit(3, above), limit(2, own)) : 0.0f;
            const float metric = least_leaf(d_space.metric[at], above, own, most);
            __syncwarp();
            if (metric < most) {
                improve(NT - 1, above, metric);
                improve(NT - 2, own, metric);
            }
            if (__any_sync(~0u, metric < most))
                refresh();
        }

        MP_FN void improve(int level, int symbol, float metric)
        {
            auto& of = d_vector.hypothesis[column(level)];
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                const int k = b < WIDTH ? symbol / side : symbol % side;
                float& least = of[b][gray_bit<WIDTH>(k, b % WIDTH)];
                /* numbers from 0 on are in the order of their bits */
                atomicMin(reinterpret_cast<unsigned*>(&least), __float_as_uint(metric));
            }
        }

        /* The least metric of a leaf below a node of level 2, if it is below `bound`;
         * otherwise `bound` */
        MP_FN float least_leaf(float metric, int above, int own, float bound) const
        {
            remainder u1 = received(1), u0 = received(0);
            const auto cancel_at = [&](int level, int symbol) {
                const float re = axis_level<WIDTH>(symbol / side),
                            im = axis_level<WIDTH>(symbol % side);
                cancel(u1, 1, level, re, im);
                cancel(u0, 0, level, re, im);
            };
            cancel_at(3, above);
            cancel_at(2, own);
            const float nearest = axis_slice<WIDTH>(u1.im).level;
            float re = axis_slice<WIDTH>(u1.re).level, im = nearest;
            float step_re = copysignf(1.0f, u1.re - re),
                  step_im = copysignf(1.0f, u1.im - im);
            bool goes_on = metric + distance(1, u1, re, im) < bound;
            while (goes_on) {
                remainder u = u0;
                cancel(u, 0, 1, re, im);
                bound = fminf(bound,
                              metric + distance(1, u1, re, im) + symbol_cost(re, im) +
                                  leaf(u));
                goes_on = move_on<WIDTH>(im, step_im) &&
                          metric + distance(1, u1, re, im) < bound;
                if (!goes_on) {
                    im = nearest;
                    step_im = copysignf(1.0f, u1.im - im);
                    goes_on = move_on<WIDTH>(re, step_re) &&
                              metric + distance(1, u1, re, im) < bound;
                }
            }
            return bound;
        }

        /* The a-priori cost of a symbol of level 1 */
        MP_FN float symbol_cost(float re, float im) const
        {
            if constexpr (!with_prior)
                return 0.0f;
            const auto number = [](float level) {
                return static_cast<int>(level + largest_level<WIDTH>);
            };
            return cost(1, number(re), number(im));
        }

        /* The least that level 0 adds to the metric */
        MP_FN float leaf(remainder u) const
        {
            if constexpr (!with_prior)
                return least_distance(0, u);
            float of_re = no_metric, of_im = no_metric;
            MP_UNROLL
            for (int k = 0; k < side; ++k) {
                of_re = fminf(of_re, axis_metric(0, 0, k, u.re));
                of_im = fminf(of_im, axis_metric(0, 1, k, u.im));
            }
            return of_re + of_im;
        }
    };
};

/* Whether a team takes this size */
constexpr bool soft_team_fits = asked::fixed_tx == 4 && asked::width > 1 &&
                                register_sizes_to(3, 4);

} // namespace MIMOPACK_ISA
} // namespace mimopack

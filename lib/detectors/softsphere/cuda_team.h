/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact max-log LLRs of four layers by warps: the searches of tree_search.h, in two
 * column orders, each for the bits of its two upper levels.
 *
 * A thread prepares a vector, and takes N-way's candidates as the first hypotheses. Then
 * the warp makes the searches of its vectors one after another, so that no thread waits
 * for another one's longer search:
 *
 *   - It opens nodes of level 3. Each thread takes one of them, and marks the children
 *     that can improve a hypothesis.
 *   - As soon as there are 32 marks, each thread takes one, and lists it if the nearest
 *     symbol of level 1 is near enough.
 *   - As soon as the list has 32 nodes, each thread takes one. It goes through level 1
 *     from the nearest symbol outwards and slices level 0. The least metrics found lower
 *     the hypotheses, which all threads share.
 *
 * Metrics are distances, not yet divided by the noise. Square QAM of three or more bits
 * per axis: with fewer, most threads have no node. Gain over a thread for each vector on
 * an H200: 64-QAM 1.3 to 2.2, with a-priori LLRs 19; 256-QAM 48. */
#pragma once
#include "detectors/softsphere/kernel.h"
#include "detectors/sphere/cuda_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int NT, int NR, int WIDTH>
class team_soft_search
{
    static_assert(NT == 4 && WIDTH > 2 && WIDTH <= 4);
    static constexpr bool with_prior = program::has_prior;
    static constexpr int side = 1 << WIDTH, size = side * side, bits = 2 * WIDTH;
    static constexpr int searches = 2, wanted = NT / searches; /* levels of a search */
    static constexpr int warps = MIMOPACK_THREADS / 32;
    using system = register_system<NT, WIDTH, with_prior>;

    /* A system as register_system has it */
    struct model {
        float v[NT][2], w[NT], c[NT * (NT - 1)];

        MP_FN static constexpr int place(int i, int j)
        {
            return i * (2 * NT - 3 - i) + 2 * (j - 1);
        }

        MP_FN void set(const system& s)
        {
            MP_UNROLL
            for (int i = 0; i < NT; ++i) {
                v[i][0] = s.v[2 * i];
                v[i][1] = s.v[2 * i + 1];
                w[i] = s.w[i];
                MP_UNROLL
                for (int j = i + 1; j < NT; ++j) {
                    c[place(i, j)] = s.c[i][j][0];
                    c[place(i, j) + 1] = s.c[i][j][1];
                }
            }
        }
    };

    /* A vector: the model of each search; for each column its bits' hypotheses, zero and
     * one; the distance above the least metric from which on these do not matter; half
     * the a-priori LLRs in units of the metrics. Rows have an odd length, to lie in
     * different banks. */
    struct row {
        model of[searches];
        float hypothesis[NT][bits][2];
        float slack;
        float half[with_prior ? NT * bits : 2];
    };

    /* The work of a warp. The limits of levels 2 and 3 are entries 0 and 1. */
    struct workspace {
        float limit[wanted][2][side]; /* U of each level of an axis, see tree_search.h */
        float cost[with_prior ? NT : 1][2][side]; /* of the a-priori LLRs, by level */
        unsigned short open[size];                /* symbols of level 3 */
        unsigned short marked[2 * 32];            /* thread, and symbol of level 2 */
        unsigned short listed[2 * 32];            /* symbols of levels 3 and 2 */
        float metric[2 * 32];                     /* of the listed nodes */
    };

    struct storage {
        row vector[MIMOPACK_THREADS];
        workspace of[warps];
    };

public:
    using mask = lane::mask;
    static constexpr int shared_bytes = sizeof(storage);
    static constexpr int team_blocks = (WIDTH > 3    ? 8
                                        : with_prior ? 10
                                                     : 16) *
                                       32 / MIMOPACK_THREADS;
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
        const int warp = threadIdx.x / 32;
        row& own = s.vector[threadIdx.x];
        lane known[NT * bits], by_column[NT * bits];
        if constexpr (with_prior)
            d_columns.to_columns(prior, bits, known);
        const mask usable = seed(y, noise_var, known, own);
        own.slack = d_clip * noise_var.v;
#pragma unroll 1
        for (int n = 0; n < searches * d_rows; ++n) {
            __syncwarp();
            search(s.of[warp], s.vector[warp * 32 + n / searches], n % searches).run();
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

    /* Set the row of a vector. Its hypotheses are those of N-way with all passes, or 0
     * where the vector is not usable, so that nothing can improve them. */
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

    /* A search by a warp, whose threads go through it together */
    class search
    {
    public:
        MP_FN search(workspace& space, row& vector, int number)
            : d_space(space),
              d_vector(vector),
              d_model(vector.of[number]),
              d_slack(vector.slack),
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
            for (int first = 0; first < d_opened; first += 32)
                expand(first + rank() < d_opened, first + rank());
            if (d_listed > 0)
                finish();
        }

    private:
        workspace& d_space;
        row& d_vector;
        const model d_model;
        const float d_slack;
        const int d_shift; /* level i is column (i + shift) mod NT */
        int d_opened = 0, d_listed = 0;

        MP_FN static int rank() { return threadIdx.x % 32; }
        MP_FN int column(int level) const { return (level + d_shift) % NT; }

        struct symbol {
            int k_re, k_im;
            float re, im;

            MP_FN explicit symbol(int number)
                : k_re(number / side),
                  k_im(number % side),
                  re(axis_level<WIDTH>(k_re)),
                  im(axis_level<WIDTH>(k_im))
            {
            }
        };

        /* The part of y at a level that the symbols above leave */
        struct remainder {
            float re, im;
        };

        MP_FN remainder received(int level) const
        {
            return { d_model.v[level][0], d_model.v[level][1] };
        }

        MP_FN void cancel(remainder& u, int level, int above, float re, float im) const
        {
            subtract_product(d_model.c + model::place(level, above), re, im, u.re, u.im);
        }

        /* The metric that a symbol adds */
        MP_FN float distance(int level, remainder u, float re, float im) const
        {
            const float e_re = u.re - re, e_im = u.im - im;
            return d_model.w[level] * fmaf(e_re, e_re, e_im * e_im);
        }

        MP_FN float metric(int level, remainder u, const symbol& at) const
        {
            const float sum = distance(level, u, at.re, at.im);
            return with_prior ? sum + cost(level, at.k_re, at.k_im) : sum;
        }

        MP_FN float axis_metric(int level, int axis, int k, float u) const
        {
            const float e = u - axis_level<WIDTH>(k), weighted = d_model.w[level] * e;
            return with_prior ? fmaf(weighted, e, d_space.cost[level][axis][k])
                              : weighted * e;
        }

        /* A lower bound of what any symbol adds */
        MP_FN float least_distance(int level, remainder u) const
        {
            return distance(
                level, u, axis_slice<WIDTH>(u.re).level, axis_slice<WIDTH>(u.im).level);
        }

        MP_FN float cost(int level, int k_re, int k_im) const
        {
            return d_space.cost[level][0][k_re] + d_space.cost[level][1][k_im];
        }

        /* U of a symbol of a wanted level */
        MP_FN float limit(int level, int number) const
        {
            const auto& of = d_space.limit[level - (NT - wanted)];
            return fmaxf(of[0][number / side], of[1][number % side]);
        }

        MP_FN void set_costs()
        {
#pragma unroll 1
            for (int i = rank(); i < NT * 2 * side; i += 32) {
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

        /* Compute U from the hypotheses, which clipping limits. */
        MP_FN void refresh()
        {
            __syncwarp();
            const float* const best = d_vector.hypothesis[column(NT - 1)][0];
            const float least = fminf(best[0], best[1]);
            MP_UNROLL
            for (int i = rank(); i < wanted * 2 * side; i += 32) {
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
        MP_FN static int place(bool has_one, int& count)
        {
            const unsigned who = __ballot_sync(~0u, has_one);
            const int at = count + __popc(who & ((1u << rank()) - 1));
            count += __popc(who);
            return at;
        }

        /* Take the last entries of a list, one for each thread, or all. Return whether
         * this thread has one; its place is `count` + rank(). */
        MP_FN static bool take(int& count)
        {
            __syncwarp();
            const int taken = count < 32 ? count : 32;
            count -= taken;
            return rank() < taken;
        }

        /* Open the nodes of level 3 that can improve a hypothesis. */
        MP_FN void open()
        {
            float below = 0.0f;
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                below =
                    fmaxf(below, fmaxf(d_space.limit[0][0][k], d_space.limit[0][1][k]));
#pragma unroll 1
            for (int number = rank(); number < size; number += 32) {
                const symbol top(number);
                remainder u = received(2);
                cancel(u, 2, 3, top.re, top.im);
                const float lower = metric(3, received(3), top) + least_distance(2, u);
                const bool opens = lower < fmaxf(limit(3, number), below);
                const int at = place(opens, d_opened);
                if (opens)
                    d_space.open[at] = number;
            }
            __syncwarp();
        }

        /* A node of level 3 */
        struct parent {
            int number; /* symbol */
            float metric;
            remainder u2, u1;

            /* The node of another thread */
            MP_FN parent of(int thread) const
            {
                const auto from = [=](auto own) { return __shfl_sync(~0u, own, thread); };
                return { from(number),
                         from(metric),
                         { from(u2.re), from(u2.im) },
                         { from(u1.re), from(u1.im) } };
            }
        };

        MP_FN parent opened(int number) const
        {
            const symbol top(number);
            parent node{ number, metric(3, received(3), top), received(2), received(1) };
            cancel(node.u2, 2, 3, top.re, top.im);
            cancel(node.u1, 1, 3, top.re, top.im);
            return node;
        }

        /* Mark and list the children of an open node. */
        MP_FN void expand(bool exists, int at)
        {
            constexpr int at_once = 32 / side; /* levels of the real axis */
            const parent own = opened(exists ? d_space.open[at] : 0);
            float of_im[side];
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                of_im[k] = axis_metric(2, 1, k, own.u2.im);
            int marked = 0;
            /* Another turn lists the marks that are left. */
#pragma unroll 1
            for (int first = 0; first <= side; first += at_once) {
                unsigned marks = 0;
                if (first < side) {
                    const float above = limit(3, own.number);
                    MP_UNROLL
                    for (int i = 0; i < at_once; ++i) {
                        const float of_re =
                            own.metric + axis_metric(2, 0, first + i, own.u2.re);
                        const float most = fmaxf(above, d_space.limit[0][0][first + i]);
                        MP_UNROLL
                        for (int k = 0; k < side; ++k)
                            if (of_re + of_im[k] < fmaxf(most, d_space.limit[0][1][k]))
                                marks |= 1u << (i * side + k);
                    }
                    marks = exists ? marks : 0;
                }
                do {
                    const int to = place(marks, marked);
                    if (marks)
                        d_space.marked[to] =
                            rank() * size + first * side + lowest_bit(marks);
                    marks &= marks - 1;
                    if (marked >= (first < side ? 32 : 1))
                        list(own, marked);
                } while (__any_sync(~0u, marks));
            }
        }

        /* List marked children that are near enough to level 1. */
        MP_FN void list(const parent& own, int& marked)
        {
            const bool exists = take(marked);
            const int mark = exists ? d_space.marked[marked + rank()] : 0;
            __syncwarp();
            const int number = mark % size;
            const symbol child(number);
            parent from = own.of(mark / size);
            const float sum = from.metric + metric(2, from.u2, child);
            cancel(from.u1, 1, 2, child.re, child.im);
            const bool lists =
                exists && sum + least_distance(1, from.u1) <
                              fmaxf(limit(3, from.number), limit(2, number));
            const int to = place(lists, d_listed);
            if (lists) {
                d_space.listed[to] = from.number * size + number;
                d_space.metric[to] = sum;
            }
            if (d_listed >= 32)
                finish();
        }

        /* Finish listed nodes, and lower the hypotheses. */
        MP_FN void finish()
        {
            const bool exists = take(d_listed);
            const int at = exists ? d_listed + rank() : 0;
            const int node = d_space.listed[at], above = node / size, own = node % size;
            const float bound = exists ? fmaxf(limit(3, above), limit(2, own)) : 0.0f;
            const float least = least_leaf(d_space.metric[at], above, own, bound);
            __syncwarp();
            if (least < bound) {
                improve(3, above, least);
                improve(2, own, least);
            }
            if (__any_sync(~0u, least < bound))
                refresh();
        }

        MP_FN void improve(int level, int number, float least)
        {
            auto& of = d_vector.hypothesis[column(level)];
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                const int k = b < WIDTH ? number / side : number % side;
                float* const to = of[b] + gray_bit<WIDTH>(k, b % WIDTH);
                /* numbers from 0 on are in the order of their bits */
                atomicMin(reinterpret_cast<unsigned*>(to), __float_as_uint(least));
            }
        }

        /* The least metric of a leaf below a node with symbols of levels 3 and 2, if it
         * is below `bound`; otherwise `bound` */
        MP_FN float least_leaf(float node, int number3, int number2, float bound) const
        {
            const symbol above(number3), own(number2);
            remainder u1 = received(1), u0 = received(0);
            cancel(u1, 1, 3, above.re, above.im);
            cancel(u0, 0, 3, above.re, above.im);
            cancel(u1, 1, 2, own.re, own.im);
            cancel(u0, 0, 2, own.re, own.im);
            const float w = d_model.w[1];
            const float nearest = axis_slice<WIDTH>(u1.im).level, away = u1.im - nearest;
            float re = axis_slice<WIDTH>(u1.re).level, im = nearest;
            float step_re = copysignf(1.0f, u1.re - re), step_im = copysignf(1.0f, away);
            float of_re = with_level(node, w, u1.re - re),
                  sum = with_level(of_re, w, away);
            bool goes_on = sum < bound;
            while (goes_on) {
                remainder u = u0;
                cancel(u, 0, 1, re, im);
                bound = fminf(bound, sum + leaf(u, re, im));
                goes_on = move_on<WIDTH>(im, step_im);
                sum = with_level(of_re, w, u1.im - im);
                if (!(goes_on && sum < bound)) {
                    im = nearest;
                    step_im = copysignf(1.0f, away);
                    goes_on = move_on<WIDTH>(re, step_re);
                    of_re = with_level(node, w, u1.re - re);
                    sum = with_level(of_re, w, away);
                    goes_on = goes_on && sum < bound;
                }
            }
            return bound;
        }

        /* The least that level 0 adds to the metric, and the cost of level 1's symbol */
        MP_FN float leaf(remainder u, float re, float im) const
        {
            if constexpr (with_prior) {
                float least_re = no_metric, least_im = no_metric;
                MP_UNROLL
                for (int k = 0; k < side; ++k) {
                    least_re = fminf(least_re, axis_metric(0, 0, k, u.re));
                    least_im = fminf(least_im, axis_metric(0, 1, k, u.im));
                }
                const auto number = [](float level) {
                    return static_cast<int>(level + largest_level<WIDTH>);
                };
                return least_re + least_im + cost(1, number(re), number(im));
            }
            return least_distance(0, u);
        }
    };
};

/* Whether a warp takes this size */
constexpr bool soft_team_fits =
    register_sizes_to(4, 4) && program::fixed_tx == 4 && program::width > 2;

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard maximum likelihood with one thread for each vector: depth first, Schnorr-Euchner
 * (004 Algorithm 1). Each turn of one loop visits one node, so that a warp's threads stay
 * together wherever they are in their trees. Arrays that the depth indexes are in shared
 * memory.
 *
 * A launch lasts as long as its longest search, so a search starts from a good candidate.
 * Where noise is amplified much, the first leaves are far from y, and without a candidate
 * thousands of nodes pass before a near leaf. With 4x4 16-QAM at 20 dB the longest of
 * 131072 searches takes 403 turns with the candidate and 13478 without it; the mean is 19
 * and 25 turns.
 *
 * Square QAM of up to three bits per axis, no a-priori LLRs. */
#pragma once
#include "common/amplification_order.h"
#include "cuda/registers.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH>
constexpr float largest_level = 0.5f * ((1 << WIDTH) - 1);

/* Move to the next symbol of an axis by distance, in steps +1, -2, +3 ... or -1, +2 ...
 * from the first one, past symbols that do not exist. Return whether there is another.
 */
template <int WIDTH>
MP_FN bool move_on(float& symbol, float& step)
{
    const float one = symbol + step, to_two = -step - copysignf(1.0f, step);
    const float two = one + to_two, to_three = -to_two - copysignf(1.0f, to_two);
    const bool first = fabsf(one) <= largest_level<WIDTH>;
    symbol = first ? one : two;
    step = first ? to_two : to_three;
    return fabsf(symbol) <= largest_level<WIDTH>;
}

/* The metric plus the share of a level, which differs from y by e */
MP_FN float with_level(float metric, float weight, float e)
{
    return fmaf(weight * e, e, metric);
}

/* Systems in shared memory, a column for each */
template <int NT, int WIDTH>
struct shared_systems {
    static constexpr int depth = 2 * NT, threads = MIMOPACK_THREADS;
    float c[NT * (NT - 1)][threads], v[depth][threads], w[NT][threads];

    /* c_ij is at row(i) + 2 j. */
    MP_FN static constexpr int row(int i) { return i * (2 * NT - 3 - i) - 2; }

    MP_FN void set(const register_system<NT, WIDTH>& s)
    {
        const int to = threadIdx.x;
        MP_UNROLL
        for (int i = 0; i < NT; ++i) {
            w[i][to] = s.w[i];
            v[2 * i][to] = s.v[2 * i];
            v[2 * i + 1][to] = s.v[2 * i + 1];
            MP_UNROLL
            for (int j = i + 1; j < NT; ++j) {
                c[row(i) + 2 * j][to] = s.c[i][j][0];
                c[row(i) + 2 * j + 1][to] = s.c[i][j][1];
            }
        }
    }
};

/* The place of a thread's search in its tree. A column of shared memory has the system;
 * for each level the part of y that is left and the symbol of the path; and for the
 * levels above, the next symbol and the step to the one after. Level 2 i + 1 is the
 * imaginary axis of column i. */
template <int NT, int WIDTH>
class tree_walk
{
    static constexpr int depth = 2 * NT, threads = MIMOPACK_THREADS;

public:
    struct storage {
        shared_systems<NT, WIDTH> system;
        float left[depth][threads], symbol[depth][threads];
        float next[depth][threads], step[depth][threads];
    };

    int level;
    float at; /* symbol */

    /* Go to the nearest symbol of the top level; the system is there. */
    MP_FN void begin(storage& s)
    {
        const int own = threadIdx.x;
        level = depth - 1;
        d_others = 0;
        s.left[level - 1][own] = s.system.v[level - 1][own];
        enter(s, s.left[level][own] = s.system.v[level][own]);
    }

    /* The metric of the path with this symbol, given the metric of the levels above */
    MP_FN float metric(float above) const
    {
        return with_level(above, d_weight, d_left - at);
    }

    /* Go to the nearest symbol of the level below. The first axis of a column finds
     * what is left of y at both. */
    MP_FN void down(storage& s)
    {
        const int own = threadIdx.x;
        s.symbol[level][own] = at;
        const bool another = move_on<WIDTH>(at, d_step);
        s.next[level][own] = at;
        s.step[level][own] = d_step;
        d_others = (d_others & ~(1u << level)) | static_cast<unsigned>(another) << level;
        --level;
        if (level % 2) {
            const int i = level / 2, row = shared_systems<NT, WIDTH>::row(i);
            float re = s.system.v[2 * i][own], im = s.system.v[2 * i + 1][own];
            MP_UNROLL
            for (int j = 1; j < NT; ++j) {
                const float at_re = s.symbol[2 * j][own],
                            at_im = s.symbol[2 * j + 1][own];
                const float c[2] = { s.system.c[row + 2 * j][own],
                                     s.system.c[row + 2 * j + 1][own] };
                subtract_product(c, j > i ? at_re : 0.0f, j > i ? at_im : 0.0f, re, im);
            }
            s.left[level - 1][own] = re;
            s.left[level][own] = im;
        }
        enter(s, s.left[level][own]);
    }

    /* Go to the next symbol of the level; return whether there is one. */
    MP_FN bool on() { return move_on<WIDTH>(at, d_step); }

    /* Go to the next symbol of the nearest level above that has one; return whether
     * one has. */
    MP_FN bool up(const storage& s)
    {
        const int own = threadIdx.x;
        const unsigned above = d_others & ~1u << level;
        if (!above)
            return false;
        level = __ffs(above) - 1;
        at = s.next[level][own];
        d_step = s.step[level][own];
        d_left = s.left[level][own];
        d_weight = s.system.w[level / 2][own];
        return true;
    }

private:
    unsigned d_others; /* levels above that have another symbol */
    float d_left, d_weight, d_step;

    MP_FN void enter(const storage& s, float left)
    {
        d_left = left;
        d_weight = s.system.w[level / 2][threadIdx.x];
        at = axis_slice<WIDTH>(left).level;
        d_step = copysignf(1.0f, left - at);
    }
};

/* A good candidate. It tries all symbols of column 0, which the search decides last as
 * noise is amplified most there, each with the nearest symbols of the other columns. The
 * metric is the one that the search finds, to the last bit. */
template <int NT, int WIDTH>
struct first_candidate {
    static constexpr int top = NT - 1;
    float symbol[2 * NT] /* by level */, metric = 0.0f;

    MP_FN explicit first_candidate(const register_system<NT, WIDTH>& system)
    {
        register_system<NT, WIDTH> s = system;
        s.raise(constant_column<0>());
        bit_minima<NT, WIDTH> none;
        float least = no_metric;
        int number = 0;
        expand_top<false>(s, none, [&](const auto& x) {
            number = x.metric < least ? x.number : number;
            least = fminf(x.metric, least);
        });
        symbol[0] = axis_level<WIDTH>(number % (1 << WIDTH));
        symbol[1] = axis_level<WIDTH>(number >> WIDTH);
        MP_UNROLL
        for (int i = top; i > 0; --i) {
            /* row i - 1 of the system with the raised column */
            float re = s.v[2 * i - 2], im = s.v[2 * i - 1];
            MP_UNROLL
            for (int j = top; j >= i; --j) {
                const int from = j < top ? 2 * (j + 1) : 0;
                subtract_product(s.c[i - 1][j], symbol[from], symbol[from + 1], re, im);
            }
            symbol[2 * i] = axis_slice<WIDTH>(re).level;
            symbol[2 * i + 1] = axis_slice<WIDTH>(im).level;
        }
        MP_UNROLL
        for (int i = top; i >= 0; --i) {
            float re = system.v[2 * i], im = system.v[2 * i + 1];
            MP_UNROLL
            for (int j = i + 1; j < NT; ++j)
                subtract_product(
                    system.c[i][j], symbol[2 * j], symbol[2 * j + 1], re, im);
            metric = with_level(metric, system.w[i], im - symbol[2 * i + 1]);
            metric = with_level(metric, system.w[i], re - symbol[2 * i]);
        }
    }
};

template <int NT, int NR, int WIDTH>
class shared_sphere
{
    static constexpr int threads = MIMOPACK_THREADS;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int depth = 2 * NT;

    struct storage {
        typename tree_walk<NT, WIDTH>::storage tree;
        float above[depth][threads]; /* metric of the levels above */
    };

public:
    using mask = lane::mask;
    static constexpr int least_blocks = program::matrix_each ? 8 : 1; /* in registers */

    /* max_nodes: 0 for no limit */
    MP_FN shared_sphere(arena<lane>& a, const constellation& c, int max_nodes)
        : d_scale(c.scale), d_max_nodes(max_nodes), d_order(a, NT, NR), d_qr(a, NT, NR)
    {
    }

    MP_FN void prepare(const lane* h)
    {
        d_order.sort(h, 0);
        d_qr.decompose(&d_order.columns.h[0]);
    }

    MP_FN mask detect(const lane* y, lane, const lane*, lane* llr)
    {
        storage& s = shared();
        register_system<NT, WIDTH> system;
        const mask usable = d_qr.usable & system.set(d_qr, y, d_scale);
        const first_candidate<NT, WIDTH> first(system);
        s.tree.system.set(system);
        float best[depth];
        MP_UNROLL
        for (int level = 0; level < depth; ++level)
            best[level] = first.symbol[level];
        /* nothing is below a negative bound */
        d_truncated = search(s, usable.m ? fminf(first.metric, infinity) : -1.0f, best);
        lane by_column[NT * bits];
        MP_UNROLL
        for (int level = 0; level < depth; ++level) {
            const axis_slice<WIDTH> slice(best[level]);
            MP_UNROLL
            for (int b = 0; b < WIDTH; ++b)
                by_column[level * WIDTH + b].v = slice.bit[b] ? 1.0f : -1.0f;
        }
        d_order.columns.to_layers(by_column, bits, llr);
        return usable;
    }

    MP_FN int truncated() const { return d_truncated; }

private:
    const float d_scale;
    const int d_max_nodes;
    bool d_truncated = false;
    amplification_order<lane, NT, NR> d_order;
    unscaled_qr<lane, NT, NR> d_qr;

    /* Visit a node each turn; set the symbols of the best leaf below the bound. Return
     * whether the budget has ended the search. */
    MP_FN bool search(storage& s, float bound, float (&best)[depth]) const
    {
        const int own = threadIdx.x;
        tree_walk<NT, WIDTH> walk;
        walk.begin(s.tree);
        float upper = 0.0f; /* metric of the levels above */
        int visited = 0;
        bool more = true;
        do {
            ++visited;
            const float metric = walk.metric(upper);
            const bool nearer = metric < bound;
            if (nearer && walk.level > 0) {
                s.above[walk.level][own] = upper;
                walk.down(s.tree);
                upper = metric;
            } else {
                if (nearer) {
                    bound = metric;
                    best[0] = walk.at;
                    MP_UNROLL
                    for (int l = 1; l < depth; ++l)
                        best[l] = s.tree.symbol[l][own];
                }
                more = walk.up(s.tree); /* siblings are farther */
                upper = more ? s.above[walk.level][own] : upper;
            }
        } while (more && (d_max_nodes == 0 || visited < d_max_nodes));
        return more;
    }

    MP_FN static storage& shared()
    {
        __shared__ storage s;
        return s;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

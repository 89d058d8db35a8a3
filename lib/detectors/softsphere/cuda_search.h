/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact max-log LLRs with one thread for each vector: a single tree search (C. Studer, A.
 * Burg, H. Boelcskei, IEEE JSAC 26(2), 2008), depth first, one node in each turn of one
 * loop. It starts from N-way's candidates.
 *
 * A hypothesis is a bit and its value; its metric is the best candidate's so far. A node
 * is worth visiting if its metric is below the metric of a hypothesis that a leaf under
 * it could improve: the hypotheses of its path, and both of each bit below. Bounds that
 * the way down has noted may have fallen since; this costs nodes, but no accuracy.
 *
 * Square QAM of up to three bits per axis, no a-priori LLRs. */
#pragma once
#include "detectors/sphere/cuda_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int NT, int NR, int WIDTH>
class shared_soft_search
{
    static constexpr int threads = MIMOPACK_THREADS;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int depth = 2 * NT;

    struct storage {
        typename tree_walk<NT, WIDTH>::storage tree;
        /* for each level: the metric of the levels above, and the largest hypothesis of
         * their path */
        float above[depth][threads], worth[depth][threads];
        /* for each level: its bits' hypotheses, zero and one; the largest one below */
        float hypothesis[depth * WIDTH * 2][threads], below[depth + 1][threads];
        /* The vectors that wait for a search. A hypothesis matters up to `slack` above
         * the best candidate; it is negative where there is nothing to search. */
        shared_systems<NT, WIDTH> waiting;
        float seeded[depth * WIDTH * 2][threads], layer[NT][threads], slack[threads];
    };

public:
    using mask = lane::mask;
    static constexpr int shared_bytes = sizeof(storage);
    static_assert(shared_bytes <= 48 * 1024);

    MP_FN shared_soft_search(arena<lane>& a, const constellation& c, float clip)
        : d_scale(c.scale),
          d_clip(clip),
          d_order(a, NT, NR),
          d_qr(a, NT, NR),
          d_columns(a, NT)
    {
    }

    MP_FN void prepare(const lane* h)
    {
        d_order.sort(h, 0);
        d_qr.decompose(&d_order.columns.h[0]);
    }

    /* A search in steps, as shared_sphere has it */
    MP_FN void put(const lane* y, lane noise_var, int place)
    {
        storage& s = shared();
        register_system<NT, WIDTH> system;
        const mask usable = d_qr.usable & system.set(d_qr, y, d_scale);
        bit_minima<NT, WIDTH> m;
        seed(system, m);
        s.waiting.set(system, place);
        s.slack[place] = usable.m ? d_clip * noise_var.v : -1.0f;
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b) {
            s.seeded[2 * b][place] = m.zero[b / bits][b % bits];
            s.seeded[2 * b + 1][place] = m.one[b / bits][b % bits];
        }
        MP_UNROLL
        for (int c = 0; c < NT; ++c)
            s.layer[c][place] = d_order.columns.layer[c].v;
    }

    MP_FN void take(int place)
    {
        storage& s = shared();
        const int own = threadIdx.x;
        s.tree.system.copy(s.waiting, place, own);
        const column<depth * WIDTH * 2> seeded(s.seeded, place);
        s.below[0][own] = 0.0f;
        note(seeded);
        MP_UNROLL
        for (int c = 0; c < NT; ++c)
            d_columns.layer[c].v = s.layer[c][place];
        d_slack = s.slack[place];
        d_usable.m = d_slack >= 0.0f;
        d_best = d_usable.m ? fminf(seeded.entry[0], seeded.entry[1]) : -no_metric;
        d_upper = d_path = 0.0f;
        d_walk.begin(s.tree);
    }

    /* Visit a node; return whether there is another. */
    MP_FN bool advance()
    {
        storage& s = shared();
        const int own = threadIdx.x, level = d_walk.level;
        const float metric = d_walk.metric(d_upper);
        const axis_slice<WIDTH> slice(d_walk.at);
        float worth = d_path;
        MP_UNROLL
        for (int b = 0; b < WIDTH; ++b)
            worth =
                fmaxf(worth, s.hypothesis[2 * (level * WIDTH + b) + slice.bit[b]][own]);
        const float all = d_best + d_slack;
        /* A farther sibling can be worth while where a nearer one is not, as its bits
         * differ. None is where the metric is above all hypotheses of the level. */
        bool sibling = metric < fminf(fmaxf(d_path, s.below[level + 1][own]), all);
        if (metric < fminf(fmaxf(worth, s.below[level][own]), all)) {
            if (level > 0) {
                s.above[level][own] = d_upper;
                s.worth[level][own] = d_path;
                d_walk.down(s.tree);
                d_upper = metric;
                d_path = worth;
                return true;
            }
            improve(metric);
            sibling = true;
        }
        if (sibling && d_walk.on())
            return true;
        if (!d_walk.up(s.tree))
            return false;
        d_upper = s.above[d_walk.level][own];
        d_path = s.worth[d_walk.level][own];
        return true;
    }

    MP_FN mask finish(lane noise_var, lane* llr) const
    {
        const storage& s = shared();
        bit_minima<NT, WIDTH> m;
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b) {
            m.zero[b / bits][b % bits] = s.hypothesis[2 * b][threadIdx.x];
            m.one[b / bits][b % bits] = s.hypothesis[2 * b + 1][threadIdx.x];
        }
        lane by_column[NT * bits];
        m.llrs(reciprocal(noise_var).v, d_clip, by_column);
        d_columns.to_layers(by_column, bits, llr);
        return d_usable;
    }

private:
    const float d_scale, d_clip;
    amplification_order<lane, NT, NR> d_order;
    unscaled_qr<lane, NT, NR> d_qr;
    /* the search */
    column_layers<lane, NT> d_columns;
    mask d_usable;
    tree_walk<NT, WIDTH> d_walk;
    float d_best, d_slack;
    float d_upper, d_path; /* metric of the levels above, their largest hypothesis */

    MP_FN static storage& shared()
    {
        __shared__ storage s;
        return s;
    }

    /* N-way with all passes; columns and minima end where they began. */
    MP_FN static void seed(register_system<NT, WIDTH> s, bit_minima<NT, WIDTH>& m)
    {
#pragma unroll 1
        for (int pass = 0; pass < NT; ++pass) {
            expand_top<true>(s, m, [](const auto&) {});
            s.raise(constant_column<0>());
            m.raise(constant_column<0>());
        }
    }

    /* A leaf improves hypotheses. */
    MP_FN void improve(float metric)
    {
        storage& s = shared();
        const int own = threadIdx.x;
        d_best = fminf(d_best, metric);
        column<depth> symbol(s.tree.symbol, own);
        column<depth * WIDTH * 2> hypothesis(s.hypothesis, own);
        symbol.entry[0] = d_walk.at;
        MP_UNROLL
        for (int l = 0; l < depth; ++l) {
            const axis_slice<WIDTH> of(symbol.entry[l]);
            MP_UNROLL
            for (int b = 0; b < WIDTH; ++b) {
                float& zero = hypothesis.entry[2 * (l * WIDTH + b)];
                float& one = hypothesis.entry[2 * (l * WIDTH + b) + 1];
                zero = of.bit[b] ? zero : fminf(zero, metric);
                one = of.bit[b] ? fminf(one, metric) : one;
            }
        }
        note(hypothesis);
    }

    /* Note all hypotheses, and the largest one below each level. */
    MP_FN static void note(const column<depth * WIDTH * 2>& hypothesis)
    {
        storage& s = shared();
        const int own = threadIdx.x;
        hypothesis.store(s.hypothesis, own);
        float most = 0.0f;
        MP_UNROLL
        for (int l = 0; l < depth; ++l) {
            MP_UNROLL
            for (int i = 2 * WIDTH * l; i < 2 * WIDTH * (l + 1); ++i)
                most = fmaxf(most, hypothesis.entry[i]);
            s.below[l + 1][own] = most;
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact max-log LLRs for one thread per vector: a single tree search (C. Studer, A. Burg,
 * H. Boelcskei, IEEE JSAC 26(2), 2008), depth first, one node in each turn of one loop,
 * from N-way's candidates.
 *
 * A hypothesis is a bit and its value, its metric that of the best candidate so far. A
 * node is worth going on from while its metric is below that of a hypothesis which a leaf
 * under it could improve: those of its path, and both of each bit below. Bounds that the
 * way down has noted may have fallen since, which costs nodes, not the solution.
 *
 * Square QAM of up to three bits per axis, no a-priori LLRs. */
#pragma once
#include "sphere.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int NT, int NR, int WIDTH>
class shared_soft_search
{
public:
    using mask = lane::mask;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int depth = 2 * NT;
    static constexpr int shared_bytes =
        sizeof(shared_tree<NT, WIDTH>) + 4 * MIMOPACK_THREADS * (3 + 2 * WIDTH) * depth;

    MP_FN shared_soft_search(arena<lane>& a, const constellation& c, float clip)
        : d_scale(c.scale), d_clip(clip), d_order(a, NT, NR), d_qr(a, NT, NR)
    {
    }

    MP_FN void prepare(const lane* h)
    {
        d_order.sort(h, 0);
        d_qr.decompose(&d_order.columns.h[0]);
    }

    MP_FN mask detect(const lane* y, lane noise_var, const lane*, lane* llr)
    {
        register_system<NT, WIDTH> s;
        const mask usable = d_qr.usable & s.set(d_qr, y, d_scale);
        bit_minima<NT, WIDTH> m;
        seed(s, m);
        if (usable.m)
            search(s, m, d_clip * noise_var.v);
        lane by_column[NT * bits];
        m.llrs(reciprocal(noise_var).v, d_clip, by_column);
        d_order.columns.to_layers(by_column, bits, llr);
        return usable;
    }

private:
    const float d_scale, d_clip;
    amplification_order<lane, NT, NR> d_order;
    unscaled_qr<lane, NT, NR> d_qr;

    /* N-way with all passes, after which columns and minima are where they were */
    MP_FN static void seed(register_system<NT, WIDTH> s, bit_minima<NT, WIDTH>& m)
    {
#pragma unroll 1
        for (int pass = 0; pass < NT; ++pass) {
            expand_top<true>(s, m, [](float, int) {});
            s.raise(constant_column<0>());
            m.raise(constant_column<0>());
        }
    }

    /* slack: how far above the best candidate a hypothesis matters */
    MP_FN static void
    search(const register_system<NT, WIDTH>& s, bit_minima<NT, WIDTH>& m, float slack)
    {
        constexpr int threads = MIMOPACK_THREADS;
        __shared__ shared_tree<NT, WIDTH> tree;
        /* of each level: metric of those above, and the largest hypothesis of their path
         */
        __shared__ float above[depth][threads], worth[depth][threads];
        /* of each level's bits, zero and one; and the largest of the levels below */
        __shared__ float hypothesis[depth * WIDTH * 2][threads], below[depth][threads];
        const int own = threadIdx.x;
        tree.set(s);
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b) {
            hypothesis[2 * b][own] = m.zero[b / bits][b % bits];
            hypothesis[2 * b + 1][own] = m.one[b / bits][b % bits];
        }
        float best = fminf(m.zero[0][0], m.one[0][0]);
        note_below(hypothesis, below, own);
        int level = depth - 1;
        float u = s.v[level];
        float at = axis_slice<WIDTH>(u).level;
        float next = copysignf(1.0f, u - at), upper = 0.0f, path = 0.0f;
        while (level < depth) {
            const float e = u - at;
            const float metric = fmaf(tree.weight(level) * e, e, upper);
            const axis_slice<WIDTH> slice(at);
            float worth_here = path;
            MP_UNROLL
            for (int b = 0; b < WIDTH; ++b)
                worth_here = fmaxf(
                    worth_here, hypothesis[2 * (level * WIDTH + b) + slice.bit[b]][own]);
            bool climbs =
                !(metric < fminf(fmaxf(worth_here, below[level][own]), best + slack));
            /* Farther siblings can be worth it where a nearer one is not, as their bits
             * differ; none is where the metric is above all hypotheses of the level. */
            bool sibling =
                climbs && metric < fminf(fmaxf(path, both(hypothesis, below, level, own)),
                                         best + slack);
            if (!climbs && level == 0) {
                tree.symbol[0][own] = at;
                best = fminf(best, metric);
                for (int l = 0; l < depth; ++l) {
                    const axis_slice<WIDTH> of(tree.symbol[l][own]);
                    MP_UNROLL
                    for (int b = 0; b < WIDTH; ++b) {
                        float& h = hypothesis[2 * (l * WIDTH + b) + of.bit[b]][own];
                        h = fminf(h, metric);
                    }
                }
                note_below(hypothesis, below, own);
                climbs = sibling = true;
            }
            if (climbs) {
                /* to the next symbol of this level, or of the nearest that has one */
                if (!(sibling && move_on<WIDTH>(at, next))) {
                    level = tree.climb(level, at, next);
                    if (level < depth) {
                        u = tree.left[level][own];
                        upper = above[level][own];
                        path = worth[level][own];
                    }
                }
            } else {
                tree.symbol[level][own] = at;
                tree.step[level][own] = next;
                above[level][own] = upper;
                worth[level][own] = path;
                u = tree.enter(--level);
                upper = metric;
                path = worth_here;
                at = axis_slice<WIDTH>(u).level;
                next = copysignf(1.0f, u - at);
            }
        }
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b) {
            m.zero[b / bits][b % bits] = hypothesis[2 * b][own];
            m.one[b / bits][b % bits] = hypothesis[2 * b + 1][own];
        }
    }

    /* The largest of both hypotheses of the level's bits, and of those below */
    template <class Hypotheses, class Below>
    MP_FN static float
    both(const Hypotheses& hypothesis, const Below& below, int level, int own)
    {
        float most = below[level][own];
        MP_UNROLL
        for (int i = 0; i < 2 * WIDTH; ++i)
            most = fmaxf(most, hypothesis[2 * level * WIDTH + i][own]);
        return most;
    }

    template <class Hypotheses, class Below>
    MP_FN static void note_below(const Hypotheses& hypothesis, Below& below, int own)
    {
        below[0][own] = 0.0f;
        for (int level = 1; level < depth; ++level)
            below[level][own] = both(hypothesis, below, level - 1, own);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

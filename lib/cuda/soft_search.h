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
    static constexpr int threads = MIMOPACK_THREADS;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int depth = 2 * NT;

    struct storage {
        shared_tree<NT, WIDTH> tree;
        /* of each level: metric of those above, and the largest hypothesis of their path
         */
        float above[depth][threads], worth[depth][threads];
        /* of each level's bits, zero and one; and the largest of the levels below */
        float hypothesis[depth * WIDTH * 2][threads], below[depth][threads];
        /* vectors that wait for a search; slack: how far above the best candidate a
         * hypothesis matters, negative where there is nothing to search */
        shared_systems<NT, WIDTH> waiting;
        float seeded[depth * WIDTH * 2][threads], layer[NT][threads], slack[threads];
    };

public:
    using mask = lane::mask;
    static constexpr int shared_bytes = sizeof(storage);

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

    MP_FN mask detect(const lane* y, lane noise_var, const lane*, lane* llr)
    {
        put(y, noise_var, threadIdx.x);
        take(threadIdx.x);
        while (advance()) {
        }
        return finish(noise_var, llr);
    }

    /* detect() in steps, as that of shared_sphere */
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
        s.tree.copy(s.waiting, place, own);
        MP_UNROLL
        for (int i = 0; i < depth * WIDTH * 2; ++i)
            s.hypothesis[i][own] = s.seeded[i][place];
        MP_UNROLL
        for (int c = 0; c < NT; ++c)
            d_columns.layer[c].v = s.layer[c][place];
        note_below();
        d_slack = s.slack[place];
        d_usable.m = d_slack >= 0.0f;
        d_best =
            d_usable.m ? fminf(s.hypothesis[0][own], s.hypothesis[1][own]) : -no_metric;
        d_level = depth - 1;
        d_upper = d_path = 0.0f;
        enter(s.tree.begin());
    }

    /* One node; whether there is another */
    MP_FN bool advance()
    {
        storage& s = shared();
        const int own = threadIdx.x;
        const float e = d_u - d_at;
        const float metric = with_level(d_upper, s.tree.weight(d_level), e);
        const axis_slice<WIDTH> slice(d_at);
        float worth = d_path;
        MP_UNROLL
        for (int b = 0; b < WIDTH; ++b)
            worth =
                fmaxf(worth, s.hypothesis[2 * (d_level * WIDTH + b) + slice.bit[b]][own]);
        bool climbs =
            !(metric < fminf(fmaxf(worth, s.below[d_level][own]), d_best + d_slack));
        /* Farther siblings can be worth it where a nearer one is not, as their bits
         * differ; none is where the metric is above all hypotheses of the level. */
        bool sibling =
            climbs && metric < fminf(fmaxf(d_path, both(d_level)), d_best + d_slack);
        if (!climbs && d_level == 0) {
            s.tree.symbol[0][own] = d_at;
            d_best = fminf(d_best, metric);
            for (int l = 0; l < depth; ++l) {
                const axis_slice<WIDTH> of(s.tree.symbol[l][own]);
                MP_UNROLL
                for (int b = 0; b < WIDTH; ++b) {
                    float& h = s.hypothesis[2 * (l * WIDTH + b) + of.bit[b]][own];
                    h = fminf(h, metric);
                }
            }
            note_below();
            climbs = sibling = true;
        }
        if (climbs) {
            /* to the next symbol of this level, or of the nearest that has one */
            if (!(sibling && move_on<WIDTH>(d_at, d_step))) {
                d_level = s.tree.climb(d_level, d_at, d_step);
                if (d_level == depth)
                    return false;
                d_u = s.tree.left[d_level][own];
                d_upper = s.above[d_level][own];
                d_path = s.worth[d_level][own];
            }
        } else {
            s.tree.symbol[d_level][own] = d_at;
            s.tree.step[d_level][own] = d_step;
            s.above[d_level][own] = d_upper;
            s.worth[d_level][own] = d_path;
            enter(s.tree.enter(--d_level));
            d_upper = metric;
            d_path = worth;
        }
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
    int d_level;
    float d_best, d_slack;
    float d_u, d_at, d_step; /* what is left at the level, its symbol, the next step */
    float d_upper, d_path;   /* metric of the levels above, their largest hypothesis */

    MP_FN static storage& shared()
    {
        __shared__ storage s;
        return s;
    }

    /* A level, at its nearest symbol */
    MP_FN void enter(float u)
    {
        d_u = u;
        d_at = axis_slice<WIDTH>(u).level;
        d_step = copysignf(1.0f, u - d_at);
    }

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

    /* The largest of both hypotheses of the level's bits, and of those below */
    MP_FN static float both(int level)
    {
        const storage& s = shared();
        float most = s.below[level][threadIdx.x];
        MP_UNROLL
        for (int i = 0; i < 2 * WIDTH; ++i)
            most = fmaxf(most, s.hypothesis[2 * level * WIDTH + i][threadIdx.x]);
        return most;
    }

    MP_FN static void note_below()
    {
        storage& s = shared();
        s.below[0][threadIdx.x] = 0.0f;
        for (int level = 1; level < depth; ++level)
            s.below[level][threadIdx.x] = both(level - 1);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

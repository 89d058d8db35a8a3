/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard maximum likelihood for one thread per vector: depth first, Schnorr-Euchner (004
 * Algorithm 1), one node in each turn of one loop, so that a warp's threads stay together
 * wherever in their trees they are. What the depth indexes is in shared memory.
 *
 * Square QAM of up to three bits per axis, no a-priori LLRs, no count of nodes. */
#pragma once
#include "../kernels/amplification_order.h"
#include "registers.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH>
constexpr float largest_level = 0.5f * ((1 << WIDTH) - 1);

/* The next symbol of an axis by distance: steps +1, -2, +3 ... or -1, +2 ... from the
 * first; one that is not there is passed over. Returns whether there is another. */
template <int WIDTH>
MP_FN bool move_on(float& symbol, float& step)
{
    MP_UNROLL
    for (int attempt = 0; attempt < 2; ++attempt) {
        symbol = symbol + step;
        step = -step - copysignf(1.0f, step);
        if (fabsf(symbol) <= largest_level<WIDTH>)
            return true;
    }
    return false;
}

/* What the depth of a search indexes, a column of shared memory for each thread: the
 * system, and of each level what is left of y, its symbol and the next step. Level 2 i +
 * 1 is the imaginary axis of column i. */
template <int NT, int WIDTH>
struct shared_tree {
    static constexpr int depth = 2 * NT, threads = MIMOPACK_THREADS;
    float c[2 * NT * NT][threads], v[depth][threads], w[NT][threads];
    float left[depth][threads], symbol[depth][threads], step[depth][threads];

    MP_FN void set(const register_system<NT, WIDTH>& s)
    {
        const int own = threadIdx.x;
        MP_UNROLL
        for (int i = 0; i < NT; ++i) {
            w[i][own] = s.w[i];
            v[2 * i][own] = s.v[2 * i];
            v[2 * i + 1][own] = s.v[2 * i + 1];
            MP_UNROLL
            for (int j = i + 1; j < NT; ++j) {
                c[2 * (i * NT + j)][own] = s.c[i][j][0];
                c[2 * (i * NT + j) + 1][own] = s.c[i][j][1];
            }
        }
        left[depth - 1][own] = s.v[depth - 1];
        left[depth - 2][own] = s.v[depth - 2];
    }

    MP_FN float weight(int level) const { return w[level / 2][threadIdx.x]; }

    /* What is left at a level, given the symbols above; both axes at a column's first */
    MP_FN float enter(int level)
    {
        const int own = threadIdx.x;
        if (level % 2) {
            const int i = level / 2;
            float re = v[2 * i][own], im = v[2 * i + 1][own];
            for (int j = i + 1; j < NT; ++j) {
                const float c_re = c[2 * (i * NT + j)][own],
                            c_im = c[2 * (i * NT + j) + 1][own];
                const float k_re = symbol[2 * j][own], k_im = symbol[2 * j + 1][own];
                re = fmaf(c_im, k_im, fmaf(-c_re, k_re, re));
                im = fmaf(-c_im, k_re, fmaf(-c_re, k_im, im));
            }
            left[level - 1][own] = re;
            left[level][own] = im;
        }
        return left[level][own];
    }

    /* From a level on up to the nearest that has another symbol, which is then `at`;
     * returns that level, or the depth. */
    MP_FN int climb(int level, float& at, float& next) const
    {
        for (++level; level < depth; ++level) {
            at = symbol[level][threadIdx.x];
            next = step[level][threadIdx.x];
            if (move_on<WIDTH>(at, next))
                break;
        }
        return level;
    }
};

template <int NT, int NR, int WIDTH>
class shared_sphere
{
public:
    using mask = lane::mask;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int depth = 2 * NT;
    static constexpr int shared_bytes =
        sizeof(shared_tree<NT, WIDTH>) + 4 * MIMOPACK_THREADS * depth;

    MP_FN shared_sphere(arena<lane>& a, const constellation& c)
        : d_scale(c.scale), d_order(a, NT, NR), d_qr(a, NT, NR)
    {
    }

    MP_FN void prepare(const lane* h)
    {
        d_order.sort(h, 0);
        d_qr.decompose(&d_order.columns.h[0]);
    }

    MP_FN mask detect(const lane* y, lane, const lane*, lane* llr)
    {
        register_system<NT, WIDTH> s;
        const mask usable = d_qr.usable & s.set(d_qr, y, d_scale);
        float best[depth];
        search(s, usable.m ? infinity : -1.0f, best);
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

private:
    const float d_scale;
    amplification_order<lane, NT, NR> d_order;
    unscaled_qr<lane, NT, NR> d_qr;

    /* bound: infinite, or negative where there is nothing to search */
    MP_FN static void
    search(const register_system<NT, WIDTH>& s, float bound, float* best)
    {
        __shared__ shared_tree<NT, WIDTH> tree;
        __shared__ float above[depth][MIMOPACK_THREADS]; /* metric of the levels above */
        const int own = threadIdx.x;
        tree.set(s);
        MP_UNROLL
        for (int level = 0; level < depth; ++level)
            best[level] = largest_level<WIDTH>;
        above[depth - 1][own] = 0.0f;
        int level = depth - 1;
        float u = s.v[level];
        float at = axis_slice<WIDTH>(u).level;
        float next = copysignf(1.0f, u - at), upper = 0.0f;
        while (level < depth) {
            const float e = u - at;
            const float metric = fmaf(tree.weight(level) * e, e, upper);
            bool climbs = !(metric < bound);
            if (!climbs && level == 0) {
                bound = metric;
                best[0] = at;
                MP_UNROLL
                for (int l = 1; l < depth; ++l)
                    best[l] = tree.symbol[l][own];
                climbs = true; /* the siblings of the nearest leaf are farther */
            }
            if (climbs) {
                level = tree.climb(level, at, next);
                if (level < depth) {
                    u = tree.left[level][own];
                    upper = above[level][own];
                }
            } else {
                tree.symbol[level][own] = at;
                tree.step[level][own] = next;
                u = tree.enter(--level);
                above[level][own] = upper = metric;
                at = axis_slice<WIDTH>(u).level;
                next = copysignf(1.0f, u - at);
            }
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* OMAP and MLA for square QAM by teams of threads. A team takes a vector, each of its
 * threads takes subtrees of the top level, and the team combines the results.
 *
 * R's diagonal is real. Given the layers above, the last layer's least metric and its sum
 * of exp(-metric) are therefore found for each axis by itself: M^(nt-1) slices take the
 * place of M^nt leaves. The bits of a layer high in the tree cost little, so there are
 * several searches, with columns rotated in between (see detectors/exhaustive/sliced.h).
 *
 * Metrics are in units of the noise. OMAP's are in bits: weights are 2^-metric. Gain over
 * a thread for each vector on an H200: MLA 3.6 (4x4 QPSK), OMAP 4.5 (2x2 16-QAM) to 20
 * (2x2 64-QAM). */
#pragma once
#include "detectors/exhaustive/cuda_sums.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int NT, int NR, int WIDTH, class Sum>
class team_sliced_search
{
    static constexpr int side = 1 << WIDTH;
    static constexpr int size = side * side;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int top = NT - 1;
    static constexpr bool with_prior = program::has_prior;
    static constexpr bool by_axis = Sum::sums && !with_prior;
    /* A thread takes one or several symbols of the top level, or threads share a symbol.
     * The branches of axis_sums depend on the vector, so a warp should have only one. */
    static constexpr int shares = by_axis && NT == 4 && WIDTH == 2 ? 2 : 1;
    static constexpr int team = size * shares < 32 ? size : 32,
                         turns = size * shares / team;
    /* The levels whose bits a search finds: the top one, and the next where two levels
     * are left below it. Columns rotate by as many. */
    static constexpr int covered = NT > 3 ? 2 : 1, searches = NT / covered;
    /* A vector's row in shared memory holds the model of each search and the costs of all
     * axes. LLRs take the place of the models. An odd number of floats keeps rows in
     * different banks. */
    static constexpr int model_size = NT * (NT + 2);
    static constexpr int costs_at = searches * model_size;
    static constexpr int row_size = (costs_at + (with_prior ? 2 * NT * side : 0)) | 1;

public:
    using mask = lane::mask;
    static constexpr int shared_bytes = sizeof(float) * MIMOPACK_THREADS * row_size;
    static_assert(shared_bytes <= 48 * 1024);
    /* Registers hold 16 children with one number each, or with two. */
    static constexpr int team_blocks = !Sum::sums && !with_prior && WIDTH < 3 ? 12 : 8;

    MP_FN
    team_sliced_search(arena<lane>& a, const constellation& c, float clip, bool any_rank)
        : d_scale(c.scale), d_clip(clip), d_any_rank(any_rank), d_qr(a, NT, NR)
    {
        static_assert(NT >= 2 && NT <= 4 && covered * bits <= model_size);
    }

    MP_FN void use_rows(int rows) { d_rows = rows; }
    MP_FN void prepare(const lane* h) { d_qr.decompose(h); }

    /* A warp's threads come here together. Clipping limits how far an LLR moves from its
     * prior. */
    MP_FN mask detect(const lane* y, lane noise_var, const lane* prior, lane* llr)
    {
        __shared__ float rows[MIMOPACK_THREADS][row_size];
        float* const own = rows[threadIdx.x];
        register_system<NT, WIDTH> s;
        const mask finite = s.set(d_qr, y, d_scale);
        const float unit = reciprocal(noise_var).v / Sum::nats;
        MP_UNROLL
        for (int search = 0; search < searches; ++search) {
            MP_UNROLL
            for (int i = 0; search && i < covered; ++i)
                s.raise(constant_column<0>());
            store(s, unit, own + search * model_size);
        }
        if constexpr (with_prior) {
            MP_UNROLL
            for (int axis = 0; axis < 2 * NT; ++axis) {
                lane cost[side];
                axis_penalties<WIDTH>(prior + axis * WIDTH, cost);
                MP_UNROLL
                for (int k = 0; k < side; ++k)
                    own[costs_at + axis * side + k] = cost[k].v / Sum::nats;
            }
        }
        __syncwarp();
        const unsigned in_warp = threadIdx.x % 32;
        float* row = rows[threadIdx.x - in_warp + in_warp / team];
#pragma unroll 1
        for (int first = 0; first < d_rows; first += 32 / team) {
#pragma unroll 1
            for (int search = 0; search < searches; ++search)
                find(search, row, in_warp % team);
            row += 32 / team * row_size;
        }
        __syncwarp();
        MP_UNROLL
        for (int search = 0; search < searches; ++search) {
            MP_UNROLL
            for (int b = 0; b < covered * bits; ++b) {
                const int to = layer(search, top - b / bits) * bits + b % bits;
                const lane found(own[search * model_size + b] * Sum::nats);
                llr[to] = clipped(with_prior ? prior[to] : lane(0.0f), found, d_clip);
            }
        }
        return finite & (d_any_rank ? d_qr.finite : d_qr.usable);
    }

private:
    const float d_scale, d_clip;
    const bool d_any_rank; /* otherwise an H without full rank is an erasure */
    unscaled_qr<lane, NT, NR> d_qr;
    int d_rows = 32;

    /* The layer that stands at a level in a search */
    MP_FN static constexpr int layer(int search, int level)
    {
        return (level + search * covered) % NT;
    }

    /* b - sum_{j>=i} r_ij s_j, s in steps of 1 round 0; level 0 in units of axis_sums */
    struct model {
        float b[2 * NT], diagonal[NT]; /* [0]: half the distance of level 0's levels */
        float r[NT][NT][2];
        axis_sums<WIDTH> sums;
        float unit; /* of level 0's metrics in axis_sums */

        MP_FN explicit model(const float* from)
            : sums(from[2]), unit(from[2] > 0.0f ? 0.25f * reciprocal(from[2]) : 0.0f)
        {
            MP_UNROLL
            for (int i = 0; i < NT; ++i) {
                b[2 * i] = *from++;
                b[2 * i + 1] = *from++;
                diagonal[i] = *from++;
                MP_UNROLL
                for (int j = i + 1; j < NT; ++j) {
                    r[i][j][0] = *from++;
                    r[i][j][1] = *from++;
                }
            }
        }

        /* Take the symbol of a level out of the levels below. */
        MP_FN void cancel(int level, float k_re, float k_im)
        {
            MP_UNROLL
            for (int i = 0; i < level; ++i)
                subtract_product(r[i][level], k_re, k_im, b[2 * i], b[2 * i + 1]);
        }

        /* The metric that the symbol of a level adds */
        MP_FN float metric(int level, float k_re, float k_im) const
        {
            const float e_re = fmaf(-diagonal[level], k_re, b[2 * level]),
                        e_im = fmaf(-diagonal[level], k_im, b[2 * level + 1]);
            return fmaf(e_re, e_re, e_im * e_im);
        }
    };

    MP_FN static void store(const register_system<NT, WIDTH>& s, float unit, float* to)
    {
        MP_UNROLL
        for (int i = 0; i < NT; ++i) {
            const float weight = s.w[i] * unit;
            const float root = weight > 0.0f ? weight * rsqrt(lane(weight)).v : 0.0f;
            const float scale = i == 0 && by_axis ? 2.0f * weight : root;
            *to++ = scale * s.v[2 * i];
            *to++ = scale * s.v[2 * i + 1];
            *to++ = i == 0 ? 0.5f * scale : scale;
            MP_UNROLL
            for (int j = i + 1; j < NT; ++j) {
                *to++ = scale * s.c[i][j][0];
                *to++ = scale * s.c[i][j][1];
            }
        }
    }

    /* The a-priori costs of the two axes of a level */
    struct axis_costs {
        float re[side], im[side];
        MP_FN explicit axis_costs(const float* from)
        {
            MP_UNROLL
            for (int k = 0; with_prior && k < side; ++k) {
                re[k] = from[k];
                im[k] = from[side + k];
            }
        }
    };

    /* Combinations for both values of each bit of a level */
    struct bit_sums {
        Sum zero[bits], one[bits];
        MP_FN bit_sums()
        {
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                zero[b].clear();
                one[b].clear();
            }
        }

        /* Add level k's combination to the bits of an axis. */
        MP_FN void add(int axis, int k, const Sum& sum)
        {
            MP_UNROLL
            for (int b = 0; b < WIDTH; ++b) {
                if (gray_bit<WIDTH>(k, b))
                    one[axis * WIDTH + b].add(sum);
                else
                    zero[axis * WIDTH + b].add(sum);
            }
        }
    };

    /* Search one of the team's vectors for the bits of the covered levels. */
    MP_FN static void find(int search, float* row, int member)
    {
        float* const own = row + search * model_size;
        const auto cost = [=](int level) {
            return row + costs_at + 2 * side * layer(search, level);
        };
        const model all(own);
        const axis_costs last(cost(0)), above(cost(1));
        Sum subtree[turns];
        bit_sums lower;
        const int share = member / size;
#pragma unroll 1
        for (int turn = turns - 1; turn >= 0; --turn) {
            const int symbol = (member + turn * team) % size;
            const int k_re = symbol % side, k_im = symbol / side;
            model left = all;
            float metric =
                left.metric(top, axis_level<WIDTH>(k_re), axis_level<WIDTH>(k_im));
            if (with_prior)
                metric += cost(top)[k_re] + cost(top)[side + k_im];
            left.cancel(top, axis_level<WIDTH>(k_re), axis_level<WIDTH>(k_im));
            /* Shift the turns, so that the compiler knows all indices. */
            MP_UNROLL
            for (int i = turns - 1; i > 0; --i)
                subtree[i] = subtree[i - 1];
            if constexpr (NT == 2)
                subtree[0] = leaves(left, metric, last);
            else if constexpr (NT == 3)
                subtree[0] = children(left, metric, above, last);
            else
                subtree[0] = nodes(left, metric, share, cost(2), above, last, lower);
        }
        __syncwarp();
        MP_UNROLL
        for (int b = 0; b < covered * bits; ++b) {
            float zero, one;
            if (b < bits) {
                Sum of_zero, of_one;
                of_zero.clear();
                of_one.clear();
                MP_UNROLL
                for (int turn = 0; turn < turns; ++turn) {
                    const int symbol = (member + turn * team) % size;
                    const int k = b < WIDTH ? symbol % side : symbol / side;
                    if (gray_bit<WIDTH>(k, b % WIDTH))
                        of_one.add(subtree[turn]);
                    else
                        of_zero.add(subtree[turn]);
                }
                zero = of_zero.template over<team>();
                one = of_one.template over<team>();
            } else {
                zero = lower.zero[b - bits].template over<team>();
                one = lower.one[b - bits].template over<team>();
            }
            if (member == 0)
                own[b] = zero - one;
        }
    }

    /* A share of the symbols of level 2, each with its subtree */
    MP_FN static Sum nodes(const model& from,
                           float metric,
                           int share,
                           const float* cost,
                           const axis_costs& above,
                           const axis_costs& last,
                           bit_sums& found)
    {
        Sum all;
        all.clear();
#pragma unroll 1
        for (int i = 0; i < side / shares; ++i) {
            const int k_re = shares > 1 ? i * shares + share : i;
            Sum row;
            row.clear();
#pragma unroll 1
            for (int k_im = 0; k_im < side; ++k_im) {
                const float re = axis_level<WIDTH>(k_re), im = axis_level<WIDTH>(k_im);
                model left = from;
                float m = metric + left.metric(2, re, im);
                if (with_prior)
                    m += cost[k_re] + cost[side + k_im];
                left.cancel(2, re, im);
                const Sum below = children(left, m, above, last);
                found.add(1, k_im, below);
                row.add(below);
            }
            found.add(0, k_re, row);
            all.add(row);
        }
        return all;
    }

    /* All symbols of level 1, each with a slice of level 0 */
    MP_FN static Sum children(const model& from,
                              float metric,
                              const axis_costs& cost,
                              const axis_costs& last)
    {
        return !by_axis || from.sums.step < from.sums.close
                   ? children<true>(from, metric, cost, last)
                   : children<false>(from, metric, cost, last);
    }

    template <bool CLOSE>
    MP_FN static Sum children(const model& from,
                              float metric,
                              const axis_costs& cost,
                              const axis_costs& last)
    {
        float of_im[side];
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const float e = fmaf(-axis_level<WIDTH>(k), from.diagonal[1], from.b[3]);
            of_im[k] = with_prior ? fmaf(e, e, cost.im[k]) : e * e;
        }
        constexpr int together = WIDTH < 3 ? side : 1;
        Sum all;
        all.clear();
        MP_UNROLL
        for (int first = 0; first < side; first += together) {
            float m[together * side], weight[together * side];
            MP_UNROLL
            for (int i = 0; i < together; ++i) {
                const float re = axis_level<WIDTH>(first + i);
                const float e = fmaf(-re, from.diagonal[1], from.b[2]);
                const float of_re =
                    fmaf(e, e, with_prior ? metric + cost.re[first + i] : metric);
                const float u_re = fmaf(-from.r[0][1][0], re, from.b[0]),
                            u_im = fmaf(-from.r[0][1][1], re, from.b[1]);
                MP_UNROLL
                for (int k = 0; k < side; ++k) {
                    const float im = axis_level<WIDTH>(k);
                    m[i * side + k] = of_re + of_im[k];
                    weight[i * side + k] = slice<CLOSE>(from,
                                                        fmaf(from.r[0][1][1], im, u_re),
                                                        fmaf(-from.r[0][1][0], im, u_im),
                                                        last,
                                                        m[i * side + k]);
                }
            }
            const Sum part = Sum::of(m, weight);
            if (together == side)
                return part;
            all.add(part);
        }
        return all;
    }

    MP_FN static Sum leaves(const model& s, float metric, const axis_costs& cost)
    {
        float m[1] = { metric }, weight[1];
        if (!by_axis || s.sums.step < s.sums.close)
            weight[0] = slice<true>(s, s.b[0], s.b[1], cost, m[0]);
        else
            weight[0] = slice<false>(s, s.b[0], s.b[1], cost, m[0]);
        return Sum::of(m, weight);
    }

    /* Search all symbols of level 0; u is what remains of y there. Add the reference to
     * the metric, and return the sum of weights relative to it. */
    template <bool CLOSE>
    MP_FN static float
    slice(const model& s, float u_re, float u_im, const axis_costs& cost, float& metric)
    {
        const float step = s.diagonal[0];
        if constexpr (with_prior) {
            const float of_re = axis_sum<WIDTH, Sum>(u_re, step, cost.re, metric);
            return of_re * axis_sum<WIDTH, Sum>(u_im, step, cost.im, metric);
        } else {
            float e_re, e_im, sum = 1.0f;
            if constexpr (by_axis) {
                if (CLOSE)
                    sum = s.sums.all(u_re, e_re) * s.sums.all(u_im, e_im);
                else
                    sum = s.sums.nearest(u_re, e_re) * s.sums.nearest(u_im, e_im);
                metric = fmaf(fmaf(e_re, e_re, e_im * e_im), s.unit, metric);
            } else {
                e_re = axis_distance<WIDTH>(u_re, step);
                e_im = axis_distance<WIDTH>(u_im, step);
                metric = fmaf(e_re, e_re, fmaf(e_im, e_im, metric));
            }
            return sum;
        }
    }
};

/* M^(nt-1): the number of slices of a search */
constexpr long parents(int layers)
{
    return layers > 1 ? parents(layers - 1) << program::bits : 1;
}

/* Whether registers hold a search */
constexpr bool team_slices_fit = register_sizes_to(3, 4);

} // namespace MIMOPACK_ISA
} // namespace mimopack

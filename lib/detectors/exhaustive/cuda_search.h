/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* OMAP and MLA for square QAM by teams of threads: a team takes a vector, each of its
 * threads subtrees of the top level, and what they found is combined at the end.
 *
 * As R's diagonal is real, given the layers above the last one both its least metric and
 * its sum of exp(-metric) are found by axis: M^(nt-1) slices take the place of M^nt
 * leaves. A layer's bits come for little where it stands high in the tree; so there are
 * several searches, with columns rotated in between (see detectors/exhaustive/sliced.h).
 *
 * Metrics are in units of the noise, of OMAP in bits: 2^-metric instead of exp(-metric).
 */
#pragma once
#include "common/soft_symbols.h"
#include "cuda/registers.h"
#include "cuda/team.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The same two without a GPU: for tests. */
MP_FN float power_of_two(float x)
{
#ifdef __CUDA_ARCH__
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
#else
    return exp2f(x);
#endif
}

MP_FN float log_to_two(float x)
{
#ifdef __CUDA_ARCH__
    asm("lg2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
#else
    return log2f(x);
#endif
}

template <int TEAM>
MP_FN float least_of_team(float x)
{
    return over_team<TEAM>(x, [](float a, float b) { return fminf(a, b); });
}

/* Max-log combination of metrics, 000 eq. 12 */
struct least_metric {
    static constexpr bool sums = false;
    static constexpr float nats = 1.0f; /* of a metric's unit */
    float metric;

    MP_FN void clear() { metric = no_metric; }
    MP_FN void add(const least_metric& other) { metric = fminf(metric, other.metric); }

    /* Of COUNT metrics */
    template <int COUNT>
    MP_FN static least_metric of(const float (&m)[COUNT], const float*)
    {
        float least = m[0];
        MP_UNROLL
        for (int i = 1; i < COUNT; ++i)
            least = fminf(least, m[i]);
        return { least };
    }

    /* The value of all that a team has */
    template <int TEAM>
    MP_FN float over() const
    {
        return least_of_team<TEAM>(metric);
    }
};

/* Exact combination, 000 eq. 11: 2^-reference sum, the reference being the least metric
 */
struct binary_log_sum {
    static constexpr bool sums = true;
    static constexpr float nats = 0.69314718f;
    float reference, sum;

    MP_FN void clear()
    {
        reference = no_metric;
        sum = 0.0f;
    }

    MP_FN void add(const binary_log_sum& other)
    {
        const bool better = other.reference < reference;
        const float scale = power_of_two(-fabsf(other.reference - reference));
        sum = fmaf(better ? sum : other.sum, scale, better ? other.sum : sum);
        reference = fminf(reference, other.reference);
    }

    /* Of COUNT metrics and their weights */
    template <int COUNT>
    MP_FN static binary_log_sum of(const float (&m)[COUNT], const float* weight)
    {
        const float least = least_metric::of(m, weight).metric;
        float sum = 0.0f;
        MP_UNROLL
        for (int i = 0; i < COUNT; ++i)
            sum = fmaf(weight[i], power_of_two(least - m[i]), sum);
        return { least, sum };
    }

    template <int TEAM>
    MP_FN float over() const
    {
        const float least = least_of_team<TEAM>(reference);
        return least -
               log_to_two(over_team<TEAM>(sum * power_of_two(least - reference),
                                          [](float a, float b) { return a + b; }));
    }
};

/* -|x|; of fabsf and a sign ptxas makes two instructions */
MP_FN float minus_abs(float x)
{
    return __int_as_float(__float_as_int(x) | static_cast<int>(0x80000000u));
}

/* An axis' levels at odd multiples of a step round 0, and u in units where a metric is
 * d^2 / (4 step). Opposite levels k step and -k step differ by k |u|; neighbours, next to
 * t, by |u - t|. */
template <int WIDTH>
struct axis_sums {
    float step, ratio;

    /* Sums do not overflow while levels are closer; farther apart, no more than two of
     * them count. */
    static constexpr float close = WIDTH == 1 ? infinity : 24.0f;

    MP_FN explicit axis_sums(float step_)
        : step(step_), ratio(power_of_two(2.0f * fminf(step_, close)))
    {
    }

    /* The sum over all levels of 2^-(what the metric is above that of one of them), whose
     * distance it finds, with either sign */
    MP_FN float all(float u, float& distance) const
    {
        const float opposite = power_of_two(minus_abs(u));
        if constexpr (WIDTH == 1) {
            distance = fabsf(u) - step;
            return 1.0f + opposite;
        } else if constexpr (WIDTH == 2) {
            /* of the outermost */
            distance = fabsf(u) - 3.0f * step;
            return fmaf(opposite, fmaf(opposite, opposite + ratio, ratio), 1.0f);
        } else {
            /* of the nearest: the axis folded at its middle, and each half at its own */
            const float square = opposite * opposite, third = opposite * square;
            const float c1 = 1.0f + opposite, c3 = 1.0f + third;
            const float c5 = fmaf(third, square, 1.0f),
                        c7 = fmaf(third * square, square, 1.0f);
            const float t = fmaf(-4.0f, step, fabsf(u)), r = fmaf(-2.0f, step, fabsf(t));
            distance = fabsf(r) - step;
            const bool low = t < 0.0f, inner = r < 0.0f;
            const float across = power_of_two(minus_abs(t));
            const float near = fmaf(across, low ? c5 : c3, low ? c3 : c5);
            const float far =
                fmaf(across * across * across, low ? c7 : c1, low ? c1 : c7);
            return fmaf(
                power_of_two(minus_abs(r)), inner ? far : near, inner ? near : far);
        }
    }

    /* The same over the nearest two, of the nearest */
    MP_FN float nearest(float u, float& distance) const
    {
        float next = minus_abs(u);
        distance = u;
        MP_UNROLL
        for (int half = side / 2; half > 1; half /= 2) {
            distance = fmaf(-half, step, fabsf(distance));
            next = fmaxf(next, -fabsf(distance));
        }
        distance = fabsf(distance) - step;
        return 1.0f + power_of_two(next);
    }

private:
    static constexpr int side = 1 << WIDTH;
};

/* The distance of the nearest level, with either sign, for any unit */
template <int WIDTH>
MP_FN float axis_distance(float u, float step)
{
    if constexpr (WIDTH == 1)
        return fabsf(u) - step;
    else
        return axis_distance<WIDTH - 1>(fmaf(-(1 << (WIDTH - 1)), step, fabsf(u)), step);
}

/* With a-priori costs of the levels instead: the distance of a level is that of u, for
 * units where its metric is d^2. Adds the least to the metric. */
template <int WIDTH, class Sum>
MP_FN float axis_sum(float u, float step, const float* cost, float& metric)
{
    constexpr int side = 1 << WIDTH;
    float m[side], least = no_metric;
    MP_UNROLL
    for (int k = 0; k < side; ++k) {
        const float e = fmaf(-2.0f * axis_level<WIDTH>(k), step, u);
        m[k] = fmaf(e, e, cost[k]);
        least = fminf(least, m[k]);
    }
    metric += least;
    float sum = 0.0f;
    MP_UNROLL
    for (int k = 0; Sum::sums && k < side; ++k)
        sum += power_of_two(least - m[k]);
    return sum;
}

template <int NT, int NR, int WIDTH, class Sum>
class slice_search
{
    static constexpr int side = 1 << WIDTH;
    static constexpr int size = side * side;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int top = NT - 1;
    static constexpr bool with_prior = asked::has_prior;
    static constexpr bool by_axis = Sum::sums && !with_prior;
    /* Each thread of a team takes so many symbols of the top level, or shares one: with
     * axis_sums the way depends on the vector, so that a warp should have one. */
    static constexpr int shares = by_axis && NT == 4 && WIDTH == 2 ? 2 : 1;
    static constexpr int team = size * shares < 32 ? size : 32,
                         turns = size * shares / team;
    /* Levels whose bits a search finds: the top one, and one below it where two are left
     * below that. Columns rotate by as many. */
    static constexpr int covered = NT > 3 ? 2 : 1, searches = NT / covered;
    /* Of a vector, in shared memory: each search's model, whose place its LLRs take, and
     * the costs of all axes. An odd number of floats, so that vectors are in banks of
     * their own. */
    static constexpr int model_size = NT * (NT + 2);
    static constexpr int costs_at = searches * model_size;
    static constexpr int row_size = (costs_at + (with_prior ? 2 * NT * side : 0)) | 1;

public:
    using mask = lane::mask;
    static constexpr int shared_bytes = sizeof(float) * MIMOPACK_THREADS * row_size;
    static_assert(shared_bytes <= 48 * 1024);
    /* in registers: 16 children with one number each, or twice as many */
    static constexpr int team_blocks = !Sum::sums && !with_prior && WIDTH < 3 ? 12 : 8;

    MP_FN slice_search(arena<lane>& a, const constellation& c, float clip)
        : d_scale(c.scale), d_clip(clip), d_qr(a, NT, NR)
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
                const lane known = with_prior ? prior[to] : lane(0.0f);
                const lane found(own[search * model_size + b] * Sum::nats);
                llr[to] = known + clamp(found - known, lane(d_clip));
            }
        }
        return d_qr.usable & finite;
    }

private:
    const float d_scale, d_clip;
    unscaled_qr<lane, NT, NR> d_qr;
    int d_rows = 32;

    /* What a search has at a level */
    MP_FN static constexpr int layer(int search, int level)
    {
        return (level + search * covered) % NT;
    }

    /* b - sum_{j>=i} r_ij s_j, s in steps of 1 round 0; level 0 as axes' sums want it */
    struct model {
        float b[2 * NT], diagonal[NT]; /* of level 0: half the distance of its levels */
        float r[NT][NT][2];
        axis_sums<WIDTH> sums;
        float unit; /* of level 0's metrics, for sums by axis */

        MP_FN explicit model(const float* from)
            : sums(from[2]), unit(0.25f * reciprocal(lane(from[2])).v)
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

        /* Sets the symbol of a level: what is left for those below */
        MP_FN void cancel(int level, float k_re, float k_im)
        {
            MP_UNROLL
            for (int i = 0; i < level; ++i) {
                b[2 * i] =
                    fmaf(r[i][level][1], k_im, fmaf(-r[i][level][0], k_re, b[2 * i]));
                b[2 * i + 1] = fmaf(
                    -r[i][level][1], k_re, fmaf(-r[i][level][0], k_im, b[2 * i + 1]));
            }
        }

        /* Its metric there */
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
            const float weight = s.w[i] * unit, root = weight * rsqrt(lane(weight)).v;
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

    /* Of the two axes of a level */
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

    /* A level's bits, each with both of its values */
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

        /* Of the bits of an axis */
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

    /* One vector of the team's: the bits of the covered levels */
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
            /* the first turn's comes last: no index that is not known */
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

    /* A share of the symbols of level 2 with what is below them */
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

    /* Of all symbols of level 0, of which u is left: adds the least metric, and returns
     * the sum of 2^-(what metrics are above that). */
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

/* M^(nt-1), the slices of a search */
constexpr long parents(int layers)
{
    return layers > 1 ? parents(layers - 1) << asked::bits : 1;
}

/* Sizes that registers hold */
constexpr bool slices = register_sizes_to(3, 4);

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* HFSD and SFSD (see detectors/fsd/kernel.h) with one expanded level, in registers. */
#pragma once
#include "cuda/registers.h"
#include "detectors/fsd/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The LENGTH smallest metrics and their numbers, which take the place of the mantissas'
 * low bits (as in detectors/fsd/kernel.h). */
template <int LENGTH, int NUMBER_BITS>
class register_shortlist
{
public:
    MP_FN register_shortlist()
    {
        MP_UNROLL
        for (int i = 0; i < LENGTH; ++i)
            d_metric[i] = no_metric;
    }

    MP_FN void add(float metric, int number)
    {
        float left = __int_as_float((__float_as_int(metric) & ~mask) | number);
        MP_UNROLL
        for (int i = 0; i < LENGTH; ++i) {
            const float better = fminf(left, d_metric[i]);
            left = fmaxf(left, d_metric[i]);
            d_metric[i] = better;
        }
    }

    /* The number of the best, which leaves the list */
    MP_FN int take()
    {
        const int number = __float_as_int(d_metric[0]) & mask;
        MP_UNROLL
        for (int i = 1; i < LENGTH; ++i)
            d_metric[i - 1] = d_metric[i];
        return number;
    }

private:
    static constexpr int mask = (1 << NUMBER_BITS) - 1;
    float d_metric[LENGTH];
};

/* The level of an axis whose Gray code differs in bit b */
template <int WIDTH>
MP_FN float flipped_level(float level, int b)
{
    if (b == 0)
        return -level;
    const float away = fabsf(level);
    if (b == 1)
        return copysignf((WIDTH == 2 ? 2.0f : 4.0f) - away, level);
    return copysignf((away < 2.0f ? 2.0f : 6.0f) - away, level);
}

template <int NT, int NR, int WIDTH, bool SOFT>
class register_fixed_sphere
{
public:
    using mask = lane::mask;
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int top = NT - 1;

    MP_FN register_fixed_sphere(arena<lane>& a, const constellation& c)
        : d_scale(c.scale), d_order(a, NT, NR), d_qr(a, NT, NR)
    {
    }

    MP_FN void prepare(const lane* h)
    {
        d_order.sort(h, 1);
        d_qr.decompose(&d_order.columns.h[0]);
    }

    MP_FN mask detect(const lane* y, lane noise_var, const lane*, lane* llr)
    {
        register_system<NT, WIDTH> s;
        const mask finite = s.set(d_qr, y, d_scale);
        bit_minima<NT, WIDTH> m;
        register_shortlist<SOFT ? bits : 1, bits> best;
        expand_top<SOFT>(s, m, [&](const auto& x) { best.add(x.metric, x.number); });
        lane by_column[NT * bits];
        if constexpr (SOFT) {
#pragma unroll 1
            for (int path = 0; path < bits; ++path)
                extend(s, best.take(), m);
            m.llrs(reciprocal(noise_var).v, infinity, by_column);
        } else {
            decide(s, best.take(), by_column);
        }
        d_order.columns.to_layers(by_column, bits, llr);
        return d_qr.usable & finite;
    }

private:
    using system = register_system<NT, WIDTH>;
    const float d_scale;
    amplification_order<lane, NT, NR> d_order;
    unscaled_qr<lane, NT, NR> d_qr;

    /* What is left at the levels below the top when its symbol is set, and its metric */
    struct branch {
        float re[NT], im[NT], metric;
        MP_FN branch(const system& s, int number)
        {
            const float k_re = axis_level<WIDTH>(number & (side - 1)),
                        k_im = axis_level<WIDTH>(number >> WIDTH);
            re[top] = s.v[2 * top];
            im[top] = s.v[2 * top + 1];
            const float e_re = re[top] - k_re, e_im = im[top] - k_im;
            metric = s.w[top] * fmaf(e_re, e_re, e_im * e_im);
            MP_UNROLL
            for (int i = 0; i < top; ++i) {
                re[i] = s.v[2 * i];
                im[i] = s.v[2 * i + 1];
            }
            cancel(s, top, k_re, k_im);
        }

        MP_FN void cancel(const system& s, int level, float k_re, float k_im)
        {
            MP_UNROLL
            for (int i = 0; i < level; ++i) {
                re[i] =
                    fmaf(s.c[i][level][1], k_im, fmaf(-s.c[i][level][0], k_re, re[i]));
                im[i] =
                    fmaf(-s.c[i][level][1], k_re, fmaf(-s.c[i][level][0], k_im, im[i]));
            }
        }
    };

    MP_FN static void decide(const system& s, int number, lane* llr)
    {
        branch path(s, number);
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            const int k = b < WIDTH ? number & (side - 1) : number >> WIDTH;
            llr[top * bits + b].v = gray_bit<WIDTH>(k, b % WIDTH) ? 1.0f : -1.0f;
        }
        MP_UNROLL
        for (int i = top - 1; i >= 0; --i) {
            const axis_slice<WIDTH> re(path.re[i]), im(path.im[i]);
            path.cancel(s, i, re.level, im.level);
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                llr[i * bits + b].v =
                    (b < WIDTH ? re.bit[b] : im.bit[b - WIDTH]) ? 1.0f : -1.0f;
        }
    }

    /* The soft-output extension: at each level below the top each bit is negated, and the
     * levels below that are completed by SIC. The path itself is in the list already. */
    MP_FN static void extend(const system& s, int number, bit_minima<NT, WIDTH>& m)
    {
        branch path(s, number);
        bool bit[NT][bits];
        float flipped[NT][bits]; /* the metric of the branch that negates a bit */
        MP_UNROLL
        for (int i = top - 1; i >= 0; --i) {
            const axis_slice<WIDTH> re(path.re[i]), im(path.im[i]);
            const float e[2] = { path.re[i] - re.level, path.im[i] - im.level };
            path.cancel(s, i, re.level, im.level);
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                const bool imaginary = b >= WIDTH;
                bit[i][b] = imaginary ? im.bit[b - WIDTH] : re.bit[b];
                const float level = imaginary ? im.level : re.level;
                const float change = flipped_level<WIDTH>(level, b % WIDTH) - level;
                const float error = e[imaginary] - change, other = e[!imaginary];
                branch next = path;
                next.metric =
                    fmaf(s.w[i], fmaf(error, error, other * other), path.metric);
                next.cancel(s, i, imaginary ? 0.0f : change, imaginary ? change : 0.0f);
                bool fresh[NT][bits];
                MP_UNROLL
                for (int j = i - 1; j >= 0; --j) {
                    const axis_slice<WIDTH> j_re(next.re[j]), j_im(next.im[j]);
                    const float d_re = next.re[j] - j_re.level,
                                d_im = next.im[j] - j_im.level;
                    next.metric =
                        fmaf(s.w[j], fmaf(d_re, d_re, d_im * d_im), next.metric);
                    next.cancel(s, j, j_re.level, j_im.level);
                    MP_UNROLL
                    for (int k = 0; k < WIDTH; ++k) {
                        fresh[j][k] = j_re.bit[k];
                        fresh[j][WIDTH + k] = j_im.bit[k];
                    }
                }
                flipped[i][b] = next.metric;
                MP_UNROLL
                for (int j = 0; j < i; ++j) {
                    MP_UNROLL
                    for (int k = 0; k < bits; ++k)
                        m.add(j, k, fresh[j][k], next.metric);
                }
            }
            path.metric = fmaf(s.w[i], fmaf(e[0], e[0], e[1] * e[1]), path.metric);
        }
        /* Branches share the path's bits above where they leave it. */
        float below = no_metric;
        MP_UNROLL
        for (int i = 0; i < top; ++i) {
            float
                after[bits]; /* the best of those that negate a later bit, and of below */
            after[bits - 1] = below;
            MP_UNROLL
            for (int b = bits - 2; b >= 0; --b)
                after[b] = fminf(after[b + 1], flipped[i][b + 1]);
            float before = below;
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                m.add(i, b, bit[i][b], fminf(before, after[b]));
                m.add(i, b, !bit[i][b], flipped[i][b]);
                before = fminf(before, flipped[i][b]);
            }
            below = before;
        }
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            const int k = b < WIDTH ? number & (side - 1) : number >> WIDTH;
            m.add(top, b, gray_bit<WIDTH>(k, b % WIDTH), below);
        }
    }
};

/* HFSD, or soft: SFSD. Sizes known when compiling hold for one expanded level and as many
 * extended paths as a symbol has bits. */
template <bool SOFT>
MP_FN auto make_fixed_sphere(arena<lane>& a)
{
    constexpr fsd_options o = asked::options();
    constexpr bool usual = o.levels == 1 && (!SOFT || o.num_paths == asked::bits);
    constexpr int nt = usual ? asked::fixed_tx : 0, nr = usual ? asked::fixed_rx : 0;
    if constexpr (usual && fits_registers)
        return register_fixed_sphere<nt, nr, asked::width, SOFT>(a, asked::points);
    else
        return fixed_sphere<lane, nt, nr, asked::width>(
            a,
            asked::points,
            nt ? asked::num_tx : any_size(asked::num_tx),
            nr ? asked::num_rx : any_size(asked::num_rx),
            o.levels,
            SOFT ? o.num_paths : 1,
            SOFT);
}

template <class Lane>
MP_FN auto make_hfsd(arena<Lane>& a)
{
    return make_fixed_sphere<false>(a);
}

template <class Lane>
MP_FN auto make_sfsd(arena<Lane>& a)
{
    return make_fixed_sphere<true>(a);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

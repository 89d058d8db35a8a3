/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* HFSD and SFSD (see detectors/fsd/kernel.h) with one expanded level, in registers. */
#pragma once
#include "cuda/registers.h"
#include "detectors/fsd/cuda_team.h"
#include "detectors/fsd/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

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

/* PATHS: the best paths that are extended, if SOFT; 1 for hard output */
template <int NT, int NR, int WIDTH, bool SOFT, int PATHS>
class fixed_sphere_in_registers
{
public:
    using mask = lane::mask;
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int top = NT - 1;

    MP_FN fixed_sphere_in_registers(arena<lane>& a, const constellation& c)
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
        shortlist<lane, PATHS ? PATHS : 1, bits> best;
        best.clear();
        expand_top<SOFT>(
            s, m, [&](const auto& x) { best.add(lane(x.metric), x.number); });
        lane by_column[NT * bits];
        if constexpr (SOFT) {
#pragma unroll 1
            for (int path = 0; path < PATHS; ++path)
                extend(s, best.take().v, m);
            m.llrs(reciprocal(noise_var).v,
                   fsd_options(program::options()).llr_clip,
                   by_column);
        } else {
            decide(s, best.take().v, by_column);
        }
        d_order.columns.to_layers(by_column, bits, llr);
        return d_qr.usable & finite;
    }

private:
    using system = register_system<NT, WIDTH>;
    const float d_scale;
    amplification_order<lane, NT, NR> d_order;
    unscaled_qr<lane, NT, NR> d_qr;

    /* The part of y that is left at each level when the top symbol is set; its metric */
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
            for (int i = 0; i < level; ++i)
                subtract_product(s.c[i][level], k_re, k_im, re[i], im[i]);
        }
    };

    /* Bit b of the top symbol with a number */
    MP_FN static bool top_bit(int number, int b)
    {
        const int k = b < WIDTH ? number & (side - 1) : number >> WIDTH;
        return gray_bit<WIDTH>(k, b % WIDTH);
    }

    MP_FN static void decide(const system& s, int number, lane* llr)
    {
        branch path(s, number);
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            llr[top * bits + b].v = top_bit(number, b) ? 1.0f : -1.0f;
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

    /* The soft-output extension: negates each bit of each level below the top, and
     * completes the levels below it by SIC. The path itself is in the list already. */
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
                complete(s, next, i, m);
                flipped[i][b] = next.metric;
            }
            path.metric = fmaf(s.w[i], fmaf(e[0], e[0], e[1] * e[1]), path.metric);
        }
        const float best = add_flipped(bit, flipped, m);
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            m.add(top, b, top_bit(number, b), best);
    }

    /* Complete a branch by SIC below a level, and add its bits. */
    MP_FN static void
    complete(const system& s, branch& next, int level, bit_minima<NT, WIDTH>& m)
    {
        bool fresh[NT][bits];
        MP_UNROLL
        for (int j = level - 1; j >= 0; --j) {
            const axis_slice<WIDTH> re(next.re[j]), im(next.im[j]);
            const float e_re = next.re[j] - re.level, e_im = next.im[j] - im.level;
            next.metric = fmaf(s.w[j], fmaf(e_re, e_re, e_im * e_im), next.metric);
            next.cancel(s, j, re.level, im.level);
            MP_UNROLL
            for (int b = 0; b < WIDTH; ++b) {
                fresh[j][b] = re.bit[b];
                fresh[j][WIDTH + b] = im.bit[b];
            }
        }
        MP_UNROLL
        for (int j = 0; j < level; ++j) {
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                m.add(j, b, fresh[j][b], next.metric);
        }
    }

    /* Add the branches to the bits of the levels where they leave the path and above,
     * which they share with it. Return the best branch's metric. */
    MP_FN static float add_flipped(const bool (&bit)[NT][bits],
                                   const float (&flipped)[NT][bits],
                                   bit_minima<NT, WIDTH>& m)
    {
        float below = no_metric; /* the best branch that leaves the path below level i */
        MP_UNROLL
        for (int i = 0; i < top; ++i) {
            float after[bits]; /* the best that negates a later bit, or leaves below */
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
        return below;
    }
};

/* Whether one level is expanded and, for SFSD, paths are extended by as many as a symbol
 * has bits. Only then a thread's loops are unrolled. */
template <bool SFSD>
constexpr bool is_usual()
{
    constexpr fsd_options o = program::options();
    return o.levels == 1 && (!SFSD || o.num_paths == program::bits);
}

/* Whether a team follows the paths. Measured on an H200, it is 1.1 to 2.3 times as fast
 * as threads from 6 layers on with usual options, and 1.4 to 35 times from 4 layers on
 * with others. Teams have no soft output of HFSD. */
template <bool SFSD>
constexpr bool team_fits()
{
    if constexpr (fits_team_from(is_usual<SFSD>() ? 6 : 4) &&
                  !fsd_options(program::options()).soft)
        return team_fixed_sphere<program::width, SFSD>::possible;
    else
        return false;
}

/* SFSD or HFSD */
template <bool SFSD>
MP_FN auto make_fixed_sphere(arena<lane>& a)
{
    constexpr fsd_options o = program::options();
    constexpr bool usual = is_usual<SFSD>(), soft = SFSD || o.soft;
    constexpr int num_paths = SFSD ? o.num_paths : soft ? 0 : 1;
    constexpr int nt = usual ? program::fixed_tx : 0, nr = usual ? program::fixed_rx : 0;
    if constexpr (usual && fits_registers)
        return fixed_sphere_in_registers<nt, nr, program::width, soft, num_paths>(
            a, program::points);
    else if constexpr (team_fits<SFSD>())
        return team_kernel<team_fixed_sphere<program::width, SFSD>, false>();
    else
        return sized<fixed_sphere<lane, nt, nr, program::width>, nt>(a,
                                                                     program::points,
                                                                     layers<nt>(),
                                                                     antennas<nr>(),
                                                                     o.levels,
                                                                     num_paths,
                                                                     o.llr_clip,
                                                                     soft);
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

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* N-way and FPFSD (see kernels/passes.h, nway.h) for one thread per vector, with all that
 * a pass works on in registers: bits' minima are updated as candidates come, without
 * lists, and passes are a loop in which columns move, not code of their own each.
 *
 * Square QAM of up to three bits per axis, no a-priori LLRs. */
#pragma once
#include "../kernels/passes.h"
#include "sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* An axis' level, in steps of 1 round 0, that is nearest to u; its Gray bits. */
template <int WIDTH>
struct axis_slice;

template <>
struct axis_slice<1> {
    float level;
    bool bit[1];
    MP_FN explicit axis_slice(float u) : level(copysignf(0.5f, u)), bit{ u > 0.0f } {}
};

template <>
struct axis_slice<2> {
    float level;
    bool bit[2];
    MP_FN explicit axis_slice(float u) : bit{ u > 0.0f, fabsf(u) < 1.0f }
    {
        level = copysignf(bit[1] ? 0.5f : 1.5f, u);
    }
};

template <>
struct axis_slice<3> {
    float level;
    bool bit[3];
    MP_FN explicit axis_slice(float u)
    {
        const float t = fabsf(u) - 2.0f;
        bit[0] = u > 0.0f;
        bit[1] = t < 0.0f;
        bit[2] = fabsf(t) < 1.0f;
        level = copysignf(2.0f + copysignf(bit[2] ? 0.5f : 1.5f, t), u);
    }
};

/* A column that is known when compiling, so that what is indexed by it stays in registers
 */
template <int N>
struct constant_column {
};

template <int NT, int NR, int WIDTH, column_order ORDER>
class register_passes
{
public:
    using mask = lane::mask;
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int top = NT - 1;

    MP_FN register_passes(arena<lane>& a, const constellation& c, int passes, float clip)
        : d_passes(passes),
          d_scale(c.scale),
          d_clip(clip),
          d_columns(a, NT, NR),
          d_qr(a, NT, NR)
    {
    }

    MP_FN void prepare(const lane* h)
    {
        if constexpr (sorted) {
            d_columns.sort_by_norm(h);
            d_qr.decompose(&d_columns.h[0]);
        } else {
            d_qr.decompose(h);
        }
    }

    MP_FN mask detect(const lane* y, lane noise_var, const lane*, lane* llr)
    {
        state base;
        lane z[2 * NT];
        const mask finite = d_qr.rotate(y, z);
        MP_UNROLL
        for (int i = 0; i < NT; ++i) {
            const float unit = d_qr.inverse2[i].v * (0.5f / d_scale);
            base.w[i] = d_qr.length2[i].v * (4.0f * d_scale * d_scale);
            base.v[2 * i] = z[2 * i].v * unit;
            base.v[2 * i + 1] = z[2 * i + 1].v * unit;
            MP_UNROLL
            for (int j = i + 1; j < NT; ++j) {
                base.c[i][j][0] = d_qr.r[2 * (i * NT + j)].v;
                base.c[i][j][1] = d_qr.r[2 * (i * NT + j) + 1].v;
            }
        }
        minima m;
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b)
            m.zero[b / bits][b % bits] = m.one[b / bits][b % bits] = no_metric;
        if constexpr (!sorted) {
            /* each pass goes on from the one before: its first column comes on top */
#pragma unroll 1
            for (int pass = 0; pass < d_passes; ++pass) {
                if (pass) {
                    base.raise(constant_column<0>());
                    m.raise(constant_column<0>());
                }
                search(base, m);
            }
            for (int pass = d_passes; pass < NT + 1; ++pass)
                m.raise(constant_column<0>());
        } else {
#pragma unroll 1
            for (int pass = 0; pass < NT; ++pass) {
                state s = base;
                at_column(top - pass, [&](auto column) {
                    s.raise(column);
                    m.raise(column);
                });
                search(s, m);
                at_column(top - pass, [&](auto column) { m.lower(column); });
            }
        }
        const float unit = reciprocal(noise_var).v;
        lane by_column[NT * bits];
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b)
            (sorted ? by_column : llr)[b] = clamp(
                lane((m.zero[b / bits][b % bits] - m.one[b / bits][b % bits]) * unit),
                lane(d_clip));
        if constexpr (sorted)
            d_columns.to_layers(by_column, bits, llr);
        return d_qr.usable & finite;
    }

private:
    /* The triangular system in units of half the distance of points (see nway.h) */
    struct state {
        float c[NT][NT][2], w[NT], v[2 * NT];

        /* The column comes on top, those above it step down: its row loses its entries to
         * those below one after another (Givens rotations with weights instead of roots,
         * see nway.h). */
        template <int COLUMN>
        MP_FN void raise(constant_column<COLUMN>)
        {
            constexpr int column = COLUMN;
            float row[NT][2];
            MP_UNROLL
            for (int j = column + 1; j < NT; ++j) {
                row[j][0] = c[column][j][0];
                row[j][1] = c[column][j][1];
            }
            float x_re = v[2 * column], x_im = v[2 * column + 1];
            float weight = w[column];
            MP_UNROLL
            for (int i = 0; i < column; ++i) {
                const float re = c[i][column][0], im = c[i][column][1];
                MP_UNROLL
                for (int j = column + 1; j < NT; ++j) {
                    c[i][j - 1][0] = c[i][j][0];
                    c[i][j - 1][1] = c[i][j][1];
                }
                c[i][top][0] = re;
                c[i][top][1] = im;
            }
            MP_UNROLL
            for (int i = column; i < top; ++i) {
                const float re = row[i + 1][0], im = row[i + 1][1];
                const float sum = fmaf(weight, fmaf(re, re, im * im), w[i + 1]);
                const float inverse = reciprocal(lane(sum)).v;
                const float share = inverse * weight, t = inverse * w[i + 1];
                const float s_re = share * re, s_im = -share * im;
                MP_UNROLL
                for (int j = i + 2; j < NT; ++j) {
                    const float from_re = c[i + 1][j][0], from_im = c[i + 1][j][1];
                    turn(re,
                         im,
                         s_re,
                         s_im,
                         t,
                         row[j][0],
                         row[j][1],
                         from_re,
                         from_im,
                         c[i][j - 1][0],
                         c[i][j - 1][1]);
                }
                const float y_re = v[2 * (i + 1)], y_im = v[2 * (i + 1) + 1];
                turn(re,
                     im,
                     s_re,
                     s_im,
                     t,
                     x_re,
                     x_im,
                     y_re,
                     y_im,
                     v[2 * i],
                     v[2 * i + 1]);
                c[i][top][0] = s_re;
                c[i][top][1] = s_im;
                w[i] = sum;
                weight = weight * t;
            }
            w[top] = weight;
            v[2 * top] = x_re;
            v[2 * top + 1] = x_im;
        }

        /* Rows x and y become s x + t y, and x - a y. */
        MP_FN static void turn(float a_re,
                               float a_im,
                               float s_re,
                               float s_im,
                               float t,
                               float& x_re,
                               float& x_im,
                               float y_re,
                               float y_im,
                               float& upper_re,
                               float& upper_im)
        {
            upper_re = fmaf(-s_im, x_im, fmaf(s_re, x_re, t * y_re));
            upper_im = fmaf(s_im, x_re, fmaf(s_re, x_im, t * y_im));
            x_re = fmaf(a_im, y_im, fmaf(-a_re, y_re, x_re));
            x_im = fmaf(-a_im, y_re, fmaf(-a_re, y_im, x_im));
        }
    };

    struct minima {
        float zero[NT][bits], one[NT][bits];

        template <int COLUMN>
        MP_FN void raise(constant_column<COLUMN>)
        {
            constexpr int column = COLUMN;
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                const float kept_zero = zero[column][b], kept_one = one[column][b];
                MP_UNROLL
                for (int i = column; i < top; ++i) {
                    zero[i][b] = zero[i + 1][b];
                    one[i][b] = one[i + 1][b];
                }
                zero[top][b] = kept_zero;
                one[top][b] = kept_one;
            }
        }

        template <int COLUMN>
        MP_FN void lower(constant_column<COLUMN>)
        {
            constexpr int column = COLUMN;
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                const float kept_zero = zero[top][b], kept_one = one[top][b];
                MP_UNROLL
                for (int i = top; i > column; --i) {
                    zero[i][b] = zero[i - 1][b];
                    one[i][b] = one[i - 1][b];
                }
                zero[column][b] = kept_zero;
                one[column][b] = kept_one;
            }
        }
    };

    static constexpr bool sorted = ORDER == column_order::raise;
    const int d_passes;
    const float d_scale, d_clip;
    ordered_columns<lane, NT, NR> d_columns;
    unscaled_qr<lane, NT, NR> d_qr;

    /* body(constant_column) of one of those below the top, or nothing for that */
    template <int N = 0, class Body>
    MP_FN static void at_column(int column, Body body)
    {
        if constexpr (N < top) {
            if (column == N)
                body(constant_column<N>());
            else
                at_column<N + 1>(column, body);
        }
    }

    MP_FN static float level(int k) { return k - 0.5f * (side - 1); }

    /* One pass: all symbols of the top column, for each the nearest of every other. */
    MP_FN static void search(const state& s, minima& m)
    {
        float nearest_im[side];
        MP_UNROLL
        for (int k = 0; k < side; ++k)
            nearest_im[k] = no_metric;
#pragma unroll(WIDTH < 3 ? 2 : 1)
        for (int k_re = 0; k_re < side; ++k_re) {
            const float e_re = s.v[2 * top] - level(k_re);
            const float re_part = s.w[top] * e_re * e_re;
            float base[2 * NT], nearest_re = no_metric;
            MP_UNROLL
            for (int i = 0; i < top; ++i) {
                base[2 * i] = fmaf(-s.c[i][top][0], level(k_re), s.v[2 * i]);
                base[2 * i + 1] = fmaf(-s.c[i][top][1], level(k_re), s.v[2 * i + 1]);
            }
            MP_UNROLL
            for (int k_im = 0; k_im < side; ++k_im) {
                const float e_im = s.v[2 * top + 1] - level(k_im);
                float distance = fmaf(s.w[top] * e_im, e_im, re_part);
                float level_re[NT], level_im[NT];
                level_im[top] = level(k_im);
                bool bit[NT][bits];
                MP_UNROLL
                for (int i = top - 1; i >= 0; --i) {
                    float u_re = fmaf(s.c[i][top][1], level_im[top], base[2 * i]);
                    float u_im = fmaf(-s.c[i][top][0], level_im[top], base[2 * i + 1]);
                    MP_UNROLL
                    for (int j = top - 1; j > i; --j) {
                        u_re = fmaf(s.c[i][j][1],
                                    level_im[j],
                                    fmaf(-s.c[i][j][0], level_re[j], u_re));
                        u_im = fmaf(-s.c[i][j][1],
                                    level_re[j],
                                    fmaf(-s.c[i][j][0], level_im[j], u_im));
                    }
                    const axis_slice<WIDTH> re(u_re), im(u_im);
                    level_re[i] = re.level;
                    level_im[i] = im.level;
                    const float d_re = u_re - re.level, d_im = u_im - im.level;
                    distance = fmaf(s.w[i], fmaf(d_re, d_re, d_im * d_im), distance);
                    MP_UNROLL
                    for (int b = 0; b < WIDTH; ++b) {
                        bit[i][b] = re.bit[b];
                        bit[i][WIDTH + b] = im.bit[b];
                    }
                }
                MP_UNROLL
                for (int i = 0; i < top; ++i) {
                    MP_UNROLL
                    for (int b = 0; b < bits; ++b) {
                        if (bit[i][b])
                            m.one[i][b] = fminf(m.one[i][b], distance);
                        else
                            m.zero[i][b] = fminf(m.zero[i][b], distance);
                    }
                }
                nearest_re = fminf(nearest_re, distance);
                nearest_im[k_im] = fminf(nearest_im[k_im], distance);
            }
            MP_UNROLL
            for (int b = 0; b < WIDTH; ++b) {
                if (gray_bit<WIDTH>(k_re, b))
                    m.one[top][b] = fminf(m.one[top][b], nearest_re);
                else
                    m.zero[top][b] = fminf(m.zero[top][b], nearest_re);
            }
        }
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            MP_UNROLL
            for (int b = 0; b < WIDTH; ++b) {
                if (gray_bit<WIDTH>(k, b))
                    m.one[top][WIDTH + b] = fminf(m.one[top][WIDTH + b], nearest_im[k]);
                else
                    m.zero[top][WIDTH + b] = fminf(m.zero[top][WIDTH + b], nearest_im[k]);
            }
        }
    }
};

/* With a-priori LLRs, more bits or more antennas than registers hold: the CPU's form */
constexpr bool fits_registers = !asked::has_prior && asked::width > 0 &&
                                asked::width <= 3 && asked::fixed_tx > 1 &&
                                asked::fixed_tx <= 4;

} // namespace MIMOPACK_ISA
} // namespace mimopack

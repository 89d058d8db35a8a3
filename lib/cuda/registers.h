/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What searches of one vector by one thread keep in registers: the system, and the bits'
 * minima, which are updated as candidates come, without lists. Whatever indexes an array
 * is known when compiling, for else it would be in memory.
 *
 * Square QAM of up to three bits per axis, no a-priori LLRs. */
#pragma once
#include "../kernels/gray.h"
#include "../kernels/qr.h"
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

/* The same by a sum that is rounded: more instructions, but fewer of those that compare
 * and select, of which a GPU does half as many at a time. */
template <int WIDTH>
struct rounded_slice {
    float level;
    bool bit[WIDTH];
    MP_FN explicit rounded_slice(float u)
    {
        constexpr float largest = (1 << WIDTH) - 1, magic = 12582912.0f; /* 1.5 * 2^23 */
        const float share = __saturatef(fmaf(u, 1.0f / largest, 0.5f));
        level = __fadd_rn(fmaf(share, largest, magic), -magic) - 0.5f * largest;
        bit[0] = level > 0.0f;
        if constexpr (WIDTH > 1)
            bit[1] = fabsf(level) < 0.5f * (1 << (WIDTH - 1));
        if constexpr (WIDTH > 2)
            bit[2] = fabsf(fabsf(level) - 2.0f) < 1.0f;
    }
};

template <>
struct axis_slice<3> : rounded_slice<3> {
    using rounded_slice<3>::rounded_slice;
};

/* A column that is known when compiling */
template <int N>
struct constant_column {
};

/* A vector's triangular system, rows in units of the distance of points, with ones on R's
 * diagonal: v_i - sum_{j>i} c_ij s_j - s_i weighs w_i (see kernels/nway.h); s in steps of
 * 1 round 0. */
template <int NT, int WIDTH>
struct register_system {
    static constexpr int top = NT - 1;
    float c[NT][NT][2], w[NT], v[2 * NT];

    /* Of columns that were decomposed, and a vector; returns where it is finite. */
    template <int NR>
    MP_FN lane::mask set(const unscaled_qr<lane, NT, NR>& qr, const lane* y, float scale)
    {
        lane z[2 * NT];
        const lane::mask finite = qr.rotate(y, z);
        MP_UNROLL
        for (int i = 0; i < NT; ++i) {
            const float unit = qr.inverse2[i].v * (0.5f / scale);
            w[i] = qr.length2[i].v * (4.0f * scale * scale);
            v[2 * i] = z[2 * i].v * unit;
            v[2 * i + 1] = z[2 * i + 1].v * unit;
            MP_UNROLL
            for (int j = i + 1; j < NT; ++j) {
                c[i][j][0] = qr.r[2 * (i * NT + j)].v;
                c[i][j][1] = qr.r[2 * (i * NT + j) + 1].v;
            }
        }
        return finite;
    }

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
            turn(re, im, s_re, s_im, t, x_re, x_im, y_re, y_im, v[2 * i], v[2 * i + 1]);
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

/* The least metric of either value of each bit, by column */
template <int NT, int WIDTH>
struct bit_minima {
    static constexpr int top = NT - 1;
    static constexpr int bits = 2 * WIDTH;

    float zero[NT][bits], one[NT][bits];

    MP_FN bit_minima()
    {
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b)
            zero[b / bits][b % bits] = one[b / bits][b % bits] = no_metric;
    }

    MP_FN void add(int i, int b, bool value, float metric)
    {
        if (value)
            one[i][b] = fminf(one[i][b], metric);
        else
            zero[i][b] = fminf(zero[i][b], metric);
    }

    MP_FN void llrs(float unit, float clip, lane* llr) const
    {
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b)
            llr[b] =
                clamp(lane((zero[b / bits][b % bits] - one[b / bits][b % bits]) * unit),
                      lane(clip));
    }

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
    MP_FN void swap_with_top(constant_column<COLUMN>)
    {
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            const float kept_zero = zero[top][b], kept_one = one[top][b];
            zero[top][b] = zero[COLUMN][b];
            one[top][b] = one[COLUMN][b];
            zero[COLUMN][b] = kept_zero;
            one[COLUMN][b] = kept_one;
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

template <int WIDTH>
MP_FN float axis_level(int k)
{
    return k - 0.5f * ((1 << WIDTH) - 1);
}

/* All symbols of the top column, for each the nearest of every other: updates bits'
 * minima where they are wanted, and calls visit(metric, number of the symbol, k_re +
 * side * k_im). */
template <bool Bits, int NT, int WIDTH, class Visit>
MP_FN void
expand_top(const register_system<NT, WIDTH>& s, bit_minima<NT, WIDTH>& m, Visit visit)
{
    constexpr int side = 1 << WIDTH, bits = 2 * WIDTH, top = NT - 1;
    float nearest_im[side];
    MP_UNROLL
    for (int k = 0; k < side; ++k)
        nearest_im[k] = no_metric;
#pragma unroll(WIDTH < 3 ? 2 : 1)
    for (int k_re = 0; k_re < side; ++k_re) {
        const float e_re = s.v[2 * top] - axis_level<WIDTH>(k_re);
        const float re_part = s.w[top] * e_re * e_re;
        float base[2 * NT], nearest_re = no_metric;
        MP_UNROLL
        for (int i = 0; i < top; ++i) {
            base[2 * i] = fmaf(-s.c[i][top][0], axis_level<WIDTH>(k_re), s.v[2 * i]);
            base[2 * i + 1] =
                fmaf(-s.c[i][top][1], axis_level<WIDTH>(k_re), s.v[2 * i + 1]);
        }
        MP_UNROLL
        for (int k_im = 0; k_im < side; ++k_im) {
            const float e_im = s.v[2 * top + 1] - axis_level<WIDTH>(k_im);
            float distance = fmaf(s.w[top] * e_im, e_im, re_part);
            float level_re[NT], level_im[NT];
            level_im[top] = axis_level<WIDTH>(k_im);
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
                for (int b = 0; Bits && b < bits; ++b)
                    m.add(i, b, bit[i][b], distance);
            }
            visit(distance, k_re + side * k_im);
            nearest_re = fminf(nearest_re, distance);
            nearest_im[k_im] = fminf(nearest_im[k_im], distance);
        }
        MP_UNROLL
        for (int b = 0; Bits && b < WIDTH; ++b) {
            m.add(top, b, gray_bit<WIDTH>(k_re, b), nearest_re);
        }
    }
    MP_UNROLL
    for (int k = 0; k < side; ++k) {
        MP_UNROLL
        for (int b = 0; Bits && b < WIDTH; ++b) {
            m.add(top, WIDTH + b, gray_bit<WIDTH>(k, b), nearest_im[k]);
        }
    }
}

/* With a-priori LLRs, more bits or more antennas than registers hold: the CPU's form */
constexpr bool fits_registers = !asked::has_prior && asked::width > 0 &&
                                asked::width <= 3 && asked::fixed_tx > 1 &&
                                asked::fixed_tx <= 4;

} // namespace MIMOPACK_ISA
} // namespace mimopack

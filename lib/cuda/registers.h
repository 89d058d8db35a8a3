/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What searches of one vector by one thread keep in registers: the system, and the bits'
 * minima, which are updated as candidates come, without lists. Whatever indexes an array
 * is known when compiling, for else it would be in memory.
 *
 * Square QAM of up to four bits per axis. */
#pragma once
#include "common/gray.h"
#include "common/qr.h"
#include "cuda/sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Of zeros too, as copysignf() sees it */
MP_FN bool negative(float u) { return __float_as_int(u) < 0; }

/* An axis' level, in steps of 1 round 0, that is nearest to u; its Gray bits. */
template <int WIDTH>
struct axis_slice;

template <>
struct axis_slice<1> {
    float level;
    bool bit[1];
    MP_FN explicit axis_slice(float u) : level(copysignf(0.5f, u)), bit{ !negative(u) } {}
};

template <>
struct axis_slice<2> {
    float level;
    bool bit[2];
    MP_FN explicit axis_slice(float u) : bit{ !negative(u), fabsf(u) < 1.0f }
    {
        level = copysignf(bit[1] ? 0.5f : 1.5f, u);
    }
};

/* The Gray bits of an axis' level behind its sign, from how far it is from 0: each says
 * which half of what the ones before left is the inner one. */
template <int WIDTH>
MP_FN void amplitude_bits(float away, bool* bit)
{
    MP_UNROLL
    for (int b = 1; b < WIDTH; ++b) {
        const float middle = 1 << (WIDTH - 1 - b);
        bit[b] = away < middle;
        away = fabsf(away - middle);
    }
}

/* The same by a sum that is rounded: more instructions, but fewer of those that compare
 * and select, of which a GPU does half as many at a time. */
template <int WIDTH>
struct axis_slice {
    float level;
    bool bit[WIDTH];
    MP_FN explicit axis_slice(float u)
    {
        constexpr float largest = (1 << WIDTH) - 1, magic = 12582912.0f; /* 1.5 * 2^23 */
        const float share = __saturatef(fmaf(u, 1.0f / largest, 0.5f));
        level = __fadd_rn(fmaf(share, largest, magic), -magic) - 0.5f * largest;
        bit[0] = level > 0.0f;
        amplitude_bits<WIDTH>(fabsf(level), bit);
    }
};

/* What an a-priori LLR says against a bit's value, from half of it, in units of the
 * metrics: itself or exactly nothing, so that no sum of large numbers takes digits from
 * the others. Additions, of which a GPU does twice as many at a time as maxima. */
MP_FN float bit_penalty(bool value, float half)
{
    return fabsf(half) + (value ? -half : half);
}

/* The level with the least w (u - level)^2 and penalties of its bits. With level = s a
 * and s = +-1 that is, but for what no level changes, w a^2 - |2 a w u + half_0| and what
 * the other bits, which are a's, add; half: of the axis' a-priori LLRs. */
template <int WIDTH>
struct known_slice {
    static constexpr int amplitudes = 1 << (WIDTH - 1);
    float level;
    bool bit[WIDTH];

    MP_FN known_slice(float u, float w, const float* half)
    {
        const float wu = w * u;
        /* more would decide no other sign, and take digits from w u */
        const float enough = fmaf(4.0f * amplitudes, fabsf(wu), 1e-37f);
        const float sure = fmaxf(fminf(half[0], enough), -enough);
        float away = 0.5f, sign = wu + sure;
        if constexpr (WIDTH == 2) {
            const float far = fmaf(3.0f, wu, sure);
            const bool inner = fabsf(far) - fabsf(sign) < fmaf(2.0f, half[1], 2.0f * w);
            away = inner ? 0.5f : 1.5f;
            sign = inner ? sign : far;
        } else {
            float least = amplitude_metric(0, w, half) - fabsf(sign);
            MP_UNROLL
            for (int n = 1; n < amplitudes; ++n) {
                const float other = fmaf(2.0f * n + 1.0f, wu, sure);
                const float own = amplitude_metric(n, w, half) - fabsf(other);
                const bool better = own < least;
                sign = better ? other : sign;
                away = better ? n + 0.5f : away;
                least = fminf(own, least);
            }
        }
        level = copysignf(away, sign);
        bit[0] = level > 0.0f;
        amplitude_bits<WIDTH>(away, bit);
    }

    /* What does not depend on u */
    MP_FN static float amplitude_metric(int n, float w, const float* half)
    {
        const float a = n + 0.5f;
        float sum = a * a * w;
        MP_UNROLL
        for (int b = 1; b < WIDTH; ++b)
            sum += bit_penalty(gray_bit<WIDTH>(amplitudes + n, b), half[b]);
        return sum;
    }
};

/* A column that is known when compiling */
template <int N>
struct constant_column {
};

/* The column's row comes on top, those above it step down. */
template <int COLUMN, int NT, int SIZE>
MP_FN void raise_row(float (&rows)[NT][SIZE])
{
    MP_UNROLL
    for (int n = 0; n < SIZE; ++n) {
        const float raised = rows[COLUMN][n];
        MP_UNROLL
        for (int i = COLUMN; i < NT - 1; ++i)
            rows[i][n] = rows[i + 1][n];
        rows[NT - 1][n] = raised;
    }
}

template <int COLUMN, int NT, int SIZE>
MP_FN void lower_row(float (&rows)[NT][SIZE])
{
    MP_UNROLL
    for (int n = 0; n < SIZE; ++n) {
        const float lowered = rows[NT - 1][n];
        MP_UNROLL
        for (int i = NT - 1; i > COLUMN; --i)
            rows[i][n] = rows[i - 1][n];
        rows[COLUMN][n] = lowered;
    }
}

template <int COLUMN, int NT, int SIZE>
MP_FN void swap_rows(float (&rows)[NT][SIZE])
{
    MP_UNROLL
    for (int n = 0; n < SIZE; ++n) {
        const float raised = rows[COLUMN][n];
        rows[COLUMN][n] = rows[NT - 1][n];
        rows[NT - 1][n] = raised;
    }
}

/* A vector's triangular system, rows in units of the distance of points, with ones on R's
 * diagonal: v_i - sum_{j>i} c_ij s_j - s_i weighs w_i (see detectors/nway/greedy_search.h); s in steps of
 * 1 round 0. KNOWN: bits have a-priori LLRs, here half of them, in the metrics' units. */
template <int NT, int WIDTH, bool KNOWN = false>
struct register_system {
    static constexpr int top = NT - 1;
    static constexpr int bits = 2 * WIDTH;
    float c[NT][NT][2], w[NT], v[2 * NT];
    float half[KNOWN ? NT : 1][bits];

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

    MP_FN void set_prior(const lane* llr, float noise_var)
    {
        static_assert(KNOWN);
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b)
            half[b / bits][b % bits] = llr[b].v * (0.5f * noise_var);
    }

    /* What a-priori LLRs say against a level of the top row */
    MP_FN float top_penalty(int k, int axis) const
    {
        float sum = 0.0f;
        MP_UNROLL
        for (int b = 0; KNOWN && b < WIDTH; ++b)
            sum += bit_penalty(gray_bit<WIDTH>(k, b),
                               half[KNOWN ? top : 0][axis * WIDTH + b]);
        return sum;
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
        if constexpr (KNOWN)
            raise_row<column>(half);
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

/* A number for either value of each bit, by column */
template <int NT, int WIDTH>
struct bit_pairs {
    static constexpr int bits = 2 * WIDTH;

    float zero[NT][bits], one[NT][bits];

    MP_FN explicit bit_pairs(float first)
    {
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b)
            zero[b / bits][b % bits] = one[b / bits][b % bits] = first;
    }

    template <int COLUMN>
    MP_FN void raise(constant_column<COLUMN>)
    {
        raise_row<COLUMN>(zero);
        raise_row<COLUMN>(one);
    }

    template <int COLUMN>
    MP_FN void swap_with_top(constant_column<COLUMN>)
    {
        swap_rows<COLUMN>(zero);
        swap_rows<COLUMN>(one);
    }

    template <int COLUMN>
    MP_FN void lower(constant_column<COLUMN>)
    {
        lower_row<COLUMN>(zero);
        lower_row<COLUMN>(one);
    }
};

/* The least metric */
template <int NT, int WIDTH>
struct bit_minima : bit_pairs<NT, WIDTH> {
    using base = bit_pairs<NT, WIDTH>;
    using base::bits;
    using base::one;
    using base::zero;

    MP_FN bit_minima() : base(no_metric) {}

    MP_FN void add(int i, int b, bool value, float metric)
    {
        if (value)
            one[i][b] = fminf(one[i][b], metric);
        else
            zero[i][b] = fminf(zero[i][b], metric);
    }

    MP_FN float difference(int b) const
    {
        return zero[b / bits][b % bits] - one[b / bits][b % bits];
    }

    MP_FN void llrs(float unit, float clip, lane* llr) const
    {
        MP_UNROLL
        for (int b = 0; b < NT * bits; ++b)
            llr[b] = clamp(lane(difference(b) * unit), lane(clip));
    }
};

/* A candidate: levels and bits by column, and its number, k_re + side * k_im of the top
 * column's symbol */
template <int NT, int WIDTH>
struct register_candidate {
    float re[NT], im[NT], metric;
    bool bit[NT][2 * WIDTH];
    int number;

    /* At row i, where what those above leave is u: the best level of each axis */
    template <bool KNOWN>
    MP_FN void
    slice(const register_system<NT, WIDTH, KNOWN>& s, int i, float u_re, float u_im)
    {
        if constexpr (KNOWN)
            set(i,
                known_slice<WIDTH>(u_re, s.w[i], s.half[i]),
                known_slice<WIDTH>(u_im, s.w[i], s.half[i] + WIDTH));
        else
            set(i, axis_slice<WIDTH>(u_re), axis_slice<WIDTH>(u_im));
        const float d_re = u_re - re[i], d_im = u_im - im[i];
        metric = fmaf(s.w[i], fmaf(d_re, d_re, d_im * d_im), metric);
        MP_UNROLL
        for (int b = 0; KNOWN && b < 2 * WIDTH; ++b)
            metric += bit_penalty(bit[i][b], s.half[KNOWN ? i : 0][b]);
    }

    template <class Slice>
    MP_FN void set(int i, const Slice& best_re, const Slice& best_im)
    {
        re[i] = best_re.level;
        im[i] = best_im.level;
        MP_UNROLL
        for (int b = 0; b < WIDTH; ++b) {
            bit[i][b] = best_re.bit[b];
            bit[i][WIDTH + b] = best_im.bit[b];
        }
    }
};

/* The metric of the candidate with the best level of each row, from the top on */
template <int NT, int WIDTH, bool KNOWN>
MP_FN float sliced_metric(const register_system<NT, WIDTH, KNOWN>& s)
{
    register_candidate<NT, WIDTH> x;
    x.metric = 0.0f;
    MP_UNROLL
    for (int i = NT - 1; i >= 0; --i) {
        float u_re = s.v[2 * i], u_im = s.v[2 * i + 1];
        MP_UNROLL
        for (int j = NT - 1; j > i; --j) {
            u_re = fmaf(s.c[i][j][1], x.im[j], fmaf(-s.c[i][j][0], x.re[j], u_re));
            u_im = fmaf(-s.c[i][j][1], x.re[j], fmaf(-s.c[i][j][0], x.im[j], u_im));
        }
        x.slice(s, i, u_re, u_im);
    }
    return x.metric;
}

template <int WIDTH>
MP_FN float axis_level(int k)
{
    return k - 0.5f * ((1 << WIDTH) - 1);
}

/* All symbols of the top column, for each the best of every other: updates bits' minima
 * where they are wanted, and calls visit(candidate). LARGE: visits take so many registers
 * that there is less room for several candidates at a time, as there is with a-priori
 * LLRs of many columns. */
template <bool Bits, bool LARGE = false, int NT, int WIDTH, bool KNOWN, class Visit>
MP_FN void expand_top(const register_system<NT, WIDTH, KNOWN>& s,
                      bit_minima<NT, WIDTH>& m,
                      Visit visit)
{
    constexpr int side = 1 << WIDTH, bits = 2 * WIDTH, top = NT - 1;
    constexpr bool whole_rows = WIDTH < (LARGE || (KNOWN && NT > 4) ? 3 : 4);
    float nearest_im[whole_rows ? side : 1], penalty_im[whole_rows ? side : 1];
    MP_UNROLL
    for (int k = 0; whole_rows && k < side; ++k) {
        nearest_im[k] = no_metric;
        penalty_im[k] = s.top_penalty(k, 1);
    }
#pragma unroll(LARGE || WIDTH > 2 ? 1 : 2)
    for (int k_re = 0; k_re < side; ++k_re) {
        const float e_re = s.v[2 * top] - axis_level<WIDTH>(k_re);
        float re_part = s.w[top] * e_re * e_re;
        if constexpr (KNOWN)
            re_part += s.top_penalty(k_re, 0);
        float base[2 * NT], nearest_re = no_metric;
        MP_UNROLL
        for (int i = 0; i < top; ++i) {
            base[2 * i] = fmaf(-s.c[i][top][0], axis_level<WIDTH>(k_re), s.v[2 * i]);
            base[2 * i + 1] =
                fmaf(-s.c[i][top][1], axis_level<WIDTH>(k_re), s.v[2 * i + 1]);
        }
#pragma unroll(whole_rows ? side : 1)
        for (int k_im = 0; k_im < side; ++k_im) {
            const float e_im = s.v[2 * top + 1] - axis_level<WIDTH>(k_im);
            register_candidate<NT, WIDTH> x;
            x.number = k_re + side * k_im;
            x.re[top] = axis_level<WIDTH>(k_re);
            x.im[top] = axis_level<WIDTH>(k_im);
            x.metric = fmaf(s.w[top] * e_im, e_im, re_part);
            if constexpr (KNOWN)
                x.metric += whole_rows ? penalty_im[whole_rows ? k_im : 0]
                                       : s.top_penalty(k_im, 1);
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                x.bit[top][b] = gray_bit<WIDTH>(b < WIDTH ? k_re : k_im, b % WIDTH);
            MP_UNROLL
            for (int i = top - 1; i >= 0; --i) {
                float u_re = fmaf(s.c[i][top][1], x.im[top], base[2 * i]);
                float u_im = fmaf(-s.c[i][top][0], x.im[top], base[2 * i + 1]);
                MP_UNROLL
                for (int j = top - 1; j > i; --j) {
                    u_re =
                        fmaf(s.c[i][j][1], x.im[j], fmaf(-s.c[i][j][0], x.re[j], u_re));
                    u_im =
                        fmaf(-s.c[i][j][1], x.re[j], fmaf(-s.c[i][j][0], x.im[j], u_im));
                }
                x.slice(s, i, u_re, u_im);
            }
            MP_UNROLL
            for (int i = 0; i < top; ++i) {
                MP_UNROLL
                for (int b = 0; Bits && b < bits; ++b)
                    m.add(i, b, x.bit[i][b], x.metric);
            }
            visit(x);
            nearest_re = fminf(nearest_re, x.metric);
            if constexpr (whole_rows)
                nearest_im[k_im] = fminf(nearest_im[k_im], x.metric);
            MP_UNROLL
            for (int b = WIDTH; Bits && !whole_rows && b < bits; ++b)
                m.add(top, b, x.bit[top][b], x.metric);
        }
        MP_UNROLL
        for (int b = 0; Bits && b < WIDTH; ++b) {
            m.add(top, b, gray_bit<WIDTH>(k_re, b), nearest_re);
        }
    }
    MP_UNROLL
    for (int k = 0; whole_rows && k < side; ++k) {
        MP_UNROLL
        for (int b = 0; Bits && b < WIDTH; ++b) {
            m.add(top, WIDTH + b, gray_bit<WIDTH>(k, b), nearest_im[k]);
        }
    }
}

/* Square QAM of so many bits per axis, and so many antennas; for more there is the CPU's
 * form. */
constexpr bool register_sizes_to(int width, int antennas)
{
    return asked::width > 0 && asked::width <= width && asked::fixed_tx > 1 &&
           asked::fixed_tx <= antennas;
}

/* For searches that have no form with a-priori LLRs here */
constexpr bool fits_registers = register_sizes_to(3, 4) && !asked::has_prior;

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of searches with one vector for each thread, in registers: the triangular
 * system and the bits' minima. Minima are updated as candidates come; there are no lists.
 * All indices of arrays are known when compiling, as an array with other indices would be
 * in memory.
 *
 * Square QAM of up to four bits per axis. */
#pragma once
#include "common/qr.h"
#include "common/weighted_rotation.h"
#include "cuda/axis_slice.h"
#include "cuda/sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A column that is known when compiling */
template <int N>
struct constant_column {
};

/* Move a column's row to the top; the rows above it move down. */
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

/* A vector's triangular system (see detectors/nway/passes.h): row i is v_i -
 * sum_{j>i} c_ij s_j - s_i with weight w_i, s in steps of 1 round 0. KNOWN: bits have
 * a-priori LLRs; `half` has half of them, in units of the metrics. */
template <int NT, int WIDTH, bool KNOWN = false>
struct register_system {
    static constexpr int top = NT - 1;
    static constexpr int bits = 2 * WIDTH;
    float c[NT][NT][2], w[NT], v[2 * NT];
    float half[KNOWN ? NT : 1][bits];

    /* Set the system of decomposed columns and a vector; return whether the vector is
     * finite. */
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

    /* The penalty of a level of the top row by its a-priori LLRs */
    MP_FN float top_penalty(int k, int axis) const
    {
        float sum = 0.0f;
        MP_UNROLL
        for (int b = 0; KNOWN && b < WIDTH; ++b)
            sum += bit_penalty(gray_bit<WIDTH>(k, b),
                               half[KNOWN ? top : 0][axis * WIDTH + b]);
        return sum;
    }

    /* Move a column to the top; the columns above it move down. Its row loses its entries
     * one after another to the rows below. */
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
        float x[2] = { v[2 * column], v[2 * column + 1] };
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
            const auto r =
                weighted_rotation<float>::removing(row[i + 1], weight, w[i + 1], w[i]);
            MP_UNROLL
            for (int j = i + 2; j < NT; ++j)
                r.turn(row[j], c[i + 1][j], c[i][j - 1]);
            r.turn(x, v + 2 * (i + 1), v + 2 * i);
            c[i][top][0] = r.s[0];
            c[i][top][1] = r.s[1];
        }
        w[top] = weight;
        v[2 * top] = x[0];
        v[2 * top + 1] = x[1];
        if constexpr (KNOWN)
            raise_row<column>(half);
    }
};

/* A number for each value of each bit, by column */
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

    /* Set row i, where the rows above leave u, to the best level of each axis. */
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

    /* Set all rows below the top, where the real part of the top symbol leaves u. */
    template <bool KNOWN>
    MP_FN void slice_below_top(const register_system<NT, WIDTH, KNOWN>& s, const float* u)
    {
        constexpr int top = NT - 1;
        MP_UNROLL
        for (int i = top - 1; i >= 0; --i) {
            float u_re = fmaf(s.c[i][top][1], im[top], u[2 * i]);
            float u_im = fmaf(-s.c[i][top][0], im[top], u[2 * i + 1]);
            MP_UNROLL
            for (int j = top - 1; j > i; --j)
                subtract_product(s.c[i][j], re[j], im[j], u_re, u_im);
            slice(s, i, u_re, u_im);
        }
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
        for (int j = NT - 1; j > i; --j)
            subtract_product(s.c[i][j], x.re[j], x.im[j], u_re, u_im);
        x.slice(s, i, u_re, u_im);
    }
    return x.metric;
}

/* Complete each symbol of the top column by the best symbols of the columns below. Update
 * the bits' minima if Bits, and call visit(candidate). LARGE: visit() needs so many
 * registers that fewer candidates fit at a time. A-priori LLRs of many columns do so
 * too. */
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
            x.slice_below_top(s, base);
            MP_UNROLL
            for (int b = 0; Bits && b < top * bits; ++b)
                m.add(b / bits, b % bits, x.bit[b / bits][b % bits], x.metric);
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

/* Whether this is square QAM with at most this number of bits per axis and of layers.
 * Larger sizes use the CPU's form. */
constexpr bool register_sizes_to(int width, int antennas)
{
    return program::width > 0 && program::width <= width && program::fixed_tx > 1 &&
           program::fixed_tx <= antennas;
}

/* For searches without a-priori LLRs */
constexpr bool fits_registers = register_sizes_to(3, 4) && !program::has_prior;

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The search tree of the sphere detectors (004 §2-3): the real-valued model, N = 2 nt
 * levels of PAM symbols, with level N - 1 on top.
 *
 * The symbols are 2k - (side-1), k = 0..side-1, and R is scaled to them. A node's metric
 * is the sum over its levels of (y_l - sum_{j>=l} r_lj s_j)^2. With a-priori LLRs, each
 * symbol adds a term that is never negative. The metric therefore cannot fall on the way
 * down. */
#pragma once
#include "common/soft_symbols.h"
#include "common/sorted_qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* sorted: columns by sorted QR. The two axes of an antenna are neighbours, and R is zero
 * between them.
 * stacked: as in 004 eq. 3, all real parts, then all imaginary parts, antennas in the
 * given order. The imaginary parts are detected first. */
enum class level_order { sorted, stacked };

template <class F, int WIDTH>
class real_tree
{
public:
    using mask = decltype(F() < F());
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;
    const int size; /* N */
    buffer<F, 0> y; /* the received vector in the tree's coordinates */
    mask usable;

    MP_FN
    real_tree(arena<F>& a, const constellation& c, int nt, int nr, level_order order)
        : size(2 * nt),
          y(a, 2 * nt),
          d_order(order),
          d_nt(nt),
          d_scale(c.scale),
          d_qr(a, nt, nr),
          d_z(a, 2 * nt),
          d_r(a, 4 * nt * nt),
          d_turn(a, 4 * nt * nt),
          d_by_column(a, nt * bits),
          d_prior(a, 2 * nt * side)
    {
    }

    /* Return whether levels 2i and 2i+1 are the axes of one antenna. */
    MP_FN bool paired() const { return d_order == level_order::sorted; }

    /* Return r_lj, j >= l. */
    MP_FN F r(int l, int j) const { return d_r[l * size + j]; }

    /* Return the metric's a-priori term for symbol k at a level. Valid after rotate()
     * with a prior. */
    MP_FN F prior(int level, int k) const { return d_prior[level * side + k]; }

    MP_FN static F symbol(int k) { return F(static_cast<float>(2 * k - (side - 1))); }
    MP_FN static F symbol(F k) { return fma(k, F(2.0f), F(-(side - 1.0f))); }

    MP_FN void prepare(const F* h)
    {
        const int nt = d_nt;
        const F scale(d_scale);
        d_qr.decompose(h, paired());
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i) {
            MP_UNROLL_UP_TO(4)
            for (int j = i; j < nt; ++j) {
                const F re =
                    (i == j ? d_qr.diagonal[i] : d_qr.r[2 * (i * nt + j)]) * scale;
                const F im = i == j ? F(0.0f) : d_qr.r[2 * (i * nt + j) + 1] * scale;
                entry(i, 0, j, 0) = re;
                entry(i, 0, j, 1) = F(0.0f) - im;
                entry(i, 1, j, 0) = im;
                entry(i, 1, j, 1) = re;
            }
        }
        if (!paired())
            triangularise();
    }

    /* Take a vector and its prior (canonical order, or null). Return where the vector can
     * be searched. */
    MP_FN mask rotate(const F* received, F noise_var, const F* known)
    {
        const int nt = d_nt;
        const mask finite = d_qr.rotate(received, &d_z[0]);
        if (paired()) {
            for (int l = 0; l < size; ++l)
                y[l] = d_z[l];
        } else {
            for (int l = 0; l < size; ++l) {
                y[l] = F(0.0f);
                for (int i = 0; i < size; ++i)
                    y[l] = fma(d_turn[i * size + l], d_z[i % nt * 2 + i / nt], y[l]);
            }
        }
        usable = d_qr.usable & finite & (F(least_noise) < noise_var) &
                 (noise_var < F(largest_noise));
        if (known) {
            F sum(0.0f);
            for (int b = 0; b < nt * bits; ++b)
                sum = sum + abs(known[b]);
            usable = usable & (sum < F(largest_prior));
            set_prior(known, noise_var);
        }
        return usable;
    }

    /* Set the LLRs to +-1 per bit, by layer, for the levels' symbols k. */
    MP_FN void decide(const F* k, F* llr)
    {
        const int nt = d_nt;
        F* const by_layer = &d_z[0];
        if (paired()) {
            d_qr.columns.to_layers(k, 2, by_layer);
        } else {
            for (int l = 0; l < size; ++l)
                by_layer[l % nt * 2 + l / nt] = k[l];
        }
        for (int l = 0; l < size; ++l) {
            const auto gray = gray_codes<WIDTH>(by_layer[l].to_word());
            MP_UNROLL
            for (int b = 0; b < WIDTH; ++b)
                llr[l * WIDTH + b] = select(gray.bit(WIDTH - 1 - b), F(1.0f), F(-1.0f));
        }
    }

    /* Return how far from the best leaf a leaf can matter to an LLR that may differ from
     * its a-priori LLR by at most `clip`, as a metric. Valid after rotate(). */
    MP_FN F reach(F noise_var, const F* prior, float clip) const
    {
        F strongest(0.0f);
        for (int b = 0; prior && b < d_nt * bits; ++b)
            strongest =
                max(strongest, select(prior[b] < F(known_bit), F(0.0f), abs(prior[b])));
        return (strongest + F(clip)) * noise_var;
    }

    /* Set max-log LLRs by layer from nearest[2 * (l * WIDTH + g) + value], the least
     * metric of the leaves with a value of bit g of level l. Leaves beyond `last` do not
     * count. */
    MP_FN void
    llrs(const F* nearest, F last, F noise_var, const F* prior, float clip, F* llr)
    {
        const int nt = d_nt;
        const F root = rsqrt(noise_var), unit = root * root;
        F* const by_column = paired() ? &d_by_column[0] : llr;
        for (int column = 0; column < nt; ++column) {
            for (int b = 0; b < bits; ++b) {
                const F* const of_bit =
                    nearest + 2 * (level(column, b / WIDTH) * WIDTH + b % WIDTH);
                const F zero = select(last < of_bit[0], F(no_metric), of_bit[0]),
                        one = select(last < of_bit[1], F(no_metric), of_bit[1]);
                by_column[column * bits + b] = (zero - one) * unit;
            }
        }
        if (paired())
            d_qr.columns.to_layers(by_column, bits, llr);
        for (int b = 0; b < nt * bits; ++b)
            llr[b] = clipped(prior ? prior[b] : F(0.0f), llr[b], clip);
    }

private:
    const level_order d_order;
    const int d_nt;
    const float d_scale;
    sorted_qr<F> d_qr;
    buffer<F, 0> d_z, d_r, d_turn, d_by_column, d_prior;

    MP_FN int level(int column, int axis) const
    {
        return paired() ? 2 * column + axis : column + axis * d_nt;
    }

    MP_FN F& entry(int row, int row_axis, int column, int column_axis)
    {
        return d_r[level(row, row_axis) * size + level(column, column_axis)];
    }

    /* Triangularise the stacked real form of a triangular matrix by modified Gram-
     * Schmidt: d_r = d_turn R, then R in d_r. */
    MP_FN void triangularise()
    {
        const int nt = d_nt;
        for (int i = 0; i < size; ++i)
            for (int j = 0; j < size; ++j)
                d_turn[i * size + j] = i % nt <= j % nt ? d_r[i * size + j] : F(0.0f);
        for (int c = 0; c < size; ++c) {
            F sum(0.0f);
            for (int i = 0; i < size; ++i)
                sum = fma(d_turn[i * size + c], d_turn[i * size + c], sum);
            const F inv = rsqrt(sum);
            d_r[c * size + c] = sum * inv;
            for (int i = 0; i < size; ++i)
                d_turn[i * size + c] = d_turn[i * size + c] * inv;
            for (int k = c + 1; k < size; ++k) {
                F share(0.0f);
                for (int i = 0; i < size; ++i)
                    share = fma(d_turn[i * size + c], d_turn[i * size + k], share);
                d_r[c * size + k] = share;
                for (int i = 0; i < size; ++i)
                    d_turn[i * size + k] =
                        fnma(d_turn[i * size + c], share, d_turn[i * size + k]);
            }
        }
    }

    /* Set the priors' terms in units of the metric. */
    MP_FN void set_prior(const F* known, F noise_var)
    {
        const int nt = d_nt;
        if (paired())
            d_qr.columns.to_columns(known, bits, &d_by_column[0]);
        const F* const by_column = paired() ? &d_by_column[0] : known;
        for (int column = 0; column < nt; ++column) {
            for (int axis = 0; axis < 2; ++axis) {
                F* const cost = &d_prior[level(column, axis) * side];
                axis_penalties<WIDTH>(by_column + column * bits + axis * WIDTH, cost);
                for (int k = 0; k < side; ++k)
                    cost[k] = cost[k] * noise_var;
            }
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

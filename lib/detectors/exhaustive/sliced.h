/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact max-log (000 eq. 12) for square QAM without a visit to every leaf.
 *
 * R's diagonal is real. Given the other layers, the best symbol of the last layer is
 * therefore the nearest PAM level on each axis by itself: M^(nt-1) slices take the place
 * of M^nt leaves. A node passes the least metric of its leaves to its parent and to the
 * entry of its own symbol. A layer's bits need these entries only, but the sliced layer
 * has none. So there are two searches. Each covers the layers in the upper half of its
 * tree, where entries cost nothing, and the columns are rotated in between.
 *
 * Metrics are in units of the noise. A-priori LLRs add a cost for each axis of a symbol
 * (see axis_penalties), and slicing becomes a minimum over the levels of the axis. */
#pragma once
#include "common/minima.h"
#include "common/qr.h"
#include "common/slicing.h"
#include "common/soft_symbols.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The levels of an axis: origin, origin + 1, ... */
template <class F, int WIDTH>
struct axis_levels {
    static constexpr int side = 1 << WIDTH;
    /* With up to four levels, symmetric to 0, folding finds the distance to the nearest
     * one. With more levels, rounding is cheaper and needs integer levels. */
    static constexpr bool folds = WIDTH <= 2;
    static constexpr float origin = folds ? -0.5f * (side - 1) : 0.0f;

    /* Return the level nearest to b, in units of step = 1 / inverse. */
    MP_FN static F nearest(F b, F inverse)
    {
        const F magic(rounding_offset);
        F k = folds ? fma(b, inverse, F(-origin)) + magic : fma(b, inverse, magic);
        k = min(max(k, magic), magic + F(side - 1.0f)) - magic;
        return folds ? k + F(origin) : k;
    }

    /* Return the distance of b from the nearest level, with either sign. */
    MP_FN static F distance(F b, F step, F inverse)
    {
        if constexpr (folds)
            return axis_distance<WIDTH>(b, step * F(0.5f));
        else
            return fnma(nearest(b, inverse), step, b);
    }
};

/* The model of one column order in units of the noise and of the spacing of levels: b = r
 * k + noise with r = 2 scale R / sigma and axis_levels k */
template <class F, int NT, int NR, int WIDTH>
struct level_model {
    static constexpr int side = 1 << WIDTH;
    const extent<NT> d_nt;
    buffer<F, 2 * NT> b;
    buffer<F, 2 * NT * NT> r; /* r_ij at 2*(i*nt + j), j > i */
    buffer<F, NT> diagonal;

    MP_FN level_model(arena<F>& a, int nt)
        : d_nt(nt), b(a, 2 * nt), r(a, 2 * nt * nt), diagonal(a, nt)
    {
    }

    /* Rotate and scale a received vector. Return where y is finite; y is overwritten. */
    MP_FN decltype(F() < F())
    set(const qr<F, NT, NR>& from, F* y, F noise_var, float scale)
    {
        const int nt = d_nt;
        const auto finite = from.rotate_stepwise(y, &b[0]);
        const F unit = rsqrt(noise_var), step = unit * F(2.0f * scale);
        /* remainder of the symbols scale (2k - side + 1) at k = origin */
        const F start(-0.5f * (side - 1) - axis_levels<F, WIDTH>::origin);
        for (int i = 0; i < nt; ++i) {
            diagonal[i] = from.diagonal[i] * step;
            F sum_re = diagonal[i], sum_im(0.0f);
            for (int j = i + 1; j < nt; ++j) {
                const int ij = 2 * (i * nt + j);
                r[ij] = from.r[ij] * step;
                r[ij + 1] = from.r[ij + 1] * step;
                sum_re = sum_re + r[ij];
                sum_im = sum_im + r[ij + 1];
            }
            /* minus (1 + j)(sum_re + j sum_im) start */
            b[2 * i] = fnma(sum_re - sum_im, start, b[2 * i] * unit);
            b[2 * i + 1] = fnma(sum_re + sum_im, start, b[2 * i + 1] * unit);
        }
        return finite;
    }
};

template <class F, int NT, int NR, int WIDTH>
class sliced_search
{
public:
    using mask = decltype(F() < F());
    static constexpr int side = 1 << WIDTH;
    static constexpr int size = side * side;
    static constexpr int bits = 2 * WIDTH;

    MP_FN sliced_search(
        arena<F>& a, const constellation& c, int nt, int nr, float clip, bool any_rank)
        : d_nt(nt),
          d_nr(nr),
          d_any_rank(any_rank),
          d_scale(c.scale),
          d_clip(clip),
          d_knows(c.layers),
          d_upper(a, nt, nr),
          d_lower(a, nt, nr),
          d_model(a, nt),
          d_y(a, 2 * nr),
          d_left(a, 2 * nt * nt),
          d_metric(a, nt),
          d_least(a, nt),
          d_cost(a, 2 * nt * side),
          d_own(a, side),
          d_cross(a, 2 * side),
          d_entry(a, (nt + 1) / 2 * size)
    {
    }

    MP_FN void prepare(const F* h)
    {
        const int nt = d_nt;
        d_upper.decompose(h);
        if (nt > 1)
            d_lower.decompose(h, nt / 2);
    }

    /* Compute the LLRs, and return where the vector could be detected. prior, llr:
     * nt*bits lanes in canonical order. Clipping limits how far an LLR moves from its
     * prior. */
    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int nt = d_nt;
        for (int axis = 0; prior && axis < 2 * nt; ++axis)
            axis_penalties<WIDTH>(prior + axis * WIDTH, &d_cost[axis * side]);
        mask finite = d_upper.finite & search(d_upper, 0, y, noise_var, prior, llr);
        mask full_rank = d_upper.usable;
        if (nt > 1) {
            finite = finite & search(d_lower, nt / 2, y, noise_var, prior, llr);
            full_rank = full_rank & d_lower.usable;
        }
        return d_any_rank ? finite : finite & full_rank;
    }

private:
    using levels = axis_levels<F, WIDTH>;
    /* levels handled without a loop */
    static constexpr int together = side < 4 ? side : 4;

    const extent<NT> d_nt;
    const extent<NR> d_nr;
    const bool d_any_rank; /* otherwise an H without full rank is an erasure */
    const float d_scale, d_clip;
    const bool d_knows; /* a prior has known bits */
    qr<F, NT, NR> d_upper, d_lower;
    level_model<F, NT, NR, WIDTH> d_model;
    buffer<F, 2 * NR> d_y;
    /* For a node at level i: b minus the layers above, its metric, and the least metric
     * of its leaves */
    buffer<F, 2 * NT * NT> d_left;
    buffer<F, NT> d_metric, d_least;
    buffer<F, 2 * NT * side> d_cost; /* cost of each level, for each axis of a layer */
    buffer<F, side> d_own;           /* r_11 k */
    buffer<F, 2 * side> d_cross;     /* r_01 k */
    buffer<F, NT == 0 ? 0 : (NT + 1) / 2 * size> d_entry;
    F d_inverse, d_step;
    int d_index[16];

    MP_FN static int layer(int level, int shift, int nt)
    {
        return level + shift < nt ? level + shift : level + shift - nt;
    }

    MP_FN static F value(int k) { return F(levels::origin + k); }

    /* Search one column order. After a rotation by nt/2, the upper half of the tree holds
     * the layers that were in the lower half. */
    MP_STEP mask search(const qr<F, NT, NR>& model,
                        int shift,
                        const F* y,
                        F noise_var,
                        const F* prior,
                        F* llr)
    {
        const int nt = d_nt, nr = d_nr;
        for (int i = 0; i < 2 * nr; ++i)
            d_y[i] = y[i];
        const mask finite = d_model.set(model, &d_y[0], noise_var, d_scale);
        /* both halves of an odd number of layers hold the middle layer */
        const int covered = shift ? nt / 2 : nt - nt / 2;
        for (int e = 0; e < covered * size; ++e)
            d_entry[e] = F(no_metric);
        if (prior)
            walk<true>(shift, covered);
        else
            walk<false>(shift, covered);
        for (int c = 0; c < covered; ++c) {
            const int to = bits * layer(nt - 1 - c, shift, nt);
            collect(&d_entry[c * size], prior ? prior + to : nullptr, llr + to);
        }
        return finite;
    }

    /* Search the tree down to level 2, depth first. group() does the last two levels. */
    template <bool Prior>
    MP_FN void walk(int shift, int covered)
    {
        const int nt = d_nt, top = nt - 1;
        const F* const costs = &d_cost[0];
        d_step = d_model.diagonal[0];
        /* A column of zeros has all levels at the same distance. */
        d_inverse = select(F(0.0f) < d_step, F(1.0f) / d_step, F(0.0f));
        const F* const last = costs + 2 * side * layer(0, shift, nt);
        if (nt == 1) {
            for (int s = 0; s < size; ++s)
                d_entry[s] = child<Prior>(0, s, F(0.0f), &d_model.b[0], last);
            return;
        }
        for (int k = 0; k < side; ++k) {
            d_own[k] = d_model.diagonal[1] * value(k);
            d_cross[2 * k] = d_model.r[2] * value(k);
            d_cross[2 * k + 1] = d_model.r[3] * value(k);
        }
        const F* const above = costs + 2 * side * layer(1, shift, nt);
        F* const entries = covered >= top ? &d_entry[(top - 1) * size] : nullptr;
        if (nt == 2) {
            group<Prior>(F(0.0f), &d_model.b[0], above, last, entries);
            return;
        }
        for (int i = 0; i < 2 * nt; ++i)
            d_left[2 * nt * top + i] = d_model.b[i];
        d_metric[top] = F(0.0f);
        d_least[top] = F(no_metric);
        d_index[top] = 0;
        int level = top;
        while (d_index[top] < size) {
            const int s = d_index[level];
            const F* const from = &d_left[2 * nt * level];
            const int below = level - 1;
            F* const to = &d_left[2 * nt * below];
            F least;
            if (Prior && s < size &&
                skips(costs + 2 * side * layer(level, shift, nt), s)) {
                ++d_index[level];
                continue;
            }
            if (s < size) {
                const F re = value(s / side), im = value(s % side);
                for (int i = 0; i < level; ++i) {
                    F left_re = from[2 * i], left_im = from[2 * i + 1];
                    subtract_product(
                        &d_model.r[2 * (i * nt + level)], re, im, left_re, left_im);
                    to[2 * i] = left_re;
                    to[2 * i + 1] = left_im;
                }
                d_metric[below] =
                    child<Prior>(level,
                                 s,
                                 d_metric[level],
                                 from + 2 * level,
                                 costs + 2 * side * layer(level, shift, nt));
                if (below > 1) {
                    d_index[below] = 0;
                    d_least[below] = F(no_metric);
                    level = below;
                    continue;
                }
                least = group<Prior>(d_metric[1], to, above, last, entries);
            } else {
                least = d_least[level];
                ++level;
            }
            d_least[level] = min(d_least[level], least);
            if (top - level < covered) {
                F& entry = d_entry[(top - level) * size + d_index[level]];
                entry = min(entry, least);
            }
            ++d_index[level];
        }
    }

    /* Return whether symbol s contradicts a known bit. */
    MP_FN bool skips(const F* cost, int s) const
    {
        return d_knows && !any(cost[s / side] + cost[side + s % side] < F(-known_bit));
    }

    /* Return the metric of symbol s at a level; b is the remainder of the layers
     * above. */
    template <bool Prior>
    MP_FN F child(int level, int s, F metric, const F* b, const F* cost) const
    {
        const F re = fnma(d_model.diagonal[level], value(s / side), b[0]),
                im = fnma(d_model.diagonal[level], value(s % side), b[1]);
        F m = fma(re, re, fma(im, im, metric));
        if (Prior)
            m = m + cost[s / side] + cost[side + s % side];
        return m;
    }

    /* Try every symbol of level 1 with its best symbol of level 0, and return the least
     * metric. b: remainder of the layers above, for both levels. */
    template <bool Prior>
    MP_FN F group(F metric, const F* b, const F* cost, const F* last, F* entries) const
    {
        return entries ? group<Prior, true>(metric, b, cost, last, entries)
                       : group<Prior, false>(metric, b, cost, last, entries);
    }

    template <bool Prior, bool Entries>
    MP_FN F group(F metric, const F* b, const F* cost, const F* last, F* entries) const
    {
        const F b0_re = b[0], b0_im = b[1], b1_re = b[2], b1_im = b[3];
        F im_part[side];
        for (int k = 0; k < side; ++k) {
            const F e = b1_im - d_own[k];
            im_part[k] = Prior ? fma(e, e, cost[side + k]) : e * e;
        }
        F least(no_metric);
        for (int i = 0; i < side; ++i) {
            const F e = b1_re - d_own[i];
            F re_part = fma(e, e, metric);
            if (Prior)
                re_part = re_part + cost[i];
            const F re_i = b0_re - d_cross[2 * i], im_i = b0_im - d_cross[2 * i + 1];
            for (int first = 0; first < side; first += together) {
                MP_UNROLL
                for (int k = first; k < first + together; ++k) {
                    const F re = re_i + d_cross[2 * k + 1], im = im_i - d_cross[2 * k];
                    F m = re_part + im_part[k];
                    if (Prior) {
                        m = m + least_on_axis(re, last) + least_on_axis(im, last + side);
                    } else {
                        const F e_re = levels::distance(re, d_step, d_inverse),
                                e_im = levels::distance(im, d_step, d_inverse);
                        m = fma(e_re, e_re, fma(e_im, e_im, m));
                    }
                    least = min(least, m);
                    if (Entries)
                        entries[i * side + k] = min(entries[i * side + k], m);
                }
            }
        }
        return least;
    }

    MP_FN F least_on_axis(F u, const F* cost) const
    {
        F least(no_metric);
        for (int first = 0; first < side; first += together) {
            MP_UNROLL
            for (int k = first; k < first + together; ++k) {
                const F e = fnma(d_step, value(k), u);
                least = min(least, fma(e, e, cost[k]));
            }
        }
        return least;
    }

    /* Compute a layer's LLRs from its symbols' entries, by axis. */
    MP_FN void collect(const F* entry, const F* prior, F* llr) const
    {
        for (int axis = 0; axis < 2; ++axis) {
            F low[side];
            level_minima<WIDTH>(entry, axis, low);
            for (int g = 0; g < WIDTH; ++g) {
                const int b = axis * WIDTH + g;
                F zero, one;
                bit_minima_of_axis<WIDTH>(low, g, zero, one);
                llr[b] = clipped(prior ? prior[b] : F(0.0f), zero - one, d_clip);
            }
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The search tree of 000 eq. 3-6 for square QAM. It offers paths by successive
 * interference cancellation (SIC, 000 eq. 14), and candidates with a flipped bit of a
 * path (003 fig. 2, 002 fig. 6).
 *
 * Symbols and metrics are the ones of detectors/nway/passes.h: x = scale (2k -
 * (side-1)(1+j)), and the metric is |y_tilde - R x|^2 = sum_i w_i |v_i - sum_{j>=i} c_ij
 * k_j|^2, minus the noise variance times the sum of the a-priori LLRs of the bits that
 * are 1 (002 eq. 4). Level nt-1 is the root's. */
#pragma once
#include "common/minima.h"
#include "common/qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A symbol of a path: k_re and k_im in the low bits of floats (k plus 1.5 * 2^23) */
template <class F>
struct sliced {
    F re, im;
};

template <class F, int NT, int NR, int WIDTH>
class sic_tree
{
public:
    using mask = decltype(F() < F());
    using word = decltype(F().as_word());
    using code = symbol_bits<WIDTH>;
    static constexpr int side = code::side;
    static constexpr int bits = code::count;
    static constexpr float magic = rounding_offset;
    static constexpr int most_layers = NT ? NT : 32;

    MP_FN sic_tree(arena<F>& a, const constellation& c, int nt, int nr)
        : d_nt(nt),
          d_scale(c.scale),
          d_limited(c.layers && (NT == 0 || F::width == 1)),
          d_qr(a, nt, nr),
          v(a, 2 * nt),
          c(a, 2 * nt * nt),
          w(a, nt),
          path(a, nt),
          d_offset(a, 2 * nt),
          d_prior(a, nt * bits),
          d_residual(a, 2 * nt),
          d_k(a, 2 * nt),
          d_metric(a, nt * bits),
          d_fresh(a, nt * nt * bits),
          d_nearest(a, 2 * nt * bits),
          d_highest(a, d_limited ? 2 * nt : 0)
    {
    }

    /* Decompose h, whose columns are in detection order; the first column is detected
     * last. */
    MP_FN void prepare(const F* h)
    {
        const int nt = d_nt;
        d_qr.decompose(h);
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i) {
            d_qr.divide_row(i, side, &c[0], &d_offset[0]);
            const F two_scale_r = F(2.0f * d_scale) * d_qr.diagonal[i];
            w[i] = two_scale_r * two_scale_r;
        }
    }

    /* Rotate a received vector. prior: nt*bits LLRs by level, or null. Return where the
     * vector can be detected. */
    MP_FN mask receive(const F* y, F noise_var, const F* prior)
    {
        const int nt = d_nt;
        const mask finite = d_qr.rotate(y, &d_residual[0]);
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i) {
            const F unit = d_qr.inverse[i] * F(0.5f / d_scale);
            v[2 * i] = fma(d_residual[2 * i], unit, d_offset[2 * i]);
            v[2 * i + 1] = fma(d_residual[2 * i + 1], unit, d_offset[2 * i + 1]);
        }
        d_has_prior = prior != nullptr;
        for (int b = 0; d_has_prior && b < nt * bits; ++b)
            d_prior[b] = prior[b] * noise_var;
        for (int axis = 0; d_limited && axis < 2 * nt; ++axis)
            d_highest[axis] = highest(prior + axis * WIDTH);
        for (int b = 0; b < 2 * nt * bits; ++b)
            d_nearest[b] = F(no_metric);
        return finite & d_qr.usable;
    }

    /* Compute v_i - sum_{j>=i} c_ij k_j for all levels i; the levels above a given one
     * are set. */
    MP_FN void cancel(int level, F k_re, F k_im, const F* from, F* to) const
    {
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < level; ++i) {
            F re = from[2 * i], im = from[2 * i + 1];
            subtract_product(&c[2 * (i * d_nt + level)], k_re, k_im, re, im);
            to[2 * i] = re;
            to[2 * i + 1] = im;
        }
    }

    /* Return the symbol of a level that is nearest to u, in units of k. */
    MP_FN sliced<F> nearest(int level, F re, F im) const
    {
        return { slice(2 * level, re), slice(2 * level + 1, im) };
    }

    MP_FN static F join(sliced<F> s)
    {
        return fma(s.im - F(magic), F(static_cast<float>(side)), s.re);
    }

    /* Return the symbol of a word. */
    MP_FN static sliced<F> split(word symbol)
    {
        return { (symbol & (side - 1)).to_float() + F(magic),
                 ((symbol >> WIDTH) & (side - 1)).to_float() + F(magic) };
    }

    /* Complete a path from `level` down by SIC, given its residuals at this level and
     * below. Write level i's word to words[i * stride], and return the metric. */
    MP_FN F complete(int level, const F* residual, F metric, F* words, int stride)
    {
        const int nt = d_nt;
        MP_UNROLL_UP_TO(4)
        for (int i = level; i >= 0; --i) {
            F re = residual[2 * i], im = residual[2 * i + 1];
            MP_UNROLL_UP_TO(4)
            for (int j = level; j > i; --j)
                subtract_product(
                    &c[2 * (i * nt + j)], d_k[2 * j], d_k[2 * j + 1], re, im);
            const sliced<F> s = nearest(i, re, im);
            d_k[2 * i] = s.re - F(magic);
            d_k[2 * i + 1] = s.im - F(magic);
            words[i * stride] = join(s);
            const F e_re = re - d_k[2 * i], e_im = im - d_k[2 * i + 1];
            metric = fma(w[i], fma(e_re, e_re, e_im * e_im), metric);
        }
        return metric;
    }

    MP_FN bool has_prior() const { return d_has_prior; }

    /* Return the a-priori cost of a symbol at a level. */
    MP_FN F cost(int level, word symbol) const
    {
        const word value = gray_codes<WIDTH>(symbol);
        F sum(0.0f);
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            sum = select(value.bit(code::place(b)), sum - d_prior[level * bits + b], sum);
        return sum;
    }

    /* Return the same cost for one axis, real (0) or imaginary (1), of a symbol that is
     * equal in all lanes. */
    MP_FN F cost(int level, int axis, int k) const
    {
        F sum(0.0f);
        for (int b = axis * WIDTH; d_has_prior && b < (axis + 1) * WIDTH; ++b)
            if (code::of_axis(k, b))
                sum = sum - d_prior[level * bits + b];
        return sum;
    }

    /* Follow a path from the root, and return its metric. The symbol at a level is
     * pick(level, u_re, u_im), where u is the residual in units of k. `path` gets the
     * words. At the levels below `flipped`, each bit is also flipped, and SIC completes
     * these branches. listed: the path itself is in the list already. */
    template <class Pick>
    MP_FN F follow(Pick pick, int flipped, bool listed)
    {
        const int nt = d_nt;
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < 2 * nt; ++i)
            d_residual[i] = v[i];
        F metric(0.0f);
        MP_UNROLL_UP_TO(4)
        for (int level = nt - 1; level >= 0; --level) {
            const F u_re = d_residual[2 * level], u_im = d_residual[2 * level + 1];
            const sliced<F> s = pick(level, u_re, u_im);
            const F k_re = s.re - F(magic), k_im = s.im - F(magic);
            path[level] = join(s);
            cancel(level, k_re, k_im, &d_residual[0], &d_residual[0]);
            const F e[2] = { u_re - k_re, u_im - k_im };
            if (level < flipped)
                flip(level, s, e, metric);
            metric = fma(w[level], fma(e[0], e[0], e[1] * e[1]), metric);
            if (d_has_prior)
                metric = metric + cost(level, path[level].as_word());
        }
        if (flipped > 0)
            collect_flips(flipped, listed ? F(no_metric) : metric);
        return metric;
    }

    /* Call change(symbol_minima&) on the best metrics of a level's bits. */
    template <class Change>
    MP_FN void update(int level, Change change)
    {
        symbol_minima<F, WIDTH> best;
        F* const nearest = &d_nearest[2 * level * bits];
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            best.zero[b] = nearest[2 * b];
            best.one[b] = nearest[2 * b + 1];
        }
        change(best);
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            nearest[2 * b] = best.zero[b];
            nearest[2 * b + 1] = best.one[b];
        }
    }

    /* Set LLRs by level: max-log LLRs, or +-1 for the bits of `path`. SOFT: bool, or a
     * type that converts to it when compiling */
    template <class SOFT>
    MP_FN void llrs(SOFT is_soft, F noise_var, F* llr) const
    {
        if (is_soft)
            soft(noise_var, llr);
        else
            hard(llr);
    }

private:
    const extent<NT> d_nt;
    const float d_scale;
    const bool d_limited; /* axes have known bits */
    qr<F, NT, NR> d_qr;

public:
    buffer<F, 2 * NT> v;
    buffer<F, 2 * NT * NT> c;
    buffer<F, NT> w;
    buffer<F, NT> path;

private:
    buffer<F, 2 * NT> d_offset;
    buffer<F, NT * bits> d_prior;
    bool d_has_prior = false;
    buffer<F, 2 * NT> d_residual, d_k;
    buffer<F, NT * bits> d_metric;     /* of the branch with bit b flipped */
    buffer<F, NT * NT * bits> d_fresh; /* its words: [below][level][b] */
    buffer<F, 2 * NT * bits> d_nearest;
    buffer<F, 0> d_highest; /* the highest level of each axis, if they are limited */

    MP_FN F slice(int axis, F u) const
    {
        const F highest = d_limited ? d_highest[axis] : F(magic + (side - 1));
        return min(max(u + F(magic), F(magic)), highest);
    }

    /* Return the highest level of an axis whose first bits are known to be 0. */
    MP_FN static F highest(const F* prior)
    {
        F left(side - 1.0f);
        for (int g = 0; g < WIDTH; ++g)
            left = select(prior[g] < F(known_bit), (left - F(1.0f)) * F(0.5f), left);
        return left + F(magic);
    }

    /* Set max-log LLRs by level (002 eq. 4). */
    MP_FN void soft(F noise_var, F* llr) const
    {
        const F r = rsqrt(noise_var);
        const F unit = r * r;
        for (int b = 0; b < d_nt * bits; ++b)
            llr[b] = (d_nearest[2 * b] - d_nearest[2 * b + 1]) * unit;
    }

    /* Set LLRs of +-1 for the bits of `path` by level. */
    MP_FN void hard(F* llr) const
    {
        for (int level = 0; level < d_nt; ++level) {
            const word value = gray_codes<WIDTH>(path[level].as_word());
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                llr[level * bits + b] =
                    select(value.bit(code::place(b)), F(1.0f), F(-1.0f));
        }
    }

    /* Compute all branches of a level. A branch changes one axis of the symbol, and with
     * it the residuals at the levels below (d_residual). */
    MP_FN void flip(int level, sliced<F> s, const F* e, F above)
    {
        const int nt = d_nt;
        MP_UNROLL
        for (int axis = 0; axis < 2; ++axis) {
            const F k = axis ? s.im : s.re;
            const F rest = fma(w[level], e[1 - axis] * e[1 - axis], above);
            for (int b = axis * WIDTH; b < (axis + 1) * WIDTH; ++b) {
                const F change = (k.as_word() ^ code::flip(b)).as_float() - k;
                const F error = e[axis] - change;
                const F metric = fma(w[level] * error, error, rest);
                F residual[2 * most_layers];
                MP_UNROLL_UP_TO(4)
                for (int i = 0; i < level; ++i) {
                    const F c_re = c[2 * (i * nt + level)],
                            c_im = c[2 * (i * nt + level) + 1];
                    const F re = d_residual[2 * i], im = d_residual[2 * i + 1];
                    residual[2 * i] =
                        axis ? fma(c_im, change, re) : fnma(c_re, change, re);
                    residual[2 * i + 1] = fnma(axis ? c_re : c_im, change, im);
                }
                d_metric[level * bits + b] = complete(
                    level - 1, residual, metric, &d_fresh[level * bits + b], nt * bits);
            }
        }
        if (d_has_prior)
            add_prior(level);
    }

    MP_FN void add_prior(int level)
    {
        for (int b = 0; b < bits; ++b) {
            const int at = level * bits + b;
            const word flipped =
                path[level].as_word() ^ (code::flip(b) << (b / WIDTH * WIDTH));
            F sum = cost(level, flipped);
            for (int i = 0; i < (NT > 0 ? NT - 1 : level); ++i)
                if (i < level)
                    sum = sum + cost(i, d_fresh[i * d_nt * bits + at].as_word());
            d_metric[at] = d_metric[at] + sum;
        }
    }

    MP_FN void collect_flips(int flipped, F own)
    {
        const int nt = d_nt;
        F below = own; /* the best of the path and the branches that leave it below */
        for (int level = 0; level < nt; ++level) {
            const word symbol = path[level].as_word();
            const F* const metric = &d_metric[level * bits];
            update(level, [&](symbol_minima<F, WIDTH>& best) {
                if (level < flipped)
                    best.add_flips(symbol, metric, below);
                else
                    best.add(symbol, below);
                for (int i = (level + 1) * bits; i < flipped * bits; ++i)
                    best.add(d_fresh[level * nt * bits + i].as_word(), d_metric[i]);
            });
            for (int b = 0; level < flipped && b < bits; ++b)
                below = min(below, metric[b]);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The fixed-complexity sphere decoder (000 §4.2, 003): full expansion of the top levels,
 * SIC below, and hard output, max-log LLRs of all paths, or the soft-output extension
 * from the best paths.
 *
 * The M^L paths come in batches of M that differ in the lowest expanded level. Only the
 * numbers of the best paths are kept, and the paths are computed again from their
 * numbers. */
#pragma once
#include "common/amplification_order.h"
#include "common/options.h"
#include "common/sic_tree.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct fsd_options {
    int levels = 1;
    int num_paths = 1; /* option of sfsd */
    int soft = 0;      /* option of hfsd */
    float llr_clip = infinity;

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("levels", levels);
        visit("num_paths", num_paths);
        visit("soft", soft);
        visit("llr_clip", llr_clip);
    }
};


/* The best candidates so far, best first, by metric and number.
 *
 * Numbers below 2^NUMBER_BITS replace the low bits of the metrics, so that the list needs
 * minima and maxima only. Metrics that are equal to about 2^-17 (with NUMBER_BITS = 6)
 * are then ordered by number. The choice between two such paths matters as little as
 * their metrics differ. */
template <class F, int LENGTH, int NUMBER_BITS>
class shortlist
{
public:
    MP_FN shortlist() {}
    MP_FN shortlist(arena<F>&, int) {}

    MP_FN void clear()
    {
        MP_UNROLL
        for (int i = 0; i < LENGTH; ++i)
            d_metric[i] = F(no_metric);
    }

    MP_FN void add(F metric, int number)
    {
        F left = ((metric.as_word() & ~mask) + number).as_float();
        MP_UNROLL
        for (int i = 0; i < LENGTH; ++i) {
            const F better = min(left, d_metric[i]);
            left = max(left, d_metric[i]);
            d_metric[i] = better;
        }
    }

    MP_FN auto number(int i) const { return d_metric[i].as_word() & mask; }

    /* Remove the best candidate from the list, and return its number. */
    MP_FN auto take()
    {
        const auto best = number(0);
        MP_UNROLL
        for (int i = 1; i < LENGTH; ++i)
            d_metric[i - 1] = d_metric[i];
        return best;
    }

private:
    static constexpr unsigned mask = (1u << NUMBER_BITS) - 1;
    F d_metric[LENGTH];
};

template <class F>
class shortlist<F, 0, 0>
{
public:
    MP_FN shortlist(arena<F>& a, int length)
        : d_length(length), d_metric(a.take(length)), d_number(a.take(length))
    {
    }

    MP_FN void clear()
    {
        for (int i = 0; i < d_length; ++i) {
            d_metric[i] = F(no_metric);
            d_number[i] = F(0.0f);
        }
    }

    MP_FN void add(F metric, int n)
    {
        F number(static_cast<float>(n));
        for (int i = 0; i < d_length; ++i) {
            const auto better = metric < d_metric[i];
            const F worse = max(metric, d_metric[i]);
            const F other = select(better, d_number[i], number);
            d_metric[i] = min(metric, d_metric[i]);
            d_number[i] = select(better, number, d_number[i]);
            metric = worse;
            number = other;
        }
    }

    MP_FN auto number(int i) const { return d_number[i].to_word(); }

private:
    const int d_length;
    F *const d_metric, *const d_number;
};

/* NT > 0: one expanded level, and at most one extended path for each bit of a symbol.
 * num_paths: the best paths that are extended, if soft; 1 for hard output */
template <class F, int NT, int NR, int WIDTH>
class fixed_sphere
{
public:
    using mask = decltype(F() < F());
    using word = decltype(F().as_word());
    using tree = sic_tree<F, NT, NR, WIDTH>;
    static constexpr int side = tree::side;
    static constexpr int bits = tree::bits;
    MP_FN fixed_sphere(arena<F>& a,
                       const constellation& c,
                       int nt,
                       int nr,
                       int levels,
                       int num_paths,
                       float clip,
                       bool soft)
        : d_nt(nt),
          d_levels(levels),
          d_clip(clip),
          d_soft(soft),
          d_num_paths(num_paths),
          d_order(a, nt, nr),
          d_tree(a, c, nt, nr),
          d_best(a, num_paths),
          d_residual(a, levels * 2 * nt),
          d_partial(a, levels),
          d_metric(a, side * side),
          d_words(a, side * side * nt),
          d_prior(a, nt * bits),
          d_llr(a, nt * bits)
    {
    }

    MP_STEP void prepare(const F* h)
    {
        d_order.sort(h, d_levels);
        d_tree.prepare(&d_order.columns.h[0]);
    }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int nt = d_nt;
        if (prior)
            d_order.columns.to_columns(prior, bits, &d_prior[0]);
        const mask usable = d_tree.receive(y, noise_var, prior ? &d_prior[0] : nullptr);
        d_best.clear();
        expand();
        const int lowest = nt - d_levels;
        for (int j = 0; j < d_num_paths; ++j) {
            const word number = d_best.number(j);
            d_tree.follow(
                [=](int level, F re, F im) {
                    return level < lowest
                               ? d_tree.nearest(level, re, im)
                               : tree::split(number >> (bits * (level - lowest)));
                },
                d_soft ? lowest : 0,
                true);
        }
        d_tree.llrs(d_soft, noise_var, &d_llr[0]);
        d_order.columns.to_layers(&d_llr[0], bits, llr);
        for (int b = 0; d_soft && b < nt * bits; ++b)
            llr[b] = clipped(prior ? prior[b] : F(0.0f), llr[b], d_clip);
        return usable;
    }

private:
    const extent<NT> d_nt;
    const extent<NT ? 1 : 0> d_levels;
    const float d_clip;
    const bool d_soft;
    const int d_num_paths;
    amplification_order<F, NT, NR> d_order;
    tree d_tree;
    shortlist<F, NT ? bits : 0, NT ? bits : 0> d_best;
    buffer<F, 2 * NT> d_residual; /* of each expanded level, given the levels above */
    buffer<F, NT ? 1 : 0> d_partial;
    buffer<F, NT == 0 ? 0 : side * side> d_metric;
    buffer<F, NT == 0 ? 0 : side * side * NT> d_words;
    buffer<F, NT * bits> d_prior, d_llr;

    /* Return the residuals and the metric of the levels below `level` when it and the
     * levels above are set. */
    MP_FN F* residual(int level) { return &d_residual[(d_nt - 1 - level) * 2 * d_nt]; }
    MP_FN F& partial(int level) { return d_partial[d_nt - 1 - level]; }

    MP_FN void expand()
    {
        const int nt = d_nt, lowest = nt - d_levels;
        MP_UNROLL_UP_TO(8)
        for (int i = 0; i < 2 * nt; ++i)
            residual(nt - 1)[i] = d_tree.v[i];
        partial(nt - 1) = F(0.0f);
        const int parents = 1 << (bits * (d_levels - 1));
        for (int parent = 0; parent < parents; ++parent) {
            for (int level = nt - 1; level > lowest; --level) {
                const int digits = parent >> (bits * (level - lowest - 1));
                /* the parent changes where all digits below it start again */
                if (digits << (bits * (level - lowest - 1)) == parent)
                    enter(level, digits & (side - 1), digits >> WIDTH & (side - 1));
            }
            batch(lowest, parent);
        }
    }

    /* Set an expanded level's symbol, which is equal in all lanes. */
    MP_FN void enter(int level, int k_re, int k_im)
    {
        const F re(static_cast<float>(k_re)), im(static_cast<float>(k_im));
        const F* const from = residual(level);
        const F e_re = from[2 * level] - re, e_im = from[2 * level + 1] - im;
        partial(level - 1) =
            fma(d_tree.w[level], fma(e_re, e_re, e_im * e_im), partial(level)) +
            d_tree.cost(level, 0, k_re) + d_tree.cost(level, 1, k_im);
        d_tree.cancel(level, re, im, from, residual(level - 1));
    }

    /* Compute all symbols of level `top` under one parent. */
    MP_STEP void batch(int top, int parent)
    {
        const int nt = d_nt;
        const F* const v = residual(top);
        const F w = d_tree.w[top];
        F im_part[side];
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const F e = v[2 * top + 1] - F(static_cast<float>(k));
            im_part[k] = fma(w * e, e, d_tree.cost(top, 1, k));
        }
        F base[2 * tree::most_layers];
        for (int k_re = 0; k_re < side; ++k_re) {
            const F level(static_cast<float>(k_re));
            const F e = v[2 * top] - level;
            const F re_part = fma(w * e, e, d_tree.cost(top, 0, k_re)) + partial(top);
            d_tree.cancel(top, level, F(0.0f), v, base);
            for (int k_im = 0; k_im < side; ++k_im) {
                const int candidate = k_re * side + k_im;
                d_metric[candidate] = d_tree.complete(
                    top - 1, base, re_part + im_part[k_im], &d_words[candidate * nt], 1);
                /* the next candidate's symbol is j further on */
                MP_UNROLL_UP_TO(4)
                for (int i = 0; i < top; ++i) {
                    base[2 * i] = base[2 * i] + d_tree.c[2 * (i * nt + top) + 1];
                    base[2 * i + 1] = base[2 * i + 1] - d_tree.c[2 * (i * nt + top)];
                }
            }
        }
        if (d_tree.has_prior())
            add_prior(top);
        list(parent);
        if (d_soft)
            collect(top, parent);
    }

    MP_FN void add_prior(int top)
    {
        for (int candidate = 0; candidate < side * side; ++candidate)
            for (int i = 0; i < top; ++i)
                d_metric[candidate] =
                    d_metric[candidate] +
                    d_tree.cost(i, d_words[candidate * d_nt + i].as_word());
    }

    /* List a batch. A path's number consists of the words of its expanded levels, the
     * lowest level in the low bits. */
    MP_FN void list(int parent)
    {
        for (int k_re = 0; k_re < side; ++k_re)
            for (int k_im = 0; k_im < side; ++k_im)
                d_best.add(d_metric[k_re * side + k_im],
                           (parent << bits) + k_im * side + k_re);
    }

    MP_STEP void collect(int top, int parent)
    {
        const int nt = d_nt;
        using minima = symbol_minima<F, WIDTH>;
        F best = d_metric[0];
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < top; ++i)
            d_tree.path[i] = d_words[i];
        for (int candidate = 1; candidate < side * side; ++candidate) {
            const mask better = d_metric[candidate] < best;
            best = min(best, d_metric[candidate]);
            MP_UNROLL_UP_TO(4)
            for (int i = 0; i < top; ++i)
                d_tree.path[i] =
                    select(better, d_words[candidate * nt + i], d_tree.path[i]);
        }
        for (int i = 0; i < top; ++i)
            d_tree.update(i, [&](minima& bit) {
                bit.add(side * side,
                        &d_words[i],
                        nt,
                        &d_metric[0],
                        best,
                        d_tree.path[i].as_word());
            });
        d_tree.update(top, [&](minima& bit) { bit.add_all(&d_metric[0]); });
        for (int i = top + 1; i < nt; ++i) {
            const int digits = parent >> (bits * (i - top - 1));
            d_tree.update(i, [&](minima& bit) {
                for (int b = 0; b < bits; ++b) {
                    F& entry = symbol_bits<WIDTH>::of_axis(b < WIDTH ? digits & (side - 1)
                                                                     : digits >> WIDTH &
                                                                           (side - 1),
                                                           b)
                                   ? bit.one[b]
                                   : bit.zero[b];
                    entry = min(entry, best);
                }
            });
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

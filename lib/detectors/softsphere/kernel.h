/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact max-log LLRs by tree search, with N-way's candidates as the first hypotheses.
 *
 * Vectors are lanes up to there, as in all kernels; then each vector is searched by
 * itself (tree_search.h), in as many column orders as it takes for each layer to stand at
 * level 2 or above once. */
#pragma once
#include "common/options.h"
#include "common/ordering.h"
#include "detectors/nway/greedy_search.h"
#include "detectors/softsphere/tree_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct softsphere_options {
    float llr_clip = infinity;

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("llr_clip", llr_clip);
    }
};


/* Four columns in the order 0 1 | 2 3 that makes two searches small, one with either pair
 * on top. How many nodes survive two levels falls with the product of their r_ii^2, which
 * is det(H^H H) over the other pair's determinant: so the split with the least sum of the
 * pairs' determinants is taken. The stronger column of a pair stands above the other. */
template <class F, int NT, int NR>
MP_FN void split_in_pairs(ordered_columns<F, NT, NR>& c, const F* h, int nr)
{
    constexpr int nt = 4;
    c.copy(h);
    F gram[nt][nt];
    for (int i = 0; i < nt; ++i) {
        for (int j = i; j < nt; ++j) {
            F sum[2] = { F(0.0f), F(0.0f) };
            for (int row = 0; row < nr; ++row)
                add_conjugate_product(
                    h + 2 * (row * nt + i), h + 2 * (row * nt + j), sum);
            gram[i][j] = i == j ? sum[0] : fma(sum[0], sum[0], sum[1] * sum[1]);
        }
        c.norm2[i] = gram[i][i];
    }
    const auto determinant = [&](int i, int j) {
        return fnma(F(1.0f), gram[i][j], gram[i][i] * gram[j][j]);
    };
    const F with_1 = determinant(0, 1) + determinant(2, 3),
            with_2 = determinant(0, 2) + determinant(1, 3),
            with_3 = determinant(0, 3) + determinant(1, 2);
    const auto takes_2 = with_2 < with_1, takes_3 = with_3 < min(with_1, with_2);
    const auto exchange = [&](decltype(F() < F()) where, int i, int j) {
        swap_where(where, c.norm2[i], c.norm2[j]);
        c.swap(where, i, j);
    };
    exchange(takes_2 & ~takes_3, 1, 2);
    exchange(takes_3, 1, 3);
    exchange(c.norm2[1] < c.norm2[0], 0, 1);
    exchange(c.norm2[3] < c.norm2[2], 2, 3);
}

template <class F, int NT, int NR, int WIDTH>
class softsphere
{
public:
    using mask = decltype(F() < F());
    using tree = tree_search<F, WIDTH>;
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;

    /* nt >= 3 */
    MP_FN softsphere(arena<F>& a, const constellation& c, int nt, int nr, float clip)
        : d_nt(nt),
          d_nr(nr),
          d_scale(c.scale),
          d_clip(clip),
          d_columns(a, nt, nr),
          d_seeds(a, c, nt, nr, nt, infinity, column_order::rotate),
          d_qr{ { a, nt, nr }, { a, nt, nr }, { a, nt, nr } },
          d_model(a, nt),
          d_y(a, 2 * nr),
          d_inverse(a, nt),
          d_prior(a, nt * bits),
          d_llr(a, nt * bits),
          d_cost(a, 2 * nt * side),
          d_search(a, nt),
          d_costs(take_floats(a, F::width * 2 * nt * side)),
          d_hypothesis(take_floats(a, F::width * nt * tree::hypotheses)),
          d_slack(take_floats(a, F::width * nt * tree::hypotheses)),
          d_lists(take_floats(a, F::width * tree::list_size(nt)))
    {
        /* what fills up whole lanes is never wanted */
        for (int i = 0; a.memory && i < F::width * nt * tree::hypotheses; ++i)
            d_hypothesis[i] = d_slack[i] = no_metric;
    }

    MP_STEP void prepare(const F* h)
    {
        if (d_nt == 4)
            split_in_pairs(d_columns, h, d_nr);
        else
            d_columns.sort_by_norm(h);
        d_seeds.prepare(&d_columns.h[0]);
        for (int order = 0; order < orders(); ++order) {
            const int shift = shift_of(order);
            d_qr[order].decompose(&d_columns.h[0], [=](int c) {
                return c + shift < d_nt ? c + shift : c + shift - d_nt;
            });
        }
    }

    /* How many elements of the lanes hold a vector; the others are not searched. */
    MP_FN void set_live(int count) { d_live = count; }

    /* prior, llr: nt*bits lanes in canonical order; returns where the vector could be
     * detected. Clipping limits how far an LLR moves from its prior. */
    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int nt = d_nt;
        const F* known = nullptr;
        if (prior) {
            d_columns.to_columns(prior, bits, &d_prior[0]);
            known = &d_prior[0];
        }
        mask usable = d_seeds.detect_stepwise(copied(y), noise_var, known, &d_llr[0]);
        start(noise_var, known);
        for (int order = 0; order < orders(); ++order) {
            const int shift = shift_of(order);
            usable = usable & d_qr[order].usable &
                     d_model.set(d_qr[order], copied(y), noise_var, d_scale);
            for (int i = 0; i < nt; ++i)
                d_inverse[i] = F(1.0f) / d_model.diagonal[i];
            const auto list = [&](int v) { return d_lists + v * tree::list_size(nt); };
            int left[F::width];
            for (int v = 0; v < d_live; ++v)
                left[v] =
                    usable[v] ? d_search.search(problem(v, shift, known), list(v)) : 0;
            for (int v = 0; v < d_live; ++v)
                if (left[v])
                    d_search.finish(problem(v, shift, known), list(v), left[v]);
        }
        for (int b = 0; b < nt * bits; ++b) {
            float side_of[2][F::width];
            for (int v = 0; v < F::width; ++v)
                for (int value = 0; value < 2; ++value)
                    side_of[value][v] = hypotheses_of(
                        v)[b / bits * tree::hypotheses + 2 * (b % bits) + value];
            const F before = known ? known[b] : F(0.0f);
            const F moved = F::load(side_of[0]) - F::load(side_of[1]) - before;
            d_llr[b] = before + max(min(moved, F(d_clip)), F(-d_clip));
        }
        d_columns.to_layers(&d_llr[0], bits, llr);
        return usable;
    }

private:
    const extent<NT> d_nt;
    const extent<NR> d_nr;
    const float d_scale, d_clip;
    int d_live = F::width;
    ordered_columns<F, NT, NR> d_columns;
    greedy_search<F, NT, NR, WIDTH> d_seeds;
    qr<F, NT, NR> d_qr[3];
    level_model<F, NT, NR, WIDTH> d_model;
    buffer<F, 2 * NR> d_y;
    buffer<F, NT> d_inverse;
    buffer<F, NT * bits> d_prior, d_llr;
    buffer<F, 2 * NT * side> d_cost;
    tree d_search;
    /* of each element by itself */
    float *const d_costs, *const d_hypothesis, *const d_slack, *const d_lists;

    /* Column orders with nt - 2 wanted levels each: three layers take three, more two. */
    MP_FN int orders() const { return d_nt == 3 ? 3 : 2; }
    MP_FN int shift_of(int order) const { return d_nt == 3 ? order : 2 * order; }

    MP_FN F* copied(const F* y)
    {
        for (int i = 0; i < 2 * d_nr; ++i)
            d_y[i] = y[i];
        return &d_y[0];
    }

    MP_FN bool clips() const { return d_clip < no_metric; }

    MP_FN float* hypotheses_of(int v) const
    {
        return d_hypothesis + v * d_nt * tree::hypotheses;
    }

    MP_FN static void store(F value, float* to, int stride)
    {
        float each[F::width];
        value.store(each);
        for (int v = 0; v < F::width; ++v)
            to[v * stride] = each[v];
    }

    /* N-way's nearest candidates in units of the noise, and the priors' costs */
    MP_FN void start(F noise_var, const F* prior)
    {
        const int nt = d_nt, all = nt * tree::hypotheses;
        const F* const nearest = d_seeds.nearest();
        const F root = rsqrt(noise_var);
        const F unit = root * root;
        for (int c = 0; c < nt; ++c) {
            for (int h = 0; h < 2 * bits; ++h) {
                const int b = c * bits + h / 2, to = c * tree::hypotheses + h;
                store(nearest[2 * b + h % 2] * unit, d_hypothesis + to, all);
                if (clips()) {
                    const F before = prior ? prior[b] : F(0.0f);
                    store(max(h % 2 ? F(d_clip) - before : F(d_clip) + before, F(0.0f)),
                          d_slack + to,
                          all);
                }
            }
        }
        for (int axis = 0; prior && axis < 2 * nt; ++axis) {
            axis_penalties<WIDTH>(prior + axis * WIDTH, &d_cost[axis * side]);
            for (int k = 0; k < side; ++k)
                store(d_cost[axis * side + k], d_costs + axis * side + k, 2 * nt * side);
        }
    }

    MP_FN typename tree::problem problem(int v, int shift, const F* prior)
    {
        const int nt = d_nt;
        const auto element = [v](F* lanes) {
            return reinterpret_cast<const float*>(lanes) + v;
        };
        return { element(&d_model.b[0]),
                 element(&d_model.r[0]),
                 element(&d_model.diagonal[0]),
                 element(&d_inverse[0]),
                 prior ? d_costs + v * 2 * nt * side : nullptr,
                 hypotheses_of(v),
                 clips() ? d_slack + v * nt * tree::hypotheses : nullptr,
                 shift,
                 nt > 4 && shift ? nt - 2 : 2 };
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

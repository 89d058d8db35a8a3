/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact max-log LLRs by tree search, with N-way's candidates as the first hypotheses.
 *
 * N-way takes a lane of vectors, as all kernels do. Then each vector is searched by
 * itself (tree_search.h). A search finds the hypotheses of level 2 and above, so it runs
 * in several column orders until each layer has stood there once. */
#pragma once
#include "common/budget.h"
#include "common/options.h"
#include "common/ordering.h"
#include "detectors/nway/greedy_search.h"
#include "detectors/softsphere/tree_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct softsphere_options {
    float llr_clip = infinity;
    int max_nodes = 0; /* 0: no limit */

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("llr_clip", llr_clip);
        visit("max_nodes", max_nodes);
    }
};

/* Order four columns as two pairs 0 1 | 2 3 for two searches, each with one pair on top.
 *
 * Fewer nodes survive two levels if the product of their r_ii^2 is large. This product is
 * det(H^H H) over the determinant of the other pair. The best split therefore has the
 * least sum of the pairs' determinants. The stronger column of a pair stands above the
 * other. */
template <class F, int NT, int NR>
MP_STEP void split_in_pairs(ordered_columns<F, NT, NR>& c, const F* h, int nr)
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

template <class F, int WIDTH>
class softsphere
{
public:
    using mask = decltype(F() < F());
    using tree = tree_search<F, WIDTH>;
    using hypotheses = typename tree::hypotheses;
    using axis_costs = typename tree::axis_costs;
    using node_list = typename tree::node_list;
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;

    /* nt >= 3 */
    MP_FN softsphere(
        arena<F>& a, const constellation& c, int nt, int nr, const softsphere_options& o)
        : d_nt(nt),
          d_nr(nr),
          d_scale(c.scale),
          d_clip(o.llr_clip),
          d_max_nodes(o.max_nodes),
          d_knows(c.layers),
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
          d_costs(take<axis_costs>(a, F::width * nt)),
          d_hypothesis(take<hypotheses>(a, F::width * nt)),
          d_slack(take<hypotheses>(a, F::width * nt)),
          d_nodes(take<typename node_list::row>(a, F::width * node_list::num_rows(nt)))
    {
        /* The padding of a row never matters to a search. */
        for (int i = 0; a.memory && i < F::width * nt; ++i)
            for (int h = 0; h < hypotheses::length; ++h)
                d_hypothesis[i][h] = d_slack[i][h] = no_metric;
    }

    MP_STEP void prepare(const F* h)
    {
        if (d_nt == 4)
            split_in_pairs(d_columns, h, d_nr);
        else
            d_columns.sort_by_norm(h);
        d_seeds.prepare(&d_columns.h[0]);
        for (int order = 0; order < orders(); ++order)
            d_qr[order].decompose(&d_columns.h[0], shift_of(order));
    }

    /* Search only the first `count` elements of the lanes. */
    MP_FN void set_live(int count) { d_live = count; }

    /* Compute the LLRs, and return where the vector could be detected. prior, llr:
     * nt*bits lanes in canonical order. Clipping limits how far an LLR moves from its
     * prior. */
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
        for (search_budget& budget : d_budget)
            budget = { 0, false };
        for (int order = 0; order < orders(); ++order) {
            const int shift = shift_of(order);
            usable = usable & d_qr[order].usable &
                     d_model.set(d_qr[order], copied(y), noise_var, d_scale);
            for (int i = 0; i < nt; ++i)
                d_inverse[i] = F(1.0f) / d_model.diagonal[i];
            search_each(usable, shift, known);
        }
        set_llrs(known);
        d_columns.to_layers(&d_llr[0], bits, llr);
        return usable;
    }

    MP_FN int truncated() const
    {
        int sum = 0;
        for (int v = 0; v < d_live; ++v)
            sum += d_budget[v].has_ended;
        return sum;
    }

private:
    const int d_nt, d_nr;
    const float d_scale, d_clip;
    const int d_max_nodes;
    const bool d_knows; /* a prior has known bits */
    int d_live = F::width;
    ordered_columns<F, 0, 0> d_columns;
    greedy_search<F, 0, 0, WIDTH> d_seeds;
    qr<F, 0, 0> d_qr[3];
    level_model<F, 0, 0, WIDTH> d_model;
    buffer<F, 0> d_y, d_inverse, d_prior, d_llr, d_cost;
    tree d_search;
    search_budget d_budget[F::width];
    /* nt for each vector; see tree_problem */
    axis_costs* const d_costs;
    hypotheses *const d_hypothesis, *const d_slack;
    typename node_list::row* const d_nodes; /* node_list::num_rows(nt) for each vector */

    /* Each column order has nt - 2 wanted levels: three layers need three orders, and
     * more layers need two. */
    MP_FN int orders() const { return d_nt == 3 ? 3 : 2; }
    MP_FN int shift_of(int order) const { return d_nt == 3 ? order : 2 * order; }

    MP_FN F* copied(const F* y)
    {
        for (int i = 0; i < 2 * d_nr; ++i)
            d_y[i] = y[i];
        return &d_y[0];
    }

    MP_FN bool clips() const { return d_clip < no_metric; }

    /* Search the vectors of the lanes in one column order. Each order gets an equal share
     * of the budget, and what the orders before it have left. */
    MP_FN void search_each(mask usable, int shift, const F* known)
    {
        const long long share = node_budget(d_max_nodes) / orders();
        int left[F::width];
        for (int v = 0; v < d_live; ++v) {
            d_budget[v].left += share;
            left[v] =
                usable[v]
                    ? d_search.search(problem(v, shift, known), nodes(v), d_budget[v])
                    : 0;
        }
        for (int v = 0; v < d_live; ++v)
            if (left[v])
                d_search.finish(problem(v, shift, known), nodes(v), left[v]);
    }

    MP_FN node_list nodes(int v) const
    {
        return { d_nodes + v * node_list::num_rows(d_nt) };
    }

    /* Set d_llr to the difference of each bit's hypotheses, limited by clipping. */
    MP_FN void set_llrs(const F* prior)
    {
        for (int b = 0; b < d_nt * bits; ++b) {
            float side_of[2][F::width];
            for (int v = 0; v < F::width; ++v)
                for (int value = 0; value < 2; ++value)
                    side_of[value][v] =
                        d_hypothesis[v * d_nt + b / bits][2 * (b % bits) + value];
            const F before = prior ? prior[b] : F(0.0f);
            const F moved = F::load(side_of[0]) - F::load(side_of[1]) - before;
            d_llr[b] = before + max(min(moved, F(d_clip)), F(-d_clip));
        }
    }

    /* Store element v of a lane at place(v). */
    template <class Place>
    MP_FN static void store_each(F value, Place place)
    {
        float each[F::width];
        value.store(each);
        for (int v = 0; v < F::width; ++v)
            place(v) = each[v];
    }

    /* Set the hypotheses to N-way's nearest candidates, in units of the noise, and set
     * the costs of priors. */
    MP_FN void start(F noise_var, const F* prior)
    {
        const int nt = d_nt;
        const F* const nearest = d_seeds.nearest();
        /* The search need not find a candidate for the other value of a known bit. */
        const auto seed = [&](int b, int value) {
            const F own = nearest[2 * b + value];
            return d_knows && value ? select(prior[b] < F(known_bit), nearest[2 * b], own)
                                    : own;
        };
        const F root = rsqrt(noise_var);
        const F unit = root * root;
        for (int c = 0; c < nt; ++c) {
            for (int h = 0; h < 2 * bits; ++h) {
                const int b = c * bits + h / 2;
                store_each(seed(b, h % 2) * unit,
                           [&](int v) -> float& { return d_hypothesis[v * nt + c][h]; });
                if (clips()) {
                    const F before = prior ? prior[b] : F(0.0f);
                    store_each(
                        max(h % 2 ? F(d_clip) - before : F(d_clip) + before, F(0.0f)),
                        [&](int v) -> float& { return d_slack[v * nt + c][h]; });
                }
            }
        }
        for (int axis = 0; prior && axis < 2 * nt; ++axis) {
            axis_penalties<WIDTH>(prior + axis * WIDTH, &d_cost[axis * side]);
            for (int k = 0; k < side; ++k)
                store_each(d_cost[axis * side + k], [&](int v) -> float& {
                    axis_costs& to = d_costs[v * nt + axis / 2];
                    return axis % 2 ? to.im[k] : to.re[k];
                });
        }
    }

    MP_FN typename tree::problem problem(int v, int shift, const F* prior)
    {
        const int nt = d_nt;
        using element = lane_element<F>;
        return { element::of(&d_model.b[0], v),        element::of(&d_model.r[0], v),
                 element::of(&d_model.diagonal[0], v), element::of(&d_inverse[0], v),
                 prior ? d_costs + v * nt : nullptr,   d_hypothesis + v * nt,
                 clips() ? d_slack + v * nt : nullptr, shift,
                 nt > 4 && shift ? nt - 2 : 2 };
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

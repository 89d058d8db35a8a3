/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The parallel sphere detector (004 §4, Algorithms 2 and 3).
 *
 * All lanes walk through the stages together, like the threads of 004 for one vector. A
 * round runs while any lane still has a partial vector below its bound. Lanes without one
 * have infinite metrics, so that nothing in the round can win. A stage's buffer is not
 * sorted: its smallest metric is taken out when its turn comes.
 *
 * On the last stage only the smallest metric counts. Its lowest level is sliced and not
 * enumerated (both axes of the lowest antenna if they are paired). Its nodes count as if
 * they were enumerated.
 *
 * Soft output collects the best leaves of all rounds in a list, whose last one bounds the
 * search. It enumerates the lowest level too.
 *
 * A budget counts each vector's own nodes. The search of a vector ends before a round for
 * which its nodes do not suffice, but not without a leaf. */
#pragma once
#include "common/budget.h"
#include "common/options.h"
#include "common/real_tree.h"
#include "common/slicing.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct psd_options {
    int ordering = 0;    /* a level_order */
    int_list levels;     /* lvl_1 ... lvl_nr of 004 */
    int_list expansions; /* exp_1 ... */
    int team_size = 1;   /* tt */
    int max_nodes = 0;   /* 0: no limit */
    int soft = 0;        /* whether to put out LLRs from a list of leaves */
    int list_size = 1;   /* leaves of the list */
    float llr_clip = infinity;

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("ordering", ordering);
        visit("levels", levels);
        visit("expansions", expansions);
        visit("team_size", team_size);
        visit("max_nodes", max_nodes);
        visit("soft", soft);
        visit("list_size", list_size);
        visit("llr_clip", llr_clip);
    }
};

/* LIMITED: count nodes against a budget. Searches without a budget leave the counting
 * out, which makes them a few percent faster. SOFT: put out LLRs. */
template <class F, int WIDTH, bool LIMITED, bool SOFT>
class psd
{
public:
    using mask = decltype(F() < F());
    using tree = real_tree<F, WIDTH>;
    static constexpr int side = tree::side;

    MP_FN
    psd(arena<F>& a, const constellation& c, int nt, int nr, const psd_options& o)
        : d_tree(a, c, nt, nr, static_cast<level_order>(o.ordering)),
          d_stages(o.levels.count),
          d_team(o.team_size),
          d_max_nodes(o.max_nodes),
          d_list_size(SOFT ? o.list_size : 0),
          d_clip(o.llr_clip),
          d_k(a, 2 * nt),
          d_listed(a, d_list_size),
          d_nearest(a, SOFT ? 4 * nt * WIDTH : 0),
          d_stage()
    {
        const int size = 2 * nt;
        int above = size, parents = 1;
        for (int s = 0; s < d_stages; ++s) {
            stage& t = d_stage[s];
            t.top = above - 1;
            t.bottom = o.levels.values[s] - 1;
            t.parents = parents;
            t.children = 1 << (WIDTH * (above - t.bottom));
            t.together = s + 1 < d_stages ? o.expansions.values[s] : 0;
            t.metric = a.take(parents);
            t.base = a.take(parents * above);
            t.node = s + 1 < d_stages ? a.take(parents * t.children) : nullptr;
            t.chosen = a.take(t.together);
            t.best = a.take(1);
            above = t.bottom;
            parents = t.together;
        }
        d_deep = a.take((size + 1) * size);
        d_partial = a.take(size + 1);
    }

    MP_FN void prepare(const F* h) { d_tree.prepare(h); }

    /* Set the lanes of the next detect() that are in use. Count the nodes of lane l into
     * nodes[l][0..team-1], or count none. */
    MP_FN void use_lanes(int count, unsigned* const* nodes)
    {
        d_lanes = count;
        d_counted = nodes ? count : 0;
        for (int l = 0; l < d_counted; ++l)
            d_nodes[l] = nodes[l];
    }

    /* Detect, and return where the vector could be detected. prior: nt*bits lanes in
     * canonical order, or null; llr: +-1. */
    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const mask usable = d_tree.rotate(y, noise_var, prior);
        d_bound = select(usable, F(3e38f), F(-1.0f));
        d_ended = F(0.0f);
        for (int s = 0; s < d_stages; ++s)
            d_stage[s].best[0] = F(0.0f);
        if constexpr (SOFT)
            clear_list(d_tree.reach(noise_var, prior, d_clip));
        if (prior)
            search<true>();
        else
            search<false>();
        if constexpr (SOFT)
            d_tree.llrs(
                &d_nearest[0], d_listed[d_list_size - 1], noise_var, prior, d_clip, llr);
        else
            d_tree.decide(&d_k[0], llr);
        return usable;
    }

    MP_FN int truncated() const
    {
        int sum = 0;
        for (int l = 0; LIMITED && l < d_lanes; ++l)
            sum += (F(0.5f) < d_ended)[l];
        return sum;
    }

private:
    /* A stage from the chosen nodes of the stage above (levels > top) to its own nodes at
     * `bottom` */
    struct stage {
        int top, bottom;
        int parents;  /* exp of the stage above */
        int children; /* children of each parent */
        int together; /* exp: nodes expanded at once */
        int left;     /* nodes in the buffer that were not chosen yet */
        F* metric;    /* metrics of the parents */
        F* base;      /* for parent p: y_l minus its symbols' share, levels 0..top */
        F* node;      /* metrics of the children, parent by parent */
        F* chosen;    /* indices of the nodes being expanded */
        F* best;      /* index on the way to the best leaf so far */
    };

    tree d_tree;
    const int d_stages, d_team, d_max_nodes, d_list_size;
    const float d_clip;
    int d_lanes = F::width, d_counted = 0;
    unsigned* d_nodes[F::width];
    F d_bound;
    F d_visited;            /* nodes, if there is a budget */
    F d_ended;              /* 1 if the budget has ended the search, else 0 */
    buffer<F, 0> d_k;       /* symbols of the best leaf, or of the leaves to list */
    F d_reach;              /* a leaf farther than this from the best is of no use */
    int d_filled;           /* places of the list that are in use in any lane */
    buffer<F, 0> d_listed;  /* metrics of the list's leaves, rising */
    buffer<F, 0> d_nearest; /* see real_tree::llrs() */
    stage d_stage[max_list_option];
    F *d_deep, *d_partial;

    template <bool Prior>
    void search()
    {
        stage& root = d_stage[0];
        root.metric[0] = F(0.0f);
        for (int l = 0; l < d_tree.size; ++l)
            root.base[l] = d_tree.y[l];
        d_visited = F(static_cast<float>(root.children));
        count(F(-1.0f) < d_bound, root.children);
        if (d_stages == 1) {
            leaves<Prior>();
        } else {
            fill<Prior>(0);
            for (int s = 0; s >= 0;) {
                if (!choose<Prior>(s))
                    --s;
                else if (s + 2 == d_stages)
                    leaves<Prior>();
                else
                    fill<Prior>(++s);
            }
        }
        if constexpr (!SOFT)
            trace<Prior>();
    }

    void clear_list(F reach)
    {
        d_reach = reach;
        d_filled = 0;
        for (int i = 0; i < d_list_size; ++i)
            d_listed[i] = F(3e38f);
        for (int i = 0; i < 2 * d_tree.size * WIDTH; ++i)
            d_nearest[i] = F(no_metric);
    }

    template <bool Prior>
    void fill(int s)
    {
        stage& t = d_stage[s];
        for (int p = 0; p < t.parents; ++p)
            expand<Prior, false>(t, p);
        t.left = t.parents * t.children;
    }

    /* Make the next exp nodes of a stage's buffer the parents of the stage below. Return
     * false if no lane has one below its bound. */
    template <bool Prior>
    bool choose(int s)
    {
        stage& from = d_stage[s];
        stage& to = d_stage[s + 1];
        const int size = from.parents * from.children;
        if (from.left <= 0)
            return false;
        for (int e = 0; e < from.together; ++e) {
            F least(3e38f), index(0.0f);
            for (int c = 0; c < size; c += side) {
                const F first(static_cast<float>(c));
                F local = from.node[c], where(0.0f);
                MP_UNROLL
                for (int i = 1; i < side; ++i) {
                    const F metric = from.node[c + i];
                    const mask less = metric < local;
                    local = min(metric, local);
                    where = select(less, F(static_cast<float>(i)), where);
                }
                const mask less = local < least;
                least = min(local, least);
                index = select(less, first + where, index);
            }
            mask inside = least < d_bound;
            if (e == 0) {
                const int number = from.left < from.together ? from.left : from.together;
                if constexpr (LIMITED)
                    inside = charge(inside, number * to.children);
                if (!any(inside))
                    return false;
                count(inside, number * to.children);
            }
            F::put(from.node, index.to_word(), F(3e38f));
            from.chosen[e] = index;
            to.metric[e] = select(inside, least, F(3e38f));
            descend(from, index, to.base + e * (to.top + 1));
        }
        from.left -= from.together;
        return true;
    }

    /* Compute the base of a node, whose index differs from lane to lane. */
    void descend(const stage& t, F index, F* base) const
    {
        const auto word = index.to_word();
        const int levels = t.top - t.bottom + 1;
        for (int l = 0; l < t.bottom; ++l)
            base[l] = t.base[l];
        if (t.parents > 1) {
            const auto parent = word >> (WIDTH * levels);
            for (int p = 1; p < t.parents; ++p)
                for (int l = 0; l < t.bottom; ++l)
                    base[l] = select(is(parent, p), t.base[p * (t.top + 1) + l], base[l]);
        }
        for (int j = t.bottom; j <= t.top; ++j) {
            const F s = tree::symbol(digit(word, j - t.bottom));
            for (int l = 0; l < t.bottom; ++l)
                base[l] = fnma(d_tree.r(l, j), s, base[l]);
        }
    }

    template <class Word>
    MP_FN static mask is(Word a, int value)
    {
        return abs(a.to_float() - F(static_cast<float>(value))) < F(0.5f);
    }

    /* Return symbol k of a node's level, counted from the stage's bottom. */
    template <class Word>
    MP_FN static F digit(Word index, int place)
    {
        return ((index >> (WIDTH * place)) & (side - 1u)).to_float();
    }

    /* Compute all leaves below the parents of the last stage, and keep the best leaf of
     * all rounds. */
    template <bool Prior>
    void leaves()
    {
        stage& t = d_stage[d_stages - 1];
        const F before = d_bound;
        d_leaf = F(0.0f);
        for (int p = 0; p < t.parents; ++p) {
            if constexpr (SOFT)
                set_path(p);
            expand<Prior, true>(t, p);
        }
        if constexpr (SOFT)
            return;
        const mask improved = d_bound < before;
        if (!any(improved))
            return;
        F index = d_leaf;
        for (int s = d_stages - 1; s >= 0; --s) {
            stage& u = d_stage[s];
            u.best[0] = select(improved, index, u.best[0]);
            if (s == 0)
                break;
            const auto parent = index.to_word() >> (WIDTH * (u.top - u.bottom + 1));
            index = d_stage[s - 1].chosen[0];
            for (int p = 1; p < u.parents; ++p)
                index = select(is(parent, p), d_stage[s - 1].chosen[p], index);
        }
    }

    F d_leaf;

    /* Set the symbols of the levels above the last stage to those of its parent p. */
    void set_path(int p)
    {
        F parent(static_cast<float>(p));
        for (int s = d_stages - 2; s >= 0; --s) {
            const stage& t = d_stage[s];
            F index = t.chosen[0];
            for (int e = 1; e < t.together; ++e)
                index = select(is(parent.to_word(), e), t.chosen[e], index);
            const int levels = t.top - t.bottom + 1;
            for (int l = t.bottom; l <= t.top; ++l)
                d_k[l] = digit(index.to_word(), l - t.bottom);
            parent = (index.to_word() >> (WIDTH * levels)).to_float();
        }
    }

    /* Compute the metrics of the children of parent p: into the buffer, or the best one
     * against the bound. The walk is depth first through the levels, lowest digit
     * fastest. */
    template <bool Prior, bool Leaves>
    void expand(stage& t, int p)
    {
        const int inner =
            d_tree.paired() && t.bottom % 2 == 0 && t.top > t.bottom ? 2 : 1;
        const int depth = t.top - t.bottom + 1 - inner;
        const int size = d_tree.size;
        int digits[2 * 16 + 1];
        const F* base = t.base + p * (t.top + 1);
        d_partial[0] = t.metric[p];
        int c = p * t.children;
        int d = 0;
        digits[0] = -1;
        for (;;) {
            const F* const rest = d ? d_deep + d * size : base;
            if (d == depth) {
                if (inner == 2)
                    lowest<Prior, Leaves, 2>(t, rest, d_partial[d], c);
                else
                    lowest<Prior, Leaves, 1>(t, rest, d_partial[d], c);
                c += 1 << (WIDTH * inner);
                if (--d < 0)
                    return;
                continue;
            }
            if (++digits[d] == side) {
                if (--d < 0)
                    return;
                continue;
            }
            const int l = t.top - d, k = digits[d];
            if constexpr (Leaves && SOFT)
                d_k[l] = F(static_cast<float>(k));
            const F s = tree::symbol(k);
            const F e = fnma(d_tree.r(l, l), s, rest[l]);
            F metric = fma(e, e, d_partial[d]);
            if (Prior)
                metric = metric + d_tree.prior(l, k);
            F* const next = d_deep + (d + 1) * size;
            for (int j = t.bottom; j < l; ++j)
                next[j] = fnma(d_tree.r(j, l), s, rest[j]);
            ++d;
            d_partial[d] = metric;
            digits[d] = -1;
        }
    }

    /* Walk one level, or the two decoupled levels of an antenna. */
    template <bool Prior, bool Leaves, int Inner>
    MP_FN void lowest(stage& t, const F* rest, F metric, int c)
    {
        if constexpr (Leaves && SOFT) {
            list_leaves<Prior, Inner>(rest, metric);
            return;
        }
        if (Leaves) {
            for (int i = 0; i < Inner; ++i)
                metric = nearest<Prior>(t.bottom + i, rest[t.bottom + i], metric);
            const mask better = metric < d_bound;
            d_bound = min(metric, d_bound);
            d_leaf = select(better, F(static_cast<float>(c)), d_leaf);
            return;
        }
        F part[2][side];
        for (int i = 0; i < Inner; ++i)
            steps<Prior>(t.bottom + i,
                         rest[t.bottom + i],
                         i == Inner - 1 ? metric : F(0.0f),
                         part[i]);
        F* const out = t.node + c;
        if (Inner == 1) {
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                out[k] = part[0][k];
        } else {
            MP_UNROLL_BY(side > 16 ? 1 : side)
            for (int high = 0; high < side; ++high)
                MP_UNROLL
            for (int low = 0; low < side; ++low)
                out[high * side + low] = part[1][high] + part[0][low];
        }
    }

    /* Compute a metric plus the contribution of each symbol of a level. */
    template <bool Prior>
    MP_FN void steps(int l, F rest, F metric, F* to) const
    {
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const F e = fnma(d_tree.r(l, l), tree::symbol(k), rest);
            to[k] = fma(e, e, metric);
            if (Prior)
                to[k] = to[k] + d_tree.prior(l, k);
        }
    }

    /* List the leaves below a node of level Inner - 1, whose path is in d_k. */
    template <bool Prior, int Inner>
    void list_leaves(const F* rest, F metric)
    {
        F part[2][side], least[2] = { F(0.0f), F(0.0f) };
        for (int i = 0; i < Inner; ++i) {
            steps<Prior>(i, rest[i], F(0.0f), part[i]);
            least[i] = part[i][0];
            for (int k = 1; k < side; ++k)
                least[i] = min(least[i], part[i][k]);
        }
        /* Each metric is summed in the same order, so that rounding cannot put a leaf
         * beyond itself. */
        const F best = metric + least[1] + least[0];
        if (!any(best < d_bound))
            return;
        for (int l = Inner; l < d_tree.size; ++l) {
            const auto gray = gray_codes<WIDTH>(d_k[l].to_word());
            MP_UNROLL
            for (int g = 0; g < WIDTH; ++g) {
                F* const of_bit = &d_nearest[2 * (l * WIDTH + g)];
                of_bit[0] = masked_min(of_bit[0], gray.not_bit(WIDTH - 1 - g), best);
                of_bit[1] = masked_min(of_bit[1], gray.bit(WIDTH - 1 - g), best);
            }
        }
        for (int l = 0; l < Inner; ++l) {
            const auto leaf = [&](F own) {
                return l ? metric + own + least[0] : metric + least[1] + own;
            };
            for (int g = 0; g < WIDTH; ++g) {
                F zero, one;
                bit_minima_of_axis<WIDTH>(part[l], g, zero, one);
                F* const of_bit = &d_nearest[2 * (l * WIDTH + g)];
                of_bit[0] = min(of_bit[0], leaf(zero));
                of_bit[1] = min(of_bit[1], leaf(one));
            }
        }
        for (int high = 0; high < (Inner == 2 ? side : 1); ++high) {
            const F above = Inner == 2 ? metric + part[1][high] : metric;
            if (any(above + least[0] < d_bound))
                for (int low = 0; low < side; ++low)
                    list(above + part[0][low]);
        }
    }

    MP_FN void list(F leaf)
    {
        if (!any(leaf < d_bound))
            return;
        d_filled = d_filled < d_list_size ? d_filled + 1 : d_list_size;
        for (int i = 0; i < d_filled; ++i) {
            const F better = min(leaf, d_listed[i]);
            leaf = max(leaf, d_listed[i]);
            d_listed[i] = better;
        }
        d_bound = min(d_bound, min(d_listed[d_list_size - 1], d_listed[0] + d_reach));
    }

    /* Return a metric plus the least contribution of a level. */
    template <bool Prior>
    MP_FN F nearest(int l, F rest, F metric) const
    {
        const F r = d_tree.r(l, l);
        if (Prior) {
            F least(3e38f);
            MP_UNROLL
            for (int k = 0; k < side; ++k) {
                const F e = fnma(r, tree::symbol(k), rest);
                least = min(least, fma(e, e, d_tree.prior(l, k)));
            }
            return metric + least;
        }
        const F e = axis_distance<WIDTH>(rest, r);
        return fma(e, e, metric);
    }

    /* Set the best leaf's symbols by the indices that lead to it, and slice the sliced
     * levels again. */
    template <bool Prior>
    void trace()
    {
        const stage& last = d_stage[d_stages - 1];
        const int inner = d_tree.paired() && last.top > last.bottom ? 2 : 1;
        for (int s = 0; s < d_stages; ++s) {
            const stage& t = d_stage[s];
            const auto word = t.best[0].to_word();
            for (int l = t.bottom; l <= t.top; ++l)
                d_k[l] = digit(word, l - t.bottom);
        }
        for (int l = inner - 1; l >= 0; --l) {
            F rest = d_tree.y[l];
            for (int j = inner; j < d_tree.size; ++j)
                rest = fnma(d_tree.r(l, j), tree::symbol(d_k[j]), rest);
            F least(3e38f);
            for (int k = 0; k < side; ++k) {
                const F e = fnma(d_tree.r(l, l), tree::symbol(k), rest);
                const F metric = Prior ? fma(e, e, d_tree.prior(l, k)) : e * e;
                d_k[l] = select(metric < least, F(static_cast<float>(k)), d_k[l]);
                least = min(metric, least);
            }
        }
    }

    /* Charge the vectors of a round with its evaluations. End the searches whose nodes do
     * not suffice, unless they have no leaf yet; return where the others are. */
    MP_CALLED mask charge(mask active, int evaluations)
    {
        const F after = d_visited + F(static_cast<float>(evaluations));
        const float most = d_max_nodes ? static_cast<float>(d_max_nodes) : 3e38f;
        const mask ends =
            active & (F(most) < after) & ((SOFT ? d_listed[0] : d_bound) < F(3e38f));
        d_ended = select(ends, F(1.0f), d_ended);
        d_bound = select(ends, F(-1.0f), d_bound);
        const mask goes_on = active & ~ends;
        d_visited = select(goes_on, after, d_visited);
        return goes_on;
    }

    /* Count an evaluation. Evaluation n of a round belongs to thread n mod tt. */
    MP_FN void count(mask active, int evaluations)
    {
        for (int l = 0; l < d_counted; ++l)
            for (int k = 0; active[l] && k < d_team && k < evaluations; ++k)
                d_nodes[l][k] += (evaluations - k + d_team - 1) / d_team;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A single tree search for the exact max-log LLRs of one vector (C. Studer, A. Burg, H.
 * Boelcskei, IEEE JSAC 26(2), 2008). The elements of a lane are nodes of its tree.
 *
 * A hypothesis is the least metric found so far for one value of one bit. The search
 * visits a node if its metric is below a hypothesis that a leaf under the node could
 * still lower. A leaf has the bits of its ancestors. For symbol s of a layer this bound
 * is therefore U(s) = max over bits b of hypothesis[b][bit b of s], together with the
 * largest U of the layers below.
 *
 * If lanes held different vectors, they would wait for each other here. Instead, a lane
 * holds children of one node. The children at level 2 that survive are collected, and
 * finished together as soon as they fill a lane (listed_nodes.h).
 *
 * The search finds the hypotheses of levels `first` and above exactly, and leaves the
 * others to searches with other column orders.
 *
 * A budget counts the nodes above level 2 whose children are computed, and the nodes that
 * are listed. Once they are paid for, listed nodes are finished. The search goes beyond
 * its budget by the children of one node at most. */
#pragma once
#include "detectors/softsphere/listed_nodes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class F, int WIDTH>
class tree_search
{
public:
    using storage = tree_storage<F, WIDTH>;
    using problem = tree_problem<F, WIDTH>;
    using symbol_row = typename storage::symbol_row;
    using hypotheses = typename storage::hypotheses;
    using axis_costs = typename storage::axis_costs;
    using symbol_tables = typename storage::symbol_tables;
    using tree_level = typename storage::tree_level;
    using node_list = typename storage::node_list;
    using levels = axis_levels<F, WIDTH>;
    static constexpr int side = storage::side;
    static constexpr int size = storage::size;
    static constexpr int bits = storage::bits;
    static constexpr int chunks = storage::chunks;
    static constexpr int symbols = storage::symbols;

    /* nt >= 3. With three layers, the root stands as the only child at level 3. */
    MP_FN tree_search(arena<F>& a, int nt)
        : d_nt(nt),
          d_table(take<symbol_tables>(a, 1)),
          d_level(take<tree_level>(a, nt + 2)),
          d_left(take<symbol_row>(a, (nt + 1) * nt))
    {
        if (a.memory)
            fill_tables();
    }

    /* Search a tree and return the number of nodes left in the list. The caller finishes
     * them later: it searches other vectors first, so none waits for another. */
    MP_FN int search(const problem& given, node_list list, search_budget& budget)
    {
        d_p = given;
        d_list = list;
        d_budget = &budget;
        d_listed = 0;
        if (given.cost) {
            set_costs();
            walk<true>();
        } else {
            walk<false>();
        }
        return d_listed;
    }

    /* Finish the `count` nodes of a list, fewer than two lanes of them. */
    MP_FN void finish(const problem& given, node_list list, int count)
    {
        d_p = given;
        d_list = list;
        d_listed = count;
        if (given.cost) {
            set_costs();
            finish<true>(1);
        } else {
            finish<false>(1);
        }
    }

private:
    const int d_nt;
    symbol_tables* const d_table;
    tree_level* const d_level; /* by level; levels 4 and nt have limits but no children */
    symbol_row* const d_left;  /* see left() */
    problem d_p;
    node_list d_list;
    search_budget* d_budget;
    int d_listed; /* nodes in the list */

    /* A node whose children are looked at: its metric, and b of the levels below, `apart`
     * floats from each other */
    struct parent_node {
        const float* b;
        int apart;
        float metric;
        MP_FN F spread(int i) const { return F(b[apart * i]); }
    };

    MP_FN void fill_tables()
    {
        symbol_tables& t = *d_table;
        for (int s = 0; s < symbols; ++s) {
            const int re = s / side, im = s % side;
            t.re[s] = s < size ? levels::origin + re : 1e15f; /* never survives */
            t.im[s] = s < size ? levels::origin + im : 0.0f;
            t.index[s] = s;
            t.code[s] = (re ^ (re >> 1)) << WIDTH | (im ^ (im >> 1));
        }
        for (int s = 0; s < size; ++s)
            for (int h = 0; h < hypotheses::length; ++h) {
                const bool agrees =
                    h < 2 * bits && (t.code[s] >> (bits - 1 - h / 2) & 1) == h % 2;
                t.disagreement[s][h] = agrees ? 0.0f : no_metric;
            }
    }

    MP_FN static float larger(float a, float b) { return a < b ? b : a; }

    MP_FN void set_costs()
    {
        for (int level = 1; level < d_nt; ++level) {
            const axis_costs& axis = d_p.cost[d_p.column(level, d_nt)];
            symbol_row& cost = d_level[level].cost;
            for (int s = 0; s < size; ++s)
                cost[s] = axis.re[s / side] + axis.im[s % side];
            for (int s = size; s < symbols; ++s)
                cost[s] = 0.0f;
        }
    }

    /* Compute U from the hypotheses, which clipping limits. */
    MP_CALLED void refresh()
    {
        if (d_p.slack)
            tighten();
        float below = 0.0f;
        for (int level = d_p.first; level < d_nt; ++level) {
            d_level[level].below = below;
            const hypotheses& h = d_p.hypothesis[d_p.column(level, d_nt)];
            for (int s = 0; s < symbols; s += F::width) {
                const auto code = d_table->code.load(s).as_word();
                F largest(0.0f);
                MP_UNROLL
                for (int b = 0; b < bits; ++b)
                    largest =
                        max(largest,
                            select(code.bit(bits - 1 - b), F(h[2 * b + 1]), F(h[2 * b])));
                d_level[level].limit.store(s, largest);
            }
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                below = larger(below, larger(h[2 * b], h[2 * b + 1]));
        }
        d_level[d_nt].below = below;
    }

    /* Lower the hypotheses to the clipping: an LLR beyond it need not be exact. They stay
     * above the least metric by more than its last digit, however little noise there is.
     * Seeds give columns metrics of their own, which differ by rounding. */
    MP_CALLED void tighten()
    {
        constexpr float digits = 1e-6f;
        for (int c = 0; c < d_nt; ++c) {
            hypotheses& own = d_p.hypothesis[c];
            float least = no_metric;
            for (int h = 0; h < 2 * bits; ++h)
                if (own[h] < least)
                    least = own[h];
            const F above(least + digits * least);
            for (int h = 0; h < hypotheses::length; h += F::width)
                own.store(h, min(own.load(h), above + d_p.slack[c].load(h)));
        }
    }

    /* Search depth first. last_levels() handles everything below level 3. */
    template <bool Prior>
    MP_FN void walk()
    {
        refresh();
        if (d_nt == 3) {
            open_root();
            last_levels<Prior>();
            return;
        }
        int level = d_nt;
        d_level[level].above = 0.0f;
        parent_node parent = { d_p.b.first, F::width, 0.0f };
        while (d_budget->takes_one()) {
            --level;
            expand<Prior>(level, parent);
            if (level == 3) {
                last_levels<Prior>();
                d_level[level].next = d_level[level].count;
            }
            if (!descend(level, parent))
                return;
        }
    }

    /* Make the root of three layers the only child at level 3. */
    MP_FN void open_root()
    {
        tree_level& root = d_level[3];
        for (int i = 0; i < 6; ++i)
            left(3)[i][0] = d_p.b[i];
        root.metric[0] = root.lower[0] = 0.0f;
        root.open[0] = 0;
        root.count = 1;
        d_level[4].above = 0.0f;
    }

    /* Move to the next open child that can improve a hypothesis, at this level or the
     * nearest one above. Return false if there is none. */
    MP_FN bool descend(int& level, parent_node& parent)
    {
        int s = 0;
        do {
            while (level < d_nt && d_level[level].next == d_level[level].count)
                ++level;
            if (level == d_nt)
                return false;
            s = d_level[level].open[d_level[level].next++];
        } while (!(d_level[level].lower[s] < limit_of(level, s)));
        d_level[level].chosen = s;
        d_level[level].above = above_of(level, s);
        parent = { &left(level)[0][s], symbols, d_level[level].metric[s] };
        return true;
    }

    /* The largest U of a node's own symbol and the symbols above, of the wanted levels */
    MP_FN float above_of(int level, int s) const
    {
        const bool wanted = level >= d_p.first && level < d_nt;
        const float above = d_level[level + 1].above;
        return wanted ? larger(above, d_level[level].limit[s]) : above;
    }

    /* The metric below which a node can improve a hypothesis */
    MP_FN float limit_of(int level, int s) const
    {
        const float above = above_of(level, s);
        return level >= d_p.first ? larger(above, d_level[level].below) : above;
    }

    /* b minus the children at a level: row 2 i + part for level i < `level` */
    MP_FN symbol_row* left(int level) const { return d_left + level * (level - 1); }

    /* Compute the children at a level above 2, and open the ones that survive. */
    template <bool Prior>
    MP_CALLED void expand(int level, parent_node parent)
    {
        tree_level& at = d_level[level];
        const bool wanted = level >= d_p.first;
        const float above = d_level[level + 1].above;
        const F most(wanted ? larger(above, at.below) : above);
        const F step = d_p.diagonal.spread(level);
        const F next_step = d_p.diagonal.spread(level - 1),
                next_inverse = d_p.inverse.spread(level - 1);
        symbol_row* const to = left(level);
        int open = 0;
        MP_ROLLED
        for (int s = 0; s < symbols; s += F::width) {
            const F k_re = d_table->re.load(s), k_im = d_table->im.load(s);
            const F e_re = fnma(step, k_re, parent.spread(2 * level)),
                    e_im = fnma(step, k_im, parent.spread(2 * level + 1));
            F m = fma(e_re, e_re, fma(e_im, e_im, F(parent.metric)));
            if (Prior)
                m = m + at.cost.load(s);
            F re, im;
            for (int i = 0; i < level; ++i) {
                const F r = d_p.r_re(i, level, d_nt), q = d_p.r_im(i, level, d_nt);
                re = fma(q, k_im, fnma(r, k_re, parent.spread(2 * i)));
                im = fnma(q, k_re, fnma(r, k_im, parent.spread(2 * i + 1)));
                to[2 * i].store(s, re);
                to[2 * i + 1].store(s, im);
            }
            const F next_re = levels::distance(re, next_step, next_inverse),
                    next_im = levels::distance(im, next_step, next_inverse);
            const F lower = fma(next_re, next_re, fma(next_im, next_im, m));
            const F limit = wanted ? max(most, at.limit.load(s)) : most;
            at.metric.store(s, m);
            at.lower.store(s, lower);
            const F index[] = { d_table->index.load(s) };
            open +=
                append(lower < limit, index, reinterpret_cast<float*>(at.open + open), 0);
        }
        at.count = open;
        at.next = 0;
        if (level > 3)
            sort(at);
    }

    /* Put the most promising child first, so that hypotheses fall early. */
    MP_FN void sort(tree_level& at)
    {
        for (int i = 1; i < at.count; ++i) {
            const int s = at.open[i];
            int j = i;
            for (; j > 0 && at.lower[s] < at.lower[at.open[j - 1]]; --j)
                at.open[j] = at.open[j - 1];
            at.open[j] = s;
        }
    }

    /* The contribution of a lane of level 2's symbols, the same for all children at level
     * 3 */
    struct symbol_lane {
        F own_re, own_im, b1_re, b1_im, cost;
    };

    template <bool Prior>
    MP_FN void set_symbol_lanes(symbol_lane (&lanes)[chunks]) const
    {
        const F step = d_p.diagonal.spread(2), r = d_p.r_re(1, 2, d_nt),
                q = d_p.r_im(1, 2, d_nt);
        MP_ROLLED
        for (int c = 0; c < chunks; ++c) {
            const F re = d_table->re.load(c * F::width),
                    im = d_table->im.load(c * F::width);
            lanes[c].own_re = step * re;
            lanes[c].own_im = step * im;
            lanes[c].b1_re = q * im - r * re;
            lanes[c].b1_im = F(0.0f) - q * re - r * im;
            if (Prior)
                lanes[c].cost = d_level[2].cost.load(c * F::width);
        }
    }

    /* Compute the children of the open nodes at level 3, and list the survivors. */
    template <bool Prior>
    MP_STEP void last_levels()
    {
        symbol_lane lanes[chunks];
        set_symbol_lanes<Prior>(lanes);
        const tree_level& at = d_level[3];
        bool refreshed = false;
        int listed = d_listed;
        for (int n = 0; n < at.count; ++n) {
            const int s = at.open[n];
            if (refreshed && !(at.lower[s] < limit_of(3, s)))
                continue;
            if (!d_budget->takes_one())
                break;
            const int before = listed;
            list_children<Prior>(s, lanes, listed);
            d_budget->left -= listed - before;
            if (listed >= 2 * F::width) {
                d_listed = listed;
                refreshed = finish<Prior>(F::width);
                if (refreshed)
                    refresh();
                listed = d_listed;
            }
        }
        d_listed = listed;
    }

    /* List the children of the node with symbol s at level 3 that survive. */
    template <bool Prior>
    MP_FN void list_children(int s, const symbol_lane (&lanes)[chunks], int& listed)
    {
        const symbol_row* const b = left(3);
        const F step = d_p.diagonal.spread(1), inverse = d_p.inverse.spread(1);
        const F most(above_of(3, s));
        const F parent(d_level[3].metric[s]);
        MP_ROLLED
        for (int c = 0; c < chunks; ++c) {
            const symbol_lane& k = lanes[c];
            const F e_re = k.own_re - F(b[4][s]), e_im = k.own_im - F(b[5][s]);
            F m = fma(e_re, e_re, fma(e_im, e_im, parent));
            if (Prior)
                m = m + k.cost;
            const F next_re = levels::distance(k.b1_re + F(b[2][s]), step, inverse),
                    next_im = levels::distance(k.b1_im + F(b[3][s]), step, inverse);
            const F at_most =
                d_p.first == 2 ? max(most, d_level[2].limit.load(c * F::width)) : most;
            const auto survives =
                fma(next_re, next_re, fma(next_im, next_im, m)) < at_most;
            if (chunks > 1 && !survives.to_bits())
                continue;
            const auto symbol = d_table->index.load(c * F::width).as_word() + s * size;
            const F rows[node_list::appended] = { m, at_most, symbol.as_float() };
            const int more =
                append(survives, rows, d_list.metric() + listed, node_list::length);
            if (d_nt > 4)
                list_path(listed);
            listed += more;
        }
    }

    /* Write the path to the list's nodes from `at` on, a lane of them. */
    MP_FN void list_path(int at)
    {
        const int s = d_level[4].chosen;
        for (int i = 0; i < 4; ++i)
            F(left(4)[i][s]).store(d_list.left(i) + at);
        for (int i = 4; i < d_nt; ++i)
            F(static_cast<float>(d_level[i].chosen)).store(d_list.path(i) + at);
    }

    /* Finish the listed nodes while at least `least` are left. Return whether a
     * hypothesis improved. */
    template <bool Prior>
    MP_STEP bool finish(int least)
    {
        const listed_nodes<F, WIDTH> nodes(d_nt, d_p, *d_table, d_level[1].cost, d_list);
        return nodes.template finish<Prior>(d_listed, least);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

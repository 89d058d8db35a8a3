/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes that a tree search (tree_search.h) has listed at level 2. They are finished
 * together, a lane of them at a time, and lower the hypotheses. */
#pragma once
#include "detectors/softsphere/leaf_search.h"
#include "detectors/softsphere/tree_storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class F, int WIDTH>
class listed_nodes
{
public:
    using storage = tree_storage<F, WIDTH>;
    using problem = tree_problem<F, WIDTH>;
    using symbol_row = typename storage::symbol_row;
    using hypotheses = typename storage::hypotheses;
    using symbol_tables = typename storage::symbol_tables;
    using node_list = typename storage::node_list;
    using levels = axis_levels<F, WIDTH>;
    static constexpr int side = storage::side;
    static constexpr int size = storage::size;
    static constexpr int bits = storage::bits;
    static constexpr int symbols = storage::symbols;

    /* cost1: costs of level 1's symbols */
    MP_FN listed_nodes(int nt,
                       const problem& p,
                       const symbol_tables& table,
                       const symbol_row& cost1,
                       node_list list)
        : d_nt(nt), d_p(p), d_table(table), d_cost1(cost1), d_list(list)
    {
    }

    /* Finish the last nodes of the list, a lane at a time, while at least `least` of
     * `listed` nodes are left. Return whether a hypothesis improved. */
    template <bool Prior>
    MP_FN bool finish(int& listed, int least) const
    {
        const leaf_search<F, WIDTH> leaves = leaves_of_problem<Prior>();
        bool changed = false;
        while (listed >= least) {
            const int count = listed < F::width ? listed : F::width;
            listed -= count;
            const last_node<F> node = listed_node(listed, count);
            float found[F::width];
            search_leaves<Prior>(leaves, node, found);
            const unsigned improved = (F::load(found) < node.limit).to_bits();
            if (improved) {
                changed = true;
                for (int level = d_p.first; level < d_nt; ++level)
                    improve(level, improved, found, listed);
            }
        }
        return changed;
    }

private:
    const int d_nt;
    const problem& d_p;
    const symbol_tables& d_table;
    const symbol_row& d_cost1;
    const node_list d_list;

    template <bool Prior>
    MP_FN leaf_search<F, WIDTH> leaves_of_problem() const
    {
        leaf_search<F, WIDTH> leaves;
        leaves.step0 = d_p.diagonal.spread(0);
        leaves.inverse0 = d_p.inverse.spread(0);
        leaves.step1 = d_p.diagonal.spread(1);
        leaves.r_re = d_p.r_re(0, 1, d_nt);
        leaves.r_im = d_p.r_im(0, 1, d_nt);
        leaves.symbols = symbols;
        leaves.re = d_table.re.value;
        leaves.im = d_table.im.value;
        leaves.cost1 = d_cost1.value;
        leaves.cost0 = Prior ? &d_p.cost[d_p.column(0, d_nt)] : nullptr;
        return leaves;
    }

    /* Find the least metric of each node's leaves, or its limit if none is below. */
    template <bool Prior>
    MP_FN void search_leaves(const leaf_search<F, WIDTH>& leaves,
                             const last_node<F>& node,
                             float* found) const
    {
        float b[4][F::width], metrics[F::width];
        node.b0_re.store(b[0]);
        node.b0_im.store(b[1]);
        node.b1_re.store(b[2]);
        node.b1_im.store(b[3]);
        node.metric.store(metrics);
        node.limit.store(found);
        for (unsigned left = (node.metric < node.limit).to_bits(); left;
             left &= left - 1) {
            const int v = lowest_bit(left);
            const float own[4] = { b[0][v], b[1][v], b[2][v], b[3][v] };
            const float m = leaves.template least_leaf<Prior>(metrics[v], own);
            found[v] = m < found[v] ? m : found[v];
        }
    }

    /* Return `count` nodes of the list from `from` on. The rest of the lane gets metrics
     * that improve nothing. */
    MP_FN last_node<F> listed_node(int from, int count) const
    {
        last_node<F> node;
        const auto exists = d_table.index.load(0).as_word().to_float() < F(count - 0.5f);
        node.metric = select(exists, F::load(d_list.metric() + from), F(no_metric));
        node.limit = select(exists, F::load(d_list.limit() + from), F(0.0f));
        /* b minus the symbols at levels 3 and 2 */
        F b[4];
        for (int i = 0; i < 4; ++i)
            b[i] = d_nt > 4 ? F::load(d_list.left(i) + from) : d_p.b.spread(i);
        const auto symbol =
            F::load(reinterpret_cast<const float*>(d_list.last_symbols() + from))
                .as_word();
        for (int level = 2; level < (d_nt > 3 ? 4 : 3); ++level) {
            const int place = 2 * WIDTH * (level - 2);
            const F k_re = level_of(symbol >> (place + WIDTH)),
                    k_im = level_of(symbol >> place);
            for (int i = 0; i < 2; ++i) {
                const F r = d_p.r_re(i, level, d_nt), q = d_p.r_im(i, level, d_nt);
                b[2 * i] = fma(q, k_im, fnma(r, k_re, b[2 * i]));
                b[2 * i + 1] = fnma(q, k_re, fnma(r, k_im, b[2 * i + 1]));
            }
        }
        node.b0_re = b[0];
        node.b0_im = b[1];
        node.b1_re = b[2];
        node.b1_im = b[3];
        return node;
    }

    template <class Word>
    MP_FN static F level_of(Word index)
    {
        const F k = (index & static_cast<unsigned>(side - 1)).to_float();
        return levels::folds ? k + F(levels::origin) : k;
    }

    /* The symbol of a node in the list at a wanted level */
    MP_FN int symbol_of(int node, int level) const
    {
        if (level > 3)
            return static_cast<int>(d_list.path(level)[node]);
        return d_list.last_symbols()[node] >> (level == 3 ? bits : 0) & (size - 1);
    }

    /* Lower a level's hypotheses to the metrics found for a lane of nodes from `from`
     * on. Bit i of `improved` stands for node i of the lane. */
    MP_FN void improve(int level, unsigned improved, const float* found, int from) const
    {
        constexpr int lanes = hypotheses::length / F::width;
        hypotheses& stored = d_p.hypothesis[d_p.column(level, d_nt)];
        F h[lanes];
        MP_UNROLL
        for (int i = 0; i < lanes; ++i)
            h[i] = stored.load(i * F::width);
        for (; improved; improved &= improved - 1) {
            const int node = lowest_bit(improved);
            const hypotheses& apart = d_table.disagreement[symbol_of(from + node, level)];
            MP_UNROLL
            for (int i = 0; i < lanes; ++i)
                h[i] = min(h[i], apart.load(i * F::width) + F(found[node]));
        }
        MP_UNROLL
        for (int i = 0; i < lanes; ++i)
            stored.store(i * F::width, h[i]);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

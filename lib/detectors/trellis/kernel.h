/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The soft-output trellis detector of Wu, Sun, Gupta and Cavallaro (reference [7] of
 * 001). Each level is a stage. Each symbol is a vertex, which keeps the best of the M
 * paths that reach it. Each layer has a pass in which it comes last.
 *
 * The last stage only needs the least metric of each symbol, and for square QAM of each
 * level of either axis. As the axes add up, this takes 2 sqrt(M) steps for each path
 * instead of M. */
#pragma once
#include "common/options.h"
#include "common/ordering.h"
#include "common/paths.h"
#include "common/soft_symbols.h"

namespace mimopack {
namespace MIMOPACK_ISA {

using trellis_options = no_options;


/* WIDTH = 0: any constellation, LLRs in label order. */
template <class F, int NT, int NR, int WIDTH>
class trellis
{
public:
    using mask = decltype(F() < F());
    using word = decltype(F().as_word());

    MP_FN trellis(arena<F>& a, const constellation& c, int nt, int nr)
        : d_constellation(c),
          d_nt(nt),
          d_group(group_of(metrics())),
          d_columns(a, nt, nr),
          d_tree(a, c, nt, nr, c.size),
          d_cost(a, nt * metrics()),
          d_metric(a, c.size),
          d_table(a, d_group * metrics()),
          d_best(a, c.size),
          d_from(a, c.size),
          d_path(a, path_tree<F, NT, NR, WIDTH>::num_words(c, nt) * c.size),
          d_next(a, path_tree<F, NT, NR, WIDTH>::num_words(c, nt) * c.size),
          d_prior(a, nt * c.bits),
          d_llr(a, nt * c.bits)
    {
    }

    MP_FN void prepare(const F* h) { d_columns.sort_by_norm(h); }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int nt = d_nt, bits = d_constellation.bits;
        d_has_prior = prior != nullptr;
        if (d_has_prior) {
            d_columns.to_columns(prior, bits, &d_prior[0]);
            set_costs();
        }
        mask usable = F(0.0f) < F(1.0f);
        for (int last = 0; last < nt; ++last) {
            d_tree.prepare(&d_columns.h[0], last);
            usable = usable & d_tree.receive(y, noise_var);
            search(last);
            conclude(last, &d_llr[last * bits]);
        }
        d_columns.to_layers(&d_llr[0], bits, llr);
        return usable;
    }

private:
    static constexpr int side = 1 << WIDTH;
    const constellation& d_constellation;
    const extent<NT> d_nt;
    const int d_group; /* survivors whose table stays in the cache */
    ordered_columns<F, NT, NR> d_columns;
    path_tree<F, NT, NR, WIDTH> d_tree;
    /* d_cost: a-priori costs of each column; d_metric, d_path: the survivors; d_table:
     * metrics of a stage, for each path of a group that reaches it */
    buffer<F, 0> d_cost, d_metric, d_table, d_best, d_from, d_path, d_next, d_prior,
        d_llr;
    bool d_has_prior = false;

    /* Return the number of a path's child metrics: levels of both axes, or all points. */
    MP_FN int metrics() const { return WIDTH > 0 ? 2 * side : d_constellation.size; }

    MP_FN static int group_of(int metrics) { return metrics < 64 ? 256 / metrics : 4; }

    /* Return the column at a level of the pass in which column `last` is last (level
     * 0). */
    MP_FN static int column(int level, int last)
    {
        return level == 0 ? last : level <= last ? level - 1 : level;
    }

    MP_FN void set_costs()
    {
        const int nt = d_nt;
        for (int i = 0; i < nt; ++i) {
            F* const cost = &d_cost[i * metrics()];
            const F* const prior = &d_prior[i * d_constellation.bits];
            if (WIDTH > 0) {
                axis_penalties<(WIDTH > 0 ? WIDTH : 1)>(prior, cost);
                axis_penalties<(WIDTH > 0 ? WIDTH : 1)>(prior + WIDTH, cost + side);
            } else {
                point_penalties(prior, d_constellation, cost);
            }
        }
    }

    /* Set d_table to the metrics that the children of survivors from `first` on add. The
     * entries of the real axis include the survivor's own metric. */
    MP_FN void set_table(int level, int first, int paths, int last)
    {
        const F weight = d_tree.weight(level);
        const F* const cost = &d_cost[column(level, last) * metrics()];
        for (int p = 0; p < paths; ++p) {
            F* const metric = &d_table[p * metrics()];
            const F start = level == d_nt - 1 ? F(0.0f) : d_metric[first + p];
            F re, im;
            d_tree.residual(&d_path[first + p], level, re, im);
            if (WIDTH > 0) {
                for (int axis = 0; axis < 2; ++axis) {
                    MP_UNROLL
                    for (int k = 0; k < side; ++k) {
                        const F e = (axis ? im : re) - F(static_cast<float>(k));
                        const F base = axis ? F(0.0f) : start;
                        const F known = d_has_prior ? base + cost[axis * side + k] : base;
                        metric[axis * side + k] = fma(e * weight, e, known);
                    }
                }
            } else {
                for (int s = 0; s < d_constellation.size; ++s) {
                    const F e_re = re - F(d_constellation.re[s]),
                            e_im = im - F(d_constellation.im[s]);
                    const F known = d_has_prior ? start + cost[s] : start;
                    metric[s] = fma(fma(e_re, e_re, e_im * e_im), weight, known);
                }
            }
        }
    }

    /* Search from the first stage to the last but one. */
    MP_FN void search(int last)
    {
        const int size = d_constellation.size, top = d_nt - 1;
        d_path[0] = F(0.0f);
        for (int level = top; level > 0; --level) {
            const int paths = level == top ? 1 : size;
            for (int p = 0; p < paths; p += d_group) {
                const int count = paths - p < d_group ? paths - p : d_group;
                set_table(level, p, count, last);
                reduce(p, count);
            }
            for (int v = 0; v < size; ++v) {
                d_metric[v] = d_best[v];
                const word from = d_from[v].as_word();
                const word label = F(0.0f).as_word() + label_of(v);
                if (in_a_word())
                    d_next[v] = (from ^ (label << d_tree.shift(level))).as_float();
                else
                    d_tree.extend(&d_next[v], &d_path[0], from, label, level);
            }
            F* const survivors = d_path.data;
            d_path.data = d_next.data;
            d_next.data = survivors;
        }
    }

    /* Return a vertex's label. Vertices of square QAM are numbered by rows of one
     * k_re. */
    MP_FN static int label_of(int vertex)
    {
        return WIDTH > 0 ? vertex / side + vertex % side * side : vertex;
    }

    /* Return whether a path fits into a word, so that a vertex can keep the whole path
     * and not its number. */
    MP_FN bool in_a_word() const { return d_tree.word_index(d_nt - 1) == 0; }

    /* Find each vertex's best path among the survivors up to this group. */
    MP_FN void reduce(int first_path, int paths)
    {
        constexpr int row = WIDTH > 0 ? (side < 8 ? side : 8) : 1;
        const int size = d_constellation.size, entries = metrics();
        for (int first = 0; first < size; first += row) {
            F best[row], from[row];
            MP_UNROLL_UP_TO(4)
            for (int j = 0; j < row; ++j) {
                best[j] = first_path ? d_best[first + j] : F(no_metric);
                from[j] = first_path ? d_from[first + j] : F(0.0f);
            }
            for (int p = 0; p < paths; ++p) {
                const int path = first_path + p;
                const F origin =
                    in_a_word() ? d_path[path] : (F(0.0f).as_word() + path).as_float();
                const F* const metric = &d_table[p * entries];
                const F start = WIDTH > 0 ? metric[first / side] : metric[first];
                MP_UNROLL_UP_TO(4)
                for (int j = 0; j < row; ++j) {
                    const F arriving =
                        WIDTH > 0 ? start + metric[side + first % side + j] : start;
                    from[j] = select(arriving < best[j], origin, from[j]);
                    best[j] = min(best[j], arriving);
                }
            }
            MP_UNROLL_UP_TO(4)
            for (int j = 0; j < row; ++j) {
                d_best[first + j] = best[j];
                d_from[first + j] = from[j];
            }
        }
    }

    /* Take the last stage, and compute its layer's LLRs. */
    MP_FN void conclude(int last, F* llr)
    {
        const int paths = d_nt > 1 ? d_constellation.size : 1;
        const int entries = metrics();
        F least[2 * side];
        for (int k = 0; k < 2 * side; ++k)
            least[k] = F(no_metric);
        for (int first = 0; first < paths; first += d_group) {
            const int count = paths - first < d_group ? paths - first : d_group;
            set_table(0, first, count, last);
            if (WIDTH == 0) {
                reduce(first, count);
                continue;
            }
            for (int p = 0; p < count; ++p) {
                const F* const metric = &d_table[p * entries];
                for (int axis = 0; axis < 2; ++axis) {
                    F other = metric[(1 - axis) * side];
                    MP_UNROLL
                    for (int k = 1; k < side; ++k)
                        other = min(other, metric[(1 - axis) * side + k]);
                    MP_UNROLL
                    for (int k = 0; k < side; ++k)
                        least[axis * side + k] =
                            min(least[axis * side + k], metric[axis * side + k] + other);
                }
            }
        }
        if (WIDTH > 0) {
            axis_llrs<(WIDTH > 0 ? WIDTH : 1)>(least, llr);
            axis_llrs<(WIDTH > 0 ? WIDTH : 1)>(least + side, llr + WIDTH);
        } else {
            point_llrs(&d_best[0], d_constellation, llr);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

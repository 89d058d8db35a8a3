/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* K-best: the K nearest children of all nodes of a level go on.
 *
 * Lanes sort by networks. A sorted value is a key: the metric in fixed point, and in the
 * bits below it the child's origin (parent, k_im, k_re). A comparison then costs a min
 * and a max. Keys are integers that rise with the float of the same bits. The metric's
 * unit keeps the K-th best child in range (bound()). Larger metrics are cut there and
 * cannot be among the K best. Origins differ, so no two keys are equal, and the K best
 * are the same whatever the other lanes hold. Keys only choose: the survivors' final
 * metrics are computed from the paths.
 *
 * A QAM symbol's metric is a sum over its axes. The children of a parent therefore come
 * in rows (one k_re each) that are sorted once the axis of k_im is. Parents, rows and
 * children come by rising metric. The first one above the K-th best found so far in every
 * lane ends its row, its parent's rows or the level. */
#pragma once
#include "common/minima.h"
#include "common/options.h"
#include "common/ordering.h"
#include "common/paths.h"
#include "common/soft_symbols.h"
#include "common/sorting.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct kbest_options {
    int k = 1;
    float llr_clip = infinity;

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("k", k);
        visit("llr_clip", llr_clip);
    }
};

/* The number of nearest levels of each axis that make at least min(k, side^2) children */
MP_FN constexpr int reach(int k, int side)
{
    int levels = 1;
    while (levels < side && levels * levels < k)
        ++levels;
    return levels;
}

/* WIDTH = 0: any constellation, LLRs in label order. */
template <class F, int NT, int NR, int WIDTH>
class kbest
{
public:
    using mask = decltype(F() < F());
    using word = decltype(F().as_word());

    MP_FN kbest(arena<F>& a, const constellation& c, int nt, int nr, int k, float clip)
        : d_constellation(c),
          d_nt(nt),
          d_k(k),
          d_capacity(list_size(k)),
          d_origins((1u << (c.bits + bits_of(k))) - 1),
          d_reach(reach(k, side)),
          d_clip(clip),
          d_columns(a, nt, nr),
          d_tree(a, c, nt, nr, d_capacity),
          d_cost(a, nt * (WIDTH > 0 ? 2 * side : c.size)),
          d_metric(a, d_capacity),
          d_list(a, d_capacity),
          d_chunk(a, d_capacity),
          d_path(a, path_tree<F, NT, NR, WIDTH>::num_words(c, nt) * d_capacity),
          d_next(a, path_tree<F, NT, NR, WIDTH>::num_words(c, nt) * d_capacity),
          d_prior(a, nt * c.bits),
          d_llr(a, nt * c.bits)
    {
    }

    MP_STEP void prepare(const F* h)
    {
        d_columns.sort_by_norm(h);
        d_tree.prepare(&d_columns.h[0]);
    }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int nt = d_nt, bits = d_constellation.bits;
        const mask usable = d_tree.receive(y, noise_var);
        d_has_prior = prior != nullptr;
        if (d_has_prior) {
            d_columns.to_columns(prior, bits, &d_prior[0]);
            set_costs();
        }
        d_parents = 1;
        d_metric[0] = F(0.0f);
        for (int level = nt - 1; level >= 0; --level)
            expand(level);
        collect();
        d_columns.to_layers(&d_llr[0], bits, llr);
        return usable;
    }

private:
    static constexpr int side = 1 << WIDTH;
    static constexpr int step =
        side < 4 ? side : 4; /* children of a row computed at once */
    static constexpr int most_bits = WIDTH > 0 ? 2 * WIDTH : max_bits_per_symbol;
    /* The keys of an axis start at the least normal float, because some programs treat
     * smaller ones as 0. A child's keys start at twice this value. The sum of two cut
     * keys is still finite. */
    static constexpr int key_start = 0x00800000, key_range = 0x3e000000;
    static constexpr float bound_key = 0.999f * key_range;
    const constellation& d_constellation;
    const extent<NT> d_nt;
    const int d_k, d_capacity;
    const unsigned d_origins; /* bits of a key that hold the origin */
    const int d_reach;
    const float d_clip;
    ordered_columns<F, NT, NR> d_columns;
    path_tree<F, NT, NR, WIDTH> d_tree;
    /* d_cost: a-priori costs, at least 0; d_metric, d_path: the parents */
    buffer<F, 0> d_cost, d_metric, d_list, d_chunk, d_path, d_next, d_prior, d_llr;
    bool d_has_prior = false;
    int d_parents = 0;
    int d_room = 0;       /* capacity of d_list and d_chunk at this level */
    int d_filled = 0;     /* keys in d_chunk */
    bool d_found = false; /* d_list holds keys */

    /* Return the size of the list for k: a power of two of blocks. */
    MP_FN static int list_size(int k)
    {
        int size = sorting_block;
        while (size < k)
            size *= 2;
        return size;
    }

    MP_FN static int bits_of(int k)
    {
        int bits = 0;
        while (1 << bits < k)
            ++bits;
        return bits;
    }

    MP_FN static F from_bits(int bits) { return (F(0.0f).as_word() + bits).as_float(); }

    MP_FN void set_costs()
    {
        const int nt = d_nt;
        const int lists = WIDTH > 0 ? 2 * nt : nt;
        const int size = WIDTH > 0 ? side : d_constellation.size;
        for (int i = 0; i < lists; ++i) {
            F* const cost = &d_cost[i * size];
            if (WIDTH > 0)
                axis_penalties<(WIDTH > 0 ? WIDTH : 1)>(&d_prior[i * WIDTH], cost);
            else
                point_penalties(
                    &d_prior[i * d_constellation.bits], d_constellation, cost);
        }
    }

    /* Compute the metrics of the levels of both axes at this place of the tree, times
     * unit. */
    MP_FN void axis_metrics(int parent, int level, F unit, F* metric)
    {
        F centre[2];
        d_tree.residual(&d_path[parent], level, centre[0], centre[1]);
        const F weight = d_tree.weight(level) * unit;
        for (int axis = 0; axis < 2; ++axis) {
            MP_UNROLL
            for (int k = 0; k < side; ++k) {
                const F e = centre[axis] - F(static_cast<float>(k));
                const F weighted = e * weight;
                const int place = axis * side + k;
                metric[place] =
                    d_has_prior
                        ? fma(weighted, e, d_cost[2 * level * side + place] * unit)
                        : weighted * e;
            }
        }
    }

    /* Return an upper bound for the metrics of a parent's children with the known bits; 0
     * if the parent contradicts them. Too few children may have them, so that the K-th
     * best one says nothing. */
    MP_FN F possible(int parent, int level)
    {
        F metric[2 * side];
        axis_metrics(parent, level, F(1.0f), metric);
        F sum = d_metric[parent];
        const mask is_possible = sum < F(-known_bit);
        for (int axis = 0; axis < 2; ++axis) {
            F most(0.0f);
            for (int k = 0; k < side; ++k) {
                const F own = metric[axis * side + k];
                most = select(own < F(-known_bit), max(most, own), most);
            }
            sum = sum + most;
        }
        return select(is_possible, sum, F(0.0f));
    }

    /* Return the metric of a point. */
    MP_FN F point_metric(F re, F im, int level, int s) const
    {
        const F e_re = re - F(d_constellation.re[s]),
                e_im = im - F(d_constellation.im[s]);
        const F distance = fma(e_re, e_re, e_im * e_im) * d_tree.weight(level);
        return d_has_prior ? distance + d_cost[level * d_constellation.size + s]
                           : distance;
    }

    /* Return an upper bound for the metric of the K-th best child. Enough children of the
     * best parents lie within it. */
    MP_FN F bound(int level)
    {
        const int size = d_constellation.size;
        F worst(1e-25f);
        const bool knows = d_constellation.layers;
        for (int p = 0; p < d_parents && (knows || p * size < d_k); ++p) {
            F own = d_metric[p];
            if (WIDTH > 0 && knows) {
                own = possible(p, level);
            } else if (WIDTH > 0) {
                F metric[2 * side];
                axis_metrics(p, level, F(1.0f), metric);
                for (int axis = 0; axis < 2; ++axis) {
                    sort_runs<side, 1>(metric + axis * side);
                    own = own + metric[axis * side + d_reach - 1];
                }
            } else {
                F re, im, farthest(0.0f);
                d_tree.residual(&d_path[p], level, re, im);
                for (int s = 0; s < size; ++s)
                    farthest = max(farthest, point_metric(re, im, level, s));
                own = own + farthest;
            }
            worst = max(worst, own);
        }
        return worst;
    }

    MP_FN word to_key(F scaled) const
    {
        const F cut = min(scaled, F(static_cast<float>(key_range)));
        return cut.to_word() & ~d_origins;
    }

    /* Find the K best children of the survivors, and make them the survivors. */
    MP_STEP void expand(int level)
    {
        const F worst = bound(level);
        const F unit = F(bound_key) / worst;
        d_room = list_size(d_k < d_parents * d_constellation.size
                               ? d_k
                               : d_parents * d_constellation.size);
        d_filled = 0;
        d_found = false;
        for (int p = 0; p < d_parents; ++p) {
            const word key = to_key(d_metric[p] * unit) ^
                             static_cast<unsigned>(p << d_constellation.bits);
            if (d_found && !any((key + 2 * key_start).as_float() < d_list[d_k - 1]))
                break;
            if (WIDTH > 0)
                add_rows(p, level, unit, key);
            else
                add_points(p, level, unit, key);
        }
        if (d_filled) {
            while (d_filled < d_room)
                d_chunk[d_filled++] = from_bits(0x7f000000);
            flush();
        }
        adopt(level, worst * F(1.0f / bound_key));
    }

    MP_FN void add_rows(int parent, int level, F unit, word parent_key)
    {
        F key[2 * side];
        axis_metrics(parent, level, unit, key);
        for (int axis = 0; axis < 2; ++axis) {
            F* const own = key + axis * side;
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                own[k] = (to_key(own[k]) + (key_start + (k << axis * WIDTH))).as_float();
            sort_runs<side, 1>(own);
        }
        for (int i = 0; i < side; ++i) {
            const word row = min((parent_key + key[i].as_word()).as_float(),
                                 from_bits(key_start + key_range))
                                 .as_word();
            for (int j = side; j < 2 * side; j += step) {
                const F nearest = (row + key[j].as_word()).as_float();
                if (d_found && !any(nearest < d_list[d_k - 1])) {
                    if (j == side)
                        return;
                    break;
                }
                d_chunk[d_filled] = nearest;
                for (int next = 1; next < step; ++next)
                    d_chunk[d_filled + next] = (row + key[j + next].as_word()).as_float();
                d_filled += step;
                if (d_filled == d_room)
                    flush();
            }
        }
    }

    MP_FN void add_points(int parent, int level, F unit, word parent_key)
    {
        F re, im;
        d_tree.residual(&d_path[parent], level, re, im);
        for (int s = 0; s < d_constellation.size; ++s) {
            const word own = to_key(point_metric(re, im, level, s) * unit);
            d_chunk[d_filled++] = (parent_key + own + (2 * key_start + s)).as_float();
            if (d_filled == d_room)
                flush();
        }
    }

    MP_STEP void flush()
    {
        if (d_found) {
            keep_best<step>(&d_list[0], &d_chunk[0], d_room);
        } else {
            sort<step>(&d_chunk[0], d_room);
            for (int i = 0; i < d_room; ++i)
                d_list[i] = d_chunk[i];
        }
        d_found = true;
        d_filled = 0;
    }

    MP_FN void adopt(int level, F unit)
    {
        const int size = d_constellation.size;
        d_parents = d_parents * size < d_k ? d_parents * size : d_k;
        for (int i = 0; i < d_parents; ++i) {
            const word key = d_list[i].as_word();
            const word label = key & static_cast<unsigned>(size - 1);
            const word parent = ((key & d_origins) >> d_constellation.bits) &
                                static_cast<unsigned>(d_capacity - 1);
            const F scaled = ((key - 2 * key_start) & ~d_origins).to_float();
            d_metric[i] = scaled * unit;
            if (d_constellation.layers) /* a cut key contradicts a known bit */
                d_metric[i] =
                    select(F(1.0005f * bound_key) < scaled, F(no_metric), d_metric[i]);
            d_tree.extend(&d_next[i], &d_path[0], parent, label, level);
        }
        F* const parents = d_path.data;
        d_path.data = d_next.data;
        d_next.data = parents;
    }

    /* Return -ln p of a survivor, up to a constant. */
    MP_FN F metric(const F* path) const
    {
        const int nt = d_nt;
        F sum = d_tree.distance(path);
        for (int i = 0; d_has_prior && i < nt; ++i) {
            const word label = gray(path[d_tree.word_index(i) * d_capacity].as_word());
            for (int b = 0; b < d_constellation.bits; ++b)
                sum = sum - select(label.bit(d_tree.shift(i) + place(b)),
                                   d_prior[i * d_constellation.bits + b],
                                   F(0.0f));
        }
        return sum;
    }

    /* Find each bit's nearest survivor for either value. One value's is the best of all,
     * so that only survivors with the other value need a look. */
    MP_STEP void collect()
    {
        const int nt = d_nt, bits = d_constellation.bits;
        const int words = d_tree.word_index(nt - 1) + 1;
        F best(no_metric);
        for (int c = 0; c < d_parents; ++c) {
            d_metric[c] = metric(&d_path[c]);
            const mask better = d_metric[c] < best;
            best = min(best, d_metric[c]);
            for (int w = 0; w < words; ++w)
                d_next[w] = c ? select(better, d_path[w * d_capacity + c], d_next[w])
                              : d_path[w * d_capacity];
        }
        for (int w = 0; w < words; ++w) {
            const word chosen = d_next[w].as_word();
            for (int c = 0; c < d_parents; ++c) {
                F& path = d_path[w * d_capacity + c];
                path = gray(path.as_word() ^ chosen).as_float();
            }
        }
        for (int i = 0; i < nt; ++i) {
            const int w = d_tree.word_index(i), shift = d_tree.shift(i);
            F other[most_bits];
            for (int b = 0; b < bits; ++b)
                other[b] = F(no_metric);
            for (int c = 0; c < d_parents; ++c) {
                const word differs = d_path[w * d_capacity + c].as_word() >> shift;
                const F m = d_metric[c];
                MP_UNROLL
                for (int b = 0; b < (WIDTH > 0 ? most_bits : bits); ++b)
                    other[b] = masked_min(other[b], differs.bit(place(b)), m);
            }
            const word value = gray(d_next[w].as_word()) >> shift;
            for (int b = 0; b < bits; ++b) {
                const F known = d_has_prior ? d_prior[i * bits + b] : F(0.0f);
                const F difference =
                    select(value.bit(place(b)), other[b] - best, best - other[b]);
                d_llr[i * bits + b] = clipped(known, difference, d_clip);
            }
        }
    }

    /* Return the place of bit b in a label. */
    MP_FN int place(int b) const
    {
        return WIDTH > 0 ? symbol_bits<most_axis>::place(b)
                         : d_constellation.bits - 1 - b;
    }

    /* Return the Gray codes of all axes in a word of labels. Labels of points are bits
     * already. */
    MP_FN static word gray(word labels)
    {
        return WIDTH > 0 ? gray_codes<most_axis>(labels) : labels;
    }

    static constexpr int most_axis = WIDTH > 0 ? WIDTH : 1;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

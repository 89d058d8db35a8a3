/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A single tree search for exact max-log LLRs (C. Studer, A. Burg, H. Boelcskei, IEEE
 * JSAC 26(2), 2008), of one vector: the elements of a lane are nodes of its tree.
 *
 * For each value of each bit the least metric so far is its hypothesis. A node is worth a
 * visit while its metric is below a hypothesis that a leaf under it could still lower; as
 * leaves agree with their ancestors' bits, that is for symbol s of a layer
 * U(s) = max over bits b of hypothesis[b][bit b of s], and the largest U of the layers
 * below. Lanes of different vectors would wait for each other here. Instead, the M
 * children of a node are looked at together; those at level 2 that survive are collected,
 * and finished together as soon as they fill a lane: level 1 from the nearest symbol
 * outwards, level 0 sliced.
 *
 * The hypotheses of levels `first` and above are found exactly, those below are not
 * touched: other column orders are for them. */
#pragma once
#include "detectors/softsphere/leaf_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* `count` floats of their own from an arena of lanes */
template <class F>
MP_FN float* take_floats(arena<F>& a, int count)
{
    return reinterpret_cast<float*>(a.take((count + F::width - 1) / F::width));
}

template <class F, int WIDTH>
class tree_search
{
public:
    using levels = axis_levels<F, WIDTH>;
    static constexpr int side = 1 << WIDTH;
    static constexpr int size = side * side;
    static constexpr int bits = 2 * WIDTH;
    /* in whole lanes: the symbols of a layer, and its hypotheses, 2 b + value for bit b
     */
    static constexpr int chunks = (size + F::width - 1) / F::width;
    static constexpr int symbols = chunks * F::width;
    static constexpr int hypotheses = (2 * bits + F::width - 1) / F::width * F::width;

    /* What a search starts from and what it improves; by columns, not levels. */
    struct problem {
        const float* b; /* a level_model: of this element of the lanes, spread by width */
        const float* r;
        const float* diagonal;
        const float* inverse;
        const float* cost;  /* [column][axis][level], close together; null: no priors */
        float* hypothesis;  /* [column][hypotheses] */
        const float* slack; /* the same: how far above the least metric a hypothesis
                             * matters; null: at any distance */
        int shift;          /* level i is column (i + shift) mod nt */
        int first;          /* the lowest level whose hypotheses are wanted, >= 2 */
    };

    /* nt >= 3. With three layers, the root stands as the only child at level 3. */
    MP_FN tree_search(arena<F>& a, int nt)
        : d_nt(nt),
          d_re(take_floats(a, symbols)),
          d_im(take_floats(a, symbols)),
          d_code(take_floats(a, symbols)),
          d_apart(take_floats(a, size * hypotheses)),
          d_index(take_floats(a, symbols)),
          d_limit(take_floats(a, (nt + 1) * symbols)),
          d_cost(take_floats(a, (nt + 1) * symbols)),
          d_metric(take_floats(a, (nt + 1) * symbols)),
          d_lower(take_floats(a, (nt + 1) * symbols)),
          d_left(take_floats(a, (nt + 1) * nt * symbols)),
          d_open(reinterpret_cast<int*>(take_floats(a, (nt + 1) * open_stride)))
    {
        if (a.memory)
            fill_tables();
    }

    /* The floats that a list of nodes takes */
    MP_FN static int list_size(int nt) { return (path + nt) * stride; }

    /* Searches all but the nodes that are left in the list, whose number it returns: if
     * they are finished together with those of other vectors, none waits for another. */
    MP_FN int search(const problem& given, float* list)
    {
        d_p = given;
        d_list = list;
        d_listed = 0;
        if (d_p.cost) {
            set_costs();
            walk<true>();
        } else {
            walk<false>();
        }
        return d_listed;
    }

    /* Less than two lanes of them */
    MP_FN void finish(const problem& given, float* list, int count)
    {
        d_p = given;
        d_list = list;
        d_listed = count;
        if (d_p.cost) {
            set_costs();
            finish<true>(1);
        } else {
            finish<false>(1);
        }
    }

private:
    /* What is listed of a node at level 2: its metric, the metric from which on it is of
     * no use, its symbols at levels 3 and 2 as an integer s3 * M + s2; and where there
     * are levels above, what they leave of b of levels 0 and 1, and their symbols. */
    enum { metric, limit, last_symbols, left_by_path, path = left_by_path + 4 };
    static constexpr int stride = 3 * F::width + symbols;
    static constexpr int open_stride = symbols + F::width;

    const int d_nt;
    /* of each symbol: its levels, its bits, per hypothesis 0 where it agrees, its index
     */
    float *const d_re, *const d_im, *const d_code, *const d_apart, *const d_index;
    float *const d_limit, *const d_cost; /* U and the priors' cost, [level][symbol] */
    /* of the children at each level: metric, the same with the least that the next level
     * adds, and b of the levels below */
    float *const d_metric, *const d_lower, *const d_left;
    int* const d_open; /* children that survived, [level][] */
    problem d_p;
    float* d_list; /* of nodes at level 2, an array per item */
    int d_listed;
    float d_below[17]; /* largest U of the wanted levels below a level */
    float d_above[17]; /* largest U of the path's symbols at a level and above */
    int d_path[17], d_count[17], d_next[17];

    MP_FN void fill_tables()
    {
        for (int s = 0; s < symbols; ++s) {
            const int re = s / side, im = s % side;
            d_re[s] = s < size ? levels::origin + re : 1e15f; /* never survives */
            d_im[s] = s < size ? levels::origin + im : 0.0f;
            reinterpret_cast<int*>(d_index)[s] = s;
            reinterpret_cast<int*>(d_code)[s] =
                (re ^ (re >> 1)) << WIDTH | (im ^ (im >> 1));
        }
        for (int s = 0; s < size; ++s) {
            const int code = reinterpret_cast<const int*>(d_code)[s];
            for (int h = 0; h < hypotheses; ++h)
                d_apart[s * hypotheses + h] =
                    h < 2 * bits && (code >> (bits - 1 - h / 2) & 1) == h % 2 ? 0.0f
                                                                              : no_metric;
        }
    }

    MP_FN int column(int level) const
    {
        return level + d_p.shift < d_nt ? level + d_p.shift : level + d_p.shift - d_nt;
    }

    MP_FN static F spread(const float* p, int i) { return F(p[i * F::width]); }

    MP_FN static float larger(float a, float b) { return a < b ? b : a; }

    MP_FN void set_costs()
    {
        for (int level = 1; level < d_nt; ++level) {
            const float* const cost = d_p.cost + 2 * side * column(level);
            for (int s = 0; s < size; ++s)
                d_cost[level * symbols + s] = cost[s / side] + cost[side + s % side];
            for (int s = size; s < symbols; ++s)
                d_cost[level * symbols + s] = 0.0f;
        }
    }

    /* U from the hypotheses, which the clipping limits */
    MP_CALLED void refresh()
    {
        if (d_p.slack)
            tighten();
        float below = 0.0f;
        for (int level = d_p.first; level < d_nt; ++level) {
            d_below[level] = below;
            const float* const h = d_p.hypothesis + column(level) * hypotheses;
            for (int s = 0; s < symbols; s += F::width) {
                const auto code = F::load(d_code + s).as_word();
                F largest(0.0f);
                MP_UNROLL
                for (int b = 0; b < bits; ++b)
                    largest =
                        max(largest,
                            select(code.bit(bits - 1 - b), F(h[2 * b + 1]), F(h[2 * b])));
                largest.store(d_limit + level * symbols + s);
            }
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                below = larger(below, larger(h[2 * b], h[2 * b + 1]));
        }
        d_below[d_nt] = below;
    }

    /* An LLR beyond the clipping need not be exact. */
    MP_CALLED void tighten()
    {
        float least = no_metric;
        for (int c = 0; c < d_nt; ++c)
            for (int h = 0; h < 2 * bits; ++h)
                if (d_p.hypothesis[c * hypotheses + h] < least)
                    least = d_p.hypothesis[c * hypotheses + h];
        for (int h = 0; h < d_nt * hypotheses; h += F::width)
            min(F::load(d_p.hypothesis + h), F(least) + F::load(d_p.slack + h))
                .store(d_p.hypothesis + h);
    }

    /* Depth first; the children at level 3 do the rest together. */
    template <bool Prior>
    MP_FN void walk()
    {
        const int top = d_nt - 1;
        refresh();
        if (d_nt == 3) {
            for (int i = 0; i < 6; ++i)
                left(3)[i * symbols] = d_p.b[i * F::width];
            d_metric[3 * symbols] = d_lower[3 * symbols] = 0.0f;
            d_open[3 * open_stride] = 0;
            d_count[3] = 1;
            d_above[4] = 0.0f;
            last_levels<Prior>();
        } else {
            int level = d_nt; /* of the node whose children are next; first the root */
            d_above[level] = 0.0f;
            const float* b = d_p.b;
            float parent = 0.0f;
            int apart = F::width;
            for (;;) {
                --level;
                expand<Prior>(level, parent, b, apart);
                if (level == 3) {
                    last_levels<Prior>();
                    d_next[level] = d_count[level];
                }
                int s = 0;
                do {
                    while (level <= top && d_next[level] == d_count[level])
                        ++level;
                    if (level > top)
                        break;
                    s = d_open[level * open_stride + d_next[level]++];
                } while (!(d_lower[level * symbols + s] < limit_of(level, s)));
                if (level > top)
                    break;
                d_path[level] = s;
                d_above[level] = above_of(level, s);
                parent = d_metric[level * symbols + s];
                b = left(level) + s;
                apart = symbols;
            }
        }
    }

    /* The largest U of a node's own symbol and those above, of the wanted levels */
    MP_FN float above_of(int level, int s) const
    {
        const bool wanted = level >= d_p.first && level < d_nt;
        return wanted ? larger(d_above[level + 1], d_limit[level * symbols + s])
                      : d_above[level + 1];
    }

    /* The metric below which a node can improve a hypothesis */
    MP_FN float limit_of(int level, int s) const
    {
        const float above = above_of(level, s);
        return level >= d_p.first ? larger(above, d_below[level]) : above;
    }

    /* b of the levels below, of the children at this one: 2 i + part, then the symbol */
    MP_FN float* left(int level) const { return d_left + level * (level - 1) * symbols; }

    /* The children at a level above 2 of a node with b of that level and below at
     * b[apart * (2 i + part)]; all that survive are open. */
    template <bool Prior>
    MP_CALLED void expand(int level, float parent, const float* b, int apart)
    {
        const bool wanted = level >= d_p.first;
        const F most(wanted ? larger(d_above[level + 1], d_below[level])
                            : d_above[level + 1]);
        const F step = spread(d_p.diagonal, level);
        const F next_step = spread(d_p.diagonal, level - 1),
                next_inverse = spread(d_p.inverse, level - 1);
        float* const to = left(level);
        int open = 0;
        for (int s = 0; s < symbols; s += F::width) {
            const F k_re = F::load(d_re + s), k_im = F::load(d_im + s);
            const F e_re = fnma(step, k_re, F(b[apart * 2 * level])),
                    e_im = fnma(step, k_im, F(b[apart * (2 * level + 1)]));
            F m = fma(e_re, e_re, fma(e_im, e_im, F(parent)));
            if (Prior)
                m = m + F::load(d_cost + level * symbols + s);
            F re, im;
            for (int i = 0; i < level; ++i) {
                const F r_re = spread(d_p.r, 2 * (i * d_nt + level)),
                        r_im = spread(d_p.r, 2 * (i * d_nt + level) + 1);
                re = fma(r_im, k_im, fnma(r_re, k_re, F(b[apart * 2 * i])));
                im = fnma(r_im, k_re, fnma(r_re, k_im, F(b[apart * (2 * i + 1)])));
                re.store(to + 2 * i * symbols + s);
                im.store(to + (2 * i + 1) * symbols + s);
            }
            const F next_re = levels::distance(re, next_step, next_inverse),
                    next_im = levels::distance(im, next_step, next_inverse);
            const F lower = fma(next_re, next_re, fma(next_im, next_im, m));
            const F limit =
                wanted ? max(most, F::load(d_limit + level * symbols + s)) : most;
            m.store(d_metric + level * symbols + s);
            lower.store(d_lower + level * symbols + s);
            const F index[] = { F::load(d_index + s) };
            open += append(lower < limit,
                           index,
                           reinterpret_cast<float*>(d_open + level * open_stride + open),
                           0);
        }
        d_count[level] = open;
        d_next[level] = 0;
        if (level > 3)
            sort(level);
    }

    /* The most promising child first, so that hypotheses fall early */
    MP_FN void sort(int level)
    {
        int* const open = d_open + level * open_stride;
        const float* const lower = d_lower + level * symbols;
        for (int i = 1; i < d_count[level]; ++i) {
            const int s = open[i];
            int j = i;
            for (; j > 0 && lower[s] < lower[open[j - 1]]; --j)
                open[j] = open[j - 1];
            open[j] = s;
        }
    }

    /* What the symbols of level 2 add, the same for all children at level 3 */
    struct symbol_chunk {
        F own_re, own_im, b1_re, b1_im, cost;
    };

    /* The children of all open children at level 3; those that survive are listed. */
    template <bool Prior>
    MP_STEP void last_levels()
    {
        symbol_chunk chunk[chunks];
        const F step = spread(d_p.diagonal, 2);
        const F r_re = spread(d_p.r, 2 * (d_nt + 2)),
                r_im = spread(d_p.r, 2 * (d_nt + 2) + 1);
        for (int c = 0; c < chunks; ++c) {
            const F re = F::load(d_re + c * F::width), im = F::load(d_im + c * F::width);
            chunk[c].own_re = step * re;
            chunk[c].own_im = step * im;
            chunk[c].b1_re = r_im * im - r_re * re;
            chunk[c].b1_im = F(0.0f) - r_im * re - r_re * im;
            if (Prior)
                chunk[c].cost = F::load(d_cost + 2 * symbols + c * F::width);
        }
        const F next_step = spread(d_p.diagonal, 1),
                next_inverse = spread(d_p.inverse, 1);
        const bool wanted = d_p.first == 2;
        const int* const open = d_open + 3 * open_stride;
        bool refreshed = false;
        int listed = d_listed;
        for (int n = 0; n < d_count[3]; ++n) {
            const int s = open[n];
            const float* const b = left(3) + s;
            if (refreshed && !(d_lower[3 * symbols + s] < limit_of(3, s)))
                continue;
            const F most(above_of(3, s));
            const F parent(d_metric[3 * symbols + s]);
            for (int c = 0; c < chunks; ++c) {
                const symbol_chunk& k = chunk[c];
                const F e_re = k.own_re - F(b[4 * symbols]),
                        e_im = k.own_im - F(b[5 * symbols]);
                F m = fma(e_re, e_re, fma(e_im, e_im, parent));
                if (Prior)
                    m = m + k.cost;
                const F next_re = levels::distance(
                            k.b1_re + F(b[2 * symbols]), next_step, next_inverse),
                        next_im = levels::distance(
                            k.b1_im + F(b[3 * symbols]), next_step, next_inverse);
                const F at_most =
                    wanted ? max(most, F::load(d_limit + 2 * symbols + c * F::width))
                           : most;
                const auto survives =
                    fma(next_re, next_re, fma(next_im, next_im, m)) < at_most;
                if (chunks > 1 && !survives.to_bits())
                    continue;
                const auto index = F::load(d_index + c * F::width).as_word() + s * size;
                const F item[] = { m, at_most, index.as_float() };
                const int more = append(survives, item, d_list + listed, stride);
                if (d_nt > 4)
                    list_path(listed);
                listed += more;
            }
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

    MP_FN void list_path(int at)
    {
        const float* const b = left(4) + d_path[4];
        for (int i = 0; i < 4; ++i)
            F(b[i * symbols]).store(d_list + (left_by_path + i) * stride + at);
        for (int i = 4; i < d_nt; ++i)
            F(static_cast<float>(d_path[i])).store(d_list + (path + i) * stride + at);
    }

    /* Finishes the listed nodes while there are at least so many; returns whether that
     * improved any hypothesis. */
    template <bool Prior>
    MP_STEP bool finish(int least)
    {
        leaf_search<F, WIDTH> leaves;
        leaves.step0 = spread(d_p.diagonal, 0);
        leaves.inverse0 = spread(d_p.inverse, 0);
        leaves.step1 = spread(d_p.diagonal, 1);
        leaves.inverse1 = spread(d_p.inverse, 1);
        leaves.r_re = spread(d_p.r, 2);
        leaves.r_im = spread(d_p.r, 3);
        leaves.symbols = symbols;
        leaves.re = d_re;
        leaves.im = d_im;
        leaves.cost1 = d_cost + symbols;
        leaves.cost0 = Prior ? d_p.cost + 2 * side * column(0) : nullptr;
        bool changed = false;
        while (d_listed >= least) {
            const int count = d_listed < F::width ? d_listed : F::width;
            d_listed -= count;
            const last_node<F> node = listed_node(d_list + d_listed, count);
            float found[F::width];
            unsigned unsure = 0;
            if (Prior) {
                node.limit.store(found);
                unsure = (node.metric < node.limit).to_bits();
            } else {
                leaves.nearest_leaves(node, unsure).store(found);
            }
            if (unsure) {
                float b[4][F::width], metrics[F::width];
                node.b0_re.store(b[0]);
                node.b0_im.store(b[1]);
                node.b1_re.store(b[2]);
                node.b1_im.store(b[3]);
                node.metric.store(metrics);
                for (; unsure; unsure &= unsure - 1) {
                    const int v = lowest_bit(unsure);
                    const float own[4] = { b[0][v], b[1][v], b[2][v], b[3][v] };
                    const float m = leaves.template least_leaf<Prior>(metrics[v], own);
                    found[v] = m < found[v] ? m : found[v];
                }
            }
            const unsigned improved = (F::load(found) < node.limit).to_bits();
            if (improved) {
                changed = true;
                for (int level = d_p.first; level < d_nt; ++level)
                    improve(level, improved, found);
            }
        }
        return changed;
    }

    /* The first `count` nodes of a list; what is in memory behind them improves nothing.
     */
    MP_FN last_node<F> listed_node(const float* list, int count) const
    {
        last_node<F> node;
        const auto exists = F::load(d_index).as_word().to_float() < F(count - 0.5f);
        node.metric = select(exists, F::load(list + metric * stride), F(no_metric));
        node.limit = select(exists, F::load(list + limit * stride), F(0.0f));
        /* b, less the symbols at levels 3 and 2 */
        F b[4];
        if (d_nt > 4) {
            for (int i = 0; i < 4; ++i)
                b[i] = F::load(list + (left_by_path + i) * stride);
        } else {
            for (int i = 0; i < 4; ++i)
                b[i] = spread(d_p.b, i);
        }
        const auto symbol = F::load(list + last_symbols * stride).as_word();
        for (int level = 2; level < (d_nt > 3 ? 4 : 3); ++level) {
            const int place = 2 * WIDTH * (level - 2);
            const F k_re = level_of(symbol >> (place + WIDTH)),
                    k_im = level_of(symbol >> place);
            for (int i = 0; i < 2; ++i) {
                const F r_re = spread(d_p.r, 2 * (i * d_nt + level)),
                        r_im = spread(d_p.r, 2 * (i * d_nt + level) + 1);
                b[2 * i] = fma(r_im, k_im, fnma(r_re, k_re, b[2 * i]));
                b[2 * i + 1] = fnma(r_im, k_re, fnma(r_re, k_im, b[2 * i + 1]));
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

    /* `improved` are the nodes that were finished last, with the metrics found. */
    MP_FN void improve(int level, unsigned improved, const float* found)
    {
        float* const stored = d_p.hypothesis + column(level) * hypotheses;
        const float* const list =
            d_list + (level > 3 ? path + level : last_symbols) * stride + d_listed;
        F h[hypotheses / F::width];
        MP_UNROLL
        for (int i = 0; i < hypotheses / F::width; ++i)
            h[i] = F::load(stored + i * F::width);
        for (; improved; improved &= improved - 1) {
            const int item = lowest_bit(improved);
            int s = 0;
            if (level > 3)
                s = static_cast<int>(list[item]);
            else
                s = reinterpret_cast<const int*>(list)[item] >> (level == 3 ? bits : 0) &
                    (size - 1);
            MP_UNROLL
            for (int i = 0; i < hypotheses / F::width; ++i)
                h[i] = min(h[i],
                           F::load(d_apart + s * hypotheses + i * F::width) +
                               F(found[item]));
        }
        MP_UNROLL
        for (int i = 0; i < hypotheses / F::width; ++i)
            h[i].store(stored + i * F::width);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

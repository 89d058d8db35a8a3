/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The sequential sphere detectors of 004: depth first (SD, Algorithm 1) and best first
 * (ASD). QR decomposition and rotation handle all lanes at once. Each step of the search
 * depends on the step before, so lanes are searched one after the other. */
#pragma once
#include "common/budget.h"
#include "common/options.h"
#include "common/real_tree.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct sphere_options {
    int ordering = 0;    /* a level_order */
    int radius = 0;      /* option of sd; 0: infinite, 1: zero forcing */
    int enumeration = 0; /* option of sd; 0: Schnorr-Euchner, 1: natural */
    int max_nodes = 0;   /* 0: no limit */
    int soft = 0;        /* whether to put out LLRs from a list of leaves */
    int list_size = 1;   /* leaves of the list */
    float llr_clip = infinity;

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("ordering", ordering);
        visit("radius", radius);
        visit("enumeration", enumeration);
        visit("max_nodes", max_nodes);
        visit("soft", soft);
        visit("list_size", list_size);
        visit("llr_clip", llr_clip);
    }
};


constexpr int max_levels = 32;
constexpr float outside = 3e38f; /* no metric reaches it */

/* One lane of a real_tree */
template <int WIDTH>
struct scalar_tree {
    static constexpr int side = 1 << WIDTH;
    int size;
    const float* r; /* size x size */
    const float* y;
    const float* prior; /* size x side, or null */

    MP_FN static float symbol(int k) { return 2 * k - (side - 1); }

    /* Compute the metrics of a node's children at level l, from its metric and the
     * symbols above. The function is not inlined, so that it rounds alike wherever it is
     * called. */
    MP_CALLED void children(int l, const float* above, float metric, float* child) const
    {
        const float* const row = r + l * size;
        float rest = y[l];
        for (int j = l + 1; j < size; ++j)
            rest -= row[j] * above[j];
        for (int k = 0; k < side; ++k) {
            const float d = rest - row[l] * symbol(k);
            child[k] = metric + d * d;
        }
        for (int k = 0; prior && k < side; ++k)
            child[k] += prior[l * side + k];
    }

    /* Find the zero-forcing point (Babai estimate), and return its metric, the square of
     * 004's ZF radius. */
    MP_FN float zero_forcing(float* point) const
    {
        float x[max_levels], metric = 0.0f;
        for (int l = size - 1; l >= 0; --l) {
            float sum = y[l];
            for (int j = l + 1; j < size; ++j)
                sum -= r[l * size + j] * x[j];
            x[l] = sum / r[l * size + l];
        }
        /* Sum in the order of the search, so that rounding does not make the search find
         * the same point better. */
        for (int l = size - 1; l >= 0; --l) {
            int k = 0;
            while (k < side - 1 && x[l] > symbol(k) + 1.0f)
                ++k;
            float child[side];
            children(l, point, metric, child);
            point[l] = symbol(k);
            metric = child[k];
        }
        return metric;
    }

    /* Complete the path above level `level` by the nearest child at each level below.
     * Return its metric. */
    MP_CALLED float complete(int level, float metric, float* path) const
    {
        float child[side];
        for (int l = level - 1; l >= 0; --l) {
            children(l, path, metric, child);
            int nearest = 0;
            for (int k = 1; k < side; ++k)
                if (child[k] < child[nearest])
                    nearest = k;
            path[l] = symbol(nearest);
            metric = child[nearest];
        }
        return metric;
    }
};

/* The best leaves of a search (list sphere detection). A leaf that is no better than the
 * last one of a full list, or farther than `reach` from the first, is of no use. */
template <int WIDTH>
struct leaf_list {
    int size; /* most leaves */
    float reach;
    float* metric;  /* the leaves' metrics, rising; `size` of them */
    float* nearest; /* nearest[2 * (l * WIDTH + g) + value]: see real_tree::llrs() */
    int levels;
    int count;

    MP_FN void clear()
    {
        count = 0;
        for (int i = 0; i < 2 * levels * WIDTH; ++i)
            nearest[i] = no_metric;
    }

    /* The metric from which a leaf is of no use */
    MP_FN float bound() const
    {
        if (!count)
            return outside;
        const float last = metric[0] + reach;
        return count == size && metric[size - 1] < last ? metric[size - 1] : last;
    }

    /* The metric beyond which a leaf is not in the list */
    MP_FN float last() const { return count == size ? metric[size - 1] : outside; }

    /* Add a leaf: its metric, which is less than bound(), and the symbols of its path. */
    MP_CALLED void add(float leaf, const float* path)
    {
        int i = count < size ? count++ : size - 1;
        for (; i > 0 && leaf < metric[i - 1]; --i)
            metric[i] = metric[i - 1];
        metric[i] = leaf;
        for (int l = 0; l < levels; ++l) {
            const int k = static_cast<int>(path[l] + ((1 << WIDTH) - 1)) / 2;
            MP_UNROLL
            for (int g = 0; g < WIDTH; ++g) {
                float& least = nearest[2 * (l * WIDTH + g) + gray_bit<WIDTH>(k, g)];
                least = leaf < least ? leaf : least;
            }
        }
    }
};

struct search_end {
    long long visited; /* number of nodes */
    bool truncated;    /* the budget has ended the search */
};

/* Depth-first search (Algorithm 1). It visits the children of a node in the order of the
 * axis's levels (natural), or from the nearest on (Schnorr-Euchner), where the first
 * sibling outside the radius ends a level. A node is visited when its metric is compared
 * with the radius. The search ends before it visits more than `budget` nodes, but not
 * without a point: the first leaf takes a node of each level. SOFT: collect leaves in the
 * list instead of the best one. */
template <bool SOFT, int WIDTH>
MP_FN search_end search_depth_first(const scalar_tree<WIDTH>& t,
                                    bool natural,
                                    bool zero_forcing_radius,
                                    long long budget,
                                    float* best,
                                    leaf_list<WIDTH>& list)
{
    constexpr int side = 1 << WIDTH;
    float child[max_levels][side], path[max_levels] = {};
    int done[max_levels] = {}; /* visited children of the present node of each level */
    float bound = zero_forcing_radius ? t.zero_forcing(best) : outside;
    const long long first_leaf = zero_forcing_radius ? 0 : t.size,
                    most = budget < first_leaf ? first_leaf : budget;
    long long visited = 0;
    int l = t.size - 1;
    t.children(l, path, 0.0f, child[l]);
    while (l < t.size) {
        if (done[l] == side) {
            done[l++] = 0;
            continue;
        }
        if (visited == most)
            return { visited, true };
        int next = natural ? done[l] : 0;
        for (int s = 1; !natural && s < side; ++s)
            if (child[l][s] < child[l][next])
                next = s;
        const float metric = child[l][next];
        ++done[l];
        ++visited;
        if (!(metric < bound)) {
            if (!natural)
                done[l++] = 0;
            continue;
        }
        child[l][next] = outside;
        path[l] = t.symbol(next);
        if (l > 0) {
            --l;
            t.children(l, path, metric, child[l]);
        } else if (SOFT) {
            list.add(metric, path);
            bound = list.bound();
        } else {
            bound = metric;
            for (int j = 0; j < t.size; ++j)
                best[j] = path[j];
        }
    }
    return { visited, false };
}

/* Open nodes of the best-first search: a heap over a store that only grows */
struct node_store {
    struct node {
        float metric;
        unsigned parent;
        short level, k;
    };
    static constexpr unsigned capacity = 1u << 21;
    node* nodes;
    unsigned* heap;
    unsigned used, open;

    MP_FN bool before(unsigned a, unsigned b) const
    {
        return nodes[a].metric < nodes[b].metric ||
               (nodes[a].metric == nodes[b].metric && a < b);
    }

    MP_FN void push(const node& n)
    {
        nodes[used] = n;
        unsigned i = open++;
        for (; i > 0 && before(used, heap[(i - 1) / 2]); i = (i - 1) / 2)
            heap[i] = heap[(i - 1) / 2];
        heap[i] = used++;
    }

    MP_FN unsigned pop()
    {
        const unsigned first = heap[0], moved = heap[--open];
        unsigned i = 0;
        for (unsigned c = 1; c < open; c = 2 * i + 1) {
            if (c + 1 < open && before(heap[c + 1], heap[c]))
                ++c;
            if (!before(heap[c], moved))
                break;
            heap[i] = heap[c];
            i = c;
        }
        heap[i] = moved;
        return first;
    }
};

/* Best-first search: always expand the open node with the smallest metric. The first leaf
 * taken is the solution. All children of an expanded node count as visited. If `budget`
 * nodes do not suffice, the nearest children complete the root and the open node with the
 * smallest metric, and the better of the two paths is taken. If the store is full, the
 * search starts again depth first, which needs no store. SOFT: leaves are taken until the
 * next one is of no use to the list. */
template <bool SOFT, int WIDTH>
MP_FN search_end search_best_first(const scalar_tree<WIDTH>& t,
                                   long long budget,
                                   node_store& store,
                                   float* best,
                                   leaf_list<WIDTH>& list)
{
    constexpr int side = 1 << WIDTH;
    float child[side];
    store.used = store.open = 0;
    store.push({ 0.0f, 0, static_cast<short>(t.size), 0 });
    while (store.used + side <= node_store::capacity) {
        if (SOFT && (!store.open || !(store.nodes[store.heap[0]].metric < list.bound())))
            return { store.used - 1, false };
        const unsigned at = store.pop();
        const int level = store.nodes[at].level;
        unsigned up = at;
        for (int l = level; l < t.size; ++l) {
            best[l] = t.symbol(store.nodes[up].k);
            up = store.nodes[up].parent;
        }
        const unsigned visited = store.used - 1; /* the root does not count */
        if (level == 0) {
            if (!SOFT)
                return { visited, false };
            list.add(store.nodes[at].metric, best);
            continue;
        }
        if (visited + side > budget) {
            float from_root[max_levels];
            const float metric = t.complete(level, store.nodes[at].metric, best),
                        other = t.complete(t.size, 0.0f, from_root);
            if (SOFT && metric < list.bound())
                list.add(metric, best);
            if (SOFT && other < list.bound())
                list.add(other, from_root);
            if (!SOFT && other < metric)
                for (int l = 0; l < t.size; ++l)
                    best[l] = from_root[l];
            return { visited, true };
        }
        t.children(level - 1, best, store.nodes[at].metric, child);
        for (int s = 0; s < side; ++s)
            store.push(
                { child[s], at, static_cast<short>(level - 1), static_cast<short>(s) });
    }
    const unsigned visited = store.used - 1;
    if (SOFT)
        list.clear();
    const search_end end =
        search_depth_first<SOFT>(t, false, false, budget - visited, best, list);
    return { visited + end.visited, end.truncated };
}

template <class F, int WIDTH>
class sphere
{
public:
    using mask = decltype(F() < F());
    using tree = real_tree<F, WIDTH>;
    static constexpr int side = tree::side;

    MP_FN sphere(arena<F>& a,
                 const constellation& c,
                 int nt,
                 int nr,
                 const sphere_options& o,
                 bool best_first)
        : d_options(o),
          d_best_first(best_first),
          d_tree(a, c, nt, nr, static_cast<level_order>(o.ordering)),
          d_r(a, 4 * nt * nt),
          d_y(a, 2 * nt),
          d_prior(a, 2 * nt * side),
          d_k(a, 2 * nt),
          d_list(a, o.soft ? o.list_size : 0),
          d_least(a, o.soft ? 4 * nt * WIDTH : 0),
          d_nearest(a, o.soft ? 4 * nt * WIDTH : 0)
    {
        if (best_first) {
            const unsigned long nodes =
                node_store::capacity * sizeof(node_store::node) / sizeof(F);
            const unsigned long heap =
                node_store::capacity * sizeof(unsigned) / sizeof(F);
            d_store.nodes = reinterpret_cast<node_store::node*>(a.take(nodes));
            d_store.heap = reinterpret_cast<unsigned*>(a.take(heap));
        }
    }

    MP_FN void prepare(const F* h)
    {
        d_tree.prepare(h);
        const int size = d_tree.size;
        for (int l = 0; l < size; ++l)
            for (int j = l; j < size; ++j)
                scatter(d_tree.r(l, j), l * size + j, size * size, &d_r[0]);
    }

    /* Set the lanes of the next detect() that are in use, and where each lane's number of
     * nodes goes, or null. */
    MP_FN void use_lanes(int count, unsigned* const* nodes)
    {
        d_lanes = count;
        for (int lane = 0; lane < count; ++lane)
            d_nodes[lane] = nodes ? nodes[lane] : nullptr;
    }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int size = d_tree.size;
        const mask usable = d_tree.rotate(y, noise_var, prior);
        for (int l = 0; l < size; ++l) {
            scatter(d_tree.y[l], l, size, &d_y[0]);
            for (int s = 0; prior && s < side; ++s)
                scatter(d_tree.prior(l, s), l * side + s, size * side, &d_prior[0]);
            d_k[l] = F(0.0f);
        }
        d_truncated = 0;
        const bool soft = d_options.soft;
        float reach[F::width];
        if (soft)
            d_tree.reach(noise_var, prior, d_options.llr_clip).store(reach);
        for (int lane = 0; lane < d_lanes; ++lane)
            if (usable[lane])
                soft ? search<true>(lane, prior != nullptr, reach[lane])
                     : search<false>(lane, prior != nullptr, 0.0f);
        if (soft)
            d_tree.llrs(&d_nearest[0], d_last, noise_var, prior, d_options.llr_clip, llr);
        else
            d_tree.decide(&d_k[0], llr);
        return usable;
    }

    MP_FN int truncated() const { return d_truncated; }

private:
    const sphere_options d_options;
    const bool d_best_first;
    tree d_tree;
    buffer<F, 0> d_r, d_y, d_prior; /* lane by lane */
    buffer<F, 0> d_k;
    buffer<F, 0> d_list, d_least; /* a lane's list of leaves */
    buffer<F, 0> d_nearest;       /* of all lanes, see real_tree::llrs() */
    F d_last;                     /* the metric of the last leaf in the list */
    node_store d_store{};
    int d_lanes = F::width;
    int d_truncated = 0;
    unsigned* d_nodes[F::width] = {};

    MP_FN static void scatter(F value, int place, int stride, F* lanes)
    {
        float values[F::width];
        value.store(values);
        for (int lane = 0; lane < F::width; ++lane)
            reinterpret_cast<float*>(lanes)[lane * stride + place] = values[lane];
    }

    template <bool SOFT>
    void search(int lane, bool has_prior, float reach)
    {
        const int size = d_tree.size;
        const scalar_tree<WIDTH> t{
            size,
            reinterpret_cast<float*>(&d_r[0]) + lane * size * size,
            reinterpret_cast<float*>(&d_y[0]) + lane * size,
            has_prior ? reinterpret_cast<float*>(&d_prior[0]) + lane * size * side
                      : nullptr
        };
        leaf_list<WIDTH> list{ d_options.list_size,
                               reach,
                               reinterpret_cast<float*>(&d_list[0]),
                               reinterpret_cast<float*>(&d_least[0]),
                               size,
                               0 };
        if (SOFT)
            list.clear();
        float best[max_levels] = {};
        const long long budget = node_budget(d_options.max_nodes);
        const search_end end =
            d_best_first
                ? search_best_first<SOFT>(t, budget, d_store, best, list)
                : search_depth_first<SOFT>(
                      t, d_options.enumeration, d_options.radius, budget, best, list);
        d_truncated += end.truncated;
        const auto set = [lane](F& lanes, float value) {
            reinterpret_cast<float*>(&lanes)[lane] = value;
        };
        for (int i = 0; SOFT && i < 2 * size * WIDTH; ++i)
            set(d_nearest[i], list.nearest[i]);
        if (SOFT)
            set(d_last, list.last());
        for (int l = 0; !SOFT && l < size; ++l)
            set(d_k[l], 0.5f * (best[l] + (side - 1)));
        if (d_nodes[lane])
            *d_nodes[lane] = static_cast<unsigned>(end.visited);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

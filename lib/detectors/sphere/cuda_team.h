/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard maximum likelihood by teams of threads, a team for each vector.
 *
 * The team's open nodes are on a stack in shared memory. In each turn every thread takes
 * a node and puts its children that are inside the radius on the stack, the nearest last.
 * A launch lasts as long as its longest search; three things keep that short:
 *
 *   - The radius begins at a value that the noise seldom exceeds, and is doubled as long
 *     as there is no leaf inside. A search that begins with an infinite radius, or with
 *     that of one candidate, now and then visits thousands of times as many nodes.
 *   - Once the stack is long, the threads complete its nodes by slicing, for a leaf that
 *     lowers the radius.
 *   - Threads whose vector is done help a team of their warp.
 *
 * Turns per vector (8x8 16-QAM, 20 dB): 9 in the mean, at most 85 of 20000 vectors. */
#pragma once
#include "common/budget.h"
#include "common/gray.h"
#include "cuda/kernel_traits.h"
#include "cuda/team_tree.h"
#include "detectors/sphere/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH, int MAX_NODES>
class team_sphere
{
    using tree = team_tree<WIDTH>;
    using axis = typename tree::axis;
    using path = typename tree::path;
    static constexpr int nt = tree::nt, side = tree::side, bits = tree::bits;
    static constexpr int threads = tree::threads, in_block = MIMOPACK_THREADS / threads;

    /* A thread adds at most a row of children and the rest of its node to the stack
     * before it looks how long this is. A single thread adds as much on each level. */
    static constexpr int room = side + 1, reserve = nt * room;
    static constexpr int capacity = reserve + 16 * room + 64;
    /* The stack is long with more nodes than this. */
    static constexpr int is_long = 3 * threads;

    struct storage {
        typename tree::storage system;
        path best;  /* the leaf's path, without the last symbol */
        int symbol; /* its last one */
        float metric[capacity];
        unsigned word[path::words][capacity];

        MP_FN void put(int place, float of, const path& p)
        {
            metric[place] = of;
            MP_UNROLL
            for (int w = 0; w < path::words; ++w)
                word[w][place] = p.word[w];
        }

        MP_FN path get(int place) const
        {
            path p;
            MP_UNROLL
            for (int w = 0; w < path::words; ++w)
                p.word[w] = word[w][place];
            return p;
        }
    };

    /* The children of a node, from the nearest one: on both axes, by their distance */
    struct children {
        int level;
        axis re, im;

        MP_FN static children of(const storage& s, const path& p)
        {
            const int level = p.level();
            float re, im;
            s.system.residual(level, p, re, im);
            const auto& cost = s.system.cost[tree::with_prior ? level : 0];
            const float w = s.system.w[level];
            return { level, axis(re, w, cost[0]), axis(im, w, cost[1]) };
        }

        MP_FN int nearest() const { return re.nearest | im.nearest << WIDTH; }
        MP_FN float least(float metric) const { return metric + im.least + re.least; }
    };

    /* A search, as the threads see it that work on it: all of them have the same. */
    struct search_state {
        int team;  /* whose search, in the warp */
        int width; /* threads that work on it */
        int size;  /* of the stack */
        int visited;
        float radius;
        bool found, completed;
    };

public:
    static constexpr int shared_bytes = in_block * sizeof(storage);

    /* Detect the batch; return how many of this thread's vectors were erased. */
    MP_FN static unsigned detect(const batch& all, lane*)
    {
        __shared__ storage of[in_block];
        constexpr int in_warp = 32 / threads;
        storage* const warp = of + threadIdx.x / 32 * in_warp;
        const int team = threadIdx.x % 32 / threads;
        const unsigned long long step =
            gridDim.x * static_cast<unsigned long long>(in_block);
        unsigned long long first =
            blockIdx.x * static_cast<unsigned long long>(in_block) + (warp - of);
        team_sphere searches(warp, team);
        unsigned erased = 0;
        for (; first < all.chunks; first += step) {
            const bool exists = first + team < all.chunks;
            const unsigned long long chunk = exists ? first + team : all.chunks - 1;
            const bool usable = searches.d_tree.decompose(
                all.h + all.place_of(chunk) * (2 * nt * tree::nr));
            const unsigned length = program::matrix_each ? 1 : all.chunk;
#pragma unroll 1
            for (unsigned t = 0; t < length; ++t)
                erased += searches.detect_vector(all, chunk * length + t, usable, exists);
        }
        if (searches.d_truncated)
            atomicAdd(all.truncated,
                      static_cast<unsigned long long>(searches.d_truncated));
        return erased;
    }

private:
    storage* const d_warp; /* of the warp's teams */
    storage& d_own;
    tree d_tree;
    unsigned d_truncated = 0;

    MP_FN team_sphere(storage* warp, int team)
        : d_warp(warp),
          d_own(warp[team]),
          d_tree(d_own.system, threadIdx.x % threads)
    {
    }

    /* The team's own vector; return 1 if it was erased, in its first thread. */
    MP_FN unsigned
    detect_vector(const batch& all, unsigned long long vector, bool usable, bool exists)
    {
        const lane noise = all.load_noise(vector);
        usable = usable & d_tree.rotate(all.y + vector * (2 * tree::nr)) &
                 batch::allowed(noise).m;
        lane known[bits], canonical[bits];
        if constexpr (program::has_prior)
            usable &= load_prior(all, vector, noise, known, canonical);
        usable = over_team<threads>(usable ? 1 : 0, [](int a, int b) { return a & b; });
        search(usable && exists, noise.v);
        if (exists)
            store(all, vector, usable, known);
        return exists && !usable && d_tree.rank == 0;
    }

    MP_FN bool load_prior(const batch& all,
                          unsigned long long vector,
                          lane noise,
                          lane* known,
                          lane* canonical)
    {
        float sum = 0.0f;
        const int before = bits_before(program::points, d_tree.layer());
        const int own_bits = layer_bits();
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            known[b].v = program::prior_given && b < own_bits
                             ? all.prior[vector * program::num_llr + before + b]
                             : 0.0f;
            sum += d_tree.has_layer() ? fabsf(known[b].v) : 0.0f;
        }
        if constexpr (program::has_layers) {
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                canonical[b].v = llr_of_known_bit;
            order_layer_prior(program::points.layers[d_tree.layer()], known, canonical);
        } else {
            order_layer_prior(program::points, known, canonical);
        }
        d_tree.set_costs(canonical, noise);
        return over_team<threads>(sum, [](float a, float b) { return a + b; }) <
               largest_prior;
    }

    MP_FN int layer_bits() const
    {
        return program::has_layers ? program::points.layers[d_tree.layer()].bits : bits;
    }

    /* Search the vectors of the warp's teams together. */
    MP_FN void search(bool wanted, float noise_var)
    {
        const int thread = threadIdx.x % 32;
        if (d_tree.rank == 0) {
            d_own.put(0, 0.0f, path::root());
            d_own.best = path::root();
            d_own.symbol = 0;
        }
        __syncwarp();
        search_state now{ thread / threads, threads,  wanted ? 1 : 0,
                          0,                first_radius() * noise_var,
                          !wanted,          false };
#pragma unroll 1
        for (;;) {
            const unsigned busy = __ballot_sync(~0u, now.size > 0);
            if (!busy)
                return;
            if (2 * __popc(busy) <= 32)
                share(busy, now);
            turn(now);
            bool completes = !now.found && !now.completed && now.size > is_long;
            const bool ends = MAX_NODES && now.visited >= MAX_NODES &&
                              (now.size > 0 || !now.found);
            if (ends) {
                d_truncated += thread % now.width == 0;
                completes = !now.found;
                now.radius = now.found ? now.radius : infinity;
                if (now.size == 0)
                    put_root(now);
            }
            if (__any_sync(~0u, completes))
                complete(completes, now);
            if (ends) {
                now.size = 0;
                now.found = true;
            }
            if (now.size == 0 && !now.found) {
                now.radius *= 2.0f;
                now.found = !(now.radius < infinity);
                if (!now.found)
                    put_root(now);
            }
            __syncwarp();
        }
    }

    MP_FN void put_root(search_state& now)
    {
        if (threadIdx.x % now.width == 0)
            d_warp[now.team].put(0, 0.0f, path::root());
        now.size = 1;
        __syncwarp(of_search(~0u, now));
    }

    /* Of the mean of the noise's energy and three times its standard deviation */
    MP_FN static float first_radius() { return nt + 3.0f * sqrtf(nt); }

    /* Let threads without a search help the others. busy: threads that have one */
    MP_FN static void share(unsigned busy, search_state& now)
    {
        int width = now.width;
        unsigned first = 0; /* thread of each search */
        for (int i = 0; i < 32; i += now.width)
            first |= busy & 1u << i;
        const int searches = __popc(first);
        while (2 * searches * width <= 32)
            width *= 2;
        if (width == now.width)
            return;
        for (int i = threadIdx.x % 32 / width; i; --i)
            first &= first - 1;
        const int from = first ? __ffs(first) - 1 : 0;
        now.team = __shfl_sync(~0u, now.team, from);
        now.size = __shfl_sync(~0u, now.size, from);
        now.visited = __shfl_sync(~0u, now.visited, from);
        now.radius = __shfl_sync(~0u, now.radius, from);
        now.found = __shfl_sync(~0u, now.found ? 1 : 0, from);
        now.completed = __shfl_sync(~0u, now.completed ? 1 : 0, from);
        now.width = width;
        if (!first) {
            now.size = 0;
            now.found = true;
        }
    }

    /* The threads' of the same search, of those in a set */
    MP_FN static unsigned of_search(unsigned threads_of_warp, const search_state& now)
    {
        const int first = threadIdx.x % 32 / now.width * now.width;
        return threads_of_warp & (~0u >> (32 - now.width)) << first;
    }

    /* Each thread expands a node. */
    MP_FN void turn(search_state& now)
    {
        storage& s = d_warp[now.team];
        const int rank = threadIdx.x % now.width;
        const int left = (capacity - reserve - now.size) / room;
        const int most = left < 1 ? 1 : left < now.width ? left : now.width;
        const int count = now.size < most ? now.size : most;
        now.size -= count;
        now.visited += count;
        bool inside = rank < count;
        path node = path::root();
        float metric = 0.0f;
        if (inside) {
            metric = s.metric[now.size + rank];
            node = s.get(now.size + rank);
            inside = metric < now.radius;
        }
        __syncwarp();
        const children each = children::of(s, node);
        const float least = each.least(metric);
        inside = inside && least < now.radius;
        const bool leaf = inside && each.level == 0;
        if (__any_sync(~0u, leaf))
            improve(now, leaf, least, node, each.nearest());
        unsigned rows =
            inside && !leaf ? each.im.below(metric + each.re.least, now.radius) : 0;
        if (node.rows_done())
            rows &= each.im.nearer(node.rows_done());
        unsigned columns = 0; /* of a row */
        int row = 0, rest = 0, own_first = -1; /* place of the first child */
        float above = 0.0f;
#pragma unroll 1
        for (bool is_first = true; __any_sync(~0u, rows | columns); is_first = false) {
            if (!columns && rows) {
                if (is_first || now.size + count * room <= capacity - reserve) {
                    row = each.im.farthest(rows);
                    rows &= ~(1u << row);
                    above = metric + each.im.at(row);
                    columns = each.re.below(above, now.radius);
                } else {
                    rest = each.im.rank(row);
                    rows = 0;
                }
            }
            const unsigned pushing = of_search(__ballot_sync(~0u, columns != 0), now);
            if (columns) {
                const int column = each.re.farthest(columns);
                const int place = now.size + before(pushing);
                columns &= ~(1u << column);
                own_first = own_first < 0 ? place : own_first;
                s.put(place,
                      above + each.re.at(column),
                      node.child(row << WIDTH | column));
            }
            now.size += __popc(pushing);
        }
        const unsigned resting = of_search(__ballot_sync(~0u, rest > 0), now);
        if (rest > 0) {
            /* below the node's children, which come first */
            const int place = now.size + before(resting);
            node.set_rows_done(rest);
            if (own_first >= 0)
                s.put(place, s.metric[own_first], s.get(own_first));
            s.put(own_first < 0 ? place : own_first, metric, node);
        }
        now.size += __popc(resting);
        __syncwarp();
    }

    /* Complete the last nodes of the stack by slicing. */
    MP_FN void complete(bool wanted, search_state& now)
    {
        const storage& s = d_warp[now.team];
        const int place = now.size - 1 - static_cast<int>(threadIdx.x % now.width);
        const bool exists = wanted && place >= 0;
        path node = exists ? s.get(place) : path::root();
        float metric = exists ? s.metric[place] : 0.0f;
        int level = 0, symbol = 0;
        do {
            const children each = children::of(s, node);
            level = each.level;
            symbol = each.nearest();
            metric = each.least(metric);
            if (level > 0)
                node = node.child(symbol);
        } while (exists && level > 0);
        improve(now, exists && metric < now.radius, metric, node, symbol);
        now.completed = now.completed || wanted;
    }

    /* Keep the best leaf of the threads that have one inside the radius. */
    MP_FN void
    improve(search_state& now, bool leaf, float metric, const path& node, int symbol)
    {
        float best = leaf ? metric : infinity;
        for (int distance = now.width / 2; distance; distance /= 2)
            best = fminf(best, __shfl_xor_sync(~0u, best, distance));
        const unsigned equal =
            of_search(__ballot_sync(~0u, leaf && metric == best), now);
        if (leaf && metric == best && !before(equal)) {
            d_warp[now.team].best = node;
            d_warp[now.team].symbol = symbol;
        }
        if (equal) {
            now.radius = best;
            now.found = true;
        }
    }

    /* The number of threads of a set that come before this one */
    MP_FN static int before(unsigned set)
    {
        return __popc(set & ((1u << threadIdx.x % 32) - 1));
    }

    MP_FN void
    store(const batch& all, unsigned long long vector, bool usable, const lane* known) const
    {
        const int place = d_tree.place;
        const int symbol = place == 0 ? d_own.symbol : d_own.best.symbol(place, 1);
        const unsigned level[2] = { symbol & (side - 1u),
                                    static_cast<unsigned>(symbol) >> WIDTH };
        lane found[bits], ordered[bits];
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            found[b].v = gray_bit<WIDTH>(level[b / WIDTH], b % WIDTH) ? 1.0f : -1.0f;
        const lane* const extrinsic =
            program::prior_given && program::extrinsic ? known : nullptr;
        const auto order = [&](const auto& own) {
            order_layer_llr(own, lane::mask{ usable }, found, extrinsic, ordered);
        };
        if constexpr (program::has_layers)
            order(program::points.layers[d_tree.layer()]);
        else
            order(program::points);
        const unsigned long long at =
            vector * program::num_llr + bits_before(program::points, d_tree.layer());
        const int own_bits = layer_bits();
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            if (!d_tree.has_layer() || b >= own_bits)
                continue;
            if constexpr (program::as_int8)
                static_cast<signed char*>(all.llr)[at + b] =
                    quantised(ordered[b], all.int8_scale);
            else
                static_cast<float*>(all.llr)[at + b] = ordered[b].v;
        }
    }
};

/* The place holder of the kernel */
template <int WIDTH, int MAX_NODES>
struct team_sphere_kernel {
    using teams = team_sphere<WIDTH, MAX_NODES>;
    static constexpr int team_threads = tree_threads;
    static constexpr bool has_arena = false;
    /* Least number of blocks per multiprocessor, which limits registers */
    static constexpr int least_blocks =
        (program::num_tx > 8 ? 8 : 12) * 64 / MIMOPACK_THREADS;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

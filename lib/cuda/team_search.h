/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A tree search by teams of threads, a team for each vector.
 *
 * The team's open nodes are on a stack in shared memory. In each turn every thread takes
 * a node and puts its children that are inside the radius on the stack, the nearest last.
 * A launch lasts as long as its longest search; four things keep that short:
 *
 *   - The radius begins at a value that the noise seldom exceeds, and grows as long as
 *     the search finds too little inside. A search that begins with an infinite radius,
 *     or with that of one candidate, now and then visits thousands of times as many
 *     nodes.
 *   - Once the stack is long, the threads complete its nodes by slicing, for leaves that
 *     lower the radius.
 *   - Threads whose vector is done help a team of their warp.
 *   - A long search is left to a second launch, in which it has a warp or several
 *     (long_search.h).
 */
#pragma once
#include "common/budget.h"
#include "cuda/kernel_traits.h"
#include "cuda/team_tree.h"

/* A search of at least this many nodes is long. */
#ifndef MIMOPACK_LONG_SEARCH
#define MIMOPACK_LONG_SEARCH 200
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

/* The long searches of a call, in global memory. This struct is zero before the first
 * launch. After it come an entry for each vector of the call, and the places of the
 * second launch's warps (see long_search.h). */
struct alignas(16) long_searches {
    static constexpr int most_warps = 8192;
    struct entry {
        unsigned vector;
        float radius; /* to begin with */
    };
    unsigned count, taken, finished;
    unsigned asked, answered; /* requests for work by warps that have none */
    unsigned mail[most_warps];

    MP_FN entry* list() { return reinterpret_cast<entry*>(this + 1); }
    MP_FN void add(unsigned long long vector, float radius)
    {
        list()[atomicAdd(&count, 1u)] = { static_cast<unsigned>(vector), radius };
    }
};

/* Whether there is a goal; otherwise its type is void. */
template <class Goal>
constexpr bool is_goal = true;
template <>
constexpr bool is_goal<void> = false;

/* Read what other multiprocessors may have written. */
template <class T>
MP_FN T current(const T& of)
{
    return *const_cast<const volatile T*>(&of);
}

/* Copy words by a warp, to or from memory that other multiprocessors use. */
MP_FN void copy_words(void* to, const void* from, int bytes)
{
    for (int i = threadIdx.x % 32; i < bytes / 4; i += 32)
        static_cast<volatile unsigned*>(to)[i] =
            static_cast<const volatile unsigned*>(from)[i];
}

/* The state of a search. All threads that work on it have the same values. */
struct search_state {
    int team;     /* whose search, in the warp */
    int width;    /* threads that work on it */
    int size;     /* of the stack */
    int visited;  /* nodes whose children were computed */
    float radius; /* nodes outside wait until it grows */
    float best;   /* metric of the best leaf, or infinity */
    float noise_var;
    bool completed; /* whether complete() was called */
    bool done;

    MP_FN int rank() const { return threadIdx.x % width; }
    MP_FN bool is_first() const { return rank() == 0; }

    /* The search's threads of a set */
    MP_FN unsigned own(unsigned set) const
    {
        return set & (~0u >> (32 - width)) << threadIdx.x % 32 / width * width;
    }

    /* How many threads of a set come before this one */
    MP_FN static int before(unsigned set)
    {
        return __popc(set & ((1u << threadIdx.x % 32) - 1));
    }

    MP_FN float least(float x) const
    {
        for (int distance = width / 2; distance; distance /= 2)
            x = fminf(x, __shfl_xor_sync(~0u, x, distance));
        return x;
    }
};

/* Goal: what the search looks for, with the following members. All threads of a warp call
 * them together, but for bound() and child_limit().
 *
 *   storage            what it keeps of a vector in shared memory
 *   first_radius       in units of the noise's variance
 *   begin(storage, tree, noise_var, prior)
 *                      prior: of the thread's layer, in canonical order, or null
 *   bound(state, storage, node, level)
 *                      an object with the member `limit`, the metric from which on the
 *                      node is of no use; level: of its children
 *   child_limit(bound, storage, level, re, im)
 *                      the same for a child, given its parent's bound
 *   leaves(state, storage, wanted, again, metric, children, node)
 *                      takes the children at level 0 of the threads' nodes where wanted;
 *                      again: only the nearest ones, to which the search may come again;
 *                      metric: of the node
 *   next_radius(state, storage)
 *                      the radius to go on with once the stack is empty, or 0
 *   llrs(storage, tree, noise_var, prior, llr)
 *                      sets the LLRs of the thread's layer, in canonical order
 *   reach(state)       the metric from which on no node is of use, or the radius
 *   shared             the goal of the second launch, or void if there is none. It has
 *                      also:
 *   join(storage, common)
 *                      begins in a warp that joins a search, before exchange(); common:
 *                      the storage in global memory that the search's warps share
 *   exchange(state, storage, common)
 *                      takes over what the other warps have found, as far as it limits
 *                      the search, and brings what this one has found
 *
 * SPARE: nodes for which a stack has room beside the reserve of a single thread */
template <int WIDTH, int MAX_NODES, class Goal, int SPARE = 16 * (1 << WIDTH) + 80>
class team_search
{
protected:
    using tree = team_tree<WIDTH>;
    using path = typename tree::path;
    using children = typename tree::children;
    static constexpr int nt = tree::nt, side = tree::side, bits = tree::bits;
    static constexpr int threads = tree::threads, in_block = MIMOPACK_THREADS / threads;

    /* A thread adds at most a row of children and the rest of its node to the stack
     * before it looks how long this is. A single thread adds as much on each level. */
    static constexpr int room = side + 1, reserve = nt * room;
    static constexpr int capacity = reserve + SPARE;
    /* The stack is long with more nodes than this. */
    static constexpr int is_long = 3 * threads;

    struct storage {
        typename tree::storage system;
        typename Goal::storage goal;
        float later; /* 0, or the radius of a search that is left to the second launch */
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

public:
    /* Whether long searches are left to a second launch: not with a small budget */
    static constexpr bool leaves_long =
        is_goal<typename Goal::shared> &&
        (!MAX_NODES || MAX_NODES > 2 * MIMOPACK_LONG_SEARCH);

    /* Detect the batch; return how many of this thread's vectors were erased. */
    MP_FN static unsigned detect(const batch& all, lane*)
    {
        static_assert(in_block * sizeof(storage) <= 48 * 1024);
        __shared__ storage of[in_block];
        constexpr int in_warp = 32 / threads;
        storage* const warp = of + threadIdx.x / 32 * in_warp;
        const int team = threadIdx.x % 32 / threads;
        const unsigned long long step =
            gridDim.x * static_cast<unsigned long long>(in_block);
        unsigned long long first =
            blockIdx.x * static_cast<unsigned long long>(in_block) + (warp - of);
        team_search searches(warp, team);
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
        searches.count_truncated(all);
        return erased;
    }

protected:
    storage* const d_warp; /* of the warp's teams */
    storage& d_own;
    tree d_tree;
    unsigned d_truncated = 0;

    MP_FN team_search(storage* warp, int team)
        : d_warp(warp), d_own(warp[team]), d_tree(d_own.system, threadIdx.x % threads)
    {
    }

    MP_FN void count_truncated(const batch& all) const
    {
        if (d_truncated)
            atomicAdd(all.truncated, static_cast<unsigned long long>(d_truncated));
    }

    /* The team's own vector; return 1 if it was erased, in its first thread. */
    MP_FN unsigned
    detect_vector(const batch& all, unsigned long long vector, bool usable, bool exists)
    {
        const lane noise = all.load_noise(vector);
        lane known[bits], prior[bits];
        usable = load(all, vector, noise, known, prior) && usable;
        usable = over_team<threads>(usable ? 1 : 0, [](int a, int b) { return a & b; });
        search(usable && exists, noise.v);
        const float later = leaves_long ? d_own.later : 0.0f;
        store(all, vector, exists && later == 0.0f, usable, noise, known, prior);
        if (leaves_long && later != 0.0f && d_tree.rank == 0)
            all.later->add(vector, later);
        __syncwarp();
        return exists && !usable && d_tree.rank == 0;
    }

    /* Set the system of a vector whose matrix is decomposed, and begin the goal. Return
     * whether the vector can be detected, as far as the thread's layer tells. */
    MP_FN bool load(
        const batch& all, unsigned long long vector, lane noise, lane* known, lane* prior)
    {
        bool usable =
            d_tree.rotate(all.y + vector * (2 * tree::nr)) & batch::allowed(noise).m;
        if constexpr (program::has_prior)
            usable &= load_prior(all, vector, noise, known, prior);
        Goal::begin(d_own.goal, d_tree, noise.v, program::has_prior ? prior : nullptr);
        return usable;
    }

    MP_FN bool load_prior(
        const batch& all, unsigned long long vector, lane noise, lane* known, lane* prior)
    {
        const int layer = d_tree.layer();
        const float* const own =
            all.prior + vector * program::num_llr + bits_before(program::points, layer);
        float sum = 0.0f;
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            known[b].v = program::prior_given && b < layer_bits() ? own[b] : 0.0f;
            sum += d_tree.has_layer() ? fabsf(known[b].v) : 0.0f;
        }
        if constexpr (program::has_layers) {
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                prior[b].v = llr_of_known_bit;
            order_layer_prior(program::points.layers[layer], known, prior);
        } else {
            order_layer_prior(program::points, known, prior);
        }
        d_tree.set_costs(prior, noise);
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
        search_state now{ static_cast<int>(threadIdx.x % 32 / threads),
                          threads,
                          0,
                          0,
                          Goal::first_radius() * noise_var,
                          infinity,
                          noise_var,
                          false,
                          !wanted };
        if (d_tree.rank == 0)
            d_own.later = 0.0f;
        if (wanted)
            put_root(now);
        __syncwarp();
#pragma unroll 1
        for (;;) {
            const unsigned busy = __ballot_sync(~0u, now.size > 0);
            if (!busy)
                return;
            if (2 * __popc(busy) <= 32)
                share(busy, now);
            const bool ends = advance(now);
            go_on(now, ends);
            if constexpr (leaves_long)
                if (now.size > 0 && now.visited >= MIMOPACK_LONG_SEARCH) {
                    if (now.is_first())
                        d_warp[now.team].later = 1.001f * Goal::reach(now); /* rounding */
                    now.size = 0;
                    now.done = true;
                }
            __syncwarp();
        }
    }

    /* Make a turn, and complete nodes by slicing if leaves are wanted. Return whether the
     * budget ends the search. */
    MP_FN bool advance(search_state& now)
    {
        turn(now);
        bool completes = !(now.best < infinity) && !now.completed && now.size > is_long;
        const bool ends = MAX_NODES && !now.done && now.visited >= MAX_NODES;
        if (ends) {
            now.radius = now.best < infinity ? now.radius : infinity;
            completes = !(now.best < infinity);
            if (now.size == 0 && completes)
                put_root(now);
        }
        __syncwarp();
        if (__any_sync(~0u, completes))
            complete(completes, now);
        return ends;
    }

    /* Begin again with a larger radius if the stack is empty and too little was found; or
     * end the search. */
    MP_FN void go_on(search_state& now, bool ends)
    {
        if (now.size == 0 && !now.done) {
            now.radius = Goal::next_radius(now, d_warp[now.team].goal);
            now.done = now.radius == 0.0f;
            if (!now.done)
                put_root(now);
        }
        if (ends) {
            d_truncated += now.size > 0 && now.is_first();
            now.size = 0;
            now.done = true;
        }
    }

    MP_FN void put_root(search_state& now) const
    {
        if (now.is_first())
            d_warp[now.team].put(0, 0.0f, path::root());
        now.size = 1;
    }

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
        now.best = __shfl_sync(~0u, now.best, from);
        now.noise_var = __shfl_sync(~0u, now.noise_var, from);
        now.completed = __shfl_sync(~0u, now.completed ? 1 : 0, from);
        now.width = width;
        now.done = !first;
        if (now.done)
            now.size = 0;
    }

    /* Each thread expands a node. */
    MP_FN void turn(search_state& now)
    {
        storage& s = d_warp[now.team];
        const int left = (capacity - reserve - now.size) / room;
        const int most = left < 1 ? 1 : left < now.width ? left : now.width;
        const int count = now.size < most ? now.size : most;
        now.size -= count;
        now.visited += count;
        bool inside = now.rank() < count;
        path node = path::root();
        float metric = infinity;
        if (inside) {
            metric = s.metric[now.size + now.rank()];
            node = s.get(now.size + now.rank());
        }
        __syncwarp();
        const children each(s.system, node);
        const typename Goal::bound bound(now, s.goal, node, each.level);
        const float limit = bound.limit;
        inside = each.least(metric) < limit;
        const bool leaf = inside && each.level == 0;
        if (__any_sync(~0u, leaf))
            Goal::leaves(now, s.goal, leaf, false, metric, each, node);
        unsigned rows = 0;
        if (inside && !leaf)
            rows = each.im.below(metric + each.re.least, limit);
        if (node.rows_done())
            rows &= each.im.nearer(node.rows_done());
        unsigned columns = 0;                  /* of a row */
        int row = 0, rest = 0, own_first = -1; /* place of the first child */
        float above = 0.0f;
#pragma unroll 1
        for (bool is_first = true; __any_sync(~0u, rows | columns); is_first = false) {
            if (!columns && rows) {
                if (is_first || now.size + count * room <= capacity - reserve) {
                    row = each.im.farthest(rows);
                    rows &= ~(1u << row);
                    above = metric + each.im.at(row);
                    columns = each.re.below(above, limit);
                } else {
                    rest = each.im.rank(row);
                    rows = 0;
                }
            }
            int column = 0;
            float child = infinity;
            if (columns) {
                column = each.re.farthest(columns);
                columns &= ~(1u << column);
                child = above + each.re.at(column);
            }
            const bool pushes =
                child < Goal::child_limit(bound, s.goal, each.level, column, row);
            const unsigned pushing = now.own(__ballot_sync(~0u, pushes));
            if (pushes) {
                const int place = now.size + now.before(pushing);
                own_first = own_first < 0 ? place : own_first;
                s.put(place, child, node.child(row << WIDTH | column));
            }
            now.size += __popc(pushing);
        }
        const unsigned resting = now.own(__ballot_sync(~0u, rest > 0));
        if (rest > 0) {
            /* below the node's children, which come first */
            const int place = now.size + now.before(resting);
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
        storage& s = d_warp[now.team];
        const int place = now.size - 1 - now.rank();
        const bool exists = wanted && place >= 0;
        path node = exists ? s.get(place) : path::root();
        float metric = exists ? s.metric[place] : infinity;
        children each(s.system, node);
        while (exists && each.level > 0) {
            metric = each.least(metric);
            node = node.child(each.nearest());
            each = children(s.system, node);
        }
        Goal::leaves(now,
                     s.goal,
                     exists && each.least(metric) < now.radius,
                     true,
                     metric,
                     each,
                     node);
        now.completed = now.completed || wanted;
    }

    /* Store the LLRs of the thread's layer, if `stores`. */
    MP_FN void store(const batch& all,
                     unsigned long long vector,
                     bool stores,
                     bool usable,
                     lane noise,
                     const lane* known,
                     const lane* prior) const
    {
        lane found[bits], ordered[bits];
        Goal::llrs(
            d_own.goal, d_tree, noise.v, program::has_prior ? prior : nullptr, found);
        const lane* const extrinsic =
            program::prior_given && program::extrinsic ? known : nullptr;
        if constexpr (program::has_layers)
            order_layer_llr(program::points.layers[d_tree.layer()],
                            lane::mask{ usable },
                            found,
                            extrinsic,
                            ordered);
        else
            order_layer_llr(
                program::points, lane::mask{ usable }, found, extrinsic, ordered);
        const unsigned long long at =
            vector * program::num_llr + bits_before(program::points, d_tree.layer());
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            if (!stores || !d_tree.has_layer() || b >= layer_bits())
                continue;
            if constexpr (program::as_int8)
                static_cast<signed char*>(all.llr)[at + b] =
                    quantised(ordered[b], all.int8_scale);
            else
                static_cast<float*>(all.llr)[at + b] = ordered[b].v;
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

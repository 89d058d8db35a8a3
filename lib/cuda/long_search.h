/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The second launch of a tree search (team_search.h). Each vector that the first launch
 * has left gets a warp, or several once there are fewer such vectors than warps.
 *
 * A warp takes a vector and begins its search again. Once no vector is left, it asks for
 * work. A warp with a long stack looks for such a request now and then, and gives away
 * every second node of the stack. From then on the search has a common goal in global
 * memory. Its warps bring what they find there, and take over what the others have found.
 * The last one of them goes on with a larger radius, or stores the LLRs. Least metrics do
 * not depend on the order in which warps bring them. With a budget no warp gives nodes
 * away, and the budget begins again with the search.
 *
 * Requests are numbered. The number modulo the number of warps selects the request's
 * mail; the quotient is its round. The mail contains twice the round while it is free for
 * the request, 1 more while it has nodes for the warp that asked, and `ended` once all
 * searches are done. Thus a warp that is slow to give does not disturb the mail's next
 * request. */
#pragma once
#include "cuda/team_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Nodes for which a warp's stack has room beside its reserve. With fewer, 32 threads
 * rarely find room for the children of 32 nodes, and return to nodes more often. */
template <int WIDTH, class Goal>
constexpr int spare_nodes()
{
    using tree = team_tree<WIDTH>;
    using path = typename tree::path;
    constexpr int wanted = 32 * tree::side + 768, in_block = MIMOPACK_THREADS / 32;
    constexpr int bytes = 48 * 1024 / in_block - sizeof(typename tree::storage) -
                          sizeof(typename Goal::storage) - 16;
    constexpr int most = bytes / static_cast<int>(sizeof(float) + sizeof(path)) -
                         tree::nt * (tree::side + 1);
    return wanted < most ? wanted : most;
}

template <int WIDTH, int MAX_NODES, class Goal>
class long_search : team_search<WIDTH, MAX_NODES, Goal, spare_nodes<WIDTH, Goal>()>
{
    using teams = team_search<WIDTH, MAX_NODES, Goal, spare_nodes<WIDTH, Goal>()>;
    using teams::bits;
    using teams::capacity;
    using teams::d_own;
    using teams::d_tree;
    using typename teams::path;
    using typename teams::storage;
    using typename teams::tree;

    static constexpr int in_block = MIMOPACK_THREADS / 32;
    static constexpr bool shares = !MAX_NODES;
    /* Number of turns after which a warp looks at what others want or have found */
    static constexpr int period = 8;
    /* A warp gives away half of its nodes if it has as many as this. */
    static constexpr int least_given = 32;
    static constexpr unsigned ended = ~0u;

public:
    /* What a warp shares. Once it has given away nodes, other warps search its vector. It
     * takes no other one then: nobody asks for work before all vectors are taken. */
    struct alignas(16) place {
        typename tree::storage system;
        typename Goal::storage goal;
        unsigned vector;
        int level[32]; /* of each thread's layer */
        unsigned workers;

        /* mail, which may be for another warp: the place of the search, and nodes */
        unsigned from, count;
        float radius;
        float metric[capacity / 2];
        unsigned word[path::words][capacity / 2];
    };

    static constexpr int call_bytes = sizeof(long_searches),
                         warp_bytes = shares ? sizeof(place) : 0;

    /* Detect the vectors of the batch that are left. */
    MP_FN static void detect(const batch& all)
    {
        static_assert(in_block * sizeof(storage) <= 48 * 1024);
        __shared__ storage of[in_block];
        if (!all.later->count)
            return;
        long_search own(all, of[threadIdx.x / 32]);
        search_state now;
        for (bool takes = true;;) {
            takes = takes && own.take(now);
            if (!takes && !(shares && own.receive(now)))
                break;
            own.search(now);
        }
        own.count_truncated(all);
    }

private:
    const batch& d_all;
    long_searches& d_common;
    const unsigned d_self, d_warps;
    unsigned d_vector = 0;
    unsigned d_owner = 0; /* the warp that took the vector */
    bool d_shared = false;

    MP_FN long_search(const batch& all, storage& own)
        : teams(&own, 0),
          d_all(all),
          d_common(*all.later),
          d_self(blockIdx.x * in_block + threadIdx.x / 32),
          d_warps(gridDim.x * in_block)
    {
    }

    MP_FN static unsigned thread() { return threadIdx.x % 32; }

    /* Order what all threads of the warp do before this and after it, for all
     * multiprocessors. A shuffle alone orders nothing. */
    MP_FN static void order_memory()
    {
        __syncwarp();
        __threadfence();
        __syncwarp();
    }

    MP_FN place& place_of(unsigned warp) const
    {
        const auto end = reinterpret_cast<unsigned long long>(d_common.list() + d_all.n);
        return reinterpret_cast<place*>((end + 15) / 16 * 16)[warp];
    }

    /* Take a vector, unless all are taken. Each team of the warp decomposes the same
     * matrix. */
    MP_FN bool take(search_state& now)
    {
        unsigned number = 0;
        if (thread() == 0)
            number = atomicAdd(&d_common.taken, 1u);
        number = __shfl_sync(~0u, number, 0);
        if (number >= d_common.count)
            return false;
        const long_searches::entry next = d_common.list()[number];
        d_vector = next.vector;
        d_owner = d_self;
        d_shared = false;
        const unsigned long long matrix = d_all.place_of(d_vector / d_all.chunk);
        d_tree.decompose(d_all.h + matrix * (2 * tree::nt * tree::nr));
        const lane noise = d_all.load_noise(d_vector);
        lane known[bits], prior[bits];
        this->load(d_all, d_vector, noise, known, prior);
        now = { 0, 32, 0, 0, next.radius, infinity, noise.v, false, false };
        this->put_root(now);
        __syncwarp();
        return true;
    }

    MP_FN void search(search_state& now)
    {
#pragma unroll 1
        for (int turns = 1;; ++turns) {
            const bool ends = this->advance(now);
            if (now.size == 0 && d_shared && !is_last(now))
                return;
            this->go_on(now, ends);
            if (now.done)
                return store(now);
            __syncwarp();
            if (shares && turns % period == 0) {
                if (d_shared)
                    Goal::exchange(now, d_own.goal, place_of(d_owner).goal);
                if (now.size >= least_given)
                    give(now);
            }
        }
    }

    /* Bring what was found. Return whether all warps of the search have done so; this one
     * then has what all have found. */
    MP_FN bool is_last(search_state& now)
    {
        place& common = place_of(d_owner);
        Goal::exchange(now, d_own.goal, common.goal);
        order_memory();
        unsigned workers = 0;
        if (thread() == 0)
            workers = atomicAdd(&common.workers, ~0u);
        if (__shfl_sync(~0u, workers, 0) != 1)
            return false;
        order_memory();
        copy_words(&d_own.goal, &common.goal, sizeof common.goal);
        if (thread() == 0)
            atomicAdd(&common.workers, 1u);
        __syncwarp();
        Goal::exchange(now, d_own.goal, common.goal);
        return true;
    }

    /* Give half of the nodes to a warp that has asked for work, if there is one. */
    MP_FN void give(search_state& now)
    {
        unsigned number = 0;
        bool wanted = false;
        if (thread() == 0) {
            number = current(d_common.answered);
            wanted = static_cast<int>(current(d_common.asked) - number) > 0 &&
                     atomicCAS(&d_common.answered, number, number + 1) == number;
        }
        if (!__any_sync(~0u, wanted))
            return;
        number = __shfl_sync(~0u, number, 0);
        unsigned& mail = d_common.mail[number % d_warps];
        const unsigned round = 2 * (number / d_warps);
        place& common = place_of(d_owner);
        place& to = place_of(number % d_warps);
        if (!d_shared) {
            copy_words(&common.system, &d_own.system, sizeof common.system);
            copy_words(&common.goal, &d_own.goal, sizeof common.goal);
            common.vector = d_vector;
            common.level[thread()] = d_tree.place;
            if (thread() == 0)
                common.workers = 1;
            d_shared = true;
            __syncwarp();
            Goal::exchange(now, d_own.goal, common.goal);
        }
        while (__shfl_sync(~0u, current(mail), 0) != round)
            __nanosleep(100); /* an earlier request still has the mail */
        order_memory();
        if (thread() == 0) {
            atomicAdd(&common.workers, 1u);
            to.from = d_owner;
            to.count = now.size / 2;
            to.radius = now.radius;
        }
        __syncwarp();
        const int given = now.size / 2, odd = now.size % 2; /* the last node is kept */
        for (int i = thread(); i < given; i += 32) {
            to.metric[i] = d_own.metric[2 * i + odd];
            MP_UNROLL
            for (int w = 0; w < path::words; ++w)
                to.word[w][i] = d_own.word[w][2 * i + odd];
        }
        now.size -= given;
        for (int first = 0; first < now.size; first += 32) {
            const int i = first + thread(), kept = 2 * i + 1 - odd;
            const bool exists = i < now.size;
            const float metric = exists ? d_own.metric[kept] : 0.0f;
            const path node = exists ? d_own.get(kept) : path::root();
            __syncwarp();
            if (exists)
                d_own.put(i, metric, node);
            __syncwarp();
        }
        order_memory();
        if (thread() == 0)
            *const_cast<volatile unsigned*>(&mail) = round + 1;
    }

    /* Ask for nodes of another warp, and wait; return whether there are any. */
    MP_FN bool receive(search_state& now)
    {
        unsigned number = 0;
        if (thread() == 0)
            number = atomicAdd(&d_common.asked, 1u);
        number = __shfl_sync(~0u, number, 0);
        unsigned& mail = d_common.mail[number % d_warps];
        const unsigned round = 2 * (number / d_warps);
#pragma unroll 1
        for (;;) {
            const unsigned content = __shfl_sync(~0u, current(mail), 0);
            if (content == ended)
                return false;
            if (content == round + 1)
                break;
            __nanosleep(500);
        }
        order_memory();
        const place& from = place_of(number % d_warps);
        d_owner = current(from.from);
        place& common = place_of(d_owner);
        d_vector = current(common.vector);
        d_tree.place = current(common.level[thread()]);
        d_shared = true;
        copy_words(&d_own.system, &common.system, sizeof common.system);
        Goal::join(d_own.goal, common.goal);
        const int size = current(from.count);
        for (int i = thread(); i < size; i += 32) {
            d_own.metric[i] = current(from.metric[i]);
            MP_UNROLL
            for (int w = 0; w < path::words; ++w)
                d_own.word[w][i] = current(from.word[w][i]);
        }
        const float noise_var = d_all.load_noise(d_vector).v;
        now = { 0, 32, size, 0, current(from.radius), infinity, noise_var, false, false };
        order_memory();
        if (thread() == 0)
            *const_cast<volatile unsigned*>(&mail) = round + 2;
        Goal::exchange(now, d_own.goal, common.goal);
        return true;
    }

    /* Store the LLRs, and tell all warps if this is the last search. */
    MP_FN void store(const search_state& now)
    {
        const lane noise(now.noise_var);
        lane known[bits], prior[bits];
        if constexpr (program::has_prior)
            this->load_prior(d_all, d_vector, noise, known, prior);
        const bool stores = thread() < teams::threads;
        teams::store(d_all, d_vector, stores, true, noise, known, prior);
        if (!shares)
            return;
        unsigned finished = 0;
        if (thread() == 0)
            finished = atomicAdd(&d_common.finished, 1u) + 1;
        if (__shfl_sync(~0u, finished, 0) != d_common.count)
            return;
        order_memory(); /* after what receive() has written to the mail */
        for (unsigned i = thread(); i < d_warps; i += 32)
            *const_cast<volatile unsigned*>(&d_common.mail[i]) = ended;
    }
};

/* Stands for a kernel: its search, and its traits (see kernel_traits.h) */
template <int WIDTH, int MAX_NODES, class Goal>
struct team_search_kernel {
    using teams = team_search<WIDTH, MAX_NODES, Goal>;
    using second = long_search<WIDTH, MAX_NODES, typename Goal::shared>;
    static constexpr int team_threads = tree_threads;
    static constexpr bool has_arena = false;
    static constexpr bool has_second = teams::leaves_long;
    /* Least number of blocks per multiprocessor, which limits registers */
    static constexpr int least_blocks =
        (program::num_tx > 8 ? 8 : 12) * 64 / MIMOPACK_THREADS;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

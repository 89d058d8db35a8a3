/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The parallel sphere detector as 004 has it on a GPU (§4.3, §6, Algorithm 3). The
 * threads of a team evaluate the nodes of a round, and sort them by a sorting network in
 * shared memory. A thread decomposes the matrix of a vector of its own, and decides its
 * bits. In between, teams search the vectors of all threads of a warp or block. */
#pragma once
#include "cuda/sizes.h"
#include "detectors/psd/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A partial vector: its metric in the upper half, so that nodes are ordered by it, and
 * its path, the numbers of its symbols with the lowest level's last. */
using node = unsigned long long;
constexpr node no_node = ~0ull;

MP_FN node make_node(float metric, unsigned path)
{
    return static_cast<node>(__float_as_uint(metric)) << 32 | path;
}

MP_FN float metric_of(node n) { return __uint_as_float(static_cast<unsigned>(n >> 32)); }
MP_FN unsigned path_of(node n) { return static_cast<unsigned>(n); }

/* SIZE neighbours among a block's threads. A team larger than a warp is the block. */
template <int SIZE>
struct team {
    static_assert(SIZE <= 32 || SIZE == MIMOPACK_THREADS);
    static constexpr int threads_together = SIZE > 32 ? MIMOPACK_THREADS : 32;
    static constexpr int count =
        threads_together / SIZE; /* of teams that go on together */
    static constexpr int in_warp = SIZE > 32 ? 32 : SIZE;

    MP_FN static int rank() { return threadIdx.x % SIZE; }

    MP_FN static unsigned mask()
    {
        return (~0u >> (32 - in_warp)) << (threadIdx.x % 32 / in_warp * in_warp);
    }

    MP_FN static void sync()
    {
        if constexpr (SIZE > 32)
            __syncthreads();
        else
            __syncwarp(mask());
    }

    /* For all teams that go on together */
    MP_FN static void sync_all()
    {
        if constexpr (SIZE > 32)
            __syncthreads();
        else
            __syncwarp();
    }

    /* The least node of the team's */
    MP_FN static node least(node own)
    {
        MP_UNROLL
        for (int with = in_warp / 2; with > 0; with /= 2) {
            const node other = __shfl_xor_sync(mask(), own, with);
            own = other < own ? other : own;
        }
        if constexpr (SIZE > 32) {
            __shared__ node of_warp[SIZE / 32];
            if (threadIdx.x % 32 == 0)
                of_warp[threadIdx.x / 32] = own;
            __syncthreads();
            MP_UNROLL
            for (int w = 0; w < SIZE / 32; ++w)
                own = of_warp[w] < own ? of_warp[w] : own;
            __syncthreads();
        }
        return own;
    }

    /* Bitonic sort of nodes in shared memory, a power of two. All threads have written
     * theirs. */
    template <int COUNT>
    MP_FN static void sort(node* nodes)
    {
        sync();
        for (int block = 2; block <= COUNT; block *= 2)
            for (int apart = block / 2; apart > 0; apart /= 2) {
                for (int i = rank(); i < COUNT / 2; i += SIZE) {
                    const int low = 2 * i - (i & (apart - 1)), high = low + apart;
                    const node a = nodes[low], b = nodes[high];
                    if ((b < a) == !(low & block)) {
                        nodes[low] = b;
                        nodes[high] = a;
                    }
                }
                sync();
            }
    }
};

/* A round on level lvl_(s+1): it extends `parents` nodes, which end above level `top`, to
 * level `bottom`, counted from 0. */
struct team_stage {
    int top, bottom;
    int parents, children, size;
    int padded; /* to a power of two */
    int first;  /* of its nodes in a team's buffer */
};

template <int NT, int WIDTH>
constexpr team_stage stage_of(int wanted)
{
    team_stage t{ 2 * NT, 2 * NT, 1, 1, 1, 0, 0 };
    for (int s = 0; s <= wanted; ++s) {
        t.first += t.padded;
        t.top = t.bottom - 1;
        t.bottom = asked::levels[s] - 1;
        t.parents = s ? asked::expansions[s - 1] : 1;
        t.children = 1 << (WIDTH * (t.top + 1 - t.bottom));
        t.size = t.parents * t.children;
        for (t.padded = 1; t.padded < t.size;)
            t.padded *= 2;
    }
    return t;
}

template <int NT, int NR, int WIDTH, int TEAM>
class team_psd
{
    using members = team<TEAM>;
    static constexpr int depth = 2 * NT, side = 1 << WIDTH;
    static constexpr int threads = MIMOPACK_THREADS;
    static constexpr psd_options options = asked::options();
    static constexpr int stages = options.levels.count;
    static constexpr auto order = static_cast<level_order>(options.ordering);
    static constexpr bool paired = order == level_order::sorted;

    template <int S>
    static constexpr team_stage stage = stage_of<NT, WIDTH>(S);

    /* A column for each thread's vector, and the buffers of each team, so far apart that
     * the teams of a warp meet in different banks */
    struct storage {
        node nodes[threads / TEAM][stage<stages - 1>.first + TEAM];
        float r[depth * (depth + 1) / 2][threads], y[depth][threads];
        float prior[asked::has_prior ? depth * side : 1][threads];
        float bound[threads];
        unsigned path[threads];
        unsigned* counts[asked::counts ? threads : 1];
        int taken[threads / members::threads_together];
    };

public:
    using mask = lane::mask;
    static constexpr int shared_bytes = sizeof(storage);
    static constexpr int threads_together = members::threads_together;

    MP_FN team_psd(arena<lane>& a, const constellation& c) : d_tree(a, c, NT, NR, {}) {}

    MP_FN void prepare(const lane* h)
    {
        d_tree.prepare(h);
        MP_UNROLL
        for (int l = 0; l < depth; ++l) {
            MP_UNROLL
            for (int j = l; j < depth; ++j)
                shared().r[place(l, j)][threadIdx.x] = d_tree.r(l, j).v;
        }
    }

    MP_FN void use_lanes(int, unsigned* const* nodes)
    {
        if constexpr (asked::counts)
            shared().counts[threadIdx.x] = nodes ? nodes[0] : nullptr;
    }

    MP_FN mask detect(const lane* y, lane noise_var, const lane* prior, lane* llr)
    {
        storage& s = shared();
        const int own = threadIdx.x, together = own / threads_together;
        const mask usable = d_tree.rotate(y, noise_var, prior);
        MP_UNROLL
        for (int l = 0; l < depth; ++l) {
            s.y[l][own] = d_tree.y[l].v;
            MP_UNROLL
            for (int k = 0; asked::has_prior && k < side; ++k)
                s.prior[l * side + k][own] = d_tree.prior(l, k).v;
        }
        s.bound[own] = usable.m ? 3e38f : -1.0f;
        s.path[own] = 0;
        if (own % threads_together == 0)
            s.taken[together] = members::count;
        members::sync_all();
        for (int v = own % threads_together / TEAM; v < threads_together;
             v = next(v, s.taken[together]))
            search(together * threads_together + v);
        members::sync_all();
        lane k[depth];
        MP_UNROLL
        for (int l = 0; l < depth; ++l)
            k[l].v = static_cast<float>(digit(s.path[own], l));
        d_tree.decide(k, llr);
        return usable;
    }

private:
    real_tree<lane, NT, NR, WIDTH, fixed_order<order>> d_tree;
    /* the vector that is being searched */
    int d_vector;
    unsigned d_best, d_visited;
    float d_bound;

    MP_FN static storage& shared()
    {
        __shared__ storage s;
        return s;
    }

    MP_FN static node* buffer() { return shared().nodes[threadIdx.x / TEAM]; }
    MP_FN static constexpr int place(int l, int j)
    {
        return l * (2 * depth - l - 1) / 2 + j;
    }
    MP_FN static unsigned digit(unsigned path, int l)
    {
        return path >> (WIDTH * l) & (side - 1);
    }

    /* The vector that a team searches after v: with dynamic distribution the next one
     * that no team has taken */
    MP_FN static int next(int v, int& taken)
    {
        if constexpr (!asked::dynamic || members::count == 1)
            return v + members::count;
        if (members::rank() == 0)
            v = atomicAdd(&taken, 1);
        return __shfl_sync(members::mask(), v, threadIdx.x % 32 / TEAM * TEAM);
    }

    MP_FN void search(int v)
    {
        storage& s = shared();
        d_vector = v;
        d_bound = s.bound[v];
        d_best = d_visited = 0;
        if (d_bound < 0.0f)
            return;
        evaluate<0>(0);
        traverse<0>();
        if (members::rank() == 0)
            s.path[v] = d_best;
        if constexpr (asked::counts)
            if (s.counts[v])
                s.counts[v][members::rank()] = d_visited;
    }

    /* Searches below the nodes in stage S's buffer, from the nearest on. */
    template <int S>
    MP_FN void traverse()
    {
        if constexpr (S + 1 < stages)
            for (int from = 0; from < stage<S>.size &&
                               metric_of(buffer()[stage<S>.first + from]) < d_bound;
                 from += stage<S + 1>.parents) {
                evaluate<S + 1>(from);
                traverse<S + 1>();
            }
    }

    /* A round: evaluates the children of nodes of the stage above, the first of which is
     * `from`. Sorts them, or compares the best leaf with the bound. */
    template <int S>
    MP_FN void evaluate(int from)
    {
        constexpr team_stage t = stage<S>;
        constexpr bool leaves = S + 1 == stages;
        node* const nodes = buffer() + t.first;
        node best = no_node;
        if (!leaves)
            members::sync(); /* others may still read the buffer */
        for (int n = members::rank(); n < (leaves ? t.size : t.padded); n += TEAM) {
            const node child = extend<S>(from + n / t.children, n);
            d_visited += child != no_node;
            if (leaves)
                best = child < best ? child : best;
            else
                nodes[n] = child;
        }
        if constexpr (leaves) {
            best = members::least(best);
            if (metric_of(best) < d_bound) {
                d_bound = metric_of(best);
                d_best = path_of(best);
            }
        } else {
            members::template sort<t.padded>(nodes);
        }
    }

    /* A node's child, or no_node where there is no such node */
    template <int S>
    MP_FN node extend(int parent, int child) const
    {
        constexpr team_stage t = stage<S>;
        const storage& s = shared();
        unsigned path = child & (t.children - 1);
        float metric = 0.0f;
        if constexpr (S == 0) {
            if (parent > 0)
                return no_node;
        } else {
            constexpr team_stage above = stage<S - 1>;
            if (parent >= above.size || child >= t.size)
                return no_node;
            const node from = buffer()[above.first + parent];
            path |= path_of(from) << (WIDTH * (t.top + 1 - t.bottom));
            metric = metric_of(from);
        }
        float symbol[depth];
        MP_UNROLL
        for (int l = t.bottom; l < depth; ++l)
            symbol[l] = lane::word{ static_cast<int>(2 * digit(path, l - t.bottom)) }
                            .to_float()
                            .v -
                        (side - 1);
        MP_UNROLL
        for (int l = t.top; l >= t.bottom; --l) {
            float e = s.y[l][d_vector];
            MP_UNROLL
            for (int j = depth - 1; j >= l; --j)
                if (!(paired && l % 2 == 0 && j == l + 1)) /* R is zero there */
                    e = fmaf(-s.r[place(l, j)][d_vector], symbol[j], e);
            metric = fmaf(e, e, metric);
            if constexpr (asked::has_prior)
                metric += s.prior[l * side + digit(path, l - t.bottom)][d_vector];
        }
        return make_node(metric, path);
    }
};

/* Whether 32 bits have room for a path, and shared memory for the buffers */
template <int NT, int NR, int WIDTH, int TEAM>
constexpr bool team_fits()
{
    if constexpr (TEAM > 1 && MIMOPACK_THREADS % TEAM == 0 && NT > 0 && WIDTH > 0 &&
                  2 * NT * WIDTH <= 32)
        return team_psd<NT, NR, WIDTH, TEAM>::shared_bytes <= 48 * 1024 - 64;
    else
        return false;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard maximum likelihood, as the goal of a team's search (cuda/team_search.h) */
#pragma once
#include "common/gray.h"
#include "cuda/team_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH>
struct shared_leaf;

template <int WIDTH>
struct nearest_leaf {
    using tree = team_tree<WIDTH>;
    using path = typename tree::path;
    using children = typename tree::children;
    using shared = shared_leaf<WIDTH>;
    static constexpr int side = tree::side, bits = tree::bits;

    /* The path of the best leaf without its last symbol, and this symbol */
    struct storage {
        path above;
        int last;
    };

    /* The mean of the noise's energy, and three times its standard deviation */
    MP_FN static float first_radius() { return tree::nt + 3.0f * sqrtf(tree::nt); }

    MP_FN static void begin(storage& s, const tree& t, float, const lane*)
    {
        if (t.rank == 0) {
            s.above = path::root();
            s.last = 0;
        }
    }

    struct bound {
        float limit;

        MP_FN explicit bound(float most) : limit(most) {}
        MP_FN bound(const search_state& now, const storage&, const path&, int)
            : limit(reach(now))
        {
        }
    };

    MP_FN static float reach(const search_state& now)
    {
        return fminf(now.radius, now.best);
    }

    MP_FN static float child_limit(bound parent, const storage&, int, int, int)
    {
        return parent.limit;
    }

    MP_FN static void leaves(search_state& now,
                             storage& s,
                             bool wanted,
                             bool,
                             float metric,
                             const children& each,
                             const path& node)
    {
        const float own = wanted ? each.least(metric) : infinity;
        const float best = now.least(own);
        const bool improves = own == best && best < now.best;
        const unsigned equal = now.own(__ballot_sync(~0u, improves));
        if (improves && !now.before(equal)) {
            s.above = node;
            s.last = each.nearest();
        }
        now.best = fminf(best, now.best);
    }

    MP_FN static float next_radius(const search_state& now, const storage&)
    {
        return now.best < infinity || !(now.radius < infinity) ? 0.0f : 2.0f * now.radius;
    }

    MP_FN static void llrs(const storage& s, const tree& t, float, const lane*, lane* llr)
    {
        const int symbol = t.place == 0 ? s.last : s.above.symbol(t.place, 1);
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            const int level = b < WIDTH ? symbol & (side - 1) : symbol >> WIDTH;
            llr[b].v = gray_bit<WIDTH>(level, b % WIDTH) ? 1.0f : -1.0f;
        }
    }
};

/* The same for the second launch, where warps may share a search. Of leaves with equal
 * metrics the best one is that with the least symbols, whichever is found first. */
template <int WIDTH>
struct shared_leaf : nearest_leaf<WIDTH> {
    using leaf = nearest_leaf<WIDTH>;
    using typename leaf::children;
    using typename leaf::path;
    using typename leaf::tree;

    struct storage : leaf::storage {
        float metric; /* infinity once exchange() has passed it on */
        unsigned lock;

        MP_FN bool improves(float of, const path& node, int symbol) const
        {
            if (of != metric)
                return of < metric;
            MP_UNROLL
            for (int w = path::words - 1; w >= 0; --w)
                if (node.word[w] != this->above.word[w])
                    return node.word[w] < this->above.word[w];
            return symbol < this->last;
        }
    };

    MP_FN static void begin(storage& s, const tree& t, float, const lane*)
    {
        leaf::begin(s, t, 0.0f, nullptr);
        if (t.rank == 0) {
            s.metric = infinity;
            s.lock = 0;
        }
    }

    struct bound : leaf::bound {
        MP_FN bound(const search_state& now, const storage&, const path&, int)
            : leaf::bound(reach(now))
        {
        }
    };

    /* Equally good leaves are inside. */
    MP_FN static float reach(const search_state& now)
    {
        return now.best < infinity
                   ? fminf(now.radius, __uint_as_float(__float_as_uint(now.best) + 1))
                   : now.radius;
    }

    MP_FN static void leaves(search_state& now,
                             storage& s,
                             bool wanted,
                             bool,
                             float metric,
                             const children& each,
                             const path& node)
    {
        const float own = wanted ? each.least(metric) : infinity;
        const float best = now.least(own);
        const bool is_best = own == best && best < infinity && best <= now.best;
        unsigned equal = now.own(__ballot_sync(~0u, is_best));
        for (; __any_sync(~0u, equal); equal &= equal - 1) {
            if (is_best && __ffs(equal) - 1 == static_cast<int>(threadIdx.x % 32) &&
                s.improves(best, node, each.nearest())) {
                s.above = node;
                s.last = each.nearest();
                s.metric = best;
            }
            __syncwarp();
        }
        now.best = fminf(best, now.best);
    }

    MP_FN static void join(storage& own, const storage&)
    {
        if (threadIdx.x % 32 == 0)
            own.metric = infinity;
        __syncwarp();
    }

    MP_FN static void exchange(search_state& now, storage& own, storage& common)
    {
        if (now.is_first()) {
            if (own.metric < infinity && own.metric <= current(common.metric)) {
                while (atomicCAS(&common.lock, 0u, 1u))
                    ;
                __threadfence();
                storage other;
                other.metric = current(common.metric);
                other.last = current(common.last);
                MP_UNROLL
                for (int w = 0; w < path::words; ++w)
                    other.above.word[w] = current(common.above.word[w]);
                if (other.improves(own.metric, own.above, own.last)) {
                    common.above = own.above;
                    common.last = own.last;
                    common.metric = own.metric;
                }
                __threadfence();
                atomicCAS(&common.lock, 1u, 0u);
            }
            own.metric = infinity;
        }
        const float best = now.is_first() ? current(common.metric) : infinity;
        now.best = fminf(now.best, now.least(best));
        __syncwarp();
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

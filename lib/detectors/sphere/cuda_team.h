/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard maximum likelihood, as the goal of a team's search (cuda/team_search.h) */
#pragma once
#include "common/gray.h"
#include "cuda/team_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH>
struct nearest_leaf {
    using tree = team_tree<WIDTH>;
    using path = typename tree::path;
    using children = typename tree::children;
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

        MP_FN bound(const search_state& now, const storage&, const path&, int)
            : limit(fminf(now.radius, now.best))
        {
        }
    };

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

} // namespace MIMOPACK_ISA
} // namespace mimopack

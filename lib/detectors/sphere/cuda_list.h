/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Max-log LLRs from a list of the best leaves, as the goal of a team's search
 * (cuda/team_search.h): list sphere detection (see leaf_list in kernel.h) */
#pragma once
#include "common/gray.h"
#include "cuda/team_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Options: the detector's, with list_size and llr_clip */
template <int WIDTH, class Options>
struct listed_leaves {
    using tree = team_tree<WIDTH>;
    using axis = typename tree::axis;
    using path = typename tree::path;
    using children = typename tree::children;
    using shared = void;
    static constexpr int nt = tree::nt, side = tree::side, bits = tree::bits;
    static constexpr int size = Options(program::options()).list_size;
    static constexpr float clip = Options(program::options()).llr_clip;

    struct storage {
        float reach;      /* a leaf farther than this from the best one is of no use */
        float radius;     /* with which the list was made */
        float list[size]; /* the leaves' metrics, rising; infinity where there is none */
        float nearest[nt][bits][2]; /* least metric of the leaves with a bit's value */
    };

    /* The mean of the noise's energy, three times its standard deviation, and what LLRs
     * are clipped to */
    MP_FN static float first_radius()
    {
        return nt + 3.0f * sqrtf(nt) + fminf(clip, 20.0f);
    }

    MP_FN static void begin(storage& s, const tree& t, float noise_var, const lane* prior)
    {
        float strongest = 0.0f;
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            if (!t.has_layer())
                continue;
            s.nearest[t.place][b][0] = s.nearest[t.place][b][1] = no_metric;
            if (prior && known_bit <= prior[b].v)
                strongest = fmaxf(strongest, fabsf(prior[b].v));
        }
        strongest = over_team<tree::threads>(
            strongest, [](float a, float b) { return fmaxf(a, b); });
        if (t.rank == 0) {
            s.reach = (clip + strongest) * noise_var;
            s.radius = -1.0f;
            s.list[size - 1] = infinity;
        }
    }

    struct bound {
        float limit;

        MP_FN bound(const search_state& now, const storage& s, const path&, int)
            : limit(fminf(now.radius,
                          fminf(within_reach(now, s),
                                s.radius == now.radius ? s.list[size - 1] : infinity)))
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
                             bool again,
                             float metric,
                             const children& each,
                             const path& node)
    {
        now.best = fminf(now.best, now.least(wanted ? each.least(metric) : infinity));
        renew(now, s, now.own(__ballot_sync(~0u, wanted)) != 0);
        /* Those that are left of the thread's leaves, from the nearest row on */
        unsigned rows = wanted && !again ? ~0u >> (32 - side) : 0, columns = 0;
        int row = each.im.nearest, column = each.re.nearest;
        float above = metric + each.im.least,
              leaf = wanted && again ? above + each.re.least : infinity;
#pragma unroll 1
        for (;;) {
            const float limit = bound(now, s, node, 0).limit;
            while (!(leaf < limit) && (rows | columns)) {
                if (!columns) {
                    row = each.im.nearest_of(rows);
                    rows &= ~(1u << row);
                    above = metric + each.im.at(row);
                    columns = each.re.below(above, limit);
                } else {
                    column = each.re.nearest_of(columns);
                    columns &= ~(1u << column);
                    leaf = above + each.re.at(column);
                }
            }
            const float least = now.least(leaf < limit ? leaf : infinity);
            if (!__any_sync(~0u, least < infinity))
                break;
            const unsigned equal =
                now.own(__ballot_sync(~0u, leaf == least && leaf < infinity));
            const int from = equal ? __ffs(equal) - 1 : threadIdx.x % 32;
            note(now, s, least, from, node, row << WIDTH | column);
            if (!again)
                insert(now, s, least);
            if (from == static_cast<int>(threadIdx.x % 32))
                leaf = infinity;
        }
    }

    MP_FN static float next_radius(const search_state& now, const storage& s)
    {
        const bool full = s.radius == now.radius && s.list[size - 1] < infinity;
        const float needed = within_reach(now, s);
        if (full || needed <= now.radius || !(now.radius < infinity))
            return 0.0f;
        return now.best < infinity ? fminf(needed, 1.5f * now.radius) : 2.0f * now.radius;
    }

    MP_FN static void
    llrs(const storage& s, const tree& t, float noise_var, const lane* prior, lane* llr)
    {
        const float unit = reciprocal(noise_var), last = s.list[size - 1];
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            float of[2];
            MP_UNROLL
            for (int v = 0; v < 2; ++v) {
                of[v] = s.nearest[t.place][b][v];
                of[v] = last < of[v] ? no_metric : of[v];
            }
            llr[b] = clipped(
                prior ? prior[b] : lane(0.0f), lane((of[0] - of[1]) * unit), clip);
        }
    }

private:
    /* The best leaf itself is inside, whatever the rounding. */
    MP_FN static float within_reach(const search_state& now, const storage& s)
    {
        return fmaf(now.best, 1.000001f, s.reach);
    }

    /* Begin a list with the present radius, if the search has a new one: it comes to all
     * leaves again. */
    MP_FN static void renew(const search_state& now, storage& s, bool wanted)
    {
        const bool renews = wanted && s.radius != now.radius;
        __syncwarp();
        if (renews) {
            for (int i = now.rank(); i < size; i += now.width)
                s.list[i] = infinity;
            if (now.is_first())
                s.radius = now.radius;
        }
        __syncwarp();
    }

    /* Note the bits of a thread's leaf, unless its metric is infinity. The threads of the
     * search share the levels. from: the thread, in the warp */
    MP_FN static void
    note(const search_state& now, storage& s, float metric, int from, path node, int last)
    {
        MP_UNROLL
        for (int w = 0; w < path::words; ++w)
            node.word[w] = __shfl_sync(~0u, node.word[w], from);
        last = __shfl_sync(~0u, last, from);
        const int levels = metric < infinity ? nt : 0;
#pragma unroll 1
        for (int j = now.rank(); j < levels; j += now.width) {
            const int symbol = j ? node.symbol(j, 1) : last;
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                const int level = b < WIDTH ? symbol & (side - 1) : symbol >> WIDTH;
                float& least = s.nearest[j][b][gray_bit<WIDTH>(level, b % WIDTH)];
                least = fminf(least, metric);
            }
        }
    }

    /* Put a metric in its place of the list; the last one falls out. */
    MP_FN static void insert(const search_state& now, storage& s, float metric)
    {
#pragma unroll 1
        for (int first = (size - 1) / now.width * now.width; first >= 0;
             first -= now.width) {
            const int i = first + now.rank();
            const float own = i < size ? s.list[i] : -1.0f,
                        before = 0 < i && i <= size ? s.list[i - 1] : 0.0f;
            __syncwarp();
            if (metric < own)
                s.list[i] = fmaxf(before, metric);
            __syncwarp();
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

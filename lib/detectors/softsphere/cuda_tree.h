/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact max-log LLRs, as the goal of a team's search (cuda/team_search.h): a single tree
 * search (C. Studer, A. Burg, H. Boelcskei, IEEE JSAC 26(2), 2008).
 *
 * A hypothesis is a bit and its value; its metric is that of the best leaf with this
 * value so far. A node is of use below the largest hypothesis that a leaf under it could
 * lower: the ones of its own symbols, and both of each bit on the levels below. Once the
 * search is through with a radius, the hypotheses inside it are final. The radius grows
 * until all are. Clipping limits how far above the best leaf a hypothesis matters. */
#pragma once
#include "common/gray.h"
#include "cuda/team_search.h"
#include "detectors/softsphere/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH>
struct bit_hypotheses {
    using shared = bit_hypotheses;
    using tree = team_tree<WIDTH>;
    using axis = typename tree::axis;
    using path = typename tree::path;
    using children = typename tree::children;
    static constexpr int nt = tree::nt, side = tree::side, bits = tree::bits;
    static constexpr float clip = softsphere_options(program::options()).llr_clip;
    static constexpr bool clips = clip < no_metric, with_prior = program::has_prior;
    /* With a-priori LLRs each hypothesis has a limit of its own. */
    static constexpr bool clips_each = clips && with_prior;

    struct storage {
        unsigned metric[nt][bits][2]; /* of each hypothesis; a float, for atomicMin */
        unsigned best; /* the least metric of all, if warps share the search */
        float slack[clips_each ? nt : 1][bits][2];
        float worth[nt][2][side]; /* the largest hypothesis of each symbol, by axis */
        float below[nt + 1];      /* the largest one of the levels below each level */
    };

    /* The mean of the noise's energy, three times its standard deviation, and what LLRs
     * are clipped to, or a usual LLR */
    MP_FN static float first_radius()
    {
        return nt + 3.0f * sqrtf(nt) + (clips ? fminf(clip, 20.0f) : 10.0f);
    }

    MP_FN static void begin(storage& s, const tree& t, float noise_var, const lane* prior)
    {
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            if (!t.has_layer())
                continue;
            /* The other value of a known bit is not looked for. */
            const bool known = program::has_layers && prior[b].v < known_bit;
            s.metric[t.place][b][0] = __float_as_uint(no_metric);
            s.metric[t.place][b][1] = known ? 0 : __float_as_uint(no_metric);
            if constexpr (clips_each) {
                s.slack[t.place][b][0] = fmaxf(clip + prior[b].v, 0.0f) * noise_var;
                s.slack[t.place][b][1] = fmaxf(clip - prior[b].v, 0.0f) * noise_var;
            }
        }
        if (t.rank == 0)
            s.best = __float_as_uint(infinity);
        __syncwarp();
        note(s, t.rank, tree::threads, infinity);
    }

    MP_FN static float reach(const search_state& now)
    {
        return fminf(now.radius, clipped(now));
    }

    struct bound {
        float limit;
        float above; /* the largest hypothesis of the node's own symbols */
        float most;  /* for any node */

        MP_FN
        bound(const search_state& now, const storage& s, path node, int level)
            : above(0.0f), most(reach(now))
        {
            node.drop(WIDTH);
            for (int j = level + 1; j < nt; ++j) {
                const unsigned symbol = node.word[0];
                above = fmaxf(above,
                              fmaxf(s.worth[j][0][symbol & (side - 1)],
                                    s.worth[j][1][symbol >> WIDTH & (side - 1)]));
                node.drop(bits);
            }
            limit = fminf(most, fmaxf(above, s.below[level + 1]));
        }
    };

    MP_FN static float
    child_limit(const bound& parent, const storage& s, int level, int re, int im)
    {
        const float own = fmaxf(s.worth[level][0][re], s.worth[level][1][im]);
        return fminf(parent.most, fmaxf(fmaxf(parent.above, own), s.below[level]));
    }

    MP_FN static void leaves(search_state& now,
                             storage& s,
                             bool wanted,
                             bool,
                             float metric,
                             const children& each,
                             path node)
    {
        const float best = wanted ? each.least(metric) : infinity;
        now.best = fminf(now.best, now.least(best));
        if (wanted) {
            lower_axis(s.metric[0], each.re, metric + each.im.least);
            lower_axis(s.metric[0] + WIDTH, each.im, metric + each.re.least);
            node.drop(WIDTH);
#pragma unroll 1
            for (int j = 1; j < nt; ++j) {
                MP_UNROLL
                for (int b = 0; b < bits; ++b) {
                    const int level = node.word[0] >> b / WIDTH * WIDTH & (side - 1);
                    lower(s.metric[j][b][gray_bit<WIDTH>(level, b % WIDTH)], best);
                }
                node.drop(bits);
            }
        }
        const bool changed = now.own(__ballot_sync(~0u, wanted)) != 0;
        __syncwarp();
        note(s, changed ? now.rank() : nt, now.width, now.best);
    }

    MP_FN static void join(storage& own, const storage& common)
    {
        copy_words(&own, &common, sizeof own);
        __syncwarp();
    }

    MP_FN static void exchange(search_state& now, storage& own, storage& common)
    {
        for (int i = now.rank(); i < nt * bits * 2; i += now.width) {
            unsigned& metric = (&own.metric[0][0][0])[i];
            metric = lower_common((&common.metric[0][0][0])[i], metric);
        }
        now.best = now.least(
            __uint_as_float(lower_common(common.best, __float_as_uint(now.best))));
        __syncwarp();
        note(own, now.rank(), now.width, now.best);
    }

    MP_FN static float next_radius(const search_state& now, const storage& s)
    {
        const float needed = fminf(s.below[nt], clipped(now));
        if (needed <= now.radius || !(now.radius < infinity))
            return 0.0f;
        /* Without clipping the last hypotheses are far outside. */
        const float growth = clips ? 1.5f : 3.0f;
        return now.best < infinity ? fminf(needed, growth * now.radius)
                                   : 2.0f * now.radius;
    }

    MP_FN static void
    llrs(const storage& s, const tree& t, float noise_var, const lane* prior, lane* llr)
    {
        const float unit = reciprocal(noise_var);
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            float value[2] = { __uint_as_float(s.metric[t.place][b][0]),
                               __uint_as_float(s.metric[t.place][b][1]) };
            /* if a budget has ended the search before */
            const float never = fminf(value[0], value[1]) + first_radius() * noise_var;
            MP_UNROLL
            for (int v = 0; !clips && v < 2; ++v)
                value[v] = value[v] < no_metric ? value[v] : never;
            const lane before = prior ? prior[b] : lane(0.0f);
            const lane moved = lane((value[0] - value[1]) * unit) - before;
            llr[b] = before + (clips ? clamp(moved, lane(clip)) : moved);
        }
    }

private:
    MP_FN static float clipped(const search_state& now)
    {
        return clips && !with_prior ? fmaf(clip, now.noise_var, now.best) : infinity;
    }

    MP_FN static void lower(unsigned& hypothesis, float metric)
    {
        if (metric < __uint_as_float(hypothesis))
            atomicMin(&hypothesis, __float_as_uint(metric));
    }

    /* Lower a metric in global memory; return its value then. */
    MP_FN static unsigned lower_common(unsigned& metric, unsigned own)
    {
        const unsigned other = current(metric);
        if (other <= own)
            return other;
        atomicMin(&metric, own);
        return own;
    }

    /* Lower the hypotheses of an axis of level 0. metric: of all the rest */
    MP_FN static void lower_axis(unsigned (*hypothesis)[2], const axis& of, float metric)
    {
        float least[WIDTH][2];
        MP_UNROLL
        for (int b = 0; b < WIDTH; ++b)
            least[b][0] = least[b][1] = infinity;
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const float own = of.at(k);
            MP_UNROLL
            for (int b = 0; b < WIDTH; ++b) {
                float& to = least[b][gray_bit<WIDTH>(k, b)];
                to = fminf(to, own);
            }
        }
        MP_UNROLL
        for (int b = 0; b < WIDTH; ++b)
            for (int v = 0; v < 2; ++v)
                lower(hypothesis[b][v], metric + least[b][v]);
    }

    /* Note what the hypotheses are worth. The threads of a search share the levels; a
     * rank of nt takes none. */
    MP_FN static void note(storage& s, int rank, int width, float best)
    {
#pragma unroll 1
        for (int j = rank; j < nt; j += width) {
            float most = 0.0f;
            MP_UNROLL
            for (int axis = 0; axis < 2; ++axis) {
                float of[WIDTH][2];
                MP_UNROLL
                for (int b = 0; b < WIDTH; ++b) {
                    MP_UNROLL
                    for (int v = 0; v < 2; ++v) {
                        const int bit = axis * WIDTH + b;
                        of[b][v] = __uint_as_float(s.metric[j][bit][v]);
                        if constexpr (clips_each)
                            of[b][v] = fminf(of[b][v], best + s.slack[j][bit][v]);
                        most = fmaxf(most, of[b][v]);
                    }
                }
                MP_UNROLL
                for (int k = 0; k < side; ++k) {
                    float worth = 0.0f;
                    MP_UNROLL
                    for (int b = 0; b < WIDTH; ++b)
                        worth = fmaxf(worth, of[b][gray_bit<WIDTH>(k, b)]);
                    s.worth[j][axis][k] = worth;
                }
            }
            s.below[j + 1] = most;
        }
        if (rank == 0)
            s.below[0] = 0.0f;
        __syncwarp();
        /* Levels below may have been added already; they change no maximum. */
#pragma unroll 1
        for (int j = rank; j < nt; j += width) {
            float most = 0.0f;
            for (int i = 0; i <= j; ++i)
                most = fmaxf(most, s.below[i + 1]);
            s.below[j + 1] = most;
        }
        __syncwarp();
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

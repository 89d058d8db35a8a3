/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* HFSD and SFSD (see detectors/fsd/kernel.h) by teams of threads, for large arrays.
 *
 * A thread completes a path of the full expansion, then another one. Then the team
 * follows its best paths from the root, several at a time: at each level below the
 * expanded ones, a thread flips a bit of a path and completes the branch. Whenever shared
 * memory is full of candidates, each thread takes the bits of its layer from them. */
#pragma once
#include "common/soft_symbols.h"
#include "cuda/by_teams.h"
#include "cuda/team_candidates.h"
#include "cuda/team_factor.h"
#include "detectors/fsd/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A metric in the high half, a path's number in the low one */
struct path_key {
    unsigned long long v;
    MP_FN friend path_key min(path_key a, path_key b) { return b.v < a.v ? b : a; }
    MP_FN friend path_key max(path_key a, path_key b) { return b.v < a.v ? a : b; }
};

template <int WIDTH, bool SOFT>
class team_fixed_sphere
{
    static constexpr int nt = program::num_tx, top = nt - 1, threads = team_gram::threads;
    static constexpr int side = 1 << WIDTH, size = side * side, bits = 2 * WIDTH;
    static constexpr int levels = fsd_options(program::options()).levels;
    static constexpr int lowest = nt - levels; /* of the expanded levels */
    static constexpr int num_paths = SOFT ? fsd_options(program::options()).num_paths : 1;
    static constexpr float clip = fsd_options(program::options()).llr_clip;
    static constexpr unsigned expanded = 1u << bits * levels; /* paths */

    /* Candidates in shared memory, and paths of the expansion at a time */
    static constexpr int room = 64;
    static constexpr int batch = expanded > room                ? room
                                 : expanded > unsigned(threads) ? expanded
                                                                : threads;

    /* Paths that the team extends at a time, and the threads of each, one for a bit or
     * for several */
    static constexpr int paths_at_once(int most = threads)
    {
        return most > 1 && (most > num_paths || threads / most < bits)
                   ? paths_at_once(most / 2)
                   : most;
    }
    static constexpr int together = paths_at_once(), of_path = threads / together;

    using candidates = team_candidates<WIDTH, room>;
    static constexpr int words = candidates::words;
    static constexpr int keys = power_of_two((num_paths + threads - 1) / threads);
    using path_list = team_list<threads, keys, path_key>;

public:
    static constexpr int axes = 0;

    struct storage {
        team_factor<float>::storage system;
        typename candidates::storage found;
        /* v_i - sum_{j>l} c_ij l_j of the paths at a level l; rows begin in different
         * banks. */
        float2 residual[together][nt + 1];
        unsigned best[path_list::size]; /* numbers of the best paths */
        /* What a prior adds to the metrics of a level's axes */
        float cost[program::has_prior ? nt : 1][program::has_prior ? 2 : 1][side];
    };

    static constexpr bool possible = teams_fit_shared<storage, float>();

    MP_FN team_fixed_sphere(const team_gram& gram, storage& s)
        : d_system(gram, s.system), d_at(s), d_found(s.found)
    {
    }

    MP_FN static auto make_serial(arena<lane>& a)
    {
        return sized<fixed_sphere<lane, 0, 0, WIDTH>, 0>(
            a, program::points, layers(), antennas(), levels, num_paths, clip, SOFT);
    }

    MP_FN bool begin()
    {
        const bool good = d_system.sort_by_amplification(levels, d_column);
        if (!program::matrix_each)
            d_system.factorise(in_order(), float2{ 0.0f, 0.0f });
        return good;
    }

    MP_FN bool detect(float2 matched, lane noise, const lane* prior, lane* llr)
    {
        if (program::matrix_each)
            d_system.factorise(in_order(), matched);
        else
            d_system.solve(in_order(), matched);
        if constexpr (program::has_prior)
            set_costs(prior, noise);
        __syncwarp();
        d_found.clear();
        expand();
        unsigned symbols[words];
        extend(symbols);
        const lane unit = reciprocal(noise);
        unsigned own = 0;
        MP_UNROLL
        for (int w = 0; !SOFT && w < words; ++w)
            own = w == candidates::word_index(d_column) ? symbols[w] : own;
        own = gray_codes<WIDTH>(own) >> candidates::shift(d_column);
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            const bool one = own >> symbol_bits<WIDTH>::place(b) & 1;
            llr[b] =
                SOFT ? clipped(prior ? prior[b] : lane(0.0f), d_found.llr(b, unit), clip)
                     : lane(one ? 1.0f : -1.0f);
        }
        return true;
    }

private:
    team_factor<float> d_system;
    storage& d_at;
    candidates d_found;
    int d_column; /* of the thread's layer */

    MP_FN int rank() const { return d_system.gram.rank; }

    MP_FN auto in_order() const
    {
        return [this](int column) { return d_at.system.layer[column]; };
    }

    MP_FN void set_costs(const lane* prior, lane noise)
    {
        MP_UNROLL
        for (int axis = 0; axis < 2; ++axis) {
            lane cost[side];
            axis_penalties<WIDTH>(prior + axis * WIDTH, cost);
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                if (d_system.gram.has_layer())
                    d_at.cost[d_column][axis][k] = cost[k].v * noise.v;
        }
    }

    /* A symbol: its place on both axes, and its word k_re + side k_im. A GPU converts
     * between floats and integers slowly, so integers are in the last bits of floats. */
    struct point {
        float2 at;
        unsigned word;

        MP_FN explicit point(unsigned w) : word(w)
        {
            constexpr float magic = 1 << 23, middle = 0.5f * (side - 1);
            constexpr unsigned magic_word = 0x4b000000;
            const float re = __uint_as_float((w & (side - 1)) | magic_word) - magic;
            const float im = __uint_as_float(w >> WIDTH | magic_word) - magic;
            at = float2{ re - middle, im - middle };
        }

        /* The one nearest to u */
        MP_FN explicit point(float2 u)
        {
            lane re, im;
            const lane k_re = slice(lane(u.x), side, re);
            const lane k_im = slice(lane(u.y), side, im);
            at = float2{ re.v, im.v };
            const float number = fmaf(k_im.v - rounding_offset, side, k_re.v);
            word = __float_as_uint(number) & (size - 1);
        }
    };

    /* Add a level's symbol to a metric. */
    MP_FN void add(int level, float2 u, point x, float& metric) const
    {
        const float re = u.x - x.at.x, im = u.y - x.at.y;
        metric = fmaf(d_at.system.w[level], fmaf(re, re, im * im), metric);
        if constexpr (program::has_prior)
            metric += d_at.cost[level][0][x.word & (side - 1)] +
                      d_at.cost[level][1][x.word >> WIDTH];
    }

    /* a -= c x */
    MP_FN static void subtract(float2 c, float2 x, float2& a)
    {
        a.x = fmaf(-c.x, x.x, fmaf(c.y, x.y, a.x));
        a.y = fmaf(-c.x, x.y, fmaf(-c.y, x.x, a.y));
    }

    /* Give a path its symbol at a level. u: what the levels above leave of v */
    MP_FN void
    enter(int level, point x, float2* u, float& metric, unsigned* symbols) const
    {
        add(level, u[level], x, metric);
        symbols[candidates::word_index(level)] |= x.word << candidates::shift(level);
        MP_UNROLL
        for (int i = 0; i < level; ++i)
            subtract(d_at.system.c[i][level], x.at, u[i]);
    }

    /* Complete a path below a level by SIC. */
    MP_FN void complete(int level, float2* u, float& metric, unsigned* symbols) const
    {
        MP_UNROLL
        for (int i = lowest - 1; i >= 0; --i)
            if (i < level)
                enter(i, point(u[i]), u, metric, symbols);
    }

    /* The symbol of a path of the expansion at an expanded level */
    MP_FN static unsigned digit(unsigned path, int level)
    {
        return path >> bits * (level - lowest) & (size - 1);
    }

    /* Complete all paths of the expansion, and list the best ones. */
    MP_FN void expand()
    {
        constexpr unsigned long long never = ~0ull;
        path_list best;
        best.fill(path_key{ never });
        unsigned long long limit = never;
#pragma unroll 1
        for (unsigned first = 0; first < expanded; first += batch) {
#pragma unroll 1
            for (int place = rank(); place < batch; place += threads) {
                const unsigned path = first + place;
                float2 u[nt];
                float metric = 0.0f;
                unsigned symbols[words];
                MP_UNROLL
                for (int w = 0; w < words; ++w)
                    symbols[w] = 0;
                MP_UNROLL
                for (int i = 0; i < nt; ++i)
                    u[i] = d_at.system.v[i];
                MP_UNROLL
                for (int i = top; i >= lowest; --i)
                    enter(i, point(digit(path, i)), u, metric, symbols);
                complete(lowest, u, metric, symbols);
                if constexpr (SOFT)
                    d_found.put(place, metric, symbols);
                path_list more;
                more.fill(path_key{ never });
                if (path < expanded)
                    more.of[0].v =
                        static_cast<unsigned long long>(__float_as_uint(metric)) << 32 |
                        path;
                if (__any_sync(~0u, more.of[0].v < limit)) {
                    more.sort();
                    best.keep_least(more);
                    limit = best.template get<num_paths - 1>().v;
                }
            }
            if constexpr (SOFT)
                d_found.collect(rank(), d_column, expanded < batch ? expanded : batch);
        }
        MP_UNROLL
        for (int i = 0; i < keys; ++i)
            d_at.best[rank() * keys + i] = static_cast<unsigned>(best.of[i].v);
        __syncwarp();
    }

    /* Follow the best paths. Flip each bit below the expanded levels, and complete these
     * branches. symbols: those of the thread's last path */
    MP_FN void extend(unsigned* symbols)
    {
        constexpr int branches = together * bits; /* of a level */
        const int of_team = rank() / of_path, in_path = rank() % of_path;
        float2* const residual = d_at.residual[of_team];
        int filled = 0;
#pragma unroll 1
        for (int first = 0; first < num_paths; first += together) {
            const int place =
                first + of_team < num_paths ? first + of_team : num_paths - 1;
            const unsigned path = d_at.best[place];
            float metric = 0.0f;
            MP_UNROLL
            for (int w = 0; w < words; ++w)
                symbols[w] = 0;
            for (int i = in_path; i < nt; i += of_path)
                residual[i] = d_at.system.v[i];
            __syncwarp();
#pragma unroll 1
            for (int level = top; level >= 0; --level) {
                const float2 u = residual[level];
                const point x = level < lowest ? point(u) : point(digit(path, level));
                if (SOFT && level < lowest) {
                    if (filled + branches > room) {
                        d_found.collect(rank(), d_column, filled);
                        filled = 0;
                    }
                    for (int b = in_path; b < bits; b += of_path)
                        branch(level,
                               point(x.word ^ symbol_bits<WIDTH>::flip(b)
                                                  << b / WIDTH * WIDTH),
                               residual,
                               metric,
                               symbols,
                               filled + of_team * bits + b);
                    filled += branches;
                    __syncwarp();
                }
                add(level, u, x, metric);
                append(level, x.word, symbols);
                for (int i = in_path; i < level; i += of_path)
                    subtract(d_at.system.c[i][level], x.at, residual[i]);
                __syncwarp();
            }
        }
        if constexpr (SOFT)
            d_found.collect(rank(), d_column, filled);
    }

    /* Add a symbol to the words of a path. */
    MP_FN static void append(int level, unsigned symbol, unsigned* symbols)
    {
        MP_UNROLL
        for (int w = 0; w < words; ++w)
            symbols[w] |= w == candidates::word_index(level)
                              ? symbol << candidates::shift(level)
                              : 0;
    }

    /* Complete the branch of a path that has another symbol at a level. */
    MP_FN void branch(int level,
                      point x,
                      const float2* residual,
                      float metric,
                      const unsigned* above,
                      int place) const
    {
        add(level, residual[level], x, metric);
        unsigned symbols[words];
        MP_UNROLL
        for (int w = 0; w < words; ++w)
            symbols[w] = above[w];
        append(level, x.word, symbols);
        float2 u[nt];
        MP_UNROLL
        for (int i = 0; i < lowest - 1; ++i)
            if (i < level) {
                u[i] = residual[i];
                subtract(d_at.system.c[i][level], x.at, u[i]);
            }
        complete(level, u, metric, symbols);
        d_found.put(place, metric, symbols);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

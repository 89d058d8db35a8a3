/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* N-way and FPFSD (see detectors/nway/kernel.h) by teams of threads, for large arrays,
 * max-log LLRs and no a-priori LLRs.
 *
 * Each pass has a system of its own (see cuda/team_factor.h). Then a thread follows
 * candidates, and finally it takes the bits of its layer from all candidates. */
#pragma once
#include "cuda/by_teams.h"
#include "cuda/team_candidates.h"
#include "cuda/team_factor.h"
#include "detectors/nway/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH, column_order ORDER>
class team_nway
{
    static constexpr int nt = asked::num_tx, top = nt - 1, threads = team_gram::threads;
    static constexpr int side = 1 << WIDTH, size = side * side, bits = 2 * WIDTH;
    using candidates = team_candidates<WIDTH, size>;
    static constexpr int words = candidates::words;
    /* Candidates that a thread follows at once */
    static constexpr int together = size >= 2 * threads ? 2 : 1;

public:
    static constexpr int axes = 1;

    /* Of a pass; levels are those of its order. */
    struct storage {
        team_factor::storage system;
        typename candidates::storage found;
    };

    static constexpr bool possible = teams_fit_shared<storage>();

    MP_FN team_nway(const team_gram& gram, storage& s)
        : d_system(gram, s.system), d_at(s), d_found(s.found)
    {
    }

    MP_FN static auto make_serial(arena<lane>& a)
    {
        constexpr nway_options o = asked::options();
        return sized<nway_detector<lane, 0, 0, WIDTH>, 0>(
            a, asked::points, layers(), antennas(), passes(), o.llr_clip, ORDER, false);
    }

    MP_FN bool begin()
    {
        d_column = ORDER == column_order::raise ? d_system.sort_by_norm()
                                                : d_system.gram.layer();
        factorise(0, float2{ 0.0f, 0.0f });
        return d_system.is_independent(d_column); /* each column is the last one once */
    }

    MP_FN void detect(float2 matched, lane noise, const lane*, lane* llr)
    {
        constexpr nway_options o = asked::options();
        d_found.clear();
#pragma unroll 1
        for (int pass = 0; pass < passes(); ++pass) {
            factorise(pass, matched);
#pragma unroll 1
            for (int first = d_system.gram.rank; first < size;
                 first += together * threads)
                follow(first);
            d_found.collect(
                d_system.gram.rank, column_place(ORDER, d_column, pass, nt), size);
        }
        const lane unit = reciprocal(noise);
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            llr[b] = clamp(d_found.llr(b, unit), lane(o.llr_clip));
    }

private:
    team_factor d_system;
    storage& d_at;
    candidates d_found;
    int d_column; /* of the thread's layer in the first pass */

    MP_FN static constexpr int passes()
    {
        constexpr nway_options o = asked::options();
        return ORDER == column_order::rotate ? o.num_passes : nt;
    }

    /* The layer in a column of a pass */
    MP_FN int layer_of(int column, int pass) const
    {
        const int source = column_source(ORDER, column, pass, nt);
        return ORDER == column_order::raise ? d_at.system.layer[source] : source;
    }

    MP_FN void factorise(int pass, float2 matched)
    {
        d_system.factorise([=](int column) { return layer_of(column, pass); }, matched);
    }

    /* Compute the candidates with these symbols on top: first, and so on. */
    MP_FN void follow(int first)
    {
        float re[together][nt], im[together][nt], metric[together];
        unsigned symbols[together][words];
        MP_UNROLL
        for (int n = 0; n < together; ++n) {
            const int number = first + n * threads;
            metric[n] = 0.0f;
            MP_UNROLL
            for (int w = 0; w < words; ++w)
                symbols[n][w] = 0;
            re[n][top] = axis_level<WIDTH>(number >> WIDTH);
            im[n][top] = axis_level<WIDTH>(number & (side - 1));
            add(top, d_at.system.v[top], re[n][top], im[n][top], metric[n], symbols[n]);
        }
        MP_UNROLL
        for (int i = top - 1; i >= 0; --i) {
            float2 u[together];
            MP_UNROLL
            for (int n = 0; n < together; ++n)
                u[n] = d_at.system.v[i];
            MP_UNROLL
            for (int j = top; j > i; --j) {
                const float2 c = d_at.system.c[i][j];
                MP_UNROLL
                for (int n = 0; n < together; ++n) {
                    u[n].x = fmaf(-c.x, re[n][j], fmaf(c.y, im[n][j], u[n].x));
                    u[n].y = fmaf(-c.x, im[n][j], fmaf(-c.y, re[n][j], u[n].y));
                }
            }
            MP_UNROLL
            for (int n = 0; n < together; ++n) {
                lane level;
                slice(lane(u[n].x), side, level);
                re[n][i] = level.v;
                slice(lane(u[n].y), side, level);
                im[n][i] = level.v;
                add(i, u[n], re[n][i], im[n][i], metric[n], symbols[n]);
            }
        }
        MP_UNROLL
        for (int n = 0; n < together; ++n)
            d_found.put(first + n * threads, metric[n], symbols[n]);
    }

    /* Add a level's symbol to a candidate. */
    MP_FN void
    add(int i, float2 u, float re, float im, float& metric, unsigned* symbols) const
    {
        const float e_re = u.x - re, e_im = u.y - im;
        metric = fmaf(d_at.system.w[i], fmaf(e_re, e_re, e_im * e_im), metric);
        const float number = fmaf(side, im, re) + 0.5f * (size - 1);
        symbols[candidates::word_index(i)] |=
            static_cast<unsigned>(__float2int_rn(number)) << candidates::shift(i);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

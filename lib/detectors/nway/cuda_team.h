/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* N-way and FPFSD (see detectors/nway/kernel.h) by teams of threads, for large arrays,
 * max-log LLRs and no a-priori LLRs.
 *
 * Each pass has a system of its own (see cuda/team_factor.h). Then a thread follows
 * candidates, and finally it takes the bits of its layer from all candidates. */
#pragma once
#include "cuda/by_teams.h"
#include "cuda/team_factor.h"
#include "detectors/nway/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH, column_order ORDER>
class team_nway
{
    static constexpr int nt = asked::num_tx, top = nt - 1, threads = team_gram::threads;
    static constexpr int side = 1 << WIDTH, size = side * side, bits = 2 * WIDTH;
    static constexpr int fields = 32 / bits, words = (nt + fields - 1) / fields;
    /* Candidates that a thread follows at once */
    static constexpr int together = size >= 2 * threads ? 2 : 1;

public:
    static constexpr int axes = 1;

    /* Of a pass; levels are those of its order. */
    struct storage {
        team_factor::storage system;
        float metric[size];
        unsigned symbols[words][size]; /* Gray codes */
    };

    static constexpr bool possible = teams_fit_shared<storage>();

    MP_FN team_nway(const team_gram& gram, storage& s) : d_system(gram, s.system), d_at(s)
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
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            d_zero[b] = d_one[b] = no_metric;
#pragma unroll 1
        for (int pass = 0; pass < passes(); ++pass) {
            factorise(pass, matched);
#pragma unroll 1
            for (int first = d_system.gram.rank; first < size;
                 first += together * threads)
                follow(first);
            __syncwarp();
            collect(pass);
            __syncwarp();
        }
        const lane unit = reciprocal(noise);
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            llr[b] = clamp(lane(d_zero[b] - d_one[b]) * unit, lane(o.llr_clip));
    }

private:
    team_factor d_system;
    storage& d_at;
    int d_column;                    /* of the thread's layer in the first pass */
    float d_zero[bits], d_one[bits]; /* the nearest candidates of the layer's bits */

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
        for (int n = 0; n < together; ++n) {
            const int number = first + n * threads;
            d_at.metric[number] = metric[n];
            MP_UNROLL
            for (int w = 0; w < words; ++w)
                d_at.symbols[w][number] = gray_codes<WIDTH>(symbols[n][w]);
        }
    }

    /* Add a level's symbol to a candidate. */
    MP_FN void
    add(int i, float2 u, float re, float im, float& metric, unsigned* symbols) const
    {
        const float e_re = u.x - re, e_im = u.y - im;
        metric = fmaf(d_at.system.w[i], fmaf(e_re, e_re, e_im * e_im), metric);
        const float number = fmaf(side, im, re) + 0.5f * (size - 1);
        symbols[i / fields] |= static_cast<unsigned>(__float2int_rn(number))
                               << i % fields * bits;
    }

    /* Take the bits of the thread's layer from the pass's candidates. */
    MP_FN void collect(int pass)
    {
        float best = no_metric;
        unsigned number = 0;
        for (int c = d_system.gram.rank; c < size; c += threads) {
            number = d_at.metric[c] < best ? c : number;
            best = fminf(best, d_at.metric[c]);
        }
        const float own = best;
        best = over_team<threads>(best, [](float a, float b) { return fminf(a, b); });
        number = team_least<threads>(own > best ? size - 1u : number);
        const int level = column_place(ORDER, d_column, pass, nt);
        const unsigned* const symbols = d_at.symbols[level / fields];
        const int shift = level % fields * bits;
        const unsigned chosen = symbols[number] >> shift;
        float other[bits];
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            other[b] = no_metric;
#pragma unroll 4
        for (int c = 0; c < size; ++c) {
            const unsigned differs = (symbols[c] >> shift) ^ chosen;
            const float metric = d_at.metric[c];
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                if (differs >> symbol_bits<WIDTH>::place(b) & 1)
                    other[b] = fminf(other[b], metric);
        }
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            const bool one = chosen >> symbol_bits<WIDTH>::place(b) & 1;
            d_zero[b] = fminf(d_zero[b], one ? other[b] : best);
            d_one[b] = fminf(d_one[b], one ? best : other[b]);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

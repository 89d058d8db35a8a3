/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* N-way and FPFSD (see detectors/nway/kernel.h) by teams of threads, for large arrays,
 * max-log LLRs and no a-priori LLRs.
 *
 * Each pass factorises H^H H = C^H W C in its own column order, a thread a column; c_ij,
 * w_i and v_i are those of detectors/nway/passes.h. Then a thread follows candidates, and
 * finally it takes the bits of its layer from all candidates. Only relative errors of H^H
 * H disturb the metrics, so that columns may be nearly dependent. */
#pragma once
#include "cuda/by_teams.h"
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
    /* A column of which less than this share of its energy is left is left to the CPU's
     * form. */
    static constexpr float least_share = 1e-5f;

public:
    static constexpr int axes = 1;

    /* Of a pass; columns and levels are those of its order. */
    struct storage {
        float2 c[nt][nt]; /* c_ij, j > i */
        float2 v[nt];
        float w[nt];
        int layer[nt]; /* FPFSD: of each column of the first pass */
        float metric[size];
        unsigned symbols[words][size]; /* Gray codes */
    };

    /* Whether shared memory has room for the teams of a block */
    static constexpr bool possible =
        (sizeof(storage) + sizeof(team_gram::storage)) * (MIMOPACK_THREADS / threads) <=
        47 * 1024;

    MP_FN team_nway(const team_gram& gram, storage& s) : d_gram(gram), d_at(s) {}

    MP_FN static auto make_serial(arena<lane>& a)
    {
        constexpr nway_options o = asked::options();
        return sized<nway_detector<lane, 0, 0, WIDTH>, 0>(
            a, asked::points, layers(), antennas(), passes(), o.llr_clip, ORDER, false);
    }

    MP_FN bool begin()
    {
        if (ORDER == column_order::raise)
            sort_by_norm();
        else
            d_column = d_gram.layer();
        factorise(0, float2{ 0.0f, 0.0f });
        /* Each column is the last one of some pass. What is left of it then is the
         * inverse of the diagonal of the inverse of H^H H. */
        float2 t[nt];
        float spread = 0.0f;
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            t[i] = float2{ i == d_column ? 1.0f : 0.0f, 0.0f };
            MP_UNROLL
            for (int k = 0; k < i; ++k)
                subtract_conjugate(d_at.c[k][i], t[k], t[i]);
            spread +=
                fmaf(t[i].x, t[i].x, t[i].y * t[i].y) * reciprocal(d_at.w[i]) * unit2();
        }
        __syncwarp();
        return spread * d_gram.diagonal() < 1.0f / least_share;
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
            for (int first = d_gram.rank; first < size; first += together * threads)
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
    const team_gram& d_gram;
    storage& d_at;
    int d_column;                    /* in the first pass, of the thread's layer */
    float d_zero[bits], d_one[bits]; /* the nearest candidates of the layer's bits */

    MP_FN static constexpr int passes()
    {
        constexpr nway_options o = asked::options();
        return ORDER == column_order::rotate ? o.num_passes : nt;
    }

    /* (2 scale)^2 */
    MP_FN static float unit2()
    {
        return 4.0f * asked::points.scale * asked::points.scale;
    }

    /* The layer in a column of a pass */
    MP_FN int layer_of(int column, int pass) const
    {
        const int source = column_source(ORDER, column, pass, nt);
        return ORDER == column_order::raise ? d_at.layer[source] : source;
    }

    /* a -= conj(c) b */
    MP_FN static void subtract_conjugate(float2 c, float2 b, float2& a)
    {
        a.x = fmaf(-c.x, b.x, fmaf(-c.y, b.y, a.x));
        a.y = fmaf(-c.x, b.y, fmaf(c.y, b.x, a.y));
    }

    MP_FN static float2 from_thread(float2 own, int rank)
    {
        return float2{ __shfl_sync(~0u, own.x, rank, threads),
                       __shfl_sync(~0u, own.y, rank, threads) };
    }

    /* Columns by rising norm; equal ones stay in order. */
    MP_FN void sort_by_norm()
    {
        const float own = d_gram.diagonal();
        d_column = 0;
        MP_UNROLL
        for (int l = 0; l < nt; ++l) {
            const float other = d_gram.at.product[l][l].x;
            d_column += other < own || (!(own < other) && l < d_gram.layer());
        }
        /* NaN keeps no order */
        d_column = d_column < nt ? d_column : top;
        if (d_gram.has_layer())
            d_at.layer[d_gram.rank] = d_gram.rank;
        __syncwarp();
        if (d_gram.has_layer())
            d_at.layer[d_column] = d_gram.rank;
        __syncwarp();
    }

    /* Set c, w and v of a pass. */
    MP_FN void factorise(int pass, float2 matched)
    {
        const int layer = layer_of(d_gram.layer(), pass);
        float2 g[nt];
        MP_UNROLL
        for (int i = 0; i < nt; ++i)
            g[i] = d_gram.at.product[layer_of(i, pass)][layer];
        float2 left = from_thread(matched, layer);
        MP_UNROLL
        for (int k = 0; k < nt; ++k) {
            const float pivot = __shfl_sync(~0u, g[k].x, k, threads);
            const float inverse = reciprocal(pivot);
            const float2 z = from_thread(left, k);
            const float2 c{ g[k].x * inverse, g[k].y * inverse };
            if (d_gram.has_layer())
                d_at.c[k][d_gram.rank] = c;
            if (d_gram.rank == k) {
                const float unit = inverse * (0.5f / asked::points.scale);
                d_at.w[k] = pivot * unit2();
                d_at.v[k] = float2{ z.x * unit, z.y * unit };
            }
            __syncwarp();
            MP_UNROLL
            for (int i = k + 1; i < nt; ++i)
                subtract_conjugate(d_at.c[k][i], g[k], g[i]);
            subtract_conjugate(c, z, left);
        }
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
            add(top, d_at.v[top], re[n][top], im[n][top], metric[n], symbols[n]);
        }
        MP_UNROLL
        for (int i = top - 1; i >= 0; --i) {
            float2 u[together];
            MP_UNROLL
            for (int n = 0; n < together; ++n)
                u[n] = d_at.v[i];
            MP_UNROLL
            for (int j = top; j > i; --j) {
                const float2 c = d_at.c[i][j];
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
        metric = fmaf(d_at.w[i], fmaf(e_re, e_re, e_im * e_im), metric);
        const float number = fmaf(side, im, re) + 0.5f * (size - 1);
        symbols[i / fields] |= static_cast<unsigned>(__float2int_rn(number))
                               << i % fields * bits;
    }

    /* Take the bits of the thread's layer from the pass's candidates. */
    MP_FN void collect(int pass)
    {
        float best = no_metric;
        unsigned number = 0;
        for (int c = d_gram.rank; c < size; c += threads) {
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

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* N-way and FPFSD (see detectors/nway/kernel.h) by teams of threads, for large arrays,
 * max-log LLRs and no a-priori LLRs. Real: type of the linear algebra
 *
 * Each pass has a system of its own (see cuda/team_factor.h), which vectors with the same
 * matrix share. Then a thread follows candidates, and finally it takes the bits of its
 * layer from all candidates. Fewer candidates than threads are followed for several
 * vectors at once. */
#pragma once
#include "cuda/by_teams.h"
#include "cuda/team_candidates.h"
#include "cuda/team_factor.h"
#include "detectors/nway/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH, column_order ORDER, class Real>
class team_nway
{
    using complex = complex_of<Real>;
    using factor = team_factor<Real>;
    using gram_of_h = team_gram_of<Real>;
    static constexpr int nt = program::num_tx, top = nt - 1, threads = gram_of_h::threads;
    static constexpr int side = 1 << WIDTH, size = side * side, bits = 2 * WIDTH;
    /* Candidates of a vector in shared memory at a time */
    static constexpr int batch = size <= 256 ? size : 128;
    /* Vectors of a group that the threads follow at once */
    static constexpr int vectors_at_once(int group)
    {
        return group > 1 && size < threads ? threads / size : 1;
    }

    /* Of a pass; levels are those of its order. GROUP: see below */
    template <int GROUP>
    struct storage_of {
        static constexpr int at_once = vectors_at_once(GROUP);
        using candidates = team_candidates<WIDTH, at_once * batch>;
        typename factor::storage system;
        complex v[at_once][at_once > 1 ? nt : 1]; /* of each vector */
        typename candidates::storage found;
        float best[GROUP][GROUP > 1 ? candidates::record_size : 1][threads];
    };
    template <int GROUP>
    static constexpr bool fits = teams_fit_shared<storage_of<GROUP>, Real>();

    /* Vectors that go through the passes together, so that they share the systems. Gain
     * on an H200, 14 vectors per matrix: 2.4 (16x16 QPSK), 1.5 (16x64 16-QAM), 2.4
     * (32x256 16-QAM). */
    static constexpr int most = gram_of_h::vectors;
    static constexpr int group = gram_of_h::shares && fits<most> ? most : 1;
    static constexpr int at_once = vectors_at_once(group);
    using candidates = typename storage_of<group>::candidates;
    static constexpr int words = candidates::words;

public:
    using in_double = team_nway<WIDTH, ORDER, double>;
    static constexpr int axes = 0;
    using storage = storage_of<group>;

    static constexpr bool possible = fits<group>;

    MP_FN team_nway(const gram_of_h& gram, storage& s)
        : d_system(gram, s.system), d_at(s), d_found(s.found)
    {
    }

    MP_FN static auto make_serial(arena<lane>& a)
    {
        constexpr nway_options o = program::options();
        return sized<nway_detector<lane, 0, 0, WIDTH>, 0>(
            a, program::points, layers(), antennas(), passes(), o.llr_clip, ORDER, false);
    }

    MP_FN bool begin()
    {
        d_column = ORDER == column_order::raise ? d_system.sort_by_norm()
                                                : d_system.gram.layer();
        factorise(0, complex{ 0, 0 });
        return d_system.is_independent(d_column); /* each column is the last one once */
    }

    MP_FN bool detect(complex, lane noise, const lane*, lane* llr)
    {
        constexpr nway_options o = program::options();
        const int place = d_system.gram.vector % group;
        if (place == 0)
            search();
        if (group > 1)
            d_found.take_up(d_at.best[place], d_system.gram.rank);
        const lane unit = reciprocal(noise);
        MP_UNROLL
        for (int b = 0; b < bits; ++b)
            llr[b] = clamp(d_found.llr(b, unit), lane(o.llr_clip));
        return true;
    }

private:
    factor d_system;
    storage& d_at;
    candidates d_found;
    int d_column; /* of the thread's layer in the first pass */

    MP_FN static constexpr int passes()
    {
        constexpr nway_options o = program::options();
        return ORDER == column_order::rotate ? o.num_passes : nt;
    }

    /* The layer in a column of a pass */
    MP_FN int layer_of(int column, int pass) const
    {
        const int source = column_source(ORDER, column, pass, nt);
        return ORDER == column_order::raise ? d_at.system.layer[source] : source;
    }

    MP_FN void factorise(int pass, complex matched)
    {
        d_system.factorise([=](int column) { return layer_of(column, pass); }, matched);
    }

    /* Find the nearest candidates for the next vectors. */
    MP_FN void search()
    {
        const auto& gram = d_system.gram;
        const int left = gram.count - gram.vector, count = left < group ? left : group;
        d_found.clear();
        for (int n = 0; group > 1 && n < count; ++n)
            d_found.put_aside(d_at.best[n], gram.rank);
#pragma unroll 1
        for (int pass = 0; pass < passes(); ++pass) {
            for (int n = 0; n < count; n += at_once) {
                const int those = count - n < at_once ? count - n : at_once;
#pragma unroll 1
                for (int m = 0; m < those; ++m)
                    set_system(pass, n + m, m);
#pragma unroll 1
                for (int first = 0; first < size; first += batch)
                    follow_batch(pass, first, n, those);
            }
        }
    }

    /* Set a pass's system for a vector of the group, with the first one also its matrix.
     * place: among the vectors that are followed at once */
    MP_FN void set_system(int pass, int vector, int place)
    {
        const auto& gram = d_system.gram;
        const complex matched = gram.at.matched[gram.vector + vector][gram.layer()];
        if (vector == 0)
            factorise(pass, matched);
        else
            d_system.solve([=](int column) { return layer_of(column, pass); }, matched);
        if constexpr (at_once > 1) {
            __syncwarp();
            if (gram.has_layer())
                d_at.v[place][gram.rank] = d_at.system.v[gram.rank];
            __syncwarp();
        }
    }

    /* Follow a batch of candidates for `those` vectors from vector n on, and take the
     * bits of each vector. */
    MP_FN void follow_batch(int pass, int first, int n, int those)
    {
        const int rank = d_system.gram.rank,
                  level = column_place(ORDER, d_column, pass, nt);
        if constexpr (at_once > 1) {
            const int m = rank / size;
            follow(d_at.v[m < those ? m : 0], rank % size, rank);
        } else {
#pragma unroll 1
            for (int c = rank; c < batch; c += threads)
                follow(d_at.system.v, first + c, c);
        }
#pragma unroll 1
        for (int m = 0; m < those; ++m) {
            if (group > 1)
                d_found.take_up(d_at.best[n + m], rank);
            d_found.collect(rank, level, batch, m * batch);
            if (group > 1)
                d_found.put_aside(d_at.best[n + m], rank);
        }
    }

    /* Compute the candidate with this symbol on top. */
    MP_FN void follow(const complex* v, int symbol, int place)
    {
        float re[nt], im[nt], metric = 0.0f;
        unsigned symbols[words] = {};
        re[top] = axis_level<WIDTH>(symbol >> WIDTH);
        im[top] = axis_level<WIDTH>(symbol & (side - 1));
        add(top, v[top], re[top], im[top], metric, symbols);
        MP_UNROLL
        for (int i = top - 1; i >= 0; --i) {
            complex u = v[i];
            MP_UNROLL
            for (int j = top; j > i; --j) {
                const complex c = d_at.system.c[i][j];
                const Real x = re[j], y = im[j];
                u.x = multiply_add(-c.x, x, multiply_add(c.y, y, u.x));
                u.y = multiply_add(-c.x, y, multiply_add(-c.y, x, u.y));
            }
            lane level;
            slice(as_lane(u.x), side, level);
            re[i] = level.v;
            slice(as_lane(u.y), side, level);
            im[i] = level.v;
            add(i, u, re[i], im[i], metric, symbols);
        }
        d_found.put(place, metric, symbols);
    }

    /* Add a level's symbol to a candidate. */
    MP_FN void
    add(int i, complex u, float re, float im, float& metric, unsigned* symbols) const
    {
        const float e_re = as_lane(u.x - re).v, e_im = as_lane(u.y - im).v;
        const float w = as_lane(d_at.system.w[i]).v;
        metric = fmaf(w, fmaf(e_re, e_re, e_im * e_im), metric);
        const float number = fmaf(side, im, re) + 0.5f * (size - 1);
        symbols[candidates::word_index(i)] |=
            static_cast<unsigned>(__float2int_rn(number)) << candidates::shift(i);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

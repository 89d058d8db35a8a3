/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* K-best by teams of threads for large arrays: the team that searches a vector (see
 * cuda_team_search.h) also makes its triangular system. Real: type of the linear algebra
 */
#pragma once
#include "cuda/by_teams.h"
#include "cuda/team_factor.h"
#include "detectors/kbest/cuda_team_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH, int K, class Real>
class array_kbest
{
    using complex = complex_of<Real>;
    using factor = team_factor<Real>;
    using gram_of_h = team_gram_of<Real>;
    using search = team_search<WIDTH, K, gram_of_h::threads>;
    static constexpr int nt = program::num_tx;
    static constexpr int side = 1 << WIDTH, bits = 2 * WIDTH;

public:
    using in_double = array_kbest<WIDTH, K, double>;
    static constexpr int axes = 0;

    struct storage {
        typename factor::storage system;
        float row[search::row_size];
        typename search::workspace list;
    };

    static constexpr bool possible = teams_fit_shared<storage, Real>();

    MP_FN array_kbest(const gram_of_h& gram, storage& s)
        : d_system(gram, s.system), d_at(s)
    {
    }

    MP_FN static auto make_serial(arena<lane>& a)
    {
        constexpr kbest_options o = program::options();
        return sized<kbest<lane, 0, 0, WIDTH>, 0>(
            a, program::points, layers(), antennas(), o.k, o.llr_clip);
    }

    MP_FN bool begin()
    {
        d_column = d_system.sort_by_norm();
        d_system.factorise(in_order(), complex{ 0, 0 });
        return d_system.is_independent(d_column);
    }

    MP_FN bool detect(complex matched, lane noise, const lane* prior, lane* llr)
    {
        constexpr kbest_options o = program::options();
        d_system.solve(in_order(), matched);
        set_row(reciprocal(noise.v), prior);
        __syncwarp();
        search(d_at.row, d_at.list).run();
        MP_UNROLL
        for (int b = 0; b < bits; ++b) {
            const lane known = program::has_prior ? prior[b] : lane(0.0f);
            llr[b] = clipped(known, search::moved(d_at.row, d_column, b), o.llr_clip);
        }
        __syncwarp();
        return true;
    }

private:
    factor d_system;
    storage& d_at;
    int d_column; /* of the thread's layer */

    MP_FN auto in_order() const
    {
        return [this](int column) { return d_at.system.layer[column]; };
    }

    /* Set the vector's model, for symbols k = 0..side-1, a thread a level, and what a
     * prior adds to the metrics of the thread's layer. */
    MP_FN void set_row(float inverse_noise, const lane* prior)
    {
        const int i = d_system.gram.layer();
        float* const to = d_at.row + search::place(i);
        Real sum_re = 1, sum_im = 0;
        for (int j = i + 1; j < nt; ++j) {
            const complex c = d_at.system.c[i][j];
            to[1 + 2 * (j - i)] = as_lane(c.x).v;
            to[2 + 2 * (j - i)] = as_lane(c.y).v;
            sum_re += c.x;
            sum_im += c.y;
        }
        constexpr Real half = Real(0.5) * (side - 1);
        const complex v = d_at.system.v[i];
        to[0] = as_lane(multiply_add(half, sum_re - sum_im, v.x)).v;
        to[1] = as_lane(multiply_add(half, sum_re + sum_im, v.y)).v;
        to[2] = as_lane(d_at.system.w[i]).v * inverse_noise;
        if constexpr (program::has_prior)
            search::set_costs(d_at.row, d_column, prior);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

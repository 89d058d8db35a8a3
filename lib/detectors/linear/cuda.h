/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* ZF and MMSE, for large arrays by teams of threads */
#pragma once
#include "cuda/by_teams.h"
#include "cuda/sizes.h"
#include "cuda/team_cavity.h"
#include "detectors/linear/large.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Real: type of the linear algebra */
template <int WIDTH, bool MMSE, class Real>
class team_linear
{
public:
    using in_double = team_linear<WIDTH, MMSE, double>;
    static constexpr int axes = 1;
    using storage = typename team_cavity<axes, Real>::storage;

    MP_FN team_linear(const team_gram_of<Real>& gram, storage& s) : d_cavity(gram, s) {}

    MP_FN static auto make_serial(arena<lane>& a)
    {
        return large_linear<lane, WIDTH, MMSE>(a, program::points, layers(), antennas());
    }

    MP_FN bool begin()
    {
        d_noise = 0.0f;
        if (MMSE)
            return true;
        const Real one = 1;
        d_cavity.prepare(&one, 0, 1);
        return d_cavity.enough;
    }

    MP_FN bool detect(complex_of<Real> matched, lane noise, const lane*, lane* llr)
    {
        if (MMSE && (program::matrix_each || __any_sync(~0u, noise.v != d_noise))) {
            const Real one = 1;
            d_cavity.prepare(&one, noise.v, noise.v);
            d_noise = noise.v;
        }
        d_cavity.estimate(matched, nullptr);
        const lane x[2] = { as_lane(d_cavity.mean[0]), as_lane(d_cavity.mean[1]) };
        const lane precision = as_lane(d_cavity.precision[0]);
        const lane inverse_noise = MMSE ? precision : precision / noise;
        if constexpr (WIDTH > 0)
            demap_axes<WIDTH>(x, inverse_noise, program::points.scale, llr);
        else
            demap_points(x, inverse_noise, program::points, llr);
        return d_cavity.enough;
    }

private:
    team_cavity<axes, Real> d_cavity;
    float d_noise; /* of the last decomposition; 0: none */
};

template <bool MMSE>
MP_FN auto make_linear(arena<lane>& a)
{
    if constexpr (fits_team)
        return team_kernel < team_linear<program::width, MMSE, float>,
               !MMSE && often_dependent > ();
    else if constexpr (program::fixed_tx > 0)
        return linear<lane, program::fixed_tx, program::fixed_rx, program::width, MMSE>(
            a, program::points, layers(), antennas());
    else
        return large_linear<lane, program::width, MMSE>(
            a, program::points, layers(), antennas());
}

template <class Lane>
MP_FN auto make_zf(arena<Lane>& a)
{
    return make_linear<false>(a);
}

template <class Lane>
MP_FN auto make_mmse(arena<Lane>& a)
{
    return make_linear<true>(a);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

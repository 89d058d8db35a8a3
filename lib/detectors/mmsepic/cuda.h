/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* MMSE-PIC, for large arrays by teams of threads */
#pragma once
#include "cuda/by_teams.h"
#include "cuda/sizes.h"
#include "cuda/team_cavity.h"
#include "detectors/mmsepic/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH>
class team_mmsepic
{
public:
    static constexpr int axes = 1;
    using storage = team_cavity<axes, float>::storage;
    static constexpr mmsepic_options options = program::options();

    MP_FN team_mmsepic(const team_gram& gram, storage& s)
        : d_layer(program::points), d_cavity(gram, s)
    {
    }

    MP_FN static auto make_serial(arena<lane>& a)
    {
        return mmsepic<lane, 0, 0, WIDTH>(
            a, program::points, layers(), antennas(), options.num_iterations);
    }

    MP_FN bool begin()
    {
        d_noise = 0.0f;
        return true;
    }

    MP_FN bool detect(float2 matched, lane noise, const lane* prior, lane* llr)
    {
        lane metric[WIDTH > 0 ? 1 << WIDTH : program::points.size];
        bool enough = true;
#pragma unroll 1
        for (int iteration = 0; iteration < options.num_iterations; ++iteration) {
            const lane* const known = iteration ? llr : prior;
            if (known || program::matrix_each || __any_sync(~0u, noise.v != d_noise)) {
                lane deviation;
                d_layer.make_symbol(known, metric, d_mean, deviation);
                d_cavity.prepare(&deviation.v, noise.v, noise.v);
                d_noise = known ? 0.0f : noise.v;
            }
            enough = enough && d_cavity.enough;
            const float mean[2] = { d_mean[0].v, d_mean[1].v };
            d_cavity.estimate(matched, mean);
            const lane x[2] = { as_lane(d_cavity.mean[0]), as_lane(d_cavity.mean[1]) };
            d_layer.demap(x, as_lane(d_cavity.precision[0]), prior, metric, llr);
        }
        return enough;
    }

private:
    const mmsepic_layer<lane, WIDTH> d_layer;
    team_cavity<axes, float> d_cavity;
    lane d_mean[2];
    float d_noise; /* of the last preparation without known bits; or 0 */
};

template <class Lane>
MP_FN auto make_mmsepic(arena<Lane>& a)
{
    constexpr mmsepic_options o = program::options();
    if constexpr (fits_team)
        return team_kernel<team_mmsepic<program::width>, false>();
    else
        return mmsepic<lane, program::fixed_tx, program::fixed_rx, program::width>(
            a, program::points, layers(), antennas(), o.num_iterations);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

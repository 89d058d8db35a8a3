/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Expectation propagation, for large arrays by teams of threads: a thread has both axes
 * of a layer. */
#pragma once
#include "cuda/by_teams.h"
#include "cuda/sizes.h"
#include "cuda/team_cavity.h"
#include "detectors/ep/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int WIDTH>
class team_ep
{
public:
    static constexpr int axes = 2;
    using storage = team_cavity<axes, float>::storage;
    static constexpr ep_options options = program::options();

    MP_FN team_ep(const team_gram& gram, storage& s)
        : d_axis(program::points, options), d_cavity(gram, s)
    {
    }

    MP_FN static auto make_serial(arena<lane>& a)
    {
        return ep<lane, 0, 0, WIDTH>(a, program::points, layers(), antennas(), options);
    }

    MP_FN bool begin() { return true; }

    MP_FN bool detect(float2 matched, lane noise, const lane* prior, lane* llr)
    {
        constexpr int side = 1 << WIDTH;
        lane cost[2][side], lambda[2], gamma[2];
        MP_UNROLL
        for (int q = 0; q < 2; ++q)
            d_axis.start(
                prior ? prior + q * WIDTH : nullptr, cost[q], lambda[q], gamma[q]);
        const float variance = 0.5f * noise.v; /* per real dimension */
        bool enough = true;
#pragma unroll 1
        for (int iteration = 0;; ++iteration) {
            float deviation[2], mean[2];
            MP_UNROLL
            for (int q = 0; q < 2; ++q) {
                deviation[q] = rsqrt(lambda[q]).v;
                mean[q] = gamma[q].v * deviation[q] * deviation[q];
            }
            d_cavity.prepare(deviation, variance, variance);
            enough = enough && d_cavity.enough;
            d_cavity.estimate(matched, mean);
            if (iteration == options.num_iterations - 1)
                break;
            MP_UNROLL
            for (int q = 0; q < 2; ++q)
                d_axis.update(as_lane(d_cavity.mean[q]),
                              as_lane(d_cavity.precision[q]),
                              prior ? cost[q] : nullptr,
                              lambda[q],
                              gamma[q]);
        }
        MP_UNROLL
        for (int q = 0; q < 2; ++q) {
            lane metric[side];
            d_axis.set_metrics(as_lane(d_cavity.mean[q]),
                               as_lane(d_cavity.precision[q]),
                               prior ? cost[q] : nullptr,
                               metric);
            axis_llrs<WIDTH>(metric, llr + q * WIDTH);
        }
        return enough;
    }

private:
    const ep_axis<lane, WIDTH> d_axis;
    team_cavity<axes, float> d_cavity;
};

template <class Lane>
MP_FN auto make_ep(arena<Lane>& a)
{
    constexpr ep_options o = program::options();
    /* Measured with 8x8 on an H200: as fast with QPSK, otherwise 3 times */
    if constexpr (fits_team_from(8))
        return team_kernel<team_ep<program::width>, false>();
    else
        return ep<lane, program::fixed_tx, program::fixed_rx, program::width>(
            a, program::points, layers(), antennas(), o);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

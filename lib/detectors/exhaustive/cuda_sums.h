/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over the candidates of a team's vector (see cuda_search.h): how metrics are
 * combined, and the combination of all levels of an axis at once. */
#pragma once
#include "common/combination.h"
#include "common/soft_symbols.h"
#include "cuda/registers.h"
#include "cuda/team.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* 2^x and log2 x in one instruction; without a GPU, for tests, the library's. */
MP_FN float power_of_two(float x)
{
#ifdef __CUDA_ARCH__
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
#else
    return exp2f(x);
#endif
}

MP_FN float log_to_two(float x)
{
#ifdef __CUDA_ARCH__
    asm("lg2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
#else
    return log2f(x);
#endif
}

template <int TEAM>
MP_FN float least_of_team(float x)
{
    return over_team<TEAM>(x, [](float a, float b) { return min(a, b); });
}

/* Max-log: a metric is in units of the noise */
struct max_log : least_metric<float> {
    static constexpr bool sums = false;
    static constexpr float nats = 1.0f; /* of a metric's unit */

    /* Of COUNT metrics */
    template <int COUNT>
    MP_FN static max_log of(const float (&m)[COUNT], const float*)
    {
        float least = m[0];
        MP_UNROLL
        for (int i = 1; i < COUNT; ++i)
            least = min(least, m[i]);
        return { { least } };
    }

    /* The value of the combinations of all threads of a team */
    template <int TEAM>
    MP_FN float over() const
    {
        return least_of_team<TEAM>(metric);
    }
};

/* Exact: a metric is in bits, a candidate's weight 2^-metric */
struct binary_weight {
    MP_FN static float of(float metric) { return power_of_two(-metric); }
    MP_FN static float log(float weight) { return log_to_two(weight); }
};

struct exact_log : log_sum<float, binary_weight> {
    static constexpr bool sums = true;
    static constexpr float nats = 0.69314718f;

    /* Combine COUNT metrics, each with a further weight. */
    template <int COUNT>
    MP_FN static exact_log of(const float (&m)[COUNT], const float* weight)
    {
        const float least = max_log::of(m, weight).metric;
        float sum = 0.0f;
        MP_UNROLL
        for (int i = 0; i < COUNT; ++i)
            sum = fmaf(weight[i], power_of_two(least - m[i]), sum);
        return { { least, sum } };
    }

    template <int TEAM>
    MP_FN float over() const
    {
        const float least = least_of_team<TEAM>(reference);
        return least -
               log_to_two(over_team<TEAM>(sum * power_of_two(least - reference),
                                          [](float a, float b) { return a + b; }));
    }
};

/* -|x| in one instruction; fabsf and a minus would be two */
MP_FN float minus_abs(float x)
{
    return __int_as_float(__float_as_int(x) | static_cast<int>(0x80000000u));
}

/* Sums over the levels of an axis, at odd multiples of a step round 0. u is in units
 * where a metric is d^2 / (4 step). The metrics of opposite levels, k step and -k step,
 * differ by k |u|; those of neighbours beside t differ by |u - t|. */
template <int WIDTH>
struct axis_sums {
    float step, ratio;

    /* Sums do not overflow while the step is below this. Beyond it no more than two
     * levels count. */
    static constexpr float close = WIDTH == 1 ? infinity : 24.0f;

    MP_FN explicit axis_sums(float step_)
        : step(step_), ratio(power_of_two(2.0f * fminf(step_, close)))
    {
    }

    /* Return the sum of 2^-(metric - reference) over all levels. The reference is the
     * metric of one of the levels, whose distance it finds, with either sign. */
    MP_FN float all(float u, float& distance) const
    {
        const float opposite = power_of_two(minus_abs(u));
        if constexpr (WIDTH == 1) {
            distance = fabsf(u) - step;
            return 1.0f + opposite;
        } else if constexpr (WIDTH == 2) {
            /* the reference is the outermost level */
            distance = fabsf(u) - 3.0f * step;
            return fmaf(opposite, fmaf(opposite, opposite + ratio, ratio), 1.0f);
        } else {
            /* The reference is the nearest level: the axis is folded at its middle, and
             * each half is folded at the middle of that half. */
            const float square = opposite * opposite, third = opposite * square;
            const float c1 = 1.0f + opposite, c3 = 1.0f + third;
            const float c5 = fmaf(third, square, 1.0f),
                        c7 = fmaf(third * square, square, 1.0f);
            const float t = fmaf(-4.0f, step, fabsf(u)), r = fmaf(-2.0f, step, fabsf(t));
            distance = fabsf(r) - step;
            const bool low = t < 0.0f, inner = r < 0.0f;
            const float across = power_of_two(minus_abs(t));
            const float near = fmaf(across, low ? c5 : c3, low ? c3 : c5);
            const float far =
                fmaf(across * across * across, low ? c7 : c1, low ? c1 : c7);
            return fmaf(
                power_of_two(minus_abs(r)), inner ? far : near, inner ? near : far);
        }
    }

    /* The same over the two nearest levels; the reference is the nearest. */
    MP_FN float nearest(float u, float& distance) const
    {
        float next = minus_abs(u);
        distance = u;
        MP_UNROLL
        for (int half = side / 2; half > 1; half /= 2) {
            distance = fmaf(-half, step, fabsf(distance));
            next = fmaxf(next, -fabsf(distance));
        }
        distance = fabsf(distance) - step;
        return 1.0f + power_of_two(next);
    }

private:
    static constexpr int side = 1 << WIDTH;
};

/* The same for levels with a-priori costs, in units where a level's metric is d^2 + cost.
 * Add the least one to the metric, which is the reference. */
template <int WIDTH, class Sum>
MP_FN float axis_sum(float u, float step, const float* cost, float& metric)
{
    constexpr int side = 1 << WIDTH;
    float m[side], least = no_metric;
    MP_UNROLL
    for (int k = 0; k < side; ++k) {
        const float e = fmaf(-2.0f * axis_level<WIDTH>(k), step, u);
        m[k] = fmaf(e, e, cost[k]);
        least = fminf(least, m[k]);
    }
    metric += least;
    float sum = 0.0f;
    MP_UNROLL
    for (int k = 0; Sum::sums && k < side; ++k)
        sum += power_of_two(least - m[k]);
    return sum;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

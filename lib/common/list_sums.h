/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Log-sum-exp LLRs of a list of candidates (000 eq. 11 on the list). For each value of
 * each bit, the sum of exp(-metric) is kept relative to the best candidate so far. */
#pragma once
#include "common/elementary.h"
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Return ln(one / zero), or max_log if a sum is too small. */
template <class F>
MP_FN F log_ratio(F one, F zero, F max_log)
{
    const F least(1e-36f);
    return select(least < min(zero, one),
                  log_positive(max(one, least)) - log_positive(max(zero, least)),
                  max_log);
}

template <class F>
class list_sums
{
public:
    using mask = decltype(F() < F());

    MP_FN list_sums(arena<F>& a, int num_bits) : d_sums(a, 2 * num_bits) {}

    /* Begin a list whose best metric is `best` in units of `unit`. Return the best metric
     * of all lists so far, to which weights are relative. */
    MP_FN F rescale(int num_bits, F best, F unit, bool first)
    {
        const F least = first ? best : min(best, d_best);
        const F factor = first ? F(0.0f) : exp_minus((d_best - least) * unit);
        for (int s = 0; s < 2 * num_bits; ++s)
            d_sums[s] = first ? F(0.0f) : d_sums[s] * factor;
        d_best = least;
        return least;
    }

    /* Add a candidate for which bit b is one where `one` holds. */
    MP_FN void add(int b, mask one, F weight)
    {
        d_sums[2 * b] = d_sums[2 * b] + select(one, F(0.0f), weight);
        d_sums[2 * b + 1] = d_sums[2 * b + 1] + select(one, weight, F(0.0f));
    }
    MP_FN void add(int b, bool one, F weight)
    {
        d_sums[2 * b + one] = d_sums[2 * b + one] + weight;
    }

    /* Return the LLR of bit b. */
    MP_FN F llr(int b, F max_log) const
    {
        return log_ratio(d_sums[2 * b + 1], d_sums[2 * b], max_log);
    }

private:
    F d_best;
    buffer<F, 0> d_sums;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

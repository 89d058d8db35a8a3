/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* How the metrics of candidates are combined; F is a lane type or float. */
#pragma once
#include "common/elementary.h"
#include "common/scalar.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Max-log combination, 000 eq. 12 */
template <class F>
struct least_metric {
    F metric;
    static constexpr int lanes = 1;
    MP_FN void clear() { metric = F(no_metric); }
    MP_FN void add(F m) { metric = min(metric, m); }
    MP_FN void add(const least_metric& other) { metric = min(metric, other.metric); }
    MP_FN F value() const { return metric; }
};

/* Metrics in units of the noise: a candidate's weight is exp(-metric). */
struct natural_weight {
    template <class F>
    MP_FN static F of(F metric)
    {
        return exp_minus(metric);
    }

    template <class F>
    MP_FN static F log(F weight)
    {
        return log_positive(weight);
    }
};

/* Exact combination, 000 eq. 11: the weight of the reference times the sum. The reference
 * is the least metric so far, so that no term overflows and the largest is 1. */
template <class F, class Weight = natural_weight>
struct log_sum {
    F reference, sum;
    static constexpr int lanes = 2;

    MP_FN void clear()
    {
        reference = F(no_metric);
        sum = F(0.0f);
    }

    MP_FN void add(F m) { add(log_sum{ m, F(1.0f) }); }

    MP_FN void add(const log_sum& other)
    {
        const auto better = other.reference < reference;
        const F scale = Weight::of(abs(other.reference - reference));
        sum = fma(select(better, sum, other.sum), scale, select(better, other.sum, sum));
        reference = min(reference, other.reference);
    }

    MP_FN F value() const { return reference - Weight::log(sum); }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

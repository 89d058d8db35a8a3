// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "faults.h"
#include <algorithm>
#include <cmath>
#include <functional>

namespace mimopack {

int64_t Position::samples(double rate, int64_t here) const
{
    switch (unit) {
    case Unit::now:
        return here;
    case Unit::seconds:
        return std::llround(value * rate);
    default:
        return std::llround(value);
    }
}

void Schedule::arm(const FaultTimes& times, double rate, int64_t here)
{
    d_at.clear();
    for (const Position& position : times.at)
        d_at.push_back(position.samples(rate, here));
    std::sort(d_at.begin(), d_at.end(), std::greater<int64_t>());
    d_samples = std::max<int64_t>(1, times.samples.samples(rate, here));
    d_every = std::max<int64_t>(0, times.every.samples(rate, here));
    d_periodic = d_every;
    pass(here);
}

int64_t Schedule::next() const
{
    const int64_t next = d_at.empty() ? NEVER : d_at.back();
    return d_every > 0 ? std::min(next, d_periodic) : next;
}

void Schedule::pass(int64_t here)
{
    while (!d_at.empty() && d_at.back() < here)
        d_at.pop_back();
    while (d_every > 0 && d_periodic < here)
        d_periodic += d_every;
}

} // namespace mimopack

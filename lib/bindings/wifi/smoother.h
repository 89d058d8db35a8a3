/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Smoothing of channel estimates within their delay spread, with filters that Python
 * makes */
#pragma once
#include "bindings/wifi/common.h"
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace mimopack {

/* Filters that a Python function makes when they are first needed. Threads share a bank.
 */
class filter_bank
{
public:
    struct filter {
        std::int64_t rank;
        std::vector<float> analysis, synthesis;
        double error;
    };

    filter_bank(py::function make, std::int64_t carriers, std::int64_t wanted)
        : d_make(std::move(make)), d_carriers(carriers), d_wanted(wanted)
    {
    }

    /* Return a filter. The caller must not hold Python's lock. */
    std::shared_ptr<const filter> find(int width, int level);

private:
    static constexpr std::size_t most = 512; /* filters kept */

    py::function d_make;
    std::int64_t d_carriers, d_wanted;
    std::mutex d_mutex;
    std::map<std::pair<int, int>, std::shared_ptr<const filter>> d_filters;

    filter make(int width, int level);
};

/* One call's access to a bank, which keeps the filters that the call uses. */
struct filter_lease {
    filter_bank& bank;
    std::vector<std::shared_ptr<const filter_bank::filter>> held;

    static wifi_filter find(const void* lease, int width, int level);
};

/* Smooths channels of given subcarriers. */
class smoother
{
public:
    /* k, wanted: numbers of the given and the wanted subcarriers; transform (carriers,
     * delays): to the delays */
    smoother(const long_array& k,
             const long_array& wanted,
             const double_array& delay,
             const complex_array& transform,
             const wifi_delay_rules& rules,
             py::function make);

    /* Return the plan of one call, which must not outlive the lease. */
    wifi_smoother plan(const filter_lease& lease) const;

    filter_lease lease() const { return { *d_bank, {} }; }
    std::int64_t carriers() const { return d_plan.carriers; }
    std::int64_t wanted() const { return d_plan.wanted; }

    /* Return (channels (frames, wanted, rows), error (frames,), done (frames,), paths
     * (frames, 64)) of channel (frames, carriers, rows). A channel that is not done holds
     * zeros. */
    py::tuple
    run(const complex_array& channel, double noise, const std::string& isa) const;

private:
    long_array d_k, d_wanted;
    double_array d_delay;
    complex_array d_transform;
    std::shared_ptr<filter_bank> d_bank;
    wifi_smoother d_plan;
};

} // namespace mimopack

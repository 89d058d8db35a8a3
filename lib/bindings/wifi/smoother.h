/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Smoothing of channel estimates within their delay spread, with filters that Python
 * makes */
#pragma once
#include "bindings/wifi/common.h"
#include <map>
#include <mutex>
#include <utility>

namespace mimopack {

/* Smooths channels of given subcarriers. Threads share an object. */
class smoother
{
public:
    /* given: k, wanted: numbers of the given and the wanted subcarriers; density, apart:
     * see wifi_smoother; lobe to step_db: see wifi_delay_rules; delay, place, weights,
     * inner, outer: see _delay_transform in wifi/smoothing.py; make: see _filter there */
    explicit smoother(const py::kwargs& given);

    /* Return what the loops take. A call without Python's lock may use it while this
     * object exists. */
    const wifi_smoother* plan() const { return &d_plan; }

    /* Return (channels (frames, wanted, rows), error (frames,), done (frames,), paths
     * (frames, 64)) of channel (frames, carriers, rows). The rows of a channel that is
     * not done mean nothing. */
    py::tuple
    run(const complex_array& channel, double noise, const std::string& isa) const;

private:
    struct filter {
        std::int64_t rank;
        std::vector<float> analysis, synthesis;
        double error;
    };

    long_array d_k, d_wanted, d_place;
    double_array d_delay;
    float_array d_weights;
    std::vector<float> d_inner, d_re, d_im;
    wifi_smoother d_plan;
    py::function d_make;
    std::mutex d_mutex;
    std::map<std::pair<int, int>, std::shared_ptr<const filter>> d_filters;

    static wifi_filter find(const void* self, int width, int level);
    std::shared_ptr<const filter> make(int width, int level) const;
};

} // namespace mimopack

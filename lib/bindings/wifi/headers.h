/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Signal fields of frames */
#pragma once
#include "bindings/wifi/smoother.h"

namespace mimopack {

/* The layout of signal fields, see wifi_signal_layout */
struct signal_layout {
    long_array data, pilots;
    float_array pilot_signs;
    long_array order, he_order;
    double_array distance;

    wifi_signal_layout plan() const
    {
        return { data.data(),  pilots.data(),   pilot_signs.data(),
                 order.data(), he_order.data(), distance.data() };
    }
};

/* Reads signal fields. Threads may share a reader. */
struct header_reader {
    int fft;
    float_array sequence;
    std::shared_ptr<smoother> channels;
    signal_layout layout;
    long_array windows; /* he_windows, from the first half of the L-LTF on */
    const wifi_build& build;

    /* Read the headers of preambles in the same parts of the band. white: see
     * wifi_headers. The caller must not hold Python's lock. */
    void read(std::int64_t rows,
              const wifi_samples& from,
              const std::vector<std::int64_t>& bins,
              const float* white,
              const std::vector<wifi_preamble*>& preambles) const
    {
        build.headers({ rows,
                        static_cast<std::int64_t>(bins.size()) / wifi_legacy,
                        fft,
                        from,
                        windows.data(),
                        white,
                        bins.data(),
                        sequence.data(),
                        channels->plan(),
                        layout.plan() },
                      preambles.data(),
                      static_cast<std::int64_t>(preambles.size()));
    }
};

} // namespace mimopack

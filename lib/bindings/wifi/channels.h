/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Channels as reports have them */
#pragma once
#include "bindings/wifi/common.h"

namespace mimopack {

/* Return a power in dB. */
double decibels(double power);

/* Return powers (frames, m) in dB, as a list of tuples. */
template <typename T>
py::list decibels_of(const T* power, std::int64_t frames, std::int64_t m)
{
    py::list out;
    for (std::int64_t i = 0; i < frames; ++i) {
        py::tuple row(m);
        for (std::int64_t j = 0; j < m; ++j)
            row[j] = decibels(power[i * m + j]);
        out.append(row);
    }
    return out;
}

/* Channel matrices, noise powers and condition numbers of frames */
class channel_states
{
public:
    channel_states(std::int64_t frames,
                   std::int64_t carriers,
                   std::int64_t rows,
                   std::int64_t columns);

    /* Find them for channel (frames, carriers, rows, columns) and noise (frames, rows) of
     * unscaled FFTs. The caller need not hold Python's lock. */
    void find(const std::complex<float>* channel,
              const double* noise,
              int fft,
              const wifi_build& build);

    /* Return (channel / fft, noise / fft^2, mean condition number in dB) of frame i. */
    py::tuple of_frame(std::int64_t i) const;

private:
    std::int64_t d_frames, d_carriers, d_rows, d_columns;
    buffer<std::complex<float>> d_matrices;
    buffer<double> d_level;
    std::vector<double> d_condition;

    double condition(const std::complex<float>* channel,
                     const double* noise,
                     const wifi_build& build) const;
};

} // namespace mimopack

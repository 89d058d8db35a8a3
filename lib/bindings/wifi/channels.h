/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Channels as reports have them */
#pragma once
#include "bindings/wifi/common.h"

namespace mimopack {

/* Return a power in dB. */
double decibels(double power);

/* Return powers (frames, m) in dB, as a list of tuples. */
py::list decibels_of(const double_array& power);

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

    /* Return (channel / fft, noise / fft^2, list of the frames' mean condition numbers
     * in dB). */
    py::tuple as_tuple() const;

private:
    std::int64_t d_frames, d_carriers, d_rows, d_columns;
    complex_array d_matrices;
    double_array d_level;
    std::vector<double> d_condition;
    std::complex<float>* d_matrices_at;
    double* d_level_at;

    double condition(const std::complex<float>* channel,
                     const double* noise,
                     const wifi_build& build) const;
};

} // namespace mimopack

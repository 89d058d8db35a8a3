/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Levels, condition and errors of channels */
#include "bindings/wifi/common.h"
#include <cmath>

namespace mimopack {

double decibels(double power) { return 10 * std::log10(std::max(power, 1e-30)); }

namespace {

/* Return (SNR, SNR of each antenna, level of each antenna, noise of each antenna) in dB
 * for each frame. `signal` and `noise` hold the power of a carrier at each antenna; a
 * level is `share` of the power. */
py::list powers(const std::vector<double_array>& signal,
                const std::vector<double_array>& noise,
                const std::vector<double>& share)
{
    py::list out;
    for (std::size_t f = 0; f < signal.size(); ++f) {
        const std::int64_t rows = signal[f].size();
        py::tuple ratios(rows), levels(rows), floors(rows);
        double total = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
            const double a = signal[f].data()[r], b = noise[f].data()[r];
            total += a / b;
            ratios[r] = decibels(a / b);
            levels[r] = decibels((a + b) * share[f]);
            floors[r] = decibels(b * share[f]);
        }
        out.append(py::make_tuple(
            decibels(total / static_cast<double>(rows)), ratios, levels, floors));
    }
    return out;
}

/* Return the mean condition number in dB of a channel (carriers, rows, columns) over the
 * noise (rows,). */
double
condition(const complex_array& channel, const double_array& noise, const std::string& isa)
{
    return find_wifi(isa).condition({ channel.shape(0),
                                      static_cast<int>(channel.shape(1)),
                                      static_cast<int>(channel.shape(2)),
                                      floats(channel),
                                      noise.data() });
}

/* Return the error vectors' mean squares (frames, columns) for y (frames, carriers,
 * vectors, rows) and h (frames, carriers, rows, columns). sides (columns,): points on an
 * axis of a square QAM; 1 is BPSK. */
float_array error_vectors(const complex_array& y,
                          const complex_array& h,
                          const float_array& noise,
                          const long_array& sides,
                          const std::string& isa)
{
    float_array error({ y.shape(0), h.shape(3) });
    const wifi_build& build = find_wifi(isa);
    for (std::int64_t f = 0; f < y.shape(0); ++f)
        build.errors({ y.shape(1),
                       y.shape(2),
                       static_cast<int>(y.shape(3)),
                       static_cast<int>(h.shape(3)),
                       sides.data(),
                       floats(y) + 2 * f * (y.size() / y.shape(0)),
                       floats(h) + 2 * f * (h.size() / h.shape(0)),
                       noise.data()[f],
                       error.mutable_data() + f * h.shape(3) });
    return error;
}

} // namespace

void bind_wifi_channels(py::module_& m)
{
    m.def("powers",
          &powers,
          py::arg("signal"),
          py::arg("noise"),
          py::kw_only(),
          py::arg("share"));
    m.def("condition",
          &condition,
          py::arg("channel"),
          py::arg("noise"),
          py::kw_only(),
          py::arg("isa") = "auto");
    m.def("error_vectors",
          &error_vectors,
          py::arg("y"),
          py::arg("h"),
          py::kw_only(),
          py::arg("noise"),
          py::arg("sides"),
          py::arg("isa") = "auto");
}

} // namespace mimopack

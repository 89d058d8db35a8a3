/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Delays, smoothing, levels and errors of channel estimates */
#include "bindings/wifi/channels.h"
#include <cmath>

namespace mimopack {

namespace {

/* Releases Python's lock for a call that handles enough values to be long. */
class long_call
{
public:
    explicit long_call(std::int64_t values)
    {
        if (values > 20000)
            d_release.emplace();
    }

private:
    std::optional<py::gil_scoped_release> d_release;
};

/* Return (SNR, SNR of each antenna, level of each antenna, noise of each antenna) in dB
 * for each frame. `signal` and `noise` hold the power of a carrier at each antenna; a
 * level is `share` of the power. */
py::list powers(const std::vector<double_array>& signal,
                const std::vector<double_array>& noise,
                const std::vector<double>& share)
{
    require(noise.size() == signal.size() && share.size() == signal.size(), "powers");
    py::list out;
    for (std::size_t f = 0; f < signal.size(); ++f) {
        const std::int64_t rows = signal[f].size();
        require(signal[f].ndim() == 1 && has_shape(noise[f], { rows }) && rows >= 1,
                "powers");
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

/* Return channel_states::of_frame of each frame of channel (frames, carriers, rows,
 * columns) and noise (frames, rows). */
py::list states_of(const complex_array& channel,
                    const double_array& noise,
                    int fft,
                    const std::string& isa)
{
    require(channel.ndim() == 4 && fft >= 1 &&
                has_shape(noise, { channel.shape(0), channel.shape(2) }) &&
                can_be_rows(channel.shape(2)) && channel.shape(3) >= 1 &&
                channel.shape(3) <= wifi_max_columns,
            "channel_states");
    const std::int64_t columns = channel.shape(3);
    channel_states states(channel.shape(0), channel.shape(1), channel.shape(2), columns);
    const wifi_build& build = find_wifi(isa);
    {
        /* A condition number takes longer than a copy. */
        const long_call call(channel.size() * (columns > 1 ? 4 * columns : 1));
        states.find(channel.data(), noise.data(), fft, build);
    }
    py::list out;
    for (std::int64_t f = 0; f < channel.shape(0); ++f)
        out.append(states.of_frame(f));
    return out;
}

/* Return the error vectors' mean squares (frames, columns) for y (frames, carriers,
 * vectors, rows) and h (frames, carriers, rows, columns). */
float_array error_vectors(const complex_array& y,
                          const complex_array& h,
                          const float_array& noise,
                          const long_array& chosen,
                          const long_array& sides,
                          const std::string& isa)
{
    require(y.ndim() == 4 && h.ndim() == 4 && noise.ndim() == 1 && chosen.ndim() == 1,
            "error_vectors");
    bool fits = y.shape(0) == h.shape(0) && y.shape(1) == h.shape(1) &&
                y.shape(3) == h.shape(2) && noise.shape(0) == y.shape(0) &&
                sides.size() == h.shape(3) && within(sides, 1025) && h.shape(3) >= 1 &&
                h.shape(2) <= 1 << 10 && h.shape(3) <= wifi_max_columns &&
                chosen.size() > 0;
    for (std::int64_t i = 0; i < chosen.size(); ++i)
        fits &= chosen.data()[i] >= 0 && chosen.data()[i] < y.shape(2);
    require(fits, "error_vectors");
    float_array error({ y.shape(0), h.shape(3) });
    const wifi_errors e = { y.shape(0),
                            y.shape(1),
                            y.shape(2),
                            static_cast<int>(y.shape(3)),
                            static_cast<int>(h.shape(3)),
                            sides.data(),
                            chosen.data(),
                            chosen.size(),
                            floats(y),
                            floats(h),
                            noise.data(),
                            error.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    const long_call call(y.shape(0) * y.shape(1) * chosen.size());
    build.errors(e);
    return error;
}

} // namespace

double decibels(double power) { return 10 * std::log10(std::max(power, 1e-30)); }

channel_states::channel_states(std::int64_t frames,
                               std::int64_t carriers,
                               std::int64_t rows,
                               std::int64_t columns)
    : d_frames(frames),
      d_carriers(carriers),
      d_rows(rows),
      d_columns(columns),
      d_matrices({ frames, carriers, rows, columns }),
      d_level({ frames, rows }),
      d_condition(frames, columns == 1 ? 0 : std::nan(""))
{
}

void channel_states::find(const std::complex<float>* channel,
                          const double* noise,
                          int fft,
                          const wifi_build& build)
{
    const float unit = 1 / static_cast<float>(fft);
    const std::int64_t size = d_carriers * d_rows * d_columns;
    for (std::int64_t i = 0; i < d_frames * size; ++i)
        d_matrices.mutable_data()[i] = channel[i] * unit;
    for (std::int64_t i = 0; i < d_frames * d_rows; ++i)
        d_level.mutable_data()[i] = noise[i] * unit * unit;
    for (std::int64_t f = 0; f < d_frames && d_columns > 1 && d_columns <= d_rows; ++f)
        d_condition[f] = condition(channel + f * size, noise + f * d_rows, build);
}

double channel_states::condition(const std::complex<float>* channel,
                                 const double* noise,
                                 const wifi_build& build) const
{
    const std::int64_t size = d_carriers * d_rows * d_columns;
    std::vector<std::complex<float>> white(size);
    std::vector<float> ratio(d_carriers), share(d_rows);
    for (std::int64_t r = 0; r < d_rows; ++r)
        share[r] = static_cast<float>(1 / std::sqrt(noise[r]));
    for (std::int64_t i = 0; i < size; ++i)
        white[i] = channel[i] * share[i / d_columns % d_rows];
    build.condition({ d_carriers,
                      static_cast<int>(d_rows),
                      static_cast<int>(d_columns),
                      reinterpret_cast<const float*>(white.data()),
                      ratio.data() });
    double mean = 0;
    for (const float one : ratio)
        mean += decibels(one) / static_cast<double>(d_carriers);
    return mean;
}

py::tuple channel_states::of_frame(std::int64_t i) const
{
    const std::int64_t size = d_carriers * d_rows * d_columns;
    return py::make_tuple(
        complex_array({ d_carriers, d_rows, d_columns }, d_matrices.data() + i * size),
        double_array(d_rows, d_level.data() + i * d_rows),
        d_condition[i]);
}

void bind_wifi_channels(py::module_& m)
{
    m.def(
        "decibels",
        [](const double_array& power) {
            require(power.ndim() == 2, "decibels");
            return decibels_of(power.data(), power.shape(0), power.shape(1));
        },
        py::arg("power"));
    m.def("powers",
          &powers,
          py::arg("signal"),
          py::arg("noise"),
          py::kw_only(),
          py::arg("share"));
    m.def("channel_states",
          &states_of,
          py::arg("channel").noconvert(),
          py::arg("noise").noconvert(),
          py::kw_only(),
          py::arg("fft"),
          py::arg("isa") = "auto");
    m.def("error_vectors",
          &error_vectors,
          py::arg("y").noconvert(),
          py::arg("h").noconvert(),
          py::kw_only(),
          py::arg("noise").noconvert(),
          py::arg("chosen").noconvert(),
          py::arg("sides"),
          py::arg("isa") = "auto");
}

} // namespace mimopack

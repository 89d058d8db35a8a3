/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The search of a stream for short training fields */
#include "bindings/wifi/common.h"
#include "wifi/scan.h"

namespace mimopack {

namespace {

/* Return (energy, lag), both (rows, blocks), of columns begin .. begin + blocks * block -
 * 1 of samples (rows, n). The last lag of each row stays unset. */
py::tuple correlate(const complex_array& samples,
                    std::int64_t begin,
                    std::int64_t blocks,
                    std::int64_t block,
                    const std::string& isa)
{
    require(samples.ndim() == 2 && begin >= 0 && blocks >= 1 && block >= 16 &&
                block % 16 == 0 && block <= 1 << 20 &&
                blocks <= (samples.shape(1) - begin) / block,
            "correlate");
    py::array_t<float> energy({ samples.shape(0), blocks });
    complex_array lag({ samples.shape(0), blocks });
    const wifi_correlation c = { samples.shape(0),
                                 blocks,
                                 block,
                                 samples.shape(1),
                                 floats(samples) + 2 * begin,
                                 blocks,
                                 energy.mutable_data(),
                                 floats(lag) };
    const wifi_build& build = find_wifi(isa);
    {
        python_released release;
        build.correlate(c);
    }
    return py::make_tuple(energy, lag);
}

/* Return (mean, |mean|^2), both (size,), of energy and lag, both (rows, size + window).
 * The last lag of each row is ignored. */
py::tuple metric(const float_array& energy,
                 const complex_array& lag,
                 int window,
                 const std::string& isa)
{
    require(energy.ndim() == 2 && has_shape(lag, { energy.shape(0), energy.shape(1) }) &&
                energy.shape(0) >= 1 && window >= 1 && window <= 1 << 10,
            "metric");
    const std::int64_t size = std::max<std::int64_t>(0, lag.shape(1) - window);
    complex_array mean(size);
    float_array square(size);
    const wifi_metric m = { energy.shape(0), size,
                            window,          energy.data(),
                            floats(lag),     lag.shape(1),
                            floats(mean),    square.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    if (size) {
        python_released release;
        build.metric(m);
    }
    return py::make_tuple(mean, square);
}

/* Return the best window at or shortly behind a given one. */
std::int64_t
strongest_window(const float_array& metric, std::int64_t window, int region, int searches)
{
    require(metric.ndim() == 1 && window >= 0 && window < metric.size() && region >= 1 &&
                searches >= 1,
            "strongest");
    return strongest(metric.data(), metric.size(), window, region, searches);
}

} // namespace

void bind_wifi_scan(py::module_& m)
{
    m.def("correlate",
          &correlate,
          py::arg("samples").noconvert(),
          py::kw_only(),
          py::arg("begin"),
          py::arg("blocks"),
          py::arg("block"),
          py::arg("isa") = "auto");
    m.def("metric",
          &metric,
          py::arg("energy").noconvert(),
          py::arg("lag").noconvert(),
          py::kw_only(),
          py::arg("window"),
          py::arg("isa") = "auto");
    m.def("strongest",
          &strongest_window,
          py::arg("metric").noconvert(),
          py::arg("window"),
          py::kw_only(),
          py::arg("region"),
          py::arg("searches"));
}

} // namespace mimopack

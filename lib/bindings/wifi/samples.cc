/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct current and spectra of the samples of frames */
#include "bindings/wifi/common.h"

namespace mimopack {

namespace {

/* Return the direct current (frames, rows) of samples, a list of arrays (rows, length),
 * with carrier offsets in cycles per sample. */
complex_array direct_current(const std::vector<row_array>& samples,
                             std::int64_t rows,
                             const double_array& cfo,
                             int fft,
                             const std::string& isa)
{
    complex_array direct({ static_cast<std::int64_t>(samples.size()), rows });
    for (std::size_t i = 0; i < samples.size(); ++i)
        find_wifi(isa).direct(samples_of(samples[i]),
                              rows,
                              cfo.data()[i],
                              fft,
                              floats(direct) + 2 * i * rows);
    return direct;
}

/* Return the spectra (frames, rows, windows, bins) of samples, a list of arrays (rows,
 * length). starts (frames, windows) are moved inside of the samples. */
complex_array spectra(const std::vector<row_array>& samples,
                      const double_array& cfo,
                      const long_array& starts,
                      int fft,
                      const long_array& bins,
                      const complex_array& direct,
                      const std::optional<complex_array>& white,
                      const std::string& isa)
{
    const std::int64_t frames = starts.shape(0), windows = starts.shape(1);
    const std::int64_t rows = direct.shape(1), size = bins.size();
    complex_array out({ frames, rows, windows, size });
    for (std::int64_t i = 0; i < frames; ++i)
        find_wifi(isa).spectra({ rows,
                                 windows,
                                 size,
                                 fft,
                                 samples_of(samples[i]),
                                 floats(direct) + 2 * i * rows,
                                 cfo.data()[i],
                                 starts.data() + i * windows,
                                 bins.data(),
                                 white ? floats(*white) + 2 * i * rows * rows : nullptr,
                                 nullptr,
                                 floats(out) + 2 * i * rows * windows * size });
    return out;
}

} // namespace

void bind_wifi_samples(py::module_& m)
{
    m.def("direct_current",
          &direct_current,
          py::arg("samples").noconvert(),
          py::kw_only(),
          py::arg("rows"),
          py::arg("cfo"),
          py::arg("fft"),
          py::arg("isa") = "auto");
    m.def("spectra",
          &spectra,
          py::arg("samples").noconvert(),
          py::kw_only(),
          py::arg("cfo"),
          py::arg("starts"),
          py::arg("fft"),
          py::arg("bins"),
          py::arg("direct"),
          py::arg("white") = py::none(),
          py::arg("isa") = "auto");
}

} // namespace mimopack

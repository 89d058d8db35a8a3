/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct current and spectra of the samples of frames */
#include "bindings/wifi/samples.h"
#include <cmath>

namespace mimopack {

void find_direct(const wifi_build& build,
                 const wifi_frames& from,
                 std::int64_t frames,
                 std::int64_t rows,
                 const double* cfo,
                 double fft,
                 std::complex<float>* direct)
{
    constexpr double near = 0.25, least_near = 0.5, least_far = 8;
    std::vector<float> power(frames * rows);
    build.means(
        { frames, rows, from, reinterpret_cast<float*>(direct), power.data() });
    for (std::int64_t i = 0; i < frames * rows; ++i) {
        const std::int64_t frame = i / rows;
        const double least = std::fabs(cfo[frame] * fft) < near ? least_near : least_far;
        if (!(std::norm(direct[i]) * static_cast<double>(from.length[frame]) >
              least * power[i]))
            direct[i] = 0;
    }
}

namespace {

/* Return the direct current (frames, rows) of samples, a list of arrays (rows, length),
 * with carrier offsets in cycles per sample. */
complex_array direct_current(const std::vector<row_array>& samples,
                             std::int64_t rows,
                             const double_array& cfo,
                             int fft,
                             const std::string& isa)
{
    const std::int64_t frames = static_cast<std::int64_t>(samples.size());
    const frames_of all(samples, rows);
    require(all.fits && rows >= 0 && has_shape(cfo, { frames }), "direct_current");
    complex_array direct({ frames, rows });
    find_direct(
        find_wifi(isa), all.all(), frames, rows, cfo.data(), fft, direct.mutable_data());
    return direct;
}

/* Return the spectra (frames, rows, windows, bins) of samples, a list of arrays (rows,
 * length). */
complex_array spectra(const std::vector<row_array>& samples,
                      const double_array& cfo,
                      const long_array& starts,
                      int fft,
                      const long_array& bins,
                      const float_array& scale,
                      const complex_array& direct,
                      const std::string& isa)
{
    require(starts.ndim() == 2 && bins.ndim() == 1 && scale.ndim() == 2 &&
                cfo.ndim() == 1 && direct.ndim() == 2,
            "spectra");
    const std::int64_t frames = starts.shape(0), windows = starts.shape(1);
    const std::int64_t rows = scale.shape(1);
    const frames_of all(samples, rows);
    bool fits = all.fits && static_cast<std::int64_t>(samples.size()) == frames &&
                cfo.shape(0) == frames && scale.shape(0) == frames &&
                direct.shape(0) == frames && direct.shape(1) == rows && fft >= 2 &&
                fft <= 1 << 16 && !(fft & (fft - 1));
    for (std::int64_t i = 0; fits && i < starts.size(); ++i)
        fits = starts.data()[i] >= 0 && starts.data()[i] <= all.length[i / windows] - fft;
    for (std::int64_t i = 0; i < bins.size(); ++i)
        fits &= bins.data()[i] >= 0 && bins.data()[i] < fft;
    require(fits, "spectra");
    complex_array out({ frames, rows, windows, bins.shape(0) });
    const wifi_spectra s = { frames,        rows,        windows,        bins.shape(0),
                             fft,           all.all(),   floats(direct), cfo.data(),
                             starts.data(), bins.data(), scale.data(),   floats(out) };
    const wifi_build& build = find_wifi(isa);
    build.spectra(s);
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
          py::arg("cfo").noconvert(),
          py::arg("fft"),
          py::arg("isa") = "auto");
    m.def("spectra",
          &spectra,
          py::arg("samples").noconvert(),
          py::kw_only(),
          py::arg("cfo").noconvert(),
          py::arg("starts").noconvert(),
          py::arg("fft"),
          py::arg("bins").noconvert(),
          py::arg("scale").noconvert(),
          py::arg("direct").noconvert(),
          py::arg("isa") = "auto");
}

} // namespace mimopack

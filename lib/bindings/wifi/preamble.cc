/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Acquisition, training and combining of preambles */
#include "bindings/wifi/common.h"

namespace mimopack {

namespace {

/* Look for a preamble in samples (rows, n) behind each of starts. Return (part, start,
 * window, cfo, direct): the first four are (pieces,), direct is (pieces, rows). A piece
 * without a preamble has part 0. */
py::tuple acquire(const complex_array& samples,
                  const long_array& starts,
                  const complex_array& lag,
                  int scale,
                  int turns,
                  const long_array& bins,
                  const float_array& sequence,
                  const complex_array& reference,
                  const std::string& isa)
{
    bool fits = acquisition_settings{ scale, turns, bins, sequence, reference }.fits() &&
                samples.ndim() == 2 && can_be_rows(samples.shape(0)) &&
                starts.ndim() == 1 && has_shape(lag, { starts.size() });
    for (std::int64_t i = 0; fits && i < starts.size(); ++i)
        fits = starts.data()[i] >= 0 &&
               starts.data()[i] <= samples.shape(1) - wifi_preamble_samples(scale);
    require(fits, "acquire");
    const std::int64_t pieces = starts.shape(0), rows = samples.shape(0);
    long_array part(pieces), start(pieces), window(pieces);
    double_array cfo(pieces);
    complex_array direct({ pieces, rows });
    const wifi_acquisition a = { pieces,
                                 rows,
                                 samples.shape(1),
                                 floats(samples),
                                 starts.data(),
                                 floats(lag),
                                 scale,
                                 static_cast<int>(bins.shape(0)),
                                 turns,
                                 bins.data(),
                                 sequence.data(),
                                 floats(reference),
                                 part.mutable_data(),
                                 start.mutable_data(),
                                 window.mutable_data(),
                                 cfo.mutable_data(),
                                 floats(direct) };
    const wifi_build& build = find_wifi(isa);
    {
        python_released release;
        build.acquire(a);
    }
    return py::make_tuple(part, start, window, cfo, direct);
}

/* Return the best window shifts (channels,) for power (channels, 64). */
long_array window_shifts(const double_array& power, int guard, const std::string& isa)
{
    require(power.ndim() == 2 && power.shape(1) == 64 && guard >= 1 && guard <= 16,
            "window_shifts");
    long_array shift(power.shape(0));
    const wifi_shifts s = { power.shape(0), guard, power.data(), shift.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    build.shifts(s);
    return shift;
}

/* Return (noise (frames, rows), signal (frames, rows), channel (frames, carriers, parts *
 * rows)) from spectra (frames, rows, windows, parts * carriers). The first two windows
 * are the halves of the long training field. */
py::tuple
train(const complex_array& spectra, const float_array& sequence, const std::string& isa)
{
    require(spectra.ndim() == 4 && sequence.ndim() == 1 && spectra.shape(2) >= 2 &&
                sequence.shape(0) >= 1 && spectra.shape(3) >= 1 &&
                spectra.shape(3) % sequence.shape(0) == 0,
            "train");
    const std::int64_t frames = spectra.shape(0), rows = spectra.shape(1);
    const std::int64_t carriers = sequence.shape(0), parts = spectra.shape(3) / carriers;
    double_array noise({ frames, rows }), signal({ frames, rows });
    complex_array channel({ frames, carriers, parts * rows });
    const wifi_training t = { frames,
                              rows,
                              spectra.shape(2),
                              parts,
                              carriers,
                              floats(spectra),
                              sequence.data(),
                              noise.mutable_data(),
                              signal.mutable_data(),
                              floats(channel) };
    const wifi_build& build = find_wifi(isa);
    build.train(t);
    return py::make_tuple(noise, signal, channel);
}

/* Return (symbols (frames, windows - 2, carriers), strength (frames,)) from spectra
 * (frames, rows, windows, parts * carriers) and channel (frames, carriers, parts * rows).
 */
py::tuple combine(const complex_array& spectra,
                  const complex_array& channel,
                  const double_array& noise,
                  const std::string& isa)
{
    bool fits = spectra.ndim() == 4 && channel.ndim() == 3 && noise.ndim() == 2 &&
                spectra.shape(1) >= 1 && spectra.shape(2) >= 2 && channel.shape(1) >= 1 &&
                channel.shape(0) == spectra.shape(0) &&
                noise.shape(0) == spectra.shape(0) && noise.shape(1) == spectra.shape(1);
    fits = fits && spectra.shape(3) % channel.shape(1) == 0 &&
           channel.shape(2) == spectra.shape(3) / channel.shape(1) * spectra.shape(1);
    require(fits, "combine");
    const std::int64_t frames = spectra.shape(0), carriers = channel.shape(1);
    complex_array out({ frames, spectra.shape(2) - 2, carriers });
    double_array strength(frames);
    const wifi_combination c = { frames,           spectra.shape(1),
                                 spectra.shape(2), spectra.shape(3) / carriers,
                                 carriers,         floats(spectra),
                                 floats(channel),  noise.data(),
                                 floats(out),      strength.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    build.combine(c);
    return py::make_tuple(out, strength);
}

} // namespace

void bind_wifi_preamble(py::module_& m)
{
    m.def("acquire",
          &acquire,
          py::arg("samples").noconvert(),
          py::kw_only(),
          py::arg("starts").noconvert(),
          py::arg("lag").noconvert(),
          py::arg("scale"),
          py::arg("turns"),
          py::arg("bins").noconvert(),
          py::arg("sequence").noconvert(),
          py::arg("reference").noconvert(),
          py::arg("isa") = "auto");
    m.def("window_shifts",
          &window_shifts,
          py::arg("power").noconvert(),
          py::kw_only(),
          py::arg("guard"),
          py::arg("isa") = "auto");
    m.attr("preamble_samples") = wifi_preamble_samples(1);
    m.def("train",
          &train,
          py::arg("spectra").noconvert(),
          py::kw_only(),
          py::arg("sequence").noconvert(),
          py::arg("isa") = "auto");
    m.def("combine",
          &combine,
          py::arg("spectra").noconvert(),
          py::arg("channel").noconvert(),
          py::kw_only(),
          py::arg("noise").noconvert(),
          py::arg("isa") = "auto");
}

} // namespace mimopack

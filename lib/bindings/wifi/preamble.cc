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
        py::gil_scoped_release release;
        build.acquire(a);
    }
    return py::make_tuple(part, start, window, cfo, direct);
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
    m.attr("preamble_samples") = wifi_preamble_samples(1);
}

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Clock, phase, noise and channel of frames from their decoded symbols */
#include "bindings/wifi/common.h"

namespace mimopack {

namespace {

/* Return the shape of decoded frames: received (frames, rows, symbols, carriers) and
 * points (frames, streams, symbols, carriers). */
wifi_shape shape_of(const complex_array& received,
                    const complex_array& points,
                    const long_array& trained_place,
                    const complex_array& turn)
{
    return { received.shape(0), received.shape(1),    received.shape(2), received.shape(3),
             points.shape(1),   turn.shape(0),        trained_place.data(), floats(turn) };
}

/* Return (sampling offsets (frames,), phases (frames, symbols), received without the
 * turns of both, noise (frames, carriers, rows), least noise (frames, rows), channel). */
py::tuple refine(const complex_array& received,
                 const complex_array& points,
                 const complex_array& channel,
                 const complex_array& least_squares,
                 const long_array& trained_place,
                 const complex_array& turn,
                 const long_array& k,
                 const long_array& trained_k,
                 const double_array& distance,
                 const long_array& pilot_places,
                 const long_array& estimated,
                 int fft,
                 float weight,
                 bool interpolate,
                 const std::string& isa)
{
    const wifi_shape s = shape_of(received, points, trained_place, turn);
    double_array offset(s.frames), phase({ s.frames, s.symbols });
    complex_array turned({ s.frames, s.rows, s.symbols, s.carriers });
    complex_array estimate({ s.frames, s.trained, s.rows, s.streams });
    float_array noise({ s.frames, s.carriers, s.rows }), least({ s.frames, s.rows });
    const wifi_refinement w = { s,
                                fft,
                                weight,
                                interpolate,
                                floats(received),
                                floats(points),
                                floats(channel),
                                floats(least_squares),
                                k.data(),
                                trained_k.data(),
                                distance.data(),
                                pilot_places.data(),
                                pilot_places.size(),
                                estimated.data(),
                                estimated.size(),
                                offset.mutable_data(),
                                phase.mutable_data(),
                                floats(turned),
                                noise.mutable_data(),
                                least.mutable_data(),
                                floats(estimate) };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.refine(w);
    }
    return py::make_tuple(offset, phase, turned, noise, least, estimate);
}

/* Return (vectors (frames, data, symbols, rows), channel (frames, carriers, rows,
 * streams)), both whitened. */
py::tuple whiten(const complex_array& received,
                 const complex_array& points,
                 const complex_array& channel,
                 const float_array& noise,
                 const long_array& trained_place,
                 const complex_array& turn,
                 const long_array& places,
                 const std::string& isa)
{
    const wifi_shape s = shape_of(received, points, trained_place, turn);
    complex_array vectors({ s.frames, places.size(), s.symbols, s.rows });
    complex_array whitened({ s.frames, s.carriers, s.rows, s.streams });
    const wifi_whitening w = { s,
                               places.size(),
                               floats(received),
                               floats(points),
                               floats(channel),
                               noise.data(),
                               places.data(),
                               floats(vectors),
                               floats(whitened) };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.whiten(w);
    }
    return py::make_tuple(vectors, whitened);
}

} // namespace

void bind_wifi_refinement(py::module_& m)
{
    m.def("refine",
          &refine,
          py::arg("received"),
          py::arg("points"),
          py::arg("channel"),
          py::kw_only(),
          py::arg("least_squares"),
          py::arg("trained_place"),
          py::arg("turn"),
          py::arg("k"),
          py::arg("trained_k"),
          py::arg("distance"),
          py::arg("pilot_places"),
          py::arg("estimated"),
          py::arg("fft"),
          py::arg("weight"),
          py::arg("interpolate"),
          py::arg("isa") = "auto");
    m.def("whiten",
          &whiten,
          py::arg("received"),
          py::arg("points"),
          py::arg("channel"),
          py::kw_only(),
          py::arg("noise"),
          py::arg("trained_place"),
          py::arg("turn"),
          py::arg("places"),
          py::arg("isa") = "auto");
}

} // namespace mimopack

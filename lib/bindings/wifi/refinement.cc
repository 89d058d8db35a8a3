/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Clock, phase, noise and channel of a frame from its known or decoded symbols */
#include "bindings/wifi/common.h"

namespace mimopack {

namespace {

/* Return the points (frames, streams + stbc, symbols, carriers) that send the coded bits
 * (frames, symbols, bits). */
complex_array points(const byte_array& coded,
                     const long_array& from,
                     const complex_array& table,
                     const long_array& places,
                     const long_array& pilot_places,
                     const float_array& pilots,
                     std::int64_t carriers,
                     int streams,
                     int stbc,
                     const std::string& isa)
{
    bool fits = coded.ndim() == 3 && table.ndim() == 1 && pilots.ndim() == 3 &&
                streams >= 1 && streams <= wifi_max_columns && stbc >= 0 &&
                stbc <= streams && table.shape(0) >= 2 && table.shape(0) <= 1024 &&
                carriers >= 0 && within(places, carriers) &&
                within(pilot_places, carriers) && within(from, coded.shape(2)) &&
                (!stbc || coded.shape(1) % 2 == 0);
    int bits = 0;
    while (fits && 1 << bits < table.shape(0))
        ++bits;
    fits = fits && table.shape(0) == 1 << bits && from.shape(0) == coded.shape(2) &&
           coded.shape(2) % (streams * bits) == 0 && coded.shape(2) > 0;
    const std::int64_t data = fits ? coded.shape(2) / (streams * bits) : 1;
    fits = fits && places.shape(0) % data == 0 &&
           has_shape(pilots, { coded.shape(1), pilot_places.shape(0), streams + stbc });
    require(fits, "points");
    complex_array out(
        { coded.shape(0), std::int64_t{ streams } + stbc, coded.shape(1), carriers });
    std::fill_n(floats(out), 2 * out.size(), 0.0f);
    const wifi_points p = { coded.shape(0),
                            coded.shape(1),
                            carriers,
                            data,
                            places.shape(0) / data,
                            streams,
                            bits,
                            stbc,
                            pilot_places.shape(0),
                            coded.data(),
                            from.data(),
                            floats(table),
                            places.data(),
                            pilot_places.data(),
                            pilots.data(),
                            floats(out) };
    const wifi_build& build = find_wifi(isa);
    build.points(p);
    return out;
}

/* Decoded frames of one format */
struct decoded_frames {
    const complex_array& received;   /* (frames, rows, symbols, carriers) */
    const complex_array& points;     /* (frames, streams, symbols, carriers) */
    const complex_array& channel;    /* (frames, trained, rows, streams) */
    const long_array& trained_place; /* (carriers,) */
    const complex_array& turn;       /* (trained, streams) */

    wifi_shape shape(const char* function) const;
};

/* Check the arrays in the name of `function`, and return their shape. */
wifi_shape decoded_frames::shape(const char* function) const
{
    bool fits = received.ndim() == 4 && points.ndim() == 4 && channel.ndim() == 4 &&
                turn.ndim() == 2;
    fits = fits && received.shape(1) >= 1 && received.shape(2) >= 1 &&
           received.shape(3) >= 1 && points.shape(1) >= 1 &&
           points.shape(1) <= wifi_max_columns;
    require(fits, function);
    const wifi_shape s = { received.shape(0),    received.shape(1), received.shape(2),
                           received.shape(3),    points.shape(1),   channel.shape(1),
                           trained_place.data(), floats(turn) };
    require(has_shape(points, { s.frames, s.streams, s.symbols, s.carriers }) &&
                has_shape(channel, { s.frames, s.trained, s.rows, s.streams }) &&
                has_shape(turn, { s.trained, s.streams }) &&
                trained_place.shape(0) == s.carriers && within(trained_place, s.trained),
            function);
    return s;
}

/* The training fields of decoded frames, and the subcarriers to be estimated */
struct training_arrays {
    const complex_array& least_squares; /* (frames, trained, rows, streams) */
    const long_array& k;                /* (carriers,) */
    const long_array& trained_k;        /* (trained,) */
    const double_array& distance;       /* (symbols,) */
    const long_array& pilot_places;
    const long_array& estimated;

    bool fit(const wifi_shape& s) const
    {
        return has_shape(least_squares, { s.frames, s.trained, s.rows, s.streams }) &&
               has_shape(k, { s.carriers }) && has_shape(trained_k, { s.trained }) &&
               has_shape(distance, { s.symbols }) && within(pilot_places, s.carriers) &&
               within(estimated, s.carriers);
    }
};

/* Settings of a refinement, see wifi_refinement */
struct refinement_rules {
    int fft;
    float weight;
    bool interpolate;
};

/* Return (sampling offsets (frames,), phases (frames, symbols), received without the
 * turns of both, noise (frames, carriers, rows), least noise (frames, rows), channel). */
py::tuple refine(const decoded_frames& from,
                 const training_arrays& training,
                 const refinement_rules& rules,
                 const std::string& isa)
{
    const wifi_shape s = from.shape("refine");
    require(training.fit(s) && rules.fft >= 1 && rules.weight > 0, "refine");
    double_array offset(s.frames), phase({ s.frames, s.symbols });
    complex_array turned({ s.frames, s.rows, s.symbols, s.carriers });
    complex_array estimate({ s.frames, s.trained, s.rows, s.streams });
    float_array noise({ s.frames, s.carriers, s.rows }), least({ s.frames, s.rows });
    const wifi_refinement w = { s,
                                rules.fft,
                                rules.weight,
                                rules.interpolate,
                                floats(from.received),
                                floats(from.points),
                                floats(from.channel),
                                floats(training.least_squares),
                                training.k.data(),
                                training.trained_k.data(),
                                training.distance.data(),
                                training.pilot_places.data(),
                                training.pilot_places.size(),
                                training.estimated.data(),
                                training.estimated.size(),
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
py::tuple whiten(const decoded_frames& from,
                 const float_array& noise,
                 const long_array& places,
                 const std::string& isa)
{
    const wifi_shape s = from.shape("whiten");
    require(has_shape(noise, { s.frames, s.carriers, s.rows }) &&
                within(places, s.carriers),
            "whiten");
    complex_array vectors({ s.frames, places.shape(0), s.symbols, s.rows });
    complex_array whitened({ s.frames, s.carriers, s.rows, s.streams });
    const wifi_whitening w = { s,
                               places.shape(0),
                               floats(from.received),
                               floats(from.points),
                               floats(from.channel),
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

void bind_decoded_frames(py::module_& m)
{
    m.def(
        "refine",
        [](const complex_array& received,
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
           const std::string& isa) {
            return refine(
                { received, points, channel, trained_place, turn },
                { least_squares, k, trained_k, distance, pilot_places, estimated },
                { fft, weight, interpolate },
                isa);
        },
        py::arg("received").noconvert(),
        py::arg("points").noconvert(),
        py::arg("channel").noconvert(),
        py::kw_only(),
        py::arg("least_squares").noconvert(),
        py::arg("trained_place").noconvert(),
        py::arg("turn").noconvert(),
        py::arg("k").noconvert(),
        py::arg("trained_k").noconvert(),
        py::arg("distance").noconvert(),
        py::arg("pilot_places").noconvert(),
        py::arg("estimated").noconvert(),
        py::arg("fft"),
        py::arg("weight"),
        py::arg("interpolate"),
        py::arg("isa") = "auto");
    m.def(
        "whiten",
        [](const complex_array& received,
           const complex_array& points,
           const complex_array& channel,
           const float_array& noise,
           const long_array& trained_place,
           const complex_array& turn,
           const long_array& places,
           const std::string& isa) {
            return whiten(
                { received, points, channel, trained_place, turn }, noise, places, isa);
        },
        py::arg("received").noconvert(),
        py::arg("points").noconvert(),
        py::arg("channel").noconvert(),
        py::kw_only(),
        py::arg("noise").noconvert(),
        py::arg("trained_place").noconvert(),
        py::arg("turn").noconvert(),
        py::arg("places").noconvert(),
        py::arg("isa") = "auto");
}

} // namespace

void bind_wifi_refinement(py::module_& m)
{
    m.def("points",
          &points,
          py::arg("coded").noconvert(),
          py::kw_only(),
          py::arg("order").noconvert(),
          py::arg("table").noconvert(),
          py::arg("places").noconvert(),
          py::arg("pilot_places").noconvert(),
          py::arg("pilots").noconvert(),
          py::arg("carriers"),
          py::arg("streams"),
          py::arg("stbc"),
          py::arg("isa") = "auto");
    bind_decoded_frames(m);
}

} // namespace mimopack

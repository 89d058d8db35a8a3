/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The Wi-Fi receiver's inner loops. Its Python modules alone call them; shapes are
 * checked so that no call can leave an array. */
#include "../cpu/wifi_plan.h"
#include "common.h"
#include <algorithm>
#include <complex>
#include <cstring>
#include <stdexcept>

namespace mimopack {

#define MIMOPACK_DECLARE(isa)     \
    namespace isa {               \
    extern const wifi_build wifi; \
    }
MIMOPACK_DECLARE(baseline)
#if defined(__x86_64__)
MIMOPACK_DECLARE(avx2)
MIMOPACK_DECLARE(avx512)
#endif

namespace {

using complex_array = py::array_t<std::complex<float>, py::array::c_style>;
using double_array = py::array_t<double, py::array::c_style>;
using long_array = py::array_t<std::int64_t, py::array::c_style>;

const wifi_build& find_wifi(const std::string& isa)
{
    const char* name = find_build(isa).name;
#if defined(__x86_64__)
    for (const wifi_build* build : { &avx512::wifi, &avx2::wifi })
        if (!std::strcmp(build->name, name))
            return *build;
#endif
    return baseline::wifi;
}

const float* floats(const complex_array& a)
{
    return reinterpret_cast<const float*>(a.data());
}

float* floats(complex_array& a) { return reinterpret_cast<float*>(a.mutable_data()); }

void require(bool holds, const char* function)
{
    if (!holds)
        throw std::invalid_argument(std::string(function) + ": inconsistent arguments");
}

/* (energy (rows, blocks), lag (rows, blocks - 1)) of samples (rows, n), of which columns
 * [begin, begin + blocks * block) are taken */
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
    complex_array lag({ samples.shape(0), blocks - 1 });
    const wifi_correlation c = { samples.shape(0),
                                 blocks,
                                 block,
                                 samples.shape(1),
                                 floats(samples) + 2 * begin,
                                 energy.mutable_data(),
                                 floats(lag) };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.correlate(c);
    }
    return py::make_tuple(energy, lag);
}

/* (mean (size,), its square) of energy (rows, size + window) and lag (rows, size + window
 * - 1) */
py::tuple metric(const float_array& energy,
                 const complex_array& lag,
                 int window,
                 const std::string& isa)
{
    require(energy.ndim() == 2 && lag.ndim() == 2 && energy.shape(0) == lag.shape(0) &&
                energy.shape(0) >= 1 && energy.shape(1) == lag.shape(1) + 1 &&
                window >= 1 && window <= 1 << 10,
            "metric");
    const std::int64_t size = std::max<std::int64_t>(0, lag.shape(1) - window + 1);
    complex_array mean(size);
    float_array square(size);
    const wifi_metric m = { energy.shape(0),      size,        window,
                            energy.data(),        floats(lag), floats(mean),
                            square.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    if (size) {
        py::gil_scoped_release release;
        build.metric(m);
    }
    return py::make_tuple(mean, square);
}

/* (direct current (pieces, rows), agreement (pieces,)) of pieces of samples (rows, n) */
py::tuple repetitions(const complex_array& samples,
                      const long_array& starts,
                      std::int64_t length,
                      std::int64_t first,
                      std::int64_t positions,
                      std::int64_t window,
                      std::int64_t lag,
                      float least_direct,
                      const std::string& isa)
{
    constexpr std::int64_t most = 1 << 24;
    bool fits = samples.ndim() == 2 && starts.ndim() == 1 && length >= 1 &&
                length <= most && first >= 0 && first <= most && positions >= 1 &&
                positions <= most && window >= 1 && window <= most && lag >= 1 &&
                lag <= most && first + positions + window + lag - 1 <= length;
    for (std::int64_t i = 0; fits && i < starts.size(); ++i)
        fits = starts.data()[i] >= 0 && starts.data()[i] <= samples.shape(1) - length;
    require(fits, "repetitions");
    complex_array direct({ starts.shape(0), samples.shape(0) });
    float_array agreement(starts.shape(0));
    const wifi_repetitions r = { starts.shape(0),
                                 samples.shape(0),
                                 length,
                                 samples.shape(1),
                                 floats(samples),
                                 starts.data(),
                                 first,
                                 positions,
                                 window,
                                 lag,
                                 least_direct,
                                 floats(direct),
                                 agreement.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.repetitions(r);
    }
    return py::make_tuple(direct, agreement);
}

/* (pieces,) of samples (pieces, rows, length) and reference (sequences, size) */
long_array pairs(const complex_array& samples,
                 const complex_array& reference,
                 std::int64_t width,
                 const std::string& isa)
{
    require(samples.ndim() == 3 && reference.ndim() == 2 && reference.shape(1) >= 1 &&
                width >= 1 && width <= samples.shape(2) - 2 * reference.shape(1) + 1,
            "pairs");
    long_array place(samples.shape(0));
    const wifi_pairs p = { samples.shape(0),    samples.shape(1),
                           samples.shape(2),    reference.shape(1),
                           reference.shape(0),  floats(samples),
                           floats(reference),   width,
                           place.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.pairs(p);
    }
    return place;
}

/* (received without turns, vectors (frames, data, symbols, rows)) of received (frames,
 * rows, symbols, carriers) */
py::tuple symbols(const complex_array& received,
                  const double_array& slope,
                  const double_array& phase,
                  const long_array& k,
                  const long_array& places,
                  const std::string& isa)
{
    require(received.ndim() == 4 && slope.ndim() == 2 && phase.ndim() == 2 &&
                k.ndim() == 1 && places.ndim() == 1,
            "symbols");
    const std::int64_t frames = received.shape(0), count = received.shape(2);
    bool fits = slope.shape(0) == frames && phase.shape(0) == frames &&
                slope.shape(1) == count && phase.shape(1) == count &&
                k.shape(0) == received.shape(3);
    for (std::int64_t i = 0; i < places.size(); ++i)
        fits &= places.data()[i] >= 0 && places.data()[i] < received.shape(3);
    require(fits, "symbols");
    complex_array turned({ frames, received.shape(1), count, received.shape(3) });
    complex_array vectors({ frames, places.shape(0), count, received.shape(1) });
    const wifi_symbols s = { frames,        received.shape(1), count,
                             k.shape(0),    places.shape(0),   floats(received),
                             slope.data(),  phase.data(),      k.data(),
                             places.data(), floats(turned),    floats(vectors) };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.symbols(s);
    }
    return py::make_tuple(turned, vectors);
}

/* (frames, symbols, coded) of llr (frames, carriers, symbols, bits) */
float_array
order(const float_array& llr, const long_array& source, const std::string& isa)
{
    require(llr.ndim() == 4 && source.ndim() == 1, "order");
    bool fits = true;
    for (std::int64_t i = 0; i < source.size(); ++i)
        fits &= source.data()[i] >= 0 && source.data()[i] < llr.shape(1) * llr.shape(3);
    require(fits, "order");
    float_array out({ llr.shape(0), llr.shape(2), source.shape(0) });
    const wifi_order o = { llr.shape(0),  llr.shape(1),      llr.shape(2),
                           llr.shape(3),  source.shape(0),   llr.data(),
                           source.data(), out.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.order(o);
    }
    return out;
}

/* (frames, symbols) of values (frames, symbols) */
double_array smooth_phases(const double_array& values,
                           const double_array& decay,
                           const long_array& reach,
                           const std::string& isa)
{
    require(values.ndim() == 2 && decay.ndim() == 1 && reach.ndim() == 1 &&
                decay.shape(0) == values.shape(0) && reach.shape(0) == values.shape(0),
            "smooth_phases");
    for (std::int64_t i = 0; i < reach.size(); ++i)
        require(reach.data()[i] >= 0 && reach.data()[i] < values.shape(1),
                "smooth_phases");
    double_array smoothed({ values.shape(0), values.shape(1) });
    const wifi_phases p = { values.shape(0), values.shape(1), decay.data(),
                            reach.data(),    values.data(),   smoothed.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.phases(p);
    }
    return smoothed;
}

/* (frames, rows, windows, bins) of samples (frames, rows, length) */
complex_array spectra(const complex_array& samples,
                      const double_array& cfo,
                      std::int64_t origin,
                      const long_array& starts,
                      int fft,
                      const long_array& bins,
                      const float_array& scale,
                      const std::optional<complex_array>& direct,
                      const std::string& isa)
{
    require(samples.ndim() == 3 && starts.ndim() == 2 && bins.ndim() == 1 &&
                scale.ndim() == 2 && cfo.ndim() == 1,
            "spectra");
    const std::int64_t frames = samples.shape(0), rows = samples.shape(1);
    bool fits = cfo.shape(0) == frames && starts.shape(0) == frames &&
                scale.shape(0) == frames && scale.shape(1) == rows && fft >= 2 &&
                fft <= 1 << 16 && !(fft & (fft - 1));
    if (direct)
        fits &=
            direct->ndim() == 2 && direct->shape(0) == frames && direct->shape(1) == rows;
    for (std::int64_t i = 0; i < starts.size(); ++i)
        fits &= starts.data()[i] >= 0 && starts.data()[i] <= samples.shape(2) - fft;
    for (std::int64_t i = 0; i < bins.size(); ++i)
        fits &= bins.data()[i] >= 0 && bins.data()[i] < fft;
    require(fits, "spectra");
    complex_array out({ frames, rows, starts.shape(1), bins.shape(0) });
    const wifi_spectra s = {
        frames,        rows,       samples.shape(2), starts.shape(1),
        bins.shape(0), fft,        floats(samples),  direct ? floats(*direct) : nullptr,
        cfo.data(),    origin,     starts.data(),    bins.data(),
        scale.data(),  floats(out)
    };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.spectra(s);
    }
    return out;
}

/* (channel without mean delays, those (frames,), power (frames, delays)) of channel
 * (frames, carriers, rows) */
py::tuple profiles(const complex_array& channel,
                   const long_array& k,
                   double step,
                   const complex_array& transform,
                   const std::string& isa)
{
    require(channel.ndim() == 3 && k.ndim() == 1 && transform.ndim() == 2 &&
                k.shape(0) == channel.shape(1) && transform.shape(0) == k.shape(0) &&
                channel.shape(2) >= 1 && step > 0,
            "profiles");
    const std::int64_t frames = channel.shape(0), delays = transform.shape(1);
    complex_array turned({ frames, channel.shape(1), channel.shape(2) });
    double_array mean(frames);
    float_array power({ frames, delays });
    const wifi_profiles p = { frames,
                              channel.shape(1),
                              channel.shape(2),
                              delays,
                              floats(channel),
                              k.data(),
                              step,
                              floats(transform),
                              floats(turned),
                              mean.mutable_data(),
                              power.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.profiles(p);
    }
    return py::make_tuple(turned, mean, power);
}

/* (frames, wanted, rows) of channel (frames, carriers, rows); filters: for each frame
 * (analysis (rank, carriers), synthesis (wanted, rank)), or None, which leaves zeros */
complex_array
smooth(const complex_array& channel,
       const long_array& k,
       const long_array& wanted,
       const double_array& before,
       const double_array& after,
       const std::vector<std::optional<std::pair<float_array, float_array>>>& filters,
       const std::string& isa)
{
    const std::size_t frames = filters.size();
    require(channel.ndim() == 3 && k.ndim() == 1 && wanted.ndim() == 1 &&
                before.ndim() == 1 && after.ndim() == 1 &&
                k.shape(0) == channel.shape(1) &&
                static_cast<std::size_t>(channel.shape(0)) == frames &&
                static_cast<std::size_t>(before.shape(0)) == frames &&
                static_cast<std::size_t>(after.shape(0)) == frames,
            "smooth");
    std::vector<std::int64_t> rank(frames);
    std::vector<const float*> analysis(frames), synthesis(frames);
    for (std::size_t i = 0; i < frames; ++i)
        if (filters[i]) {
            const auto& [first, second] = *filters[i];
            require(first.ndim() == 2 && second.ndim() == 2 &&
                        first.shape(0) == second.shape(1) &&
                        first.shape(1) == k.shape(0) &&
                        second.shape(0) == wanted.shape(0),
                    "smooth");
            rank[i] = first.shape(0);
            analysis[i] = first.data();
            synthesis[i] = second.data();
        }
    complex_array out({ channel.shape(0), wanted.shape(0), channel.shape(2) });
    std::fill_n(floats(out), 2 * out.size(), 0.0f);
    const wifi_smoothing s = { channel.shape(0), channel.shape(1), wanted.shape(0),
                               channel.shape(2), floats(channel),  k.data(),
                               wanted.data(),    before.data(),    after.data(),
                               rank.data(),      analysis.data(),  synthesis.data(),
                               floats(out) };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.smooth(s);
    }
    return out;
}

/* (matrices,) squared condition numbers of (matrices, rows, columns) */
float_array condition(const complex_array& h, const std::string& isa)
{
    require(h.ndim() == 3 && h.shape(1) >= 1 && h.shape(1) <= 256 && h.shape(2) >= 1 &&
                h.shape(2) <= wifi_max_columns,
            "condition");
    float_array ratio(h.shape(0));
    const wifi_channels c = { h.shape(0),
                              static_cast<int>(h.shape(1)),
                              static_cast<int>(h.shape(2)),
                              floats(h),
                              ratio.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.condition(c);
    }
    return ratio;
}

/* (frames, columns) of y (frames, carriers, vectors, rows) and h (frames, carriers, rows,
 * columns) */
float_array error_vectors(const complex_array& y,
                          const complex_array& h,
                          const float_array& noise,
                          const long_array& chosen,
                          int side,
                          float scale,
                          const std::string& isa)
{
    require(y.ndim() == 4 && h.ndim() == 4 && noise.ndim() == 1 && chosen.ndim() == 1,
            "error_vectors");
    bool fits = y.shape(0) == h.shape(0) && y.shape(1) == h.shape(1) &&
                y.shape(3) == h.shape(2) && noise.shape(0) == y.shape(0) && side >= 1 &&
                side <= 1024 && scale > 0 && h.shape(3) >= 1 && h.shape(2) <= 1 << 10 &&
                h.shape(3) <= wifi_max_columns && chosen.size() > 0;
    for (std::int64_t i = 0; i < chosen.size(); ++i)
        fits &= chosen.data()[i] >= 0 && chosen.data()[i] < y.shape(2);
    require(fits, "error_vectors");
    float_array error({ y.shape(0), h.shape(3) });
    const wifi_errors e = { y.shape(0),
                            y.shape(1),
                            y.shape(2),
                            static_cast<int>(y.shape(3)),
                            static_cast<int>(h.shape(3)),
                            side,
                            scale,
                            chosen.data(),
                            chosen.size(),
                            floats(y),
                            floats(h),
                            noise.data(),
                            error.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.errors(e);
    }
    return error;
}

} // namespace

void bind_wifi(py::module_& core)
{
    auto m = core.def_submodule("wifi", "Inner loops of gnuradio.mimopack.wifi.");
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
    m.def("repetitions",
          &repetitions,
          py::arg("samples").noconvert(),
          py::kw_only(),
          py::arg("starts").noconvert(),
          py::arg("length"),
          py::arg("first"),
          py::arg("positions"),
          py::arg("window"),
          py::arg("lag"),
          py::arg("least_direct"),
          py::arg("isa") = "auto");
    m.def("pairs",
          &pairs,
          py::arg("samples").noconvert(),
          py::kw_only(),
          py::arg("reference").noconvert(),
          py::arg("width"),
          py::arg("isa") = "auto");
    m.def("symbols",
          &symbols,
          py::arg("received").noconvert(),
          py::kw_only(),
          py::arg("slope").noconvert(),
          py::arg("phase").noconvert(),
          py::arg("k").noconvert(),
          py::arg("places").noconvert(),
          py::arg("isa") = "auto");
    m.def("order",
          &order,
          py::arg("llr").noconvert(),
          py::kw_only(),
          py::arg("source").noconvert(),
          py::arg("isa") = "auto");
    m.def("smooth_phases",
          &smooth_phases,
          py::arg("values").noconvert(),
          py::kw_only(),
          py::arg("decay").noconvert(),
          py::arg("reach").noconvert(),
          py::arg("isa") = "auto");
    m.def("spectra",
          &spectra,
          py::arg("samples").noconvert(),
          py::kw_only(),
          py::arg("cfo").noconvert(),
          py::arg("origin"),
          py::arg("starts").noconvert(),
          py::arg("fft"),
          py::arg("bins").noconvert(),
          py::arg("scale").noconvert(),
          py::arg("direct").noconvert() = py::none(),
          py::arg("isa") = "auto");
    m.def("profiles",
          &profiles,
          py::arg("channel").noconvert(),
          py::kw_only(),
          py::arg("k").noconvert(),
          py::arg("step"),
          py::arg("transform").noconvert(),
          py::arg("isa") = "auto");
    m.def("smooth",
          &smooth,
          py::arg("channel").noconvert(),
          py::kw_only(),
          py::arg("k").noconvert(),
          py::arg("wanted").noconvert(),
          py::arg("before").noconvert(),
          py::arg("after").noconvert(),
          py::arg("filters"),
          py::arg("isa") = "auto");
    m.def("condition",
          &condition,
          py::arg("h").noconvert(),
          py::kw_only(),
          py::arg("isa") = "auto");
    m.def("error_vectors",
          &error_vectors,
          py::arg("y").noconvert(),
          py::arg("h").noconvert(),
          py::kw_only(),
          py::arg("noise").noconvert(),
          py::arg("chosen").noconvert(),
          py::arg("side"),
          py::arg("scale"),
          py::arg("isa") = "auto");
}

} // namespace mimopack

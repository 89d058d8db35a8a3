/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Signal fields of frames, from samples or from combined symbols */
#include "bindings/wifi/samples.h"
#include "bindings/wifi/signals.h"
#include "bindings/wifi/smoother.h"
#include "codes/viterbi/plan.h"

namespace mimopack {

void decode_signals(const void* decoder,
                    const float* llr,
                    const std::int64_t* num_bits,
                    std::int64_t blocks,
                    std::uint8_t* bits)
{
    viterbi_batch b{};
    b.n = static_cast<std::size_t>(blocks);
    b.num_bits = num_bits;
    b.rate = 0; /* 1/2 */
    b.llr = llr;
    b.int8 = false;
    b.largest_mean = 8;
    b.bits = bits;
    b.threads = 1;
    b.stop = [](void*) { return false; };
    if (decode_viterbi(*static_cast<const viterbi_build*>(decoder), b) == out_of_memory)
        throw std::bad_alloc();
}

namespace {

/* The layout of signal fields, see wifi_signals */
struct signal_layout {
    long_array data, pilots;
    float_array pilot_signs;
    long_array order;
    double_array distance;

    bool fits() const
    {
        return has_shape(data, { wifi_signal_bits }) && within(data, wifi_legacy) &&
               has_shape(pilots, { 4 }) && within(pilots, wifi_legacy) &&
               has_shape(pilot_signs, { 3, 4 }) &&
               has_shape(order, { wifi_signal_bits }) &&
               within(order, wifi_signal_bits) && has_shape(distance, { 3 });
    }
};

/* The signal fields that were read */
struct signal_results {
    byte_array kind, first, second;

    explicit signal_results(std::int64_t frames)
        : kind(frames),
          first({ frames, std::int64_t{ wifi_signal_bits / 2 } }),
          second({ frames, std::int64_t{ wifi_signal_bits } })
    {
    }

    /* Return what the loops take, without symbols. */
    wifi_signals plan(const signal_layout& layout, const std::string& isa)
    {
        return { kind.shape(0),
                 nullptr,
                 nullptr,
                 layout.data.data(),
                 layout.pilots.data(),
                 layout.pilot_signs.data(),
                 layout.order.data(),
                 layout.distance.data(),
                 &decode_signals,
                 &find_viterbi(find_build(isa)),
                 first.mutable_data(),
                 second.mutable_data(),
                 kind.mutable_data() };
    }
};

/* Return (kind (frames,), L-SIGs (frames, 24), HT-SIGs or VHT-SIG-As (frames, 48)) of
 * symbols (frames, 3, legacy) behind a matched filter, with the strength (frames,) of
 * their channels.
 */
py::tuple read_signals(const complex_array& combined,
                       const double_array& strength,
                       const signal_layout& layout,
                       const std::string& isa)
{
    const std::int64_t frames = strength.size();
    require(has_shape(combined, { frames, 3, wifi_legacy }) && strength.ndim() == 1 &&
                layout.fits(),
            "read_signals");
    signal_results found(frames);
    wifi_signals s = found.plan(layout, isa);
    s.combined = floats(combined);
    s.strength = strength.data();
    const wifi_build& build = find_wifi(isa);
    build.read(s);
    return py::make_tuple(found.kind, found.first, found.second);
}

/* Reads signal fields from samples. A reader keeps the arrays that it is given. */
class header_reader
{
public:
    header_reader(int fft,
                  const float_array& sequence,
                  std::shared_ptr<smoother> s,
                  const signal_layout& layout)
        : d_fft(fft), d_sequence(sequence), d_layout(layout), d_smoother(std::move(s))
    {
        require(fft >= 2 && fft <= 1 << 16 && !(fft & (fft - 1)) &&
                    has_shape(sequence, { wifi_legacy }) &&
                    d_smoother->carriers() == wifi_legacy &&
                    d_smoother->wanted() == wifi_legacy && d_layout.fits(),
                "HeaderReader");
    }

    /* Return (kind (frames,), L-SIGs (frames, 24), HT-SIGs or VHT-SIG-As (frames, 48),
     * noise (frames, rows), signal (frames, rows)) of samples, a list of arrays (rows,
     * length). `starts` (frames, windows) are the first samples of the windows. */
    py::tuple read(const std::vector<row_array>& samples,
                   const long_array& starts,
                   const double_array& cfo,
                   const complex_array& direct,
                   const long_array& bins,
                   const std::optional<complex_array>& white,
                   const std::string& isa) const
    {
        const std::int64_t frames = static_cast<std::int64_t>(samples.size());
        require(direct.ndim() == 2 && direct.shape(1) >= 1 && direct.shape(1) <= 256,
                "HeaderReader.read");
        const std::int64_t rows = direct.shape(1);
        const frames_of all(samples, rows);
        bool fits = all.fits && has_shape(starts, { frames, wifi_header_windows }) &&
                    has_shape(cfo, { frames }) && has_shape(direct, { frames, rows }) &&
                    within(bins, d_fft) && bins.size() >= wifi_legacy &&
                    bins.size() <= wifi_max_parts * wifi_legacy &&
                    bins.size() % wifi_legacy == 0 &&
                    (!white || has_shape(*white, { frames, rows, rows }));
        for (const std::int64_t length : all.length)
            fits = fits && length >= d_fft;
        require(fits, "HeaderReader.read");
        const std::vector<std::int64_t> inside = move_inside(starts, all);
        signal_results found(frames);
        double_array noise({ frames, rows }), signal({ frames, rows });
        filter_lease lease = d_smoother->lease();
        const wifi_smoother own = d_smoother->plan(lease);
        const wifi_headers h{ frames,
                              rows,
                              bins.size() / wifi_legacy,
                              d_fft,
                              all.all(),
                              floats(direct),
                              cfo.data(),
                              inside.data(),
                              white ? floats(*white) : nullptr,
                              bins.data(),
                              d_sequence.data(),
                              &own,
                              found.plan(d_layout, isa),
                              noise.mutable_data(),
                              signal.mutable_data() };
        const wifi_build& build = find_wifi(isa);
        {
            py::gil_scoped_release release;
            build.headers(h);
        }
        return py::make_tuple(found.kind, found.first, found.second, noise, signal);
    }

    py::tuple read_symbols(const complex_array& combined,
                           const double_array& strength,
                           const std::string& isa) const
    {
        return read_signals(combined, strength, d_layout, isa);
    }

private:
    int d_fft;
    float_array d_sequence;
    signal_layout d_layout;
    std::shared_ptr<smoother> d_smoother;

    /* Move windows that reach beyond the samples inside. */
    std::vector<std::int64_t> move_inside(const long_array& starts,
                                          const frames_of& all) const
    {
        std::vector<std::int64_t> inside(starts.data(), starts.data() + starts.size());
        for (std::size_t i = 0; i < inside.size(); ++i)
            inside[i] = std::min(std::max(inside[i], std::int64_t{ 0 }),
                                 all.length[i / wifi_header_windows] - d_fft);
        return inside;
    }
};

} // namespace

void bind_wifi_headers(py::module_& m)
{
    m.def(
        "read_signals",
        [](const complex_array& combined,
           const double_array& strength,
           const long_array& data,
           const long_array& pilots,
           const float_array& pilot_signs,
           const long_array& order,
           const double_array& distance,
           const std::string& isa) {
            return read_signals(
                combined, strength, { data, pilots, pilot_signs, order, distance }, isa);
        },
        py::arg("combined").noconvert(),
        py::arg("strength").noconvert(),
        py::kw_only(),
        py::arg("data").noconvert(),
        py::arg("pilots").noconvert(),
        py::arg("pilot_signs").noconvert(),
        py::arg("order").noconvert(),
        py::arg("distance").noconvert(),
        py::arg("isa") = "auto");
    py::dict kinds;
    kinds["greenfield"] = +wifi_greenfield;
    kinds["l_sig"] = +wifi_l_sig;
    kinds["second_turned"] = +wifi_second_turned;
    kinds["third_turned"] = +wifi_third_turned;
    kinds["repeated"] = +wifi_repeated;
    m.attr("signal_kinds") = kinds;
    py::class_<header_reader>(m, "HeaderReader", py::module_local())
        .def(py::init([](int fft,
                         const float_array& sequence,
                         std::shared_ptr<smoother> s,
                         const long_array& data,
                         const long_array& pilots,
                         const float_array& pilot_signs,
                         const long_array& order,
                         const double_array& distance) {
                 return header_reader(fft,
                                      sequence,
                                      std::move(s),
                                      { data, pilots, pilot_signs, order, distance });
             }),
             py::kw_only(),
             py::arg("fft"),
             py::arg("sequence").noconvert(),
             py::arg("smoother"),
             py::arg("data").noconvert(),
             py::arg("pilots").noconvert(),
             py::arg("pilot_signs").noconvert(),
             py::arg("order").noconvert(),
             py::arg("distance").noconvert())
        .def("read",
             &header_reader::read,
             py::arg("samples").noconvert(),
             py::kw_only(),
             py::arg("starts").noconvert(),
             py::arg("cfo").noconvert(),
             py::arg("direct").noconvert(),
             py::arg("bins").noconvert(),
             py::arg("white").none(true).noconvert() = py::none(),
             py::arg("isa") = "auto")
        .def("read_symbols",
             &header_reader::read_symbols,
             py::arg("combined").noconvert(),
             py::arg("strength").noconvert(),
             py::arg("isa") = "auto");
}

} // namespace mimopack

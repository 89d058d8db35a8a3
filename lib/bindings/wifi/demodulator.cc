/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of one format from samples to received vectors, or down to PSDUs */
#include "bindings/tasks.h"
#include "bindings/wifi/decoding.h"
#include "bindings/wifi/frames.h"
#include "bindings/wifi/samples.h"
#include "bindings/wifi/signals.h"
#include "bindings/wifi/smoother.h"

namespace mimopack {

namespace {

/* Set each frame's mean turn from symbol to symbol. */
void mean_steps(demodulated& d)
{
    for (std::int64_t f = 0; f < d.frames; ++f) {
        const double* phase = d.phase.data() + d.before[f];
        const std::int64_t last = d.symbols[f] - 1;
        d.step.mutable_data()[f] =
            last > 0 ? (phase[last] - phase[0]) / static_cast<double>(last) : 0;
    }
}

/* Return at most eight of `count` symbols, evenly spread. Error vectors are measured on
 * these. */
std::vector<std::int64_t> measured_symbols(std::int64_t count)
{
    const std::int64_t most = std::min<std::int64_t>(count, 8);
    std::vector<std::int64_t> chosen(most);
    for (std::int64_t i = 1; i < most; ++i)
        chosen[i] = static_cast<std::int64_t>(
            static_cast<double>(i) *
            (static_cast<double>(count - 1) / static_cast<double>(most - 1)));
    if (most > 1)
        chosen.back() = count - 1;
    return chosen;
}

/* The stages from received vectors to PSDUs. No detector: frames are not decoded. */
struct decoding_chain {
    const cpu_detector* detector;
    const frame_decoder* decoder;
    const descrambler* last;
    int threads;

    std::int64_t bits() const { return detector->shape().num_llr; }

    bool fits(const wifi_format& f, std::int64_t rows, const frame_size& size) const
    {
        const plan& shape = detector->shape();
        const std::int64_t count = decoder->count(size.tail);
        return shape.num_tx == f.streams && shape.num_rx == rows &&
               f.data * size.symbols * bits() <= INT32_MAX &&
               decoder->takes(f.data * bits(), size.symbols, count) &&
               last->fits(size.payload) && decoder->decoded(count) <= size.payload.size;
    }
};

/* Demodulates frames of one format. A demodulator keeps the arrays that it is given. */
class demodulator
{
public:
    demodulator(const py::dict& d, std::shared_ptr<smoother> s) : d_smoother(std::move(s))
    {
        set_sizes(d);
        set_places(d);
        set_training(d);
        set_signal_b(d);
        set_measurement(d);
    }

    /* Throw std::invalid_argument if frames do not fit this format. */
    void check(const received_frames& from, const decoding_chain& chain) const
    {
        constexpr std::int64_t far = std::int64_t{ 1 } << 40;
        bool fits = from.frames() >= 1 && can_be_rows(from.rows) &&
                    (!chain.detector || chain.last);
        for (std::int64_t i = 0; fits && i < from.frames(); ++i)
            fits = from.length[i] >= d_format.fft && from.first[i] > -far &&
                   from.first[i] < far && from.size[i].symbols >= 0 &&
                   (!chain.detector || chain.fits(d_format, from.rows, from.size[i]));
        require(fits, "demodulate");
    }

    const wifi_format& format() const { return d_format; }

    /* Demodulate frames. The caller must not hold Python's lock. */
    void run(const received_frames& from, const wifi_build& build, demodulated& found) const
    {
        filter_lease lease = d_smoother->lease();
        const wifi_smoother own = d_smoother->plan(lease);
        wifi_format format = d_format;
        format.smoother = &own;
        scratch<std::complex<float>> direct(found.frames * from.rows);
        const wifi_demodulation d =
            found.plan(format, from, reinterpret_cast<float*>(direct.data()));
        find_direct(
            build, d.from, found.frames, from.rows, d.cfo, d_format.fft, direct.data());
        build.demodulate(d);
        mean_steps(found);
        if (d_format.signal_b >= 0)
            decode_signal_b(d, build, found.signal_b_bits.mutable_data());
        if (found.before.back())
            measure(build, found);
        found.states.find(found.channel.data(), d.noise, d_format.fft, build);
    }

    /* Return the bits of the VHT-SIG-B without its tail. */
    std::int64_t signal_b_bits() const
    {
        const std::int64_t coded = d_signal_b_order.size() / d_signal_b_copies;
        return std::max<std::int64_t>(0, coded / 2 - viterbi_tail);
    }

private:
    std::shared_ptr<smoother> d_smoother;
    std::vector<py::array> d_kept;
    wifi_format d_format;
    long_array d_signal_b_order; /* carriers of its coded bits, copy after copy */
    std::int64_t d_signal_b_copies;
    long_array d_sides; /* points on an axis of each stream's constellation */

    void set_sizes(const py::dict& d)
    {
        wifi_format& f = d_format;
        f.fft = d["fft"].cast<int>();
        f.scale = d["scale"].cast<int>();
        require(f.scale >= 1 && f.scale <= 64 && f.fft == 64 * f.scale &&
                    !(f.scale & (f.scale - 1)),
                "Demodulator");
        f.streams = d["streams"].cast<std::int64_t>();
        f.greenfield = d["greenfield"].cast<bool>();
        f.smoothing = d["smoothing"].cast<bool>();
        f.short_gi = d["short_gi"].cast<bool>();
        f.share = d["share"].cast<double>();
        f.smoother = nullptr;
        f.legacy = length(d, "legacy_bins");
        f.trained = length(d, "ltf_bins");
        f.carriers = length(d, "bins");
        f.data = length(d, "places");
        f.num_pilots = length(d, "pilot_places");
        require(f.streams >= 1 && f.streams <= wifi_max_columns && f.share > 0 &&
                    f.legacy >= 1 && f.carriers >= 1 && f.trained >= 1,
                "Demodulator");
    }

    void set_places(const py::dict& d)
    {
        wifi_format& f = d_format;
        f.legacy_bins = places(d, "legacy_bins", f.fft, f.legacy);
        f.ltf_bins = places(d, "ltf_bins", f.fft, f.trained);
        f.bins = places(d, "bins", f.fft, f.carriers);
        f.k = longs(d, "k", f.carriers);
        f.band_k = longs(d, "band_k", f.carriers);
        f.trained_place = places(d, "trained_place", f.trained, f.carriers);
        f.places = places(d, "places", f.carriers, f.data);
        f.pilot_places = places(d, "pilot_places", f.carriers, f.num_pilots);
        f.pilot_k = longs(d, "pilot_k", f.num_pilots);
        f.data_start = d["data_start"].cast<std::int64_t>();
        f.symbol = d["symbol"].cast<std::int64_t>();
        f.training_middle = d["training_middle"].cast<double>();
        f.pilot_period = d["pilots"].cast<py::array>().shape(0);
        f.pilots = kept<float>(d, "pilots", { f.pilot_period, f.num_pilots, f.streams });
        require(f.pilot_period >= 1, "Demodulator");
    }

    void set_training(const py::dict& d)
    {
        wifi_format& f = d_format;
        f.turn = complexes(d, "turn", { f.trained, f.streams });
        f.untrained = complexes(d, "untrained", { f.trained, f.streams });
        const std::int64_t windows = length(d, "ltf_starts");
        f.num_ltf = windows - (windows ? f.greenfield : 0);
        require(windows || f.legacy == f.trained, "Demodulator");
        f.ltf_starts = longs(d, "ltf_starts", windows);
        f.mapping = kept<float>(d, "mapping", { f.streams, f.num_ltf });
        f.shared = d["shared"].is_none() ? nullptr
                                         : kept<std::uint8_t>(d, "shared", { f.trained });
        f.trained_here =
            d["trained_here"].is_none()
                ? nullptr
                : places(d, "trained_here", f.trained, d_smoother->carriers());
        require(f.trained_here || d_smoother->carriers() == f.trained, "Demodulator");
        require(d_smoother->wanted() == f.trained, "Demodulator");
    }

    void set_signal_b(const py::dict& d)
    {
        wifi_format& f = d_format;
        f.signal_b = d["signal_b"].cast<std::int64_t>();
        f.signal_b_signs = kept<float>(d, "signal_b_signs", { f.streams });
        d_signal_b_copies = d["signal_b_copies"].cast<std::int64_t>();
        d_signal_b_order = d["signal_b_order"].cast<long_array>();
        require(within(d_signal_b_order, f.data) && d_signal_b_copies >= 1 &&
                    d_signal_b_order.size() % (2 * d_signal_b_copies) == 0 &&
                    (f.signal_b < 0 || signal_b_bits() > 0),
                "Demodulator");
    }

    void set_measurement(const py::dict& d)
    {
        d_sides = d["sides"].cast<long_array>();
        require(within(d_sides, 1025) && d_sides.size() == d_format.streams,
                "Demodulator");
    }

    void decode_signal_b(const wifi_demodulation& d,
                         const wifi_build& build,
                         std::uint8_t* bits) const
    {
        const std::int64_t coded = d_signal_b_order.size() / d_signal_b_copies;
        std::vector<float> llr(d.frames * coded);
        for (std::int64_t f = 0; f < d.frames; ++f)
            for (std::int64_t i = 0; i < d_signal_b_order.size(); ++i)
                llr[f * coded + i % coded] +=
                    d.signal_b[f * d.format->data + d_signal_b_order.data()[i]];
        const std::vector<std::int64_t> num_bits(d.frames, signal_b_bits());
        decode_signals(
            &find_viterbi(find_build(build.name)), llr.data(), num_bits.data(), d.frames, bits);
    }

    /* Measure the error vectors of some symbols. */
    void measure(const wifi_build& build, demodulated& d) const
    {
        const std::vector<float> noise(d.noise_var.data(), d.noise_var.data() + d.frames);
        for (std::int64_t i = 0, count = 0; i < d.frames; i += count) {
            count = d.equal(i, d.frames);
            const std::vector<std::int64_t> chosen = measured_symbols(d.symbols[i]);
            build.errors({ count,
                           d_format.data,
                           d.symbols[i],
                           static_cast<int>(d.rows),
                           static_cast<int>(d_format.streams),
                           d_sides.data(),
                           chosen.data(),
                           static_cast<std::int64_t>(chosen.size()),
                           reinterpret_cast<const float*>(d.vectors_of(i)),
                           reinterpret_cast<const float*>(d.matrices_of(i)),
                           noise.data() + i,
                           d.error.mutable_data() + i * d_format.streams });
        }
    }

    static std::int64_t length(const py::dict& d, const char* name)
    {
        const auto a = d[name].cast<py::array>();
        require(a.ndim() == 1, "Demodulator");
        return a.shape(0);
    }

    template <typename T>
    const T*
    kept(const py::dict& d, const char* name, std::initializer_list<std::int64_t> shape)
    {
        using array = py::array_t<T, py::array::c_style>;
        require(py::isinstance<array>(d[name]), "Demodulator");
        const auto a = d[name].cast<array>();
        require(has_shape(a, shape), "Demodulator");
        d_kept.push_back(a);
        return a.data();
    }

    const float* complexes(const py::dict& d,
                           const char* name,
                           std::initializer_list<std::int64_t> shape)
    {
        return reinterpret_cast<const float*>(kept<std::complex<float>>(d, name, shape));
    }

    const std::int64_t* longs(const py::dict& d, const char* name, std::int64_t size)
    {
        return kept<std::int64_t>(d, name, { size });
    }

    const std::int64_t*
    places(const py::dict& d, const char* name, std::int64_t below, std::int64_t size)
    {
        const std::int64_t* p = longs(d, name, size);
        require(std::all_of(p, p + size, [&](auto i) { return i >= 0 && i < below; }),
                "Demodulator");
        return p;
    }
};

/* Frames on their way from samples to received vectors, or down to PSDUs */
class demodulation : public task
{
public:
    /* keep: whether to keep the arrays of all frames, not only of those that are not
     * decoded completely. kept: Python objects that must live until the task has run */
    demodulation(const demodulator& d,
                 received_frames from,
                 const decoding_chain& chain,
                 bool keep,
                 const std::string& isa,
                 py::object kept)
        : d_demodulator(d),
          d_from(std::move(from)),
          d_chain(chain),
          d_keep(keep || !chain.detector),
          d_build(find_wifi(isa)),
          d_kept(std::move(kept))
    {
        d.check(d_from, d_chain);
    }

    /* Return a tuple for frame i: (payload, step of the phase, sampling offset, delay,
     * bits of the VHT-SIG-B, EVM in dB, channel_states::of_frame). The payload is None or
     * (PSDU, mpdu_list, whether it is complete, scrambled bits of the SERVICE field). */
    py::tuple report(std::size_t i)
    {
        rethrow();
        const demodulated& found = *d_found;
        const std::int64_t place = d_place.at(i);
        const std::int64_t bits = found.signal_b_bits.shape(1);
        py::object payload = py::none();
        if (const decoded* own = payload_of(place))
            payload = py::make_tuple(
                bytes_of(own->psdu.data(), own->psdu.size()),
                mpdu_list(own->mpdus),
                own->mpdus.complete,
                bytes_of(own->scrambled.data(),
                         std::min<std::size_t>(service, own->scrambled.size())));
        const std::int64_t streams = found.error.shape(1);
        py::tuple evm(found.symbols[place] ? streams : 0);
        for (std::size_t j = 0; j < evm.size(); ++j)
            evm[j] = decibels(found.error.data()[place * streams + j]);
        return py::make_tuple(payload,
                              found.step.data()[place],
                              found.offset.data()[place],
                              found.delay.data()[place],
                              bytes_of(found.signal_b_bits.data() + place * bits, bits),
                              evm,
                              found.states.of_frame(place));
    }

    /* Return a dictionary of the arrays of frame i, which were kept, and "scrambled", its
     * decoded bits or None. */
    py::dict arrays(std::size_t i)
    {
        rethrow();
        const std::int64_t place = d_place.at(i);
        if (!d_found->vectors.data())
            throw std::runtime_error("the arrays of this frame were not kept");
        py::dict out = d_found->arrays(place, owner_of(d_found));
        out["scrambled"] = py::none();
        if (const decoded* own = payload_of(place))
            out["scrambled"] = byte_array({ py::ssize_t{ 1 },
                                            static_cast<py::ssize_t>(own->scrambled.size()) },
                                          own->scrambled.data());
        return out;
    }

protected:
    void work() override
    {
        viterbi_batch b{};
        run_unlocked(b, d_chain.threads, [&](viterbi_batch& batch) {
            return run_stages(batch);
        });
    }

    /* Return (CPU seconds of demodulation, of detection, of decoding). */
    py::object result() override { return py::cast(d_seconds); }

private:
    static constexpr std::size_t service = 16; /* bits of the SERVICE field */

    const demodulator& d_demodulator;
    received_frames d_from;
    decoding_chain d_chain;
    bool d_keep;
    const wifi_build& d_build;
    py::object d_kept;
    std::vector<std::int64_t> d_place; /* in d_from, of the caller's frames */
    std::shared_ptr<demodulated> d_found;
    std::vector<decoded> d_decoded;
    stage_seconds d_seconds{};

    const decoded* payload_of(std::int64_t place) const
    {
        return d_decoded.empty() ? nullptr : &d_decoded[place];
    }

    static py::bytes bytes_of(const std::uint8_t* data, std::size_t size)
    {
        return { reinterpret_cast<const char*>(data), size };
    }

    /* Return 0 or out_of_memory. */
    std::size_t run_stages(viterbi_batch& b)
    {
        stopwatch watch;
        const std::int64_t all = d_from.frames();
        d_place.resize(all);
        for (std::int64_t i = 0; i < all; ++i)
            d_place[d_from.place[i]] = i;
        d_found = std::make_shared<demodulated>(
            d_demodulator.format(), d_from, d_demodulator.signal_b_bits());
        d_demodulator.run(d_from, d_build, *d_found);
        d_seconds[0] = watch.lap();
        return d_chain.detector ? decode(b, watch) : 0;
    }

    /* Decode the received vectors. Return 0 or out_of_memory. */
    std::size_t decode(viterbi_batch& b, stopwatch& watch)
    {
        const frame_decoder& decoder = *d_chain.decoder;
        std::vector<std::int64_t> counts;
        std::int64_t integers = 0, bits = 0;
        for (const frame_size& size : d_from.size) {
            counts.push_back(decoder.count(size.tail));
            integers += decoder.integers(counts.back());
            bits += decoder.decoded(counts.back());
        }
        /* Each frame overwrites what the one before wrote behind its last used bit. */
        scratch<std::int8_t> rounded(integers + decoder.written(d_from.size.back().symbols));
        std::int8_t* to = rounded.data();
        /* A single thread takes few frames at a time, so that LLRs stay in the cache. Four
         * frames of 48, 52 or 108 carriers fill lanes of 16. */
        const std::int64_t most = b.threads > 1 ? d_from.frames() : 4;
        for (std::int64_t i = 0, count = 0; i < d_from.frames(); i += count) {
            count = d_found->equal(i, most);
            if (detect(i, count, b, watch, counts.data() + i, to) == out_of_memory)
                return out_of_memory;
        }
        scratch<std::uint8_t> found(bits);
        if (decoder.run(rounded.data(), counts, found.data(), b) == out_of_memory)
            return out_of_memory;
        descramble(counts, found.data());
        d_seconds[2] += watch.lap();
        return 0;
    }

    /* Detect `count` frames from number i on, and append their LLRs as integers. Return 0
     * or out_of_memory. */
    std::size_t detect(std::int64_t i,
                       std::int64_t count,
                       const viterbi_batch& b,
                       stopwatch& watch,
                       const std::int64_t* counts,
                       std::int8_t*& to)
    {
        const std::int64_t data = d_demodulator.format().data;
        const std::int64_t symbols = d_found->symbols[i], bits = d_chain.bits();
        const std::int64_t vectors = data * symbols;
        scratch<float> noise(count * vectors);
        scratch<float> llr(count * vectors * bits);
        for (std::int64_t j = 0; j < count; ++j)
            std::fill_n(noise.data() + j * vectors,
                        vectors,
                        static_cast<float>(d_found->noise_var.data()[i + j]));
        batch detected{};
        detected.n = static_cast<std::size_t>(count * vectors);
        detected.y = reinterpret_cast<const float*>(d_found->vectors_of(i));
        detected.h = reinterpret_cast<const float*>(d_found->matrices_of(i));
        detected.noise_var = noise.data();
        detected.llr = llr.data();
        detected.per_channel = static_cast<std::size_t>(symbols);
        detected.noise_per_vector = true;
        detected.int8_scale = 1;
        detected.threads = b.threads;
        detected.stop = b.stop;
        detected.stop_context = b.stop_context;
        if (d_chain.detector->run(detected) == out_of_memory)
            return out_of_memory;
        d_seconds[1] += watch.lap();
        for (std::int64_t j = 0; j < count; ++j) {
            d_chain.decoder->round(
                { llr.data() + j * vectors * bits, data, symbols, bits }, counts[j], to);
            to += d_chain.decoder->integers(counts[j]);
        }
        d_seconds[2] += watch.lap();
        return 0;
    }

    /* Turn the decoder's bits into PSDUs, and free what complete frames do not need. */
    void descramble(const std::vector<std::int64_t>& counts, const std::uint8_t* bits)
    {
        d_decoded.resize(counts.size());
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const payload_layout& layout = d_from.size[i].payload;
            decoded& to = d_decoded[i];
            to.scrambled.resize(layout.size);
            to.psdu.resize(layout.length);
            const std::int64_t given = d_chain.decoder->decoded(counts[i]);
            to.mpdus = d_chain.last->run(
                bits, given, layout, to.scrambled.data(), to.psdu.data());
            bits += given;
        }
        if (!d_keep &&
            std::all_of(d_decoded.begin(), d_decoded.end(), [](const decoded& one) {
                return one.mpdus.complete;
            }))
            d_found->forget();
    }
};

/* A frame's numbers as Python gives them: symbols, scrambled bits, first bit of the tail,
 * bytes of the PSDU, whether it is an A-MPDU */
using python_size =
    std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>;

/* Sort frames by their number of symbols. Throw std::invalid_argument if the arguments do
 * not fit each other. */
received_frames sorted_frames(std::vector<row_array> samples,
                              std::int64_t rows,
                              const std::vector<std::int64_t>& first,
                              const std::vector<double>& cfo,
                              const std::vector<python_size>& sizes,
                              const std::optional<complex_array>& white,
                              std::int64_t encoders)
{
    const std::size_t n = samples.size();
    const auto frames = static_cast<std::int64_t>(n);
    require(first.size() == n && cfo.size() == n && sizes.size() == n &&
                (!white || has_shape(*white, { frames, rows, rows })),
            "demodulate");
    const frames_of all(samples, rows);
    require(all.fits, "demodulate");
    received_frames out;
    out.rows = rows;
    out.place.resize(n);
    std::iota(out.place.begin(), out.place.end(), std::size_t{ 0 });
    std::stable_sort(out.place.begin(), out.place.end(), [&](auto a, auto b) {
        return std::get<0>(sizes[a]) < std::get<0>(sizes[b]);
    });
    for (const std::size_t i : out.place) {
        const auto [symbols, scrambled, tail, length, aggregated] = sizes[i];
        out.data.push_back(all.data[i]);
        out.length.push_back(all.length[i]);
        out.stride.push_back(all.stride[i]);
        out.first.push_back(first[i]);
        out.cfo.push_back(cfo[i]);
        out.size.push_back({ symbols,
                             tail,
                             { scrambled,
                               std::min(scrambled, tail + viterbi_tail * encoders),
                               length,
                               aggregated } });
        if (white)
            out.white.insert(out.white.end(),
                             white->data() + i * rows * rows,
                             white->data() + (i + 1) * rows * rows);
    }
    out.samples = std::move(samples);
    return out;
}

} // namespace

void bind_wifi_demodulator(py::module_& m)
{
    py::class_<demodulation, task, std::shared_ptr<demodulation>>(
        m, "Demodulation", py::module_local())
        .def("report", &demodulation::report, py::arg("frame"))
        .def("arrays", &demodulation::arrays, py::arg("frame"));
    py::class_<demodulator>(m, "Demodulator", py::module_local())
        .def(py::init<const py::dict&, std::shared_ptr<smoother>>(),
             py::arg("format"),
             py::arg("smoother"))
        .def(
            "begin",
            [](const py::object& self,
               std::vector<row_array> samples,
               std::int64_t rows,
               const std::vector<std::int64_t>& first,
               const std::vector<double>& cfo,
               const std::vector<python_size>& sizes,
               const std::optional<complex_array>& white,
               const py::object& detector,
               const py::object& decoder,
               const py::object& last,
               int threads,
               bool keep,
               const std::string& isa) {
                const decoding_chain chain{ detector.cast<const cpu_detector*>(),
                                            decoder.cast<const frame_decoder*>(),
                                            last.cast<const descrambler*>(),
                                            threads };
                return make_task<demodulation>(
                    self.cast<const demodulator&>(),
                    sorted_frames(std::move(samples),
                                  rows,
                                  first,
                                  cfo,
                                  sizes,
                                  white,
                                  chain.decoder ? chain.decoder->encoders() : 0),
                    chain,
                    keep,
                    isa,
                    py::make_tuple(self, detector, decoder, last));
            },
            py::arg("samples").noconvert(),
            py::kw_only(),
            py::arg("rows"),
            py::arg("first"),
            py::arg("cfo"),
            py::arg("sizes"),
            py::arg("white").none(true).noconvert() = py::none(),
            py::arg("detector").none(true) = py::none(),
            py::arg("decoder").none(true) = py::none(),
            py::arg("descrambler").none(true) = py::none(),
            py::arg("threads") = 1,
            py::arg("keep") = false,
            py::arg("isa") = "auto");
}

} // namespace mimopack

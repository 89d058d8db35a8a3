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

/* Set each frame's mean turn from symbol to symbol, of phases (frames, symbols). */
void mean_steps(const double* phase,
                std::int64_t frames,
                std::int64_t symbols,
                double* step)
{
    for (std::int64_t f = 0; f < frames; ++f, phase += symbols)
        step[f] = symbols > 1
                      ? (phase[symbols - 1] - phase[0]) / static_cast<double>(symbols - 1)
                      : 0;
}

/* The stages from received vectors to PSDUs. No detector: frames are not decoded. */
struct decoding_chain {
    const cpu_detector* detector;
    const frame_decoder* decoder;
    const descrambler* last;
    int threads;

    bool fits(const wifi_format& f, std::int64_t rows) const
    {
        const plan& shape = detector->shape();
        const std::int64_t bits = std::int64_t(shape.num_llr);
        return decoder && last && f.symbols && shape.num_tx == f.streams &&
               shape.num_rx == rows && f.data * f.symbols * bits <= INT32_MAX &&
               decoder->takes(f.data * bits, f.symbols) &&
               decoder->decoded() <= last->size();
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
    void check(const received_frames& from,
               const frames_of& all,
               const decoding_chain& chain) const
    {
        require(can_be_rows(from.rows) && from.fit(all, d_format.fft) &&
                    (!chain.detector || chain.fits(d_format, from.rows)),
                "demodulate");
    }

    const wifi_format& format() const { return d_format; }

    /* Demodulate frames and, with a payload, decode them. Return the time that it took.
     * The caller must not hold Python's lock. */
    stage_seconds run(const received_frames& from,
                      const frames_of& all,
                      const decoding_chain& chain,
                      const std::string& isa,
                      demodulated& found,
                      std::optional<decoded>& payload) const
    {
        stopwatch watch;
        stage_seconds seconds{};
        filter_lease lease = d_smoother->lease();
        const wifi_smoother own = d_smoother->plan(lease);
        wifi_format format = d_format;
        format.smoother = &own;
        const std::int64_t frames = from.frames();
        scratch<std::complex<float>> direct(from.direct ? 0 : frames * from.rows);
        const wifi_demodulation d = found.plan(
            format,
            from,
            all,
            from.direct ? floats(*from.direct) : reinterpret_cast<float*>(direct.data()));
        const wifi_build& build = find_wifi(isa);
        if (!from.direct)
            find_direct(
                build, all, frames, from.rows, d.cfo, d_format.fft, direct.data());
        build.demodulate(d);
        mean_steps(d.phase, frames, d_format.symbols, found.step.mutable_data());
        if (d_format.signal_b >= 0)
            decode_signal_b(d, isa, found.signal_b_bits.mutable_data());
        if (payload)
            measure(build, d, payload->error.mutable_data());
        found.states->find(found.channel.data(), d.noise, d_format.fft, build);
        seconds[0] = watch.lap();
        viterbi_batch b{};
        if (payload)
            run_unlocked(b, chain.threads, [&](viterbi_batch& batch) {
                return decode(d, chain, batch, watch, *payload, seconds);
            });
        return seconds;
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
    long_array d_measured;       /* symbols whose error vectors count */
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
        f.symbols = length(d, "starts");
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
        f.starts = longs(d, "starts", f.symbols);
        f.distance = kept<double>(d, "distance", { f.symbols });
        f.pilots = kept<float>(d, "pilots", { f.symbols, f.num_pilots, f.streams });
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
        d_measured = d["measured"].cast<long_array>();
        d_sides = d["sides"].cast<long_array>();
        require(within(d_measured, d_format.symbols) && within(d_sides, 1025) &&
                    d_sides.size() == d_format.streams,
                "Demodulator");
    }

    void decode_signal_b(const wifi_demodulation& d,
                         const std::string& isa,
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
            &find_viterbi(find_build(isa)), llr.data(), num_bits.data(), d.frames, bits);
    }

    /* Measure the error vectors of some symbols. */
    void measure(const wifi_build& build, const wifi_demodulation& d, float* error) const
    {
        const wifi_format& f = *d.format;
        const std::vector<float> noise(d.noise_var, d.noise_var + d.frames);
        build.errors({ d.frames,
                       f.data,
                       f.symbols,
                       static_cast<int>(d.rows),
                       static_cast<int>(f.streams),
                       d_sides.data(),
                       d_measured.data(),
                       d_measured.size(),
                       d.vectors,
                       d.whitened,
                       noise.data(),
                       error });
    }

    /* Decode received vectors to PSDUs. Return 0 or out_of_memory. */
    static std::size_t decode(const wifi_demodulation& d,
                              const decoding_chain& chain,
                              viterbi_batch& b,
                              stopwatch& watch,
                              decoded& to,
                              stage_seconds& seconds)
    {
        const wifi_format& f = *d.format;
        const frame_decoder& decoder = *chain.decoder;
        const std::int64_t vectors = f.data * f.symbols;
        const std::int64_t bits = chain.detector->shape().num_llr;
        /* A single thread takes few frames at a time, so that LLRs stay in the cache.
         * Four frames of 48, 52 or 108 carriers fill lanes of 16. Several threads share
         * all frames. */
        const std::int64_t most =
            b.threads > 1 ? d.frames : std::min<std::int64_t>(4, d.frames);
        scratch<float> noise(most * vectors);
        scratch<float> llr(most * vectors * bits);
        scratch<std::int8_t> integers(decoder.size(d.frames, f.symbols));
        scratch<std::uint8_t> bits_of_frames(d.frames * decoder.decoded());
        batch detected = detector_batch(f, b);
        detected.noise_var = noise.data();
        detected.llr = llr.data();
        for (std::int64_t i = 0; i < d.frames; i += most) {
            const std::int64_t together = std::min(most, d.frames - i);
            detected.n = static_cast<std::size_t>(together * vectors);
            for (std::int64_t j = 0; j < together; ++j)
                std::fill_n(noise.data() + j * vectors,
                            vectors,
                            static_cast<float>(d.noise_var[i + j]));
            detected.y = d.vectors + 2 * i * vectors * d.rows;
            detected.h = d.whitened + 2 * i * f.data * d.rows * f.streams;
            if (chain.detector->run(detected) == out_of_memory)
                return out_of_memory;
            seconds[1] += watch.lap();
            for (std::int64_t j = 0; j < together; ++j)
                decoder.round(
                    { llr.data() + j * vectors * bits, f.data, f.symbols, bits },
                    i + j,
                    integers.data());
            seconds[2] += watch.lap();
        }
        if (decoder.run(integers.data(), d.frames, bits_of_frames.data(), b) ==
            out_of_memory)
            return out_of_memory;
        to.mpdus = chain.last->run(bits_of_frames.data(),
                                   d.frames,
                                   decoder.decoded(),
                                   to.scrambled.mutable_data(),
                                   to.psdus.data());
        seconds[2] += watch.lap();
        return 0;
    }

    static batch detector_batch(const wifi_format& f, const viterbi_batch& b)
    {
        batch detected{};
        detected.per_channel = static_cast<std::size_t>(f.symbols);
        detected.noise_per_vector = true;
        detected.int8_scale = 1;
        detected.threads = b.threads;
        detected.team = b.team;
        detected.stop = b.stop;
        detected.stop_context = b.stop_context;
        return detected;
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

/* The demodulation of frames */
class demodulation : public task
{
public:
    /* kept: Python objects that must live until the task has run */
    demodulation(const demodulator& d,
                 received_frames from,
                 const decoding_chain& chain,
                 std::string isa,
                 py::object kept)
        : d_demodulator(d),
          d_from(std::move(from)),
          d_all(d_from.samples, d_from.rows),
          d_chain(chain),
          d_isa(std::move(isa)),
          d_kept(std::move(kept))
    {
        d.check(d_from, d_all, d_chain);
    }

    /* Return a dictionary of what reports of decoded frames need, or throw the task's
     * exception. */
    py::dict report()
    {
        rethrow();
        return dictionary(&demodulated::report_into);
    }

protected:
    void work() override
    {
        auto found = std::make_shared<results>(d_demodulator, d_from, d_chain);
        d_seconds = d_demodulator.run(
            d_from, d_all, d_chain, d_isa, found->symbols, found->payload);
        d_found = std::move(found);
    }

    /* Return a dictionary of demodulated and, with a detector, decoded frames. */
    py::object result() override
    {
        return dictionary(&demodulated::put_into);
    }

private:
    struct results {
        demodulated symbols;
        std::optional<decoded> payload;

        results(const demodulator& d,
                const received_frames& from,
                const decoding_chain& chain)
            : symbols(d.format(), from.frames(), from.rows, d.signal_b_bits())
        {
            if (chain.detector)
                payload.emplace(*chain.last, from.frames(), d.format().streams);
        }
    };

    const demodulator& d_demodulator;
    received_frames d_from;
    frames_of d_all;
    decoding_chain d_chain;
    std::string d_isa;
    py::object d_kept;
    std::shared_ptr<results> d_found;
    stage_seconds d_seconds{};

    py::dict dictionary(void (demodulated::*put)(py::dict&, const py::object&) const) const
    {
        py::dict out;
        const py::capsule owner = owner_of(d_found);
        if (d_found->payload)
            d_found->payload->put_into(out, owner);
        (d_found->symbols.*put)(out, owner);
        out["seconds"] = d_seconds;
        return out;
    }
};

} // namespace

void bind_wifi_demodulator(py::module_& m)
{
    py::class_<demodulation, task, std::shared_ptr<demodulation>>(
        m, "Demodulation", py::module_local())
        .def("report",
             &demodulation::report,
             "Return a dictionary of what reports of decoded frames need.");
    py::class_<demodulator>(m, "Demodulator", py::module_local())
        .def(py::init(
                 constructor<demodulator, const py::dict&, std::shared_ptr<smoother>>()),
             py::arg("format"),
             py::arg("smoother"))
        .def(
            "begin",
            [](const py::object& self,
               std::vector<row_array> samples,
               std::int64_t rows,
               long_array first,
               double_array cfo,
               std::optional<complex_array> direct,
               std::optional<complex_array> white,
               const py::object& detector,
               const py::object& decoder,
               const py::object& last,
               int threads,
               std::string isa) {
                return new_object(make_task<demodulation>(
                    self.cast<const demodulator&>(),
                    received_frames{ std::move(samples),
                                     rows,
                                     std::move(first),
                                     std::move(cfo),
                                     std::move(direct),
                                     std::move(white) },
                    decoding_chain{ detector.cast<const cpu_detector*>(),
                                    decoder.cast<const frame_decoder*>(),
                                    last.cast<const descrambler*>(),
                                    threads },
                    std::move(isa),
                    py::make_tuple(self, detector, decoder, last)));
            },
            py::arg("samples").noconvert(),
            py::kw_only(),
            py::arg("rows"),
            py::arg("first").noconvert(),
            py::arg("cfo").noconvert(),
            py::arg("direct").none(true).noconvert() = py::none(),
            py::arg("white").none(true).noconvert() = py::none(),
            py::arg("detector").none(true) = py::none(),
            py::arg("decoder").none(true) = py::none(),
            py::arg("descrambler").none(true) = py::none(),
            py::arg("threads") = 1,
            py::arg("isa") = "auto");
}

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of one format from samples to received vectors, or down to PSDUs */
#include "bindings/tasks.h"
#include "bindings/wifi/decoding.h"
#include "bindings/wifi/smoother.h"
#include <mutex>
#include <numeric>

namespace mimopack {

namespace {

/* The format of frames and the smoothing of their channels. The arrays that Python gives
 * stay as they are. */
class demodulator
{
public:
    demodulator(const py::dict& d,
                std::shared_ptr<smoother> s,
                std::shared_ptr<smoother> refined)
        : d_dict(d), d_smoother(std::move(s)), d_refined(std::move(refined))
    {
        wifi_format& f = d_format;
        f.fft = d["fft"].cast<int>();
        f.scale = d["scale"].cast<int>();
        f.legacy_fft = d["legacy_fft"].cast<int>();
        f.ltf_fft = d["ltf_fft"].cast<int>();
        d_midamble = d["midamble"].cast<std::int64_t>();
        d_period = d["midamble_period"].cast<std::int64_t>();
        f.streams = d["streams"].cast<std::int64_t>();
        f.greenfield = d["greenfield"].cast<bool>();
        f.smoothing = d["smoothing"].cast<bool>();
        f.short_gi = d["short_gi"].cast<bool>();
        f.share = d["share"].cast<double>();
        f.data_start = d["data_start"].cast<std::int64_t>();
        f.symbol = d["symbol"].cast<std::int64_t>();
        f.training_middle = d["training_middle"].cast<double>();
        f.legacy_bins = array<std::int64_t>("legacy_bins", &f.legacy);
        f.ltf_bins = array<std::int64_t>("ltf_bins", &f.sounded);
        f.sounded_place = array<std::int64_t>("sounded_place");
        f.bins = array<std::int64_t>("bins", &f.carriers);
        f.k = array<std::int64_t>("k");
        f.band_k = array<std::int64_t>("band_k");
        f.trained_place = array<std::int64_t>("trained_place");
        f.places = array<std::int64_t>("places", &f.data);
        f.pilot_places = array<std::int64_t>("pilot_places", &f.num_pilots);
        f.pilot_k = array<std::int64_t>("pilot_k");
        f.pilots = array<float>("pilots", &f.pilot_period);
        f.turn = array<std::complex<float>, float>("turn", &f.trained);
        f.untrained = array<std::complex<float>, float>("untrained");
        f.ltf_starts = array<std::int64_t>("ltf_starts", &f.num_ltf);
        f.num_ltf -= f.greenfield;
        f.mapping = array<std::complex<float>, float>("mapping");
        f.shared_mapping = array<float>("shared_mapping");
        f.shared = array<std::uint8_t>("shared");
        f.smoother = d_smoother->plan();
        f.trained_here = array<std::int64_t>("trained_here");
        f.refined_smoother = d_refined->plan();
        f.refined_here = array<std::int64_t>("refined_here");
        f.signal_b = d["signal_b"].cast<std::int64_t>();
        f.signal_b_signs = array<float>("signal_b_signs");
        f.signal_b_order = array<std::int64_t>("signal_b_order", &f.signal_b_coded);
        f.signal_b_copies = d["signal_b_copies"].cast<std::int64_t>();
        f.signal_b_coded /= f.signal_b_copies;
        f.sides = array<std::int64_t>("sides");
    }

    const wifi_format& format() const { return d_format; }

    /* Symbols from one midamble to the next, 0 without midambles; and samples at 20 MS/s
     */
    std::int64_t midamble() const { return d_midamble; }
    std::int64_t midamble_period() const { return d_period; }

    /* Demodulate frames of equal length again, see wifi_build: received (frames, rows,
     * symbols, carriers), least_squares and channel (frames, trained, rows, streams),
     * noise (frames, rows), points (frames, streams, symbols, carriers). Return a
     * dictionary of the new arrays. */
    py::dict refine(const complex_array& received,
                    const complex_array& least_squares,
                    const complex_array& channel,
                    const double_array& noise,
                    const complex_array& points,
                    const std::string& isa) const
    {
        const wifi_format& f = d_format;
        const py::ssize_t n = received.shape(0), rows = received.shape(1),
                          symbols = received.shape(2);
        complex_array y({ n, f.data, symbols, rows }), h({ n, f.data, rows, f.streams }),
            estimate({ n, f.trained, rows, f.streams }),
            turned({ n, rows, symbols, f.carriers });
        double_array noise_var(n), offset(n), step(n), phase({ n, symbols });
        const auto row = [](auto& a, py::ssize_t i) {
            return reinterpret_cast<float*>(a.mutable_data(i));
        };
        const auto given = [](auto& a, py::ssize_t i) {
            return const_cast<float*>(reinterpret_cast<const float*>(a.data(i)));
        };
        const wifi_build& build = find_wifi(isa);
        std::optional<py::gil_scoped_release> release(std::in_place);
        for (py::ssize_t i = 0; i < n; ++i) {
            wifi_frame before{}, after{};
            before.symbols = symbols;
            before.received = given(received, i);
            before.least_squares = given(least_squares, i);
            before.channel = given(channel, i);
            std::copy_n(noise.data(i), rows, before.noise);
            after.vectors = row(y, i);
            after.whitened = row(h, i);
            after.channel = row(estimate, i);
            after.received = row(turned, i);
            after.phase = phase.mutable_data(i);
            build.refine(f, rows, before, given(points, i), after);
            noise_var.mutable_at(i) = after.noise_var;
            offset.mutable_at(i) = after.offset;
            step.mutable_at(i) = after.step;
        }
        release.reset();
        py::dict out;
        out["y"] = y;
        out["h"] = h;
        out["channel"] = estimate;
        out["received"] = turned;
        out["noise_var"] = noise_var;
        out["sampling_offset"] = offset;
        out["phase"] = phase;
        out["phase_step"] = step;
        return out;
    }

private:
    py::dict d_dict;
    std::shared_ptr<smoother> d_smoother, d_refined;
    wifi_format d_format;
    std::int64_t d_midamble, d_period;
    std::vector<py::array> d_kept;

    /* Return the values of an array in C's order, or null for None. size: set to the
     * length of its first axis */
    template <typename T, typename To = T>
    const To* array(const char* name, std::int64_t* size = nullptr)
    {
        if (d_dict[name].is_none())
            return nullptr;
        const auto a = d_dict[name].cast<py::array_t<T, py::array::c_style>>();
        d_kept.push_back(a);
        if (size)
            *size = a.shape(0);
        return reinterpret_cast<const To*>(a.data());
    }
};

/* The stages from received vectors to PSDUs. No detector: frames are not decoded. Frames
 * have one of the decoders. */
struct decoding_chain {
    const cpu_detector* detector;
    const arrangement* arranged;
    const frame_decoder* decoder;
    const ldpc_frame_decoder* ldpc;
    int threads;
};

/* What Python tells about a frame: symbols, scrambled bits, first bit of the
 * convolutional code's tail, bytes of the PSDU, whether it is an A-MPDU, coded bits of
 * its last symbols, the values of frame_codewords or none, and bits of the scrambler's
 * state, see sizes in wifi/formats/base.py */
using python_size = std::tuple<std::int64_t,
                               std::int64_t,
                               std::int64_t,
                               std::int64_t,
                               bool,
                               std::int64_t,
                               std::vector<std::int64_t>,
                               int>;

/* A frame on its way, and its place in the order of the caller. With midambles, the frame
 * itself ends at the first one, and `parts` are what follows each of them. */
struct frame : wifi_frame {
    std::size_t place;
    std::int64_t all_symbols;
    std::vector<wifi_frame> parts;
    std::int64_t count; /* bits of each encoder without its tail */
    std::int64_t last;  /* coded bits of each of the last symbols */
    payload_sizes sizes;
    frame_codewords codewords;
};

/* Memory for the arrays of frames, which goes from task to task: new pages would cost
 * more time than some of the loops that fill them. */
using block = std::vector<float>;

std::shared_ptr<block> take_block(std::size_t size)
{
    struct pool_of_blocks {
        std::mutex mutex;
        std::vector<std::unique_ptr<block>> blocks;
    };
    static pool_of_blocks& pool = *new pool_of_blocks; /* outlives all blocks */
    constexpr std::size_t most = 8, largest = std::size_t{ 1 } << 22;
    std::unique_ptr<block> taken;
    {
        const std::lock_guard guard(pool.mutex);
        if (!pool.blocks.empty()) {
            taken = std::move(pool.blocks.back());
            pool.blocks.pop_back();
        }
    }
    if (!taken)
        taken = std::make_unique<block>();
    if (taken->size() < size) {
        taken->clear(); /* the old values need no copy */
        taken->resize(size);
    }
    return { taken.release(), [](block* used) {
                std::unique_ptr<block> free(used);
                const std::lock_guard guard(pool.mutex);
                if (pool.blocks.size() < most && free->size() <= largest)
                    pool.blocks.push_back(std::move(free));
            } };
}

/* Frames on their way from samples to received vectors, or down to PSDUs */
class demodulation : public task
{
public:
    /* keep: whether to keep the arrays of all frames, not only of those that are not
     * decoded completely. kept: Python objects that must live until the task has run */
    demodulation(const demodulator& d,
                 std::vector<row_array> samples,
                 std::int64_t rows,
                 const std::vector<std::int64_t>& first,
                 const std::vector<double>& cfo,
                 const std::vector<python_size>& sizes,
                 std::optional<complex_array> white,
                 const decoding_chain& chain,
                 bool keep,
                 const std::string& isa,
                 py::object kept)
        : d_format(d.format()),
          d_rows(rows),
          d_samples(std::move(samples)),
          d_white(std::move(white)),
          d_chain(chain),
          d_keep(keep || !chain.detector),
          d_build(find_wifi(isa)),
          d_kept(std::move(kept)),
          d_frames(d_samples.size()),
          d_index(d_samples.size()),
          d_payloads(chain.detector ? d_samples.size() : 0)
    {
        const std::int64_t encoders = chain.decoder ? chain.decoder->encoders() : 1;
        for (std::size_t i = 0; i < d_frames.size(); ++i) {
            const auto& [symbols,
                         scrambled,
                         tail,
                         length,
                         aggregated,
                         last,
                         words,
                         scrambler] = sizes[i];
            const std::int64_t coded = tail + viterbi_tail * encoders;
            frame& f = d_frames[i];
            f.place = i;
            f.from = samples_of(d_samples[i]);
            f.first = first[i];
            f.cfo = cfo[i];
            f.white = d_white ? floats(*d_white) + 2 * i * rows * rows : nullptr;
            f.symbols = f.all_symbols = symbols;
            f.count = coded / encoders - viterbi_tail;
            f.last = last;
            f.sizes = { scrambled,
                        words.empty() ? std::min(scrambled, coded) : scrambled,
                        length,
                        aggregated,
                        scrambler };
            if (!words.empty())
                f.codewords = { words[0], words[1], words[2], words[3], words[4] };
            divide(f, d.midamble(), d.midamble_period());
        }
        std::stable_sort(d_frames.begin(), d_frames.end(), [](auto& a, auto& b) {
            return a.all_symbols < b.all_symbols;
        });
        for (std::size_t i = 0; i < d_frames.size(); ++i)
            d_index[d_frames[i].place] = i;
    }

    /* Return a tuple for frame i: (payload::as_tuple or None, step of the phase, sampling
     * offset, delay, bits of the VHT-SIG-B, EVM in dB, (channel (carriers, rows,
     * streams), noise (rows,), condition number in dB)). Channel and noise are those of a
     * scaled FFT. */
    py::tuple report(std::size_t i)
    {
        rethrow();
        const frame& f = d_frames[d_index.at(i)];
        const py::object decoded =
            d_chain.detector ? py::object(d_payloads[d_index[i]].as_tuple()) : py::none();
        const std::int64_t streams =
            d_chain.arranged ? d_chain.arranged->streams : d_format.streams;
        py::tuple evm(f.symbols ? streams : 0);
        for (std::size_t j = 0; j < evm.size(); ++j) {
            double error = f.error[j] * static_cast<double>(f.symbols);
            for (const wifi_frame& part : f.parts)
                error += part.error[j] * static_cast<double>(part.symbols);
            evm[j] = decibels(
                error / static_cast<double>(std::max<std::int64_t>(f.all_symbols, 1)));
        }
        const float unit = 1 / static_cast<float>(d_format.fft);
        complex_array channel({ d_format.trained, d_rows, d_format.streams });
        double_array noise(d_rows);
        std::transform(f.channel,
                       f.channel + 2 * channel.size(),
                       floats(channel),
                       [=](float x) { return x * unit; });
        for (std::int64_t r = 0; r < d_rows; ++r)
            noise.mutable_data()[r] = f.noise[r] * unit * unit;
        return py::make_tuple(decoded,
                              f.step,
                              f.offset,
                              f.delay,
                              py::bytes(reinterpret_cast<const char*>(f.signal_b_bits),
                                        d_format.signal_b_bits()),
                              evm,
                              py::make_tuple(channel, noise, f.condition));
    }

    /* Return a dictionary of the arrays of frame i, as the only frame, and "scrambled",
     * its decoded bits or None. Frames that were decoded completely have none. Part 0 of
     * a frame with midambles ends at the first one. */
    py::dict arrays(std::size_t i, std::size_t part)
    {
        rethrow();
        const frame& whole = d_frames[d_index.at(i)];
        const wifi_frame& f = part ? whole.parts.at(part - 1) : whole;
        if (!d_arrays)
            throw std::runtime_error("the arrays of this frame were not kept");
        using shape = std::vector<py::ssize_t>;
        const py::capsule owner(new std::shared_ptr<block>(d_arrays), [](void* held) {
            delete static_cast<std::shared_ptr<block>*>(held);
        });
        const auto complexes = [&](const float* data, const shape& s) {
            return py::array_t<std::complex<float>>(
                s, reinterpret_cast<const std::complex<float>*>(data), owner);
        };
        const shape one{ 1 }, size{ 1, d_format.trained, d_rows, d_format.streams };
        const std::int64_t data = d_format.data, symbols = f.symbols;
        py::dict out;
        out["y"] = complexes(f.vectors, { 1, data, symbols, d_rows });
        out["h"] =
            complexes(f.whitened, { 1, symbols ? data : 0, d_rows, d_format.streams });
        out["noise_var"] = double_array(one, &f.noise_var);
        out["channel"] = complexes(f.channel, size);
        out["noise"] = double_array({ py::ssize_t{ 1 }, d_rows }, f.noise);
        out["sampling_offset"] = double_array(one, &f.offset);
        out["phase"] = double_array({ py::ssize_t{ 1 }, symbols }, f.phase);
        out["phase_step"] = double_array(one, &f.step);
        out["delay"] = long_array(one, &f.delay);
        out["sig_b"] = float_array({ py::ssize_t{ 1 }, d_format.signal_b < 0 ? 0 : data },
                                   f.signal_b);
        out["sig_b_bits"] =
            byte_array({ py::ssize_t{ 1 }, d_format.signal_b_bits() }, f.signal_b_bits);
        out["received"] =
            complexes(f.received, { 1, d_rows, symbols, d_format.carriers });
        out["least_squares"] = complexes(f.least_squares, size);
        out["scrambled"] =
            d_chain.detector ? py::object(d_payloads[d_index[i]].bits()) : py::none();
        return out;
    }

protected:
    void work() override
    {
        viterbi_batch b{};
        run_unlocked(b, d_chain.threads, [&](viterbi_batch& batch) {
            stopwatch watch;
            demodulate();
            d_seconds[0] = watch.lap();
            return d_chain.detector ? decode(batch, watch) : 0;
        });
    }

    /* Return (CPU seconds of demodulation, of detection, of decoding). */
    py::object result() override { return py::cast(d_seconds); }

private:
    const wifi_format& d_format;
    std::int64_t d_rows;
    std::vector<row_array> d_samples;
    std::optional<complex_array> d_white;
    decoding_chain d_chain;
    bool d_keep;
    const wifi_build& d_build;
    py::object d_kept;
    std::vector<frame> d_frames;      /* in the order of their numbers of symbols */
    std::vector<std::size_t> d_index; /* of the caller's frames in d_frames */
    std::vector<payload> d_payloads;  /* of d_frames */
    std::shared_ptr<block> d_arrays;  /* for further passes */
    std::vector<float> d_channels;    /* for reports */
    std::vector<double> d_phases;
    std::vector<std::uint8_t> d_bits;  /* VHT-SIG-B */
    std::array<double, 3> d_seconds{}; /* of the stages */

    /* Divide a frame at its midambles. One symbol alone needs none before it. */
    static void divide(frame& f, std::int64_t midamble, std::int64_t period)
    {
        if (!midamble || f.symbols < 2)
            return;
        const std::int64_t parts = (f.symbols - 1 + midamble - 1) / midamble;
        for (std::int64_t i = 1; i < parts; ++i) {
            wifi_frame part = f;
            part.later = i * period;
            part.first_symbol = i * midamble;
            part.symbols = i + 1 < parts ? midamble : f.all_symbols - i * midamble;
            f.parts.push_back(part);
        }
        if (parts > 1)
            f.symbols = midamble;
    }

    /* Call f for each frame and its parts. */
    template <typename Function>
    void each_part(Function f)
    {
        for (frame& one : d_frames) {
            f(one);
            for (wifi_frame& part : one.parts)
                f(part);
        }
    }

    /* Give each frame memory for its results, and demodulate all. */
    void demodulate()
    {
        const wifi_format& f = d_format;
        const std::int64_t channel = 2 * f.trained * d_rows * f.streams;
        std::int64_t symbols = 0, count = 0;
        each_part([&](const wifi_frame& one) {
            symbols += one.symbols;
            ++count;
        });
        const std::int64_t of_symbol = 2 * d_rows * (f.data + f.carriers);
        const std::int64_t of_frame = 2 * f.data * d_rows * f.streams + channel + f.data;
        d_arrays = take_block(symbols * of_symbol + count * of_frame);
        d_channels.resize(count * channel);
        d_phases.resize(symbols);
        d_bits.resize(count * f.signal_b_bits());
        float *to = d_arrays->data(), *channels = d_channels.data();
        double* phase = d_phases.data();
        const auto taken = [&to](std::int64_t size) { return (to += size) - size; };
        /* Detectors take vectors and matrices of successive frames together. */
        each_part([&](wifi_frame& one) {
            one.vectors = taken(2 * f.data * one.symbols * d_rows);
        });
        each_part([&](wifi_frame& one) {
            one.whitened = taken(2 * f.data * d_rows * f.streams);
        });
        std::vector<wifi_frame*> frames;
        std::uint8_t* bits = d_bits.data();
        each_part([&](wifi_frame& one) {
            one.received = taken(2 * d_rows * one.symbols * f.carriers);
            one.least_squares = taken(channel);
            one.signal_b = taken(f.data);
            one.channel = channels;
            channels += channel;
            one.phase = phase;
            phase += one.symbols;
            one.signal_b_bits = bits;
            bits += f.signal_b_bits();
            frames.push_back(&one);
        });
        d_build.demodulate(f, d_rows, frames.data(), count);
    }

    /* Decode the received vectors. Return 0 or out_of_memory. */
    std::size_t decode(viterbi_batch& b, stopwatch& watch)
    {
        const std::size_t result =
            d_chain.ldpc ? decode_ldpc(b, watch) : decode_convolutional(b, watch);
        if (result == out_of_memory)
            return result;
        const bool complete =
            std::all_of(d_payloads.begin(), d_payloads.end(), [](const payload& p) {
                return p.mpdus.complete;
            });
        if (complete && !d_keep)
            d_arrays.reset();
        d_seconds[2] += watch.lap();
        return 0;
    }

    std::size_t decode_convolutional(viterbi_batch& b, stopwatch& watch)
    {
        const frame_decoder& decoder = *d_chain.decoder;
        std::vector<std::int64_t> counts;
        std::int64_t integers = 0, bits = 0;
        for (const frame& f : d_frames) {
            counts.push_back(f.count);
            integers += decoder.integers(f.count);
            bits += decoder.decoded(f.count);
        }
        /* Each frame overwrites what the one before wrote behind its last used bit. */
        scratch<std::int8_t> rounded(integers +
                                     decoder.written(d_frames.back().all_symbols));
        std::int8_t* to = rounded.data();
        if (detect_all(b, watch, [&](const frame& f, const frame_llrs& llr) {
                decoder.round(llr, f.count, to);
                to += decoder.integers(f.count);
            }) == out_of_memory)
            return out_of_memory;
        scratch<std::uint8_t> found(bits);
        if (decoder.run(rounded.data(), counts, found.data(), b) == out_of_memory)
            return out_of_memory;
        const std::uint8_t* from = found.data();
        for (std::size_t i = 0; i < d_frames.size(); ++i) {
            const std::int64_t given = decoder.decoded(counts[i]);
            d_payloads[i] = descramble(from, given, d_frames[i].sizes);
            from += given;
        }
        return 0;
    }

    std::size_t decode_ldpc(const viterbi_batch& b, stopwatch& watch)
    {
        /* Codewords of one length lie together. */
        std::map<std::int64_t, std::vector<float>> words;
        std::map<std::int64_t, std::int64_t> counts;
        std::vector<std::int64_t> begin;
        for (const frame& f : d_frames) {
            std::int64_t& count = counts[f.codewords.length];
            begin.push_back(count * f.codewords.length);
            count += f.codewords.count;
        }
        for (const auto& [length, count] : counts)
            words[length].resize(count * length);
        const auto own = [&](const frame& f) {
            return words[f.codewords.length].data() + begin[&f - d_frames.data()];
        };
        if (detect_all(b, watch, [&](const frame& f, const frame_llrs& llr) {
                d_chain.ldpc->recover(llr, f.codewords, own(f));
            }) == out_of_memory)
            return out_of_memory;
        for (auto& [length, all] : words)
            if (d_chain.ldpc->run(length, counts[length], all.data(), b) == out_of_memory)
                return out_of_memory;
        for (std::size_t i = 0; i < d_frames.size(); ++i) {
            const frame& f = d_frames[i];
            scratch<std::uint8_t> found(f.sizes.size);
            d_chain.ldpc->decide(f.codewords, own(f), found.data());
            d_payloads[i] = descramble(found.data(), f.sizes.size, f.sizes);
        }
        return 0;
    }

    /* Detect all frames, and call use(frame, its LLRs) for each. Return 0 or
     * out_of_memory. */
    template <typename Use>
    std::size_t detect_all(const viterbi_batch& b, stopwatch& watch, Use use)
    {
        /* A single thread takes few frames at a time, so that LLRs stay in the cache.
         * Four frames of 48, 52 or 108 carriers fill lanes of 16. Of more carriers, a
         * single frame fills them. */
        const std::size_t most = b.threads > 1         ? d_frames.size()
                                 : d_format.data < 200 ? 4
                                                       : 1;
        for (std::size_t i = 0, end = 0; i < d_frames.size(); i = end) {
            const auto together = [&](const frame& f) {
                return f.parts.empty() && d_frames[i].parts.empty() &&
                       f.all_symbols == d_frames[i].all_symbols;
            };
            end = i + 1;
            while (end < d_frames.size() && end - i < most && together(d_frames[end]))
                ++end;
            if (detect(i, end, b, watch, use) == out_of_memory)
                return out_of_memory;
        }
        return 0;
    }

    /* Detect frames [i, end), which have equal numbers of symbols, or one frame with
     * parts. */
    template <typename Use>
    std::size_t detect(
        std::size_t i, std::size_t end, const viterbi_batch& b, stopwatch& watch, Use use)
    {
        const arrangement& arranged = *d_chain.arranged;
        const std::int64_t symbols = d_frames[i].all_symbols, data = d_format.data;
        const std::int64_t bits =
            d_chain.detector->shape().num_llr / (arranged.stbc ? 2 : 1);
        const std::int64_t of_frame = data * symbols * bits;
        scratch<float> llr((end - i) * of_frame);
        if (d_frames[i].parts.empty()) {
            if (detect_vectors(&d_frames[i], end - i, b, llr.data()) == out_of_memory)
                return out_of_memory;
        } else {
            const auto take = [&](wifi_frame& part) {
                const std::int64_t size = part.symbols * bits;
                scratch<float> own(data * size);
                if (detect_vectors(&part, 1, b, own.data()) == out_of_memory)
                    return out_of_memory;
                for (std::int64_t k = 0; k < data; ++k)
                    std::copy_n(own.data() + k * size,
                                size,
                                llr.data() + (k * symbols + part.first_symbol) * bits);
                return std::size_t{ 0 };
            };
            if (take(d_frames[i]) == out_of_memory)
                return out_of_memory;
            for (wifi_frame& part : d_frames[i].parts)
                if (take(part) == out_of_memory)
                    return out_of_memory;
        }
        d_seconds[1] += watch.lap();
        for (std::size_t j = i; j < end; ++j) {
            float* own = llr.data() + (j - i) * of_frame;
            const std::int64_t points =
                arranged.sign.size() ? arranged.combine_copies(own, data, symbols, own)
                                     : data;
            use(d_frames[j], frame_llrs{ own, points, symbols, bits, d_frames[j].last });
        }
        d_seconds[2] += watch.lap();
        return 0;
    }

    /* Set the error vectors of streams with a space-time block code. */
    void pair_errors(wifi_frame& f, const float* y, const float* h) const
    {
        const int columns = static_cast<int>(2 * d_chain.arranged->streams);
        const std::vector<std::int64_t> sides(columns, d_format.sides[0]);
        float error[wifi_max_columns];
        d_build.errors({ d_format.data,
                         f.symbols / 2,
                         static_cast<int>(2 * d_rows),
                         columns,
                         sides.data(),
                         y,
                         h,
                         static_cast<float>(f.noise_var),
                         error });
        for (int i = 0; i < columns / 2; ++i)
            f.error[i] = (error[2 * i] + error[2 * i + 1]) / 2;
    }

    /* Detect frames with equal numbers of symbols, whose vectors and matrices follow each
     * other. Write LLRs: frames x carriers x symbols x bits. */
    template <typename Frame>
    std::size_t
    detect_vectors(Frame* frames, std::size_t count, const viterbi_batch& b, float* llr)
    {
        const arrangement& arranged = *d_chain.arranged;
        const std::int64_t pair = arranged.stbc ? 2 : 1;
        const std::int64_t matrices = count * d_format.data,
                           vectors = frames->symbols / pair;
        const std::int64_t of_pair = d_chain.detector->shape().num_llr;
        const float *y = frames->vectors, *h = frames->whitened;
        scratch<float> stacked(pair > 1 ? 2 * matrices * d_rows *
                                              (frames->symbols + 4 * arranged.streams)
                                        : 0);
        scratch<float> paired(pair > 1 ? matrices * vectors * of_pair : 0);
        if (pair > 1) {
            float* const to = stacked.data();
            float* const channel = to + 2 * matrices * d_rows * frames->symbols;
            arranged.pair(y, matrices, frames->symbols, d_rows, to);
            arranged.pair_channel(h, matrices, d_rows, channel);
            y = to;
            h = channel;
            for (std::size_t j = 0; j < count; ++j)
                pair_errors(frames[j],
                            y + 2 * j * d_format.data * frames->symbols * d_rows,
                            h + 2 * j * d_format.data * 4 * d_rows * arranged.streams);
        }
        scratch<float> noise(matrices * vectors);
        for (std::size_t j = 0; j < count; ++j)
            std::fill_n(noise.data() + j * d_format.data * vectors,
                        d_format.data * vectors,
                        static_cast<float>(frames[j].noise_var));
        batch detected{};
        detected.n = matrices * vectors;
        detected.y = y;
        detected.h = h;
        detected.noise_var = noise.data();
        detected.llr = pair > 1 ? paired.data() : llr;
        detected.per_channel = static_cast<std::size_t>(vectors);
        detected.noise_per_vector = true;
        detected.int8_scale = 1;
        detected.threads = b.threads;
        detected.stop = b.stop;
        detected.stop_context = b.stop_context;
        if (d_chain.detector->run(detected) == out_of_memory)
            return out_of_memory;
        if (pair > 1)
            arranged.unpair(paired.data(), matrices, vectors, llr);
        return 0;
    }
};

/* Return an object as one of a class, or null if it is of another one. */
template <typename Class>
const Class* given(const py::object& object)
{
    return py::isinstance<Class>(object) ? object.cast<const Class*>() : nullptr;
}

} // namespace

void bind_wifi_demodulator(py::module_& m)
{
    py::class_<demodulation, task, std::shared_ptr<demodulation>>(
        m, "Demodulation", py::module_local())
        .def("report", &demodulation::report, py::arg("frame"))
        .def("arrays", &demodulation::arrays, py::arg("frame"), py::arg("part") = 0);
    py::class_<demodulator>(m, "Demodulator", py::module_local())
        .def(py::init<const py::dict&,
                      std::shared_ptr<smoother>,
                      std::shared_ptr<smoother>>(),
             py::arg("format"),
             py::arg("smoother"),
             py::arg("refined"))
        .def("refine",
             &demodulator::refine,
             py::arg("received"),
             py::arg("least_squares"),
             py::arg("channel"),
             py::arg("noise"),
             py::arg("points"),
             py::arg("isa") = "auto")
        .def(
            "begin",
            [](const py::object& self,
               std::vector<row_array> samples,
               std::int64_t rows,
               const std::vector<std::int64_t>& first,
               const std::vector<double>& cfo,
               const std::vector<python_size>& sizes,
               std::optional<complex_array> white,
               const py::object& detector,
               const py::object& decoder,
               const py::object& arranged,
               int threads,
               bool keep,
               const std::string& isa) {
                return make_task<demodulation>(
                    self.cast<const demodulator&>(),
                    std::move(samples),
                    rows,
                    first,
                    cfo,
                    sizes,
                    std::move(white),
                    decoding_chain{ detector.cast<const cpu_detector*>(),
                                    arranged.cast<const arrangement*>(),
                                    given<frame_decoder>(decoder),
                                    given<ldpc_frame_decoder>(decoder),
                                    threads },
                    keep,
                    isa,
                    py::make_tuple(self, detector, decoder, arranged));
            },
            py::arg("samples").noconvert(),
            py::kw_only(),
            py::arg("rows"),
            py::arg("first"),
            py::arg("cfo"),
            py::arg("sizes"),
            py::arg("white") = py::none(),
            py::arg("detector") = py::none(),
            py::arg("decoder") = py::none(),
            py::arg("arranged") = py::none(),
            py::arg("threads") = 1,
            py::arg("keep") = false,
            py::arg("isa") = "auto");
}

} // namespace mimopack

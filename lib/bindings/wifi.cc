/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The Wi-Fi receiver's inner loops, for its Python modules, and some for tests alone.
 * Shapes are checked so that no call can leave an array. Python's lock is given up where
 * calls are long: to get it back takes longer than the short ones do, where other threads
 * want it. */
#include "codes/viterbi/plan.h"
#include "wifi/mac.h"
#include "wifi/plan.h"
#include "wifi/scan.h"
#include "bindings/common.h"
#include "cpu/builds.h"
#include <time.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace mimopack {

#define MIMOPACK_DECLARE(isa)     \
    namespace isa {               \
    extern const wifi_build wifi; \
    }
MIMOPACK_BUILDS(MIMOPACK_DECLARE)
#define MIMOPACK_ADDRESS(isa) &isa::wifi,

namespace {

using complex_array = py::array_t<std::complex<float>, py::array::c_style>;
using double_array = py::array_t<double, py::array::c_style>;
using long_array = py::array_t<std::int64_t, py::array::c_style>;

const wifi_build& find_wifi(const std::string& isa)
{
    const char* name = find_build(isa).name;
    const wifi_build* found = nullptr;
    for (const wifi_build* build : { MIMOPACK_BUILDS(MIMOPACK_ADDRESS) })
        if (!std::strcmp(build->name, name))
            found = build;
    return *found;
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

bool within(const long_array& places, std::int64_t size)
{
    for (std::int64_t i = 0; i < places.size(); ++i)
        if (places.data()[i] < 0 || places.data()[i] >= size)
            return false;
    return places.ndim() == 1;
}

/* Gives up Python's lock for calls of so many values that they are long. */
class long_call
{
public:
    explicit long_call(std::int64_t values)
    {
        if (values > 20000)
            d_release.emplace();
    }

private:
    std::optional<py::gil_scoped_release> d_release;
};

bool has_shape(const py::array& a, std::initializer_list<std::int64_t> shape)
{
    return a.ndim() == static_cast<std::int64_t>(shape.size()) &&
           std::equal(shape.begin(), shape.end(), a.shape());
}

/* Returns (energy (rows, blocks), lag (rows, blocks)) of columns [begin, begin + blocks *
 * block) of samples (rows, n). The last lag of each row is not set. */
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
    complex_array lag({ samples.shape(0), blocks });
    const wifi_correlation c = { samples.shape(0),
                                 blocks,
                                 block,
                                 samples.shape(1),
                                 floats(samples) + 2 * begin,
                                 blocks,
                                 energy.mutable_data(),
                                 floats(lag) };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.correlate(c);
    }
    return py::make_tuple(energy, lag);
}

/* (mean (size,), its square) of energy (rows, size + window) and lag (rows, size +
 * window), the last of which does not count */
py::tuple metric(const float_array& energy,
                 const complex_array& lag,
                 int window,
                 const std::string& isa)
{
    require(energy.ndim() == 2 && has_shape(lag, { energy.shape(0), energy.shape(1) }) &&
                energy.shape(0) >= 1 && window >= 1 && window <= 1 << 10,
            "metric");
    const std::int64_t size = std::max<std::int64_t>(0, lag.shape(1) - window);
    complex_array mean(size);
    float_array square(size);
    const wifi_metric m = { energy.shape(0), size,
                            window,          energy.data(),
                            floats(lag),     lag.shape(1),
                            floats(mean),    square.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    if (size) {
        py::gil_scoped_release release;
        build.metric(m);
    }
    return py::make_tuple(mean, square);
}

/* Samples (rows, length) of which each row lies in one piece */
using row_array = py::array_t<std::complex<float>>;

bool in_rows(const row_array& samples)
{
    constexpr py::ssize_t size = sizeof(std::complex<float>);
    return samples.ndim() == 2 && (samples.shape(1) <= 1 || samples.strides(1) == size) &&
           !(samples.strides(0) % size);
}

/* Complex numbers from a row to the next one */
std::int64_t apart(const row_array& samples)
{
    return samples.strides(0) / static_cast<py::ssize_t>(sizeof(std::complex<float>));
}

template <typename T>
py::array_t<T> as_array(const std::vector<T>& values)
{
    return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

/* A wifi_scan; for one thread at a time */
class scan
{
public:
    scan(std::int64_t rows,
         std::int64_t block,
         int window,
         int region,
         int searches,
         int fall,
         float fallen,
         int next,
         int ahead,
         const std::string& isa)
        : d_scan({ rows, block, window, region, searches, fall, fallen, next, ahead },
                 find_wifi(isa))
    {
        require(rows >= 1 && rows <= 256 && block >= 16 && block % 16 == 0 &&
                    block <= 1 << 20 && window >= 1 && window <= 1 << 10 && region >= 1 &&
                    searches >= 1 && fall >= 0 && next >= 1 && ahead >= 1,
                "Scan");
    }

    void restart() { d_scan.restart(); }

    /* (lag, metric, whether it falls, of windows from the first on; hits; chain; windows
     * passed) */
    py::tuple take(const row_array& samples,
                   complex_array& array,
                   std::int64_t at,
                   std::int64_t begin,
                   float threshold)
    {
        const std::int64_t rows = d_scan.settings().rows;
        require(in_rows(samples) && samples.shape(0) == rows && array.ndim() == 2 &&
                    array.shape(0) == rows && at >= 0 &&
                    samples.shape(1) <= array.shape(1) - at && begin >= 0,
                "Scan.take");
        const scan_piece piece = { reinterpret_cast<const float*>(samples.data()),
                                   samples.shape(1),
                                   apart(samples),
                                   floats(array),
                                   array.shape(1),
                                   at,
                                   begin };
        scan_result found;
        {
            py::gil_scoped_release release;
            found = d_scan.take(piece, threshold);
        }
        complex_array lag(static_cast<py::ssize_t>(found.metric.size()));
        std::copy(found.lag.begin(), found.lag.end(), floats(lag));
        return py::make_tuple(lag,
                              as_array(found.metric),
                              as_array(found.fallen),
                              found.hits,
                              found.chain,
                              found.passed);
    }

private:
    wifi_scan d_scan;
};

/* The best window at or shortly behind one */
std::int64_t
strongest_window(const float_array& metric, std::int64_t window, int region, int searches)
{
    require(metric.ndim() == 1 && window >= 0 && window < metric.size() && region >= 1 &&
                searches >= 1,
            "strongest");
    return strongest(metric.data(), metric.size(), window, region, searches);
}

/* (part, start, window, cfo (pieces,), direct current (pieces, rows)) of the preambles
 * that are looked for in samples (rows, n) from each of starts on; part is 0 where there
 * is none */
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
    const std::int64_t fft = 64 * std::int64_t{ scale };
    bool fits = samples.ndim() == 2 && starts.ndim() == 1 && lag.ndim() == 1 &&
                bins.ndim() == 2 && sequence.ndim() == 1 && reference.ndim() == 2 &&
                lag.shape(0) == starts.shape(0) && samples.shape(0) >= 1 && scale >= 1 &&
                scale <= 64 && !(scale & (scale - 1)) && turns >= 0 && turns <= 8 &&
                bins.shape(0) >= 1 && bins.shape(0) <= wifi_max_parts &&
                bins.shape(1) == wifi_legacy && sequence.shape(0) == wifi_legacy &&
                reference.shape(0) == bins.shape(0) && reference.shape(1) == fft;
    for (std::int64_t i = 0; fits && i < starts.size(); ++i)
        fits = starts.data()[i] >= 0 &&
               starts.data()[i] <= samples.shape(1) - wifi_preamble_samples(scale);
    for (std::int64_t i = 0; fits && i < bins.size(); ++i)
        fits = bins.data()[i] >= 0 && bins.data()[i] < fft;
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

/* (channels,) of power (channels, 64) */
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

/* (noise (frames, rows), signal, channel (frames, carriers, parts * rows)) of spectra
 * (frames, rows, windows, parts * carriers), the first two windows of the long training
 * field's halves */
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

/* (symbols (frames, windows - 2, carriers), strength (frames,)) of spectra (frames, rows,
 * windows, parts * carriers) and channels (frames, carriers, parts * rows) */
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

/* (kind (frames,), L-SIGs (frames, 24), HT-SIGs or VHT-SIG-As (frames, 48)) of symbols
 * (frames, 3, legacy) */
py::tuple read_signals(const complex_array& combined,
                       const double_array& strength,
                       const long_array& data,
                       const long_array& pilots,
                       const float_array& pilot_signs,
                       const long_array& order,
                       const double_array& distance,
                       const std::string& isa)
{
    const std::int64_t frames = strength.size();
    require(has_shape(combined, { frames, 3, wifi_legacy }) && strength.ndim() == 1 &&
                has_shape(data, { wifi_signal_bits }) && within(data, wifi_legacy) &&
                has_shape(pilots, { 4 }) && within(pilots, wifi_legacy) &&
                has_shape(pilot_signs, { 3, 4 }) &&
                has_shape(order, { wifi_signal_bits }) &&
                within(order, wifi_signal_bits) && has_shape(distance, { 3 }),
            "read_signals");
    byte_array kind(frames), first({ frames, std::int64_t{ wifi_signal_bits / 2 } });
    byte_array second({ frames, std::int64_t{ wifi_signal_bits } });
    const wifi_signals s = { frames,
                             floats(combined),
                             strength.data(),
                             data.data(),
                             pilots.data(),
                             pilot_signs.data(),
                             order.data(),
                             distance.data(),
                             &decode_signals,
                             &find_viterbi(find_build(isa)),
                             first.mutable_data(),
                             second.mutable_data(),
                             kind.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    build.read(s);
    return py::make_tuple(kind, first, second);
}

/* (frames, symbols, coded) of llr (frames, carriers, symbols, bits) */
float_array
order(const float_array& llr, const long_array& source, const std::string& isa)
{
    require(llr.ndim() == 4 && source.ndim() == 1, "order");
    bool fits = llr.shape(0) == 0 || llr.size() / llr.shape(0) <= INT32_MAX;
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

/* Memory of a thread that is used again by its next call: fresh memory costs as much as
 * some of what is done in it. */
template <typename T>
class scratch
{
public:
    explicit scratch(std::size_t size) : d_vector(vectors()[depth()])
    {
        if (d_vector.size() < size)
            d_vector.resize(size);
        ++depth();
    }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    ~scratch()
    {
        --depth();
        if (d_vector.size() * sizeof(T) > most)
            std::vector<T>().swap(d_vector);
    }

    T* data() { return d_vector.data(); }

private:
    static constexpr std::size_t most = std::size_t{ 16 } << 20;
    static constexpr int levels = 4;

    std::vector<T>& d_vector;

    static std::array<std::vector<T>, levels>& vectors()
    {
        static thread_local std::array<std::vector<T>, levels> all;
        return all;
    }

    static int& depth()
    {
        static thread_local int now = 0;
        return now;
    }
};

/* LLRs of frames through the decoders of the convolutional code: the encoders' bits by
 * turns, without their tails */
class frame_decoder
{
public:
    frame_decoder(const long_array& source,
                  const std::string& rate,
                  std::int64_t encoders,
                  std::int64_t count,
                  float largest_mean,
                  const std::string& isa)
        : d_source(source),
          d_encoders(encoders),
          d_count(count),
          d_mean(largest_mean),
          d_build(find_wifi(isa)),
          d_decoder(find_viterbi(find_build(isa)))
    {
        const int rates = static_cast<int>(std::size(viterbi_rates));
        while (d_rate < rates && rate != viterbi_rates[d_rate].rate)
            ++d_rate;
        require(d_rate < rates && source.ndim() == 1 && encoders >= 1 && encoders <= 16 &&
                    source.size() > 0 && source.size() % encoders == 0 && count >= 0 &&
                    count < std::int64_t{ 1 } << 32 && largest_mean > 0 &&
                    within(source, INT32_MAX),
                "FrameDecoder");
        d_used = coded_length(viterbi_rates[d_rate], count + viterbi_tail);
    }

    std::int64_t decoded() const { return d_encoders * d_count; }

    /* Whether frames of so many LLRs of a symbol, and symbols, can be decoded */
    bool takes(std::int64_t of_symbol, std::int64_t symbols) const
    {
        return within(d_source, of_symbol) && d_used <= symbols * share();
    }

    /* Bytes that the integers of so many frames take */
    std::size_t size(std::int64_t frames, std::int64_t symbols) const
    {
        return frames * d_encoders * d_used + symbols * d_source.size();
    }

    /* Rounds the LLRs of frame f, carriers x symbols x bits, to integers behind those of
     * the frames before it, which come first. */
    void round(const float* llr,
               std::int64_t f,
               std::int64_t carriers,
               std::int64_t symbols,
               std::int64_t bits,
               std::int8_t* memory) const
    {
        scratch<std::int8_t> rows(carriers * symbols * bits + 16);
        /* Each frame is written over what the one before has behind its last used bit. */
        d_build.round({ carriers,
                        symbols,
                        bits,
                        d_source.size(),
                        d_encoders,
                        d_used,
                        llr,
                        d_source.data(),
                        d_rate,
                        d_mean,
                        rows.data(),
                        memory + f * d_encoders * d_used });
    }

    /* Decodes integers of frames; returns 0 or out_of_memory. */
    std::size_t run(const std::int8_t* integers,
                    std::int64_t frames,
                    std::uint8_t* out,
                    viterbi_batch& b) const
    {
        b.n = static_cast<std::size_t>(frames * d_encoders);
        b.rate = d_rate;
        b.int8 = b.rounded = true;
        const std::vector<std::int64_t> num_bits(b.n, d_count);
        std::vector<std::uint8_t> parts(d_encoders > 1 ? b.n * d_count : 0);
        b.num_bits = num_bits.data();
        b.llr = integers;
        b.bits = d_encoders > 1 ? parts.data() : out;
        if (!b.n || !d_count)
            return 0;
        const std::size_t result = decode_viterbi(d_decoder, b);
        for (std::int64_t i = 0; d_encoders > 1 && i < frames * d_encoders; ++i)
            for (std::int64_t j = 0; j < d_count; ++j)
                out[(i / d_encoders * d_count + j) * d_encoders + i % d_encoders] =
                    parts[i * d_count + j];
        return result;
    }

    byte_array decode(const float_array& llr, int threads) const
    {
        require(llr.ndim() == 4 &&
                    (llr.shape(0) == 0 || llr.size() / llr.shape(0) <= INT32_MAX) &&
                    takes(llr.shape(1) * llr.shape(3), llr.shape(2)),
                "FrameDecoder.decode");
        const std::int64_t frames = llr.shape(0), symbols = llr.shape(2);
        byte_array out({ frames, decoded() });
        viterbi_batch b{};
        run_batch(b, threads, [&](viterbi_batch& batch) {
            scratch<std::int8_t> integers(size(frames, symbols));
            for (std::int64_t f = 0; f < frames; ++f)
                round(llr.data() + f * (llr.size() / frames),
                      f,
                      llr.shape(1),
                      symbols,
                      llr.shape(3),
                      integers.data());
            return run(integers.data(), frames, out.mutable_data(), batch);
        });
        return out;
    }

private:
    long_array d_source;
    std::int64_t d_encoders, d_count, d_used = 0;
    float d_mean;
    int d_rate = 0;
    const wifi_build& d_build;
    const viterbi_build& d_decoder;

    std::int64_t share() const { return d_source.size() / d_encoders; }
};

/* Decoded bits to PSDUs */
/* (list of (offset, length, whether the FCS fits), whether these are all) */
py::tuple told(const mpdu_places& found)
{
    py::list mpdus;
    for (const mpdu_place& one : found.mpdus)
        mpdus.append(py::make_tuple(one.offset, one.length, one.fcs_ok));
    return py::make_tuple(mpdus, found.complete);
}

py::list told(const std::vector<mpdu_places>& found)
{
    py::list frames;
    for (const mpdu_places& one : found)
        frames.append(told(one));
    return frames;
}

class descrambler
{
public:
    /* sequences: (128, 127), by the first seven bits. Of `size` bits those behind `end`
     * become what is a descrambled 0. The PSDU begins behind `service` bits; aggregated:
     * whether it is an A-MPDU. */
    descrambler(const byte_array& sequences,
                std::int64_t size,
                std::int64_t end,
                std::int64_t service,
                std::int64_t length,
                bool aggregated)
        : d_sequences(sequences),
          d_size(size),
          d_end(end),
          d_service(service),
          d_length(length),
          d_aggregated(aggregated)
    {
        require(has_shape(sequences, { 1 << seed_bits, period }) && size >= seed_bits &&
                    end >= seed_bits && end <= size && service >= 0 && length >= 0 &&
                    service + 8 * length <= size,
                "Descrambler");
    }

    std::int64_t size() const { return d_size; }
    std::int64_t length() const { return d_length; }

    /* given <= size bits of each frame; zeros are put in between them and the end */
    std::vector<mpdu_places> run(const std::uint8_t* from,
                                 std::int64_t frames,
                                 std::int64_t given,
                                 std::uint8_t* to,
                                 std::uint8_t* bytes) const
    {
        std::vector<mpdu_places> found;
        std::vector<std::uint8_t> sequence(d_size + period);
        for (std::int64_t f = 0; f < frames; ++f, to += d_size, from += given) {
            int seed = 0;
            for (int i = 0; i < seed_bits; ++i)
                seed = seed << 1 | (i < given ? from[i] & 1 : 0);
            for (std::int64_t i = 0; i < d_size; i += period)
                std::copy_n(
                    d_sequences.data() + seed * period, period, sequence.data() + i);
            const std::int64_t kept = std::min(given, d_end);
            std::copy_n(from, kept, to);
            std::fill(to + kept, to + d_end, std::uint8_t{ 0 });
            std::copy_n(sequence.data() + d_end, d_size - d_end, to + d_end);
            for (std::int64_t i = 0; i < d_length; ++i) {
                std::uint64_t a, b;
                std::memcpy(&a, to + d_service + 8 * i, sizeof a);
                std::memcpy(&b, sequence.data() + d_service + 8 * i, sizeof b);
                /* Bits of eight bytes into one, the first the lowest */
                *bytes++ = static_cast<std::uint8_t>(
                    ((a ^ b) & 0x0101010101010101u) * 0x0102040810204080u >> 56);
            }
            found.push_back(find_mpdus(bytes - d_length, d_length, d_aggregated));
        }
        return found;
    }

    /* (PSDUs (frames, length), bits (frames, size), MPDUs as `told` gives them) of bits
     * (frames, size or less) */
    py::tuple descramble(const byte_array& bits) const
    {
        require(bits.ndim() == 2 && bits.shape(1) <= d_size, "Descrambler.run");
        byte_array out({ bits.shape(0), d_size }), psdus({ bits.shape(0), d_length });
        const auto found = run(bits.data(),
                               bits.shape(0),
                               bits.shape(1),
                               out.mutable_data(),
                               psdus.mutable_data());
        return py::make_tuple(psdus, out, told(found));
    }

private:
    static constexpr std::int64_t period = 127, seed_bits = 7;

    byte_array d_sequences;
    std::int64_t d_size, d_end, d_service, d_length;
    bool d_aggregated;
};

/* (sampling offsets (frames,), phases (frames, symbols) or None) of known (frames,
 * symbols, carriers) */
py::tuple track(const complex_array& known,
                const long_array& k,
                const double_array& distance,
                const double_array& before,
                int fft,
                bool phases,
                const std::string& isa)
{
    require(known.ndim() == 3 && k.ndim() == 1 && distance.ndim() == 1 &&
                before.ndim() == 1 && k.shape(0) == known.shape(2) &&
                distance.shape(0) == known.shape(1) &&
                before.shape(0) == known.shape(0) && known.shape(1) >= 1 && fft >= 1,
            "track");
    const std::int64_t frames = known.shape(0);
    double_array offset(frames);
    double_array phase({ phases ? frames : 0, known.shape(1) });
    const wifi_tracking t = { frames,
                              known.shape(1),
                              known.shape(2),
                              fft,
                              floats(known),
                              k.data(),
                              distance.data(),
                              before.data(),
                              offset.mutable_data(),
                              phases ? phase.mutable_data() : nullptr };
    const wifi_build& build = find_wifi(isa);
    {
        py::gil_scoped_release release;
        build.track(t);
    }
    if (!phases)
        return py::make_tuple(offset, py::none());
    return py::make_tuple(offset, phase);
}

/* Samples of frames, arrays (rows, length) whose rows may lie apart */
struct frames_of {
    std::vector<const float*> data;
    std::vector<std::int64_t> length, stride;
    bool fits = true;

    frames_of(const std::vector<row_array>& samples, std::int64_t rows)
    {
        for (const row_array& one : samples) {
            fits = fits && in_rows(one) && one.shape(0) == rows && one.shape(1) >= 1;
            data.push_back(reinterpret_cast<const float*>(one.data()));
            length.push_back(fits ? one.shape(1) : 0);
            stride.push_back(fits ? apart(one) : 0);
        }
    }

    wifi_frames all() const { return { data.data(), length.data(), stride.data() }; }
};

/* A receiver's direct current (frames, rows), 0 where the mean of the samples does not
 * tell it from a signal: a signal's mean square is near its power over the length where
 * the carrier offset brings a subcarrier to frequency 0, and far less where it does not.
 */
void find_direct(const wifi_build& build,
                 const frames_of& all,
                 std::int64_t frames,
                 std::int64_t rows,
                 const double* cfo,
                 double fft,
                 std::complex<float>* direct)
{
    constexpr double near = 0.25, least_near = 0.5, least_far = 8;
    std::vector<float> power(frames * rows);
    build.means(
        { frames, rows, all.all(), reinterpret_cast<float*>(direct), power.data() });
    for (std::int64_t i = 0; i < frames * rows; ++i) {
        const std::int64_t frame = i / rows;
        const double least = std::fabs(cfo[frame] * fft) < near ? least_near : least_far;
        if (!(std::norm(direct[i]) * static_cast<double>(all.length[frame]) >
              least * power[i]))
            direct[i] = 0;
    }
}

/* (frames, rows) of samples: arrays (rows, length), with offsets in cycles per sample */
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
        find_wifi(isa), all, frames, rows, cfo.data(), fft, direct.mutable_data());
    return direct;
}

/* (mean (frames, rows), mean of the squares) of samples: arrays (rows, length) */
py::tuple
means(const std::vector<row_array>& samples, std::int64_t rows, const std::string& isa)
{
    const frames_of all(samples, rows);
    require(all.fits && rows >= 0, "means");
    const std::int64_t frames = static_cast<std::int64_t>(samples.size());
    complex_array mean({ frames, rows });
    float_array power({ frames, rows });
    const wifi_means m = { frames, rows, all.all(), floats(mean), power.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    build.means(m);
    return py::make_tuple(mean, power);
}

/* (frames, rows, windows, bins) of samples: arrays (rows, length) */
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

/* (channel without mean delays, those (frames,), power (frames, delays), mean of the
 * squares (frames,)) of channel (frames, carriers, rows) */
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
    double_array mean(frames), strength(frames);
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
                              power.mutable_data(),
                              strength.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    build.profiles(p);
    return py::make_tuple(turned, mean, power, strength);
}

/* (first, last, usable (frames,)) of power (frames, delays) */
py::tuple extents(const float_array& power,
                  const double_array& least,
                  const double_array& margin,
                  const double_array& delay,
                  double lobe,
                  double longest,
                  const std::string& isa)
{
    require(power.ndim() == 2 && least.ndim() == 1 && margin.ndim() == 1 &&
                delay.ndim() == 1 && least.shape(0) == power.shape(0) &&
                margin.shape(0) == power.shape(0) && delay.shape(0) == power.shape(1) &&
                lobe >= 0 && lobe <= 1 << 20,
            "extents");
    const std::int64_t frames = power.shape(0);
    double_array first(frames), last(frames);
    long_array usable(frames);
    const wifi_extents e = { frames,
                             power.shape(1),
                             power.data(),
                             least.data(),
                             margin.data(),
                             delay.data(),
                             lobe,
                             longest,
                             first.mutable_data(),
                             last.mutable_data(),
                             usable.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    build.extents(e);
    return py::make_tuple(first, last, usable);
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
    build.smooth(s);
    return out;
}

double decibels(double power) { return 10 * std::log10(std::max(power, 1e-30)); }

/* A list of tuples of powers (frames, m) in dB */
py::list decibels_of(const double_array& power)
{
    require(power.ndim() == 2, "decibels");
    py::list out;
    for (std::int64_t i = 0; i < power.shape(0); ++i) {
        py::tuple row(power.shape(1));
        for (std::int64_t j = 0; j < power.shape(1); ++j)
            row[j] = decibels(*power.data(i, j));
        out.append(row);
    }
    return out;
}

/* Of each frame (SNR, SNRs of antennas, their levels, their noise), all in dB; signal and
 * noise: (rows,) power of a carrier, share: what a level takes of it */
py::list powers(const std::vector<double_array>& signal,
                const std::vector<double_array>& noise,
                const std::vector<double>& share)
{
    require(noise.size() == signal.size() && share.size() == signal.size(), "powers");
    py::list out;
    for (std::size_t f = 0; f < signal.size(); ++f) {
        const std::int64_t rows = signal[f].size();
        require(signal[f].ndim() == 1 && has_shape(noise[f], { rows }) && rows >= 1,
                "powers");
        py::tuple ratios(rows), levels(rows), floors(rows);
        double total = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
            const double a = signal[f].data()[r], b = noise[f].data()[r];
            total += a / b;
            ratios[r] = decibels(a / b);
            levels[r] = decibels((a + b) * share[f]);
            floors[r] = decibels(b * share[f]);
        }
        out.append(py::make_tuple(
            decibels(total / static_cast<double>(rows)), ratios, levels, floors));
    }
    return out;
}

/* (channel / fft, noise / fft^2, list of each frame's mean condition number in dB) of
 * channel (frames, carriers, rows, columns) and noise (frames, rows) */
py::tuple channel_states(const complex_array& channel,
                         const double_array& noise,
                         int fft,
                         const std::string& isa)
{
    require(channel.ndim() == 4 && fft >= 1 &&
                has_shape(noise, { channel.shape(0), channel.shape(2) }) &&
                channel.shape(2) >= 1 && channel.shape(2) <= 256 &&
                channel.shape(3) >= 1 && channel.shape(3) <= wifi_max_columns,
            "channel_states");
    const std::int64_t frames = channel.shape(0), carriers = channel.shape(1),
                       rows = channel.shape(2), columns = channel.shape(3);
    complex_array matrices({ frames, carriers, rows, columns });
    double_array level({ frames, rows });
    const std::int64_t size = carriers * rows * columns;
    const std::complex<float>* from = channel.data();
    std::complex<float>* to = matrices.mutable_data();
    double* level_to = level.mutable_data();
    const wifi_build& build = find_wifi(isa);
    std::vector<double> condition(frames, columns == 1 ? 0 : std::nan(""));
    {
        // Condition numbers take longer than copies.
        const long_call call(channel.size() * (columns > 1 ? 4 * columns : 1));
        const float unit = 1 / static_cast<float>(fft);
        for (std::int64_t i = 0; i < frames * size; ++i)
            to[i] = from[i] * unit;
        for (std::int64_t i = 0; i < frames * rows; ++i)
            level_to[i] = noise.data()[i] * unit * unit;
        std::vector<std::complex<float>> white(size);
        std::vector<float> ratio(carriers), share(rows);
        for (std::int64_t f = 0; f < frames && columns > 1 && columns <= rows; ++f) {
            for (std::int64_t r = 0; r < rows; ++r)
                share[r] = static_cast<float>(1 / std::sqrt(noise.data()[f * rows + r]));
            for (std::int64_t i = 0; i < size; ++i)
                white[i] = from[f * size + i] * share[i / columns % rows];
            build.condition({ carriers,
                              static_cast<int>(rows),
                              static_cast<int>(columns),
                              reinterpret_cast<const float*>(white.data()),
                              ratio.data() });
            condition[f] = 0;
            for (const float one : ratio)
                condition[f] += decibels(one) / static_cast<double>(carriers);
        }
    }
    return py::make_tuple(matrices, level, condition);
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
    const long_call call(y.shape(0) * y.shape(1) * chosen.size());
    build.errors(e);
    return error;
}

/* (frames, streams + stbc, symbols, carriers) of coded bits (frames, symbols, bits) */
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

/* The shape of received (frames, rows, symbols, carriers), points (frames, streams,
 * symbols, carriers) and channel (frames, trained, rows, streams) */
wifi_shape shape_of(const complex_array& received,
                    const complex_array& points,
                    const complex_array& channel,
                    const long_array& trained_place,
                    const complex_array& turn,
                    const char* function)
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

/* (sampling offsets (frames,), phases (frames, symbols), received without their turns,
 * noise (frames, carriers, rows), its least (frames, rows), channel) */
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
    const wifi_shape s =
        shape_of(received, points, channel, trained_place, turn, "refine");
    require(has_shape(least_squares, { s.frames, s.trained, s.rows, s.streams }) &&
                has_shape(k, { s.carriers }) && has_shape(trained_k, { s.trained }) &&
                has_shape(distance, { s.symbols }) && within(pilot_places, s.carriers) &&
                within(estimated, s.carriers) && fft >= 1 && weight > 0,
            "refine");
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

/* (vectors (frames, data, symbols, rows), channel (frames, carriers, rows, streams)) */
py::tuple whiten(const complex_array& received,
                 const complex_array& points,
                 const complex_array& channel,
                 const float_array& noise,
                 const long_array& trained_place,
                 const complex_array& turn,
                 const long_array& places,
                 const std::string& isa)
{
    const wifi_shape s =
        shape_of(received, points, channel, trained_place, turn, "whiten");
    require(has_shape(noise, { s.frames, s.carriers, s.rows }) &&
                within(places, s.carriers),
            "whiten");
    complex_array vectors({ s.frames, places.shape(0), s.symbols, s.rows });
    complex_array whitened({ s.frames, s.carriers, s.rows, s.streams });
    const wifi_whitening w = { s,
                               places.shape(0),
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

/* Filters that a function of Python makes when they are first asked for */
class filter_bank
{
public:
    struct filter {
        std::int64_t rank;
        std::vector<float> analysis, synthesis;
        double error;
    };

    filter_bank(py::function make, std::int64_t carriers, std::int64_t wanted)
        : d_make(std::move(make)), d_carriers(carriers), d_wanted(wanted)
    {
    }

    /* Called without Python's lock. */
    std::shared_ptr<const filter> find(int width, int level)
    {
        const std::pair key(width, level);
        {
            const std::lock_guard guard(d_mutex);
            const auto found = d_filters.find(key);
            if (found != d_filters.end())
                return found->second;
        }
        const auto made = std::make_shared<const filter>(make(width, level));
        const std::lock_guard guard(d_mutex);
        if (d_filters.size() >= most)
            d_filters.clear();
        return d_filters.emplace(key, made).first->second;
    }

private:
    static constexpr std::size_t most = 512;

    py::function d_make;
    std::int64_t d_carriers, d_wanted;
    std::mutex d_mutex;
    std::map<std::pair<int, int>, std::shared_ptr<const filter>> d_filters;

    filter make(int width, int level)
    {
        const py::gil_scoped_acquire acquire;
        const auto [analysis, synthesis, error] =
            d_make(width, level).cast<std::tuple<float_array, float_array, double>>();
        require(analysis.ndim() == 2 && synthesis.ndim() == 2 &&
                    analysis.shape(0) == synthesis.shape(1) &&
                    analysis.shape(1) == d_carriers && synthesis.shape(0) == d_wanted,
                "Smoother");
        return { analysis.shape(0),
                 { analysis.data(), analysis.data() + analysis.size() },
                 { synthesis.data(), synthesis.data() + synthesis.size() },
                 error };
    }
};

/* A call's way to a bank: keeps the filters that it was given */
struct filter_lease {
    filter_bank& bank;
    std::vector<std::shared_ptr<const filter_bank::filter>> held;

    static wifi_filter find(const void* lease, int width, int level)
    {
        filter_lease& self = *static_cast<filter_lease*>(const_cast<void*>(lease));
        self.held.push_back(self.bank.find(width, level));
        const filter_bank::filter& f = *self.held.back();
        return { f.rank, f.analysis.data(), f.synthesis.data(), f.error };
    }
};

class smoother
{
public:
    smoother(const long_array& k,
             const long_array& wanted,
             const double_array& delay,
             const complex_array& transform,
             double lobe,
             double longest,
             double margin,
             double margin_per_db,
             double sidelobe,
             double step,
             double step_db,
             py::function make)
        : d_k(k),
          d_wanted(wanted),
          d_delay(delay),
          d_transform(transform),
          d_bank(std::make_shared<filter_bank>(std::move(make), k.size(), wanted.size()))
    {
        require(k.ndim() == 1 && wanted.ndim() == 1 && delay.ndim() == 1 &&
                    transform.ndim() == 2 && k.size() >= 1 && delay.size() >= 1 &&
                    transform.shape(0) == k.size() &&
                    transform.shape(1) == delay.size() && lobe >= 0 && lobe <= 1 << 20 &&
                    step > 0 && step_db > 0,
                "Smoother");
        d_plan = { k.size(),
                   wanted.size(),
                   delay.size(),
                   d_k.data(),
                   d_wanted.data(),
                   d_delay.data(),
                   floats(d_transform),
                   lobe,
                   longest,
                   margin,
                   margin_per_db,
                   sidelobe,
                   step,
                   step_db,
                   &filter_lease::find,
                   nullptr };
    }

    /* For one call, which must not outlive the lease */
    wifi_smoother plan(const filter_lease& lease) const
    {
        wifi_smoother p = d_plan;
        p.bank = &lease;
        return p;
    }

    filter_lease lease() const { return { *d_bank, {} }; }
    std::int64_t carriers() const { return d_plan.carriers; }
    std::int64_t wanted() const { return d_plan.wanted; }

    /* (channels (frames, wanted, rows), error (frames,), done, paths (frames, 64)) of
     * channel (frames, carriers, rows); zeros where a channel is not done */
    py::tuple
    run(const complex_array& channel, double noise, const std::string& isa) const
    {
        require(channel.ndim() == 3 && channel.shape(1) == carriers() &&
                    channel.shape(2) >= 1 && noise > 0,
                "Smoother.smooth");
        const std::int64_t frames = channel.shape(0), rows = channel.shape(2);
        complex_array out({ frames, wanted(), rows });
        std::fill_n(floats(out), 2 * out.size(), 0.0f);
        double_array error(frames), paths({ frames, std::int64_t{ 64 } });
        long_array done(frames);
        filter_lease found = lease();
        const wifi_smoother own = plan(found);
        const wifi_estimates e = { &own,
                                   frames,
                                   rows,
                                   floats(channel),
                                   noise,
                                   true,
                                   floats(out),
                                   error.mutable_data(),
                                   done.mutable_data(),
                                   paths.mutable_data() };
        const wifi_build& build = find_wifi(isa);
        build.smooth_channels(e);
        return py::make_tuple(out, error, done, paths);
    }

private:
    long_array d_k, d_wanted;
    double_array d_delay;
    complex_array d_transform;
    std::shared_ptr<filter_bank> d_bank;
    wifi_smoother d_plan;
};

/* Reads signal fields from samples. All arrays are kept. */
class header_reader
{
public:
    header_reader(int fft,
                  const float_array& sequence,
                  std::shared_ptr<smoother> s,
                  const long_array& data,
                  const long_array& pilots,
                  const float_array& pilot_signs,
                  const long_array& order,
                  const double_array& distance)
        : d_fft(fft),
          d_sequence(sequence),
          d_data(data),
          d_pilots(pilots),
          d_order(order),
          d_signs(pilot_signs),
          d_distance(distance),
          d_smoother(std::move(s))
    {
        require(fft >= 2 && fft <= 1 << 16 && !(fft & (fft - 1)) &&
                    has_shape(sequence, { wifi_legacy }) &&
                    d_smoother->carriers() == wifi_legacy &&
                    d_smoother->wanted() == wifi_legacy && fit_signals(),
                "HeaderReader");
    }

    /* (kind (frames,), L-SIGs (frames, 24), HT-SIGs or VHT-SIG-As (frames, 48), noise
     * (frames, rows), signal) of samples: arrays (rows, length), with windows that begin
     * at starts (frames, windows) */
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
        /* Windows that reach beyond the samples are moved inside. */
        std::vector<std::int64_t> inside(starts.data(), starts.data() + starts.size());
        for (std::size_t i = 0; i < inside.size(); ++i)
            inside[i] = std::min(std::max(inside[i], std::int64_t{ 0 }),
                                 all.length[i / wifi_header_windows] - d_fft);
        byte_array kind(frames), first({ frames, std::int64_t{ wifi_signal_bits / 2 } });
        byte_array second({ frames, std::int64_t{ wifi_signal_bits } });
        double_array noise({ frames, rows }), signal({ frames, rows });
        filter_lease lease = d_smoother->lease();
        const wifi_smoother own = d_smoother->plan(lease);
        wifi_headers h{ frames,
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
                        {},
                        noise.mutable_data(),
                        signal.mutable_data() };
        h.signals = { frames,
                      nullptr,
                      nullptr,
                      d_data.data(),
                      d_pilots.data(),
                      d_signs.data(),
                      d_order.data(),
                      d_distance.data(),
                      &decode_signals,
                      &find_viterbi(find_build(isa)),
                      first.mutable_data(),
                      second.mutable_data(),
                      kind.mutable_data() };
        const wifi_build& build = find_wifi(isa);
        {
            py::gil_scoped_release release;
            build.headers(h);
        }
        return py::make_tuple(kind, first, second, noise, signal);
    }

    /* The same of symbols (frames, 3, legacy) through a matched filter, with the strength
     * (frames,) of their channels */
    py::tuple read_symbols(const complex_array& combined,
                           const double_array& strength,
                           const std::string& isa) const
    {
        return read_signals(
            combined, strength, d_data, d_pilots, d_signs, d_order, d_distance, isa);
    }

private:
    int d_fft;
    float_array d_sequence;
    long_array d_data, d_pilots, d_order;
    float_array d_signs;
    double_array d_distance;
    std::shared_ptr<smoother> d_smoother;

    bool fit_signals() const
    {
        return has_shape(d_data, { wifi_signal_bits }) && within(d_data, wifi_legacy) &&
               has_shape(d_pilots, { 4 }) && within(d_pilots, wifi_legacy) &&
               has_shape(d_signs, { 3, 4 }) && has_shape(d_order, { wifi_signal_bits }) &&
               within(d_order, wifi_signal_bits) && has_shape(d_distance, { 3 });
    }
};

/* Mean turns from symbol to symbol of phases (frames, symbols) */
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

class stopwatch
{
public:
    /* Seconds of this thread since the last call, or since it was made */
    double lap()
    {
        const double now = seconds(), taken = now - d_last;
        d_last = now;
        return taken;
    }

private:
    double d_last = seconds();

    static double seconds()
    {
        timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    }
};

/* Demodulates frames of one format. All arrays are kept. */
class demodulator
{
public:
    demodulator(const py::dict& d, std::shared_ptr<smoother> s) : d_smoother(std::move(s))
    {
        auto& f = d_format;
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
        f.signal_b = d["signal_b"].cast<std::int64_t>();
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
        f.turn = reinterpret_cast<const float*>(
            kept<std::complex<float>>(d, "turn", { f.trained, f.streams }));
        f.untrained = reinterpret_cast<const float*>(
            kept<std::complex<float>>(d, "untrained", { f.trained, f.streams }));
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
        f.signal_b_signs = kept<float>(d, "signal_b_signs", { f.streams });
        d_signal_b_copies = d["signal_b_copies"].cast<std::int64_t>();
        d_signal_b_order = d["signal_b_order"].cast<long_array>();
        require(within(d_signal_b_order, f.data) && d_signal_b_copies >= 1 &&
                    d_signal_b_order.size() % (2 * d_signal_b_copies) == 0 &&
                    (f.signal_b < 0 || signal_b_bits() > 0),
                "Demodulator");
        d_measured = d["measured"].cast<long_array>();
        d_side = d["side"].cast<int>();
        d_point_scale = d["point_scale"].cast<float>();
        require(within(d_measured, f.symbols) && d_side >= 1 && d_side <= 1024 &&
                    d_point_scale > 0 && f.streams <= wifi_max_columns,
                "Demodulator");
    }

    /* A dictionary of what wifi_demodulation puts out, and of what follows */
    py::dict run(const std::vector<row_array>& samples,
                 std::int64_t rows,
                 const long_array& first,
                 const double_array& cfo,
                 const std::optional<complex_array>& direct,
                 const std::optional<complex_array>& white,
                 const cpu_detector* detector,
                 const frame_decoder* decoder,
                 const descrambler* last,
                 int threads,
                 const std::string& isa) const
    {
        const wifi_format& f = d_format;
        const std::int64_t frames = static_cast<std::int64_t>(samples.size());
        require(rows >= 1 && rows <= 256, "demodulate");
        const frames_of all(samples, rows);
        bool fits = all.fits && has_shape(first, { frames }) &&
                    has_shape(cfo, { frames }) &&
                    (!direct || has_shape(*direct, { frames, rows })) &&
                    (!white || has_shape(*white, { frames, rows, rows }));
        for (std::int64_t i = 0; fits && i < frames; ++i)
            fits = all.length[i] >= f.fft &&
                   first.data()[i] > -(std::int64_t{ 1 } << 40) &&
                   first.data()[i] < std::int64_t{ 1 } << 40;
        require(fits, "demodulate");
        complex_array vectors({ frames, f.data, f.symbols, rows });
        complex_array whitened({ frames, f.symbols ? f.data : 0, rows, f.streams });
        complex_array channel({ frames, f.trained, rows, f.streams });
        complex_array least_squares({ frames, f.trained, rows, f.streams });
        complex_array received({ frames, rows, f.symbols, f.carriers });
        double_array noise_var(frames), noise({ frames, rows }), offset(frames),
            phase({ frames, f.symbols });
        long_array delay(frames);
        float_array signal_b({ frames, f.signal_b < 0 ? 0 : f.data });
        byte_array signal_b_bits({ frames, this->signal_b_bits() });
        double_array step(frames);
        std::fill_n(offset.mutable_data(), frames, 0.0);
        filter_lease lease = d_smoother->lease();
        const wifi_smoother own = d_smoother->plan(lease);
        wifi_format format = f;
        format.smoother = &own;
        scratch<std::complex<float>> found(direct ? 0 : frames * rows);
        const wifi_demodulation d = { &format,
                                      frames,
                                      rows,
                                      all.all(),
                                      first.data(),
                                      cfo.data(),
                                      direct ? floats(*direct)
                                             : reinterpret_cast<float*>(found.data()),
                                      white ? floats(*white) : nullptr,
                                      floats(vectors),
                                      floats(whitened),
                                      noise_var.mutable_data(),
                                      floats(channel),
                                      noise.mutable_data(),
                                      offset.mutable_data(),
                                      phase.mutable_data(),
                                      delay.mutable_data(),
                                      signal_b.mutable_data(),
                                      floats(received),
                                      floats(least_squares) };
        const wifi_build& build = find_wifi(isa);
        const auto demodulate = [&] {
            if (!direct)
                find_direct(build, all, frames, rows, cfo.data(), f.fft, found.data());
            build.demodulate(d);
            mean_steps(d.phase, frames, f.symbols, step.mutable_data());
            if (f.signal_b >= 0)
                decode_signal_b(d, isa, signal_b_bits.mutable_data());
        };
        py::dict out;
        if (detector) {
            const std::int64_t bits = f.streams * detector->shape().points.bits;
            require(decoder && last && f.symbols &&
                        detector->shape().num_tx == f.streams &&
                        detector->shape().num_rx == rows &&
                        f.data * f.symbols * bits <= INT32_MAX &&
                        decoder->takes(f.data * bits, f.symbols) &&
                        decoder->decoded() <= last->size(),
                    "demodulate");
            byte_array scrambled({ frames, last->size() }),
                psdus({ frames, last->length() });
            float_array error({ frames, f.streams });
            out["scrambled"] = scrambled;
            out["psdus"] = psdus;
            out["error"] = error;
            viterbi_batch b{};
            std::array<double, 3> seconds{};
            std::vector<mpdu_places> mpdus;
            run_batch(b, threads, [&](viterbi_batch& batch) {
                stopwatch watch;
                demodulate();
                measure(build, d, error.mutable_data());
                seconds[0] = watch.lap();
                return decode(d,
                              *detector,
                              *decoder,
                              *last,
                              batch,
                              scrambled.mutable_data(),
                              psdus.mutable_data(),
                              mpdus,
                              watch,
                              seconds);
            });
            out["mpdus"] = told(mpdus);
            out["seconds"] = seconds;
        } else {
            py::gil_scoped_release release;
            demodulate();
        }
        out["y"] = vectors;
        out["h"] = whitened;
        out["noise_var"] = noise_var;
        out["channel"] = channel;
        out["noise"] = noise;
        out["sampling_offset"] = offset;
        out["phase"] = phase;
        out["phase_step"] = step;
        out["delay"] = delay;
        out["sig_b"] = signal_b;
        out["sig_b_bits"] = signal_b_bits;
        out["received"] = received;
        out["least_squares"] = least_squares;
        return out;
    }

private:
    std::shared_ptr<smoother> d_smoother;
    std::vector<py::array> d_kept;
    wifi_format d_format;
    long_array d_measured; /* symbols whose error vectors count */
    long_array
        d_signal_b_order; /* copy after copy of its coded bits among the carriers */
    std::int64_t d_signal_b_copies;
    int d_side;          /* of the constellation's axis */
    float d_point_scale; /* half the distance of neighbours on it */

    /* Of the VHT-SIG-B, without tail */
    std::int64_t signal_b_bits() const
    {
        const std::int64_t coded = d_signal_b_order.size() / d_signal_b_copies;
        return std::max<std::int64_t>(0, coded / 2 - viterbi_tail);
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

    /* Error vectors of some symbols */
    void measure(const wifi_build& build, const wifi_demodulation& d, float* error) const
    {
        const wifi_format& f = *d.format;
        const std::vector<float> noise(d.noise_var, d.noise_var + d.frames);
        build.errors({ d.frames,
                       f.data,
                       f.symbols,
                       static_cast<int>(d.rows),
                       static_cast<int>(f.streams),
                       d_side,
                       d_point_scale,
                       d_measured.data(),
                       d_measured.size(),
                       d.vectors,
                       d.whitened,
                       noise.data(),
                       error });
    }

    /* Vectors to PSDUs; returns 0 or out_of_memory */
    static std::size_t decode(const wifi_demodulation& d,
                              const cpu_detector& detector,
                              const frame_decoder& decoder,
                              const descrambler& last,
                              viterbi_batch& b,
                              std::uint8_t* scrambled,
                              std::uint8_t* psdus,
                              std::vector<mpdu_places>& mpdus,
                              stopwatch& watch,
                              std::array<double, 3>& seconds)
    {
        const wifi_format& f = *d.format;
        const std::int64_t vectors = f.data * f.symbols;
        const std::int64_t bits = f.streams * detector.shape().points.bits;
        /* Few frames at a time, so that LLRs stay in the cache. Four frames of 48, 52 or
         * 108 carriers fill lanes of 16. Threads share all. */
        const std::int64_t most =
            b.threads > 1 ? d.frames : std::min<std::int64_t>(4, d.frames);
        scratch<float> noise(most * vectors);
        scratch<float> llr(most * vectors * bits);
        scratch<std::int8_t> integers(decoder.size(d.frames, f.symbols));
        scratch<std::uint8_t> decoded(d.frames * decoder.decoded());
        batch of_detector{};
        of_detector.per_channel = static_cast<std::size_t>(f.symbols);
        of_detector.noise_var = noise.data();
        of_detector.noise_per_vector = true;
        of_detector.llr = llr.data();
        of_detector.int8_scale = 1;
        of_detector.threads = b.threads;
        of_detector.stop = b.stop;
        of_detector.stop_context = b.stop_context;
        for (std::int64_t i = 0; i < d.frames; i += most) {
            const std::int64_t together = std::min(most, d.frames - i);
            of_detector.n = static_cast<std::size_t>(together * vectors);
            for (std::int64_t j = 0; j < together; ++j)
                std::fill_n(noise.data() + j * vectors,
                            vectors,
                            static_cast<float>(d.noise_var[i + j]));
            of_detector.y = d.vectors + 2 * i * vectors * d.rows;
            of_detector.h = d.whitened + 2 * i * f.data * d.rows * f.streams;
            if (detector.run(of_detector) == out_of_memory)
                return out_of_memory;
            seconds[1] += watch.lap();
            for (std::int64_t j = 0; j < together; ++j)
                decoder.round(llr.data() + j * vectors * bits,
                              i + j,
                              f.data,
                              f.symbols,
                              bits,
                              integers.data());
            seconds[2] += watch.lap();
        }
        if (decoder.run(integers.data(), d.frames, decoded.data(), b) == out_of_memory)
            return out_of_memory;
        mpdus = last.run(decoded.data(), d.frames, decoder.decoded(), scrambled, psdus);
        seconds[2] += watch.lap();
        return 0;
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
    py::class_<scan>(m, "Scan")
        .def(py::init<std::int64_t,
                      std::int64_t,
                      int,
                      int,
                      int,
                      int,
                      float,
                      int,
                      int,
                      const std::string&>(),
             py::kw_only(),
             py::arg("rows"),
             py::arg("block"),
             py::arg("window"),
             py::arg("region"),
             py::arg("searches"),
             py::arg("fall"),
             py::arg("fallen"),
             py::arg("next"),
             py::arg("ahead"),
             py::arg("isa") = "auto")
        .def("restart", &scan::restart)
        .def("take",
             &scan::take,
             py::arg("samples").noconvert(),
             py::arg("array").noconvert(),
             py::kw_only(),
             py::arg("at"),
             py::arg("begin"),
             py::arg("threshold"));
    m.def("strongest",
          &strongest_window,
          py::arg("metric").noconvert(),
          py::arg("window"),
          py::kw_only(),
          py::arg("region"),
          py::arg("searches"));
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
    m.def("read_signals",
          &read_signals,
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
    m.def("order",
          &order,
          py::arg("llr").noconvert(),
          py::kw_only(),
          py::arg("source").noconvert(),
          py::arg("isa") = "auto");
    py::class_<frame_decoder>(m, "FrameDecoder")
        .def(py::init<const long_array&,
                      const std::string&,
                      std::int64_t,
                      std::int64_t,
                      float,
                      const std::string&>(),
             py::kw_only(),
             py::arg("source").noconvert(),
             py::arg("rate"),
             py::arg("encoders"),
             py::arg("count"),
             py::arg("largest_mean"),
             py::arg("isa") = "auto")
        .def("decode",
             &frame_decoder::decode,
             py::arg("llr").noconvert(),
             py::arg("threads"));
    py::class_<descrambler>(m, "Descrambler")
        .def(py::init<const byte_array&,
                      std::int64_t,
                      std::int64_t,
                      std::int64_t,
                      std::int64_t,
                      bool>(),
             py::kw_only(),
             py::arg("sequences").noconvert(),
             py::arg("size"),
             py::arg("end"),
             py::arg("service"),
             py::arg("length"),
             py::arg("aggregated"))
        .def("run", &descrambler::descramble, py::arg("bits").noconvert());
    m.def(
        "find_mpdus",
        [](const std::string& psdu, bool aggregated) {
            return told(find_mpdus(reinterpret_cast<const std::uint8_t*>(psdu.data()),
                                   static_cast<std::int64_t>(psdu.size()),
                                   aggregated));
        },
        py::arg("psdu"),
        py::arg("aggregated"));
    m.def("track",
          &track,
          py::arg("known").noconvert(),
          py::kw_only(),
          py::arg("k").noconvert(),
          py::arg("distance").noconvert(),
          py::arg("before").noconvert(),
          py::arg("fft"),
          py::arg("phases"),
          py::arg("isa") = "auto");
    m.def("means",
          &means,
          py::arg("samples").noconvert(),
          py::kw_only(),
          py::arg("rows"),
          py::arg("isa") = "auto");
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
    m.def("profiles",
          &profiles,
          py::arg("channel").noconvert(),
          py::kw_only(),
          py::arg("k").noconvert(),
          py::arg("step"),
          py::arg("transform").noconvert(),
          py::arg("isa") = "auto");
    m.def("extents",
          &extents,
          py::arg("power").noconvert(),
          py::kw_only(),
          py::arg("least").noconvert(),
          py::arg("margin").noconvert(),
          py::arg("delay").noconvert(),
          py::arg("lobe"),
          py::arg("longest"),
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
    m.def("decibels", &decibels_of, py::arg("power"));
    m.def("powers",
          &powers,
          py::arg("signal"),
          py::arg("noise"),
          py::kw_only(),
          py::arg("share"));
    m.def("channel_states",
          &channel_states,
          py::arg("channel").noconvert(),
          py::arg("noise").noconvert(),
          py::kw_only(),
          py::arg("fft"),
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
    py::class_<smoother, std::shared_ptr<smoother>>(m, "Smoother")
        .def(py::init<const long_array&,
                      const long_array&,
                      const double_array&,
                      const complex_array&,
                      double,
                      double,
                      double,
                      double,
                      double,
                      double,
                      double,
                      py::function>(),
             py::kw_only(),
             py::arg("k").noconvert(),
             py::arg("wanted").noconvert(),
             py::arg("delay").noconvert(),
             py::arg("transform").noconvert(),
             py::arg("lobe"),
             py::arg("longest"),
             py::arg("margin"),
             py::arg("margin_per_db"),
             py::arg("sidelobe"),
             py::arg("step"),
             py::arg("step_db"),
             py::arg("make"))
        .def("smooth",
             &smoother::run,
             py::arg("channel").noconvert(),
             py::arg("noise"),
             py::kw_only(),
             py::arg("isa") = "auto");
    py::class_<header_reader>(m, "HeaderReader")
        .def(py::init<int,
                      const float_array&,
                      std::shared_ptr<smoother>,
                      const long_array&,
                      const long_array&,
                      const float_array&,
                      const long_array&,
                      const double_array&>(),
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
    py::class_<demodulator>(m, "Demodulator")
        .def(py::init<const py::dict&, std::shared_ptr<smoother>>(),
             py::arg("format"),
             py::arg("smoother"))
        .def("run",
             &demodulator::run,
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
    m.def("refine",
          &refine,
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
    m.def("whiten",
          &whiten,
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

} // namespace mimopack

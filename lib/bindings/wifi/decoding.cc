/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/wifi/decoding.h"
#include <cstring>

namespace mimopack {

namespace {

bool symbols_are_small(const float_array& llr)
{
    return llr.shape(0) == 0 || llr.size() / llr.shape(0) <= INT32_MAX;
}

/* Return llr (frames, carriers, symbols, bits) in the order of the code, (frames,
 * symbols, coded). */
float_array
order(const float_array& llr, const long_array& source, const std::string& isa)
{
    require(llr.ndim() == 4 && symbols_are_small(llr) &&
                within(source, llr.shape(1) * llr.shape(3)),
            "order");
    float_array out({ llr.shape(0), llr.shape(2), source.shape(0) });
    const wifi_order o = { llr.shape(0),  llr.shape(1),      llr.shape(2),
                           llr.shape(3),  source.shape(0),   llr.data(),
                           source.data(), out.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    {
        python_released release;
        build.order(o);
    }
    return out;
}

py::list mpdu_list(const mpdu_places& found)
{
    py::list mpdus;
    for (const mpdu_place& one : found.mpdus)
        mpdus.append(py::make_tuple(one.offset, one.length, one.fcs_ok));
    return mpdus;
}

} // namespace

py::list payload_list(const std::uint8_t* psdus,
                      std::int64_t length,
                      const std::vector<mpdu_places>& found)
{
    py::list frames;
    for (const mpdu_places& one : found) {
        const py::bytes psdu(reinterpret_cast<const char*>(psdus), length);
        frames.append(py::make_tuple(psdu, mpdu_list(one), one.complete));
        psdus += length;
    }
    return frames;
}

frame_decoder::frame_decoder(const long_array& source,
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

bool frame_decoder::takes(std::int64_t llrs_of_symbol, std::int64_t symbols) const
{
    return within(d_source, llrs_of_symbol) &&
           d_used <= symbols * (d_source.size() / d_encoders);
}

std::size_t frame_decoder::size(std::int64_t frames, std::int64_t symbols) const
{
    return frames * d_encoders * d_used + symbols * d_source.size();
}

void frame_decoder::round(const frame_llrs& from,
                          std::int64_t f,
                          std::int8_t* memory) const
{
    scratch<std::int8_t> rows(from.carriers * from.symbols * from.bits + 16);
    /* Each frame overwrites what the one before left behind its last used bit. */
    d_build.round({ from.carriers,
                    from.symbols,
                    from.bits,
                    d_source.size(),
                    d_encoders,
                    d_used,
                    from.llr,
                    d_source.data(),
                    d_rate,
                    d_mean,
                    rows.data(),
                    memory + f * d_encoders * d_used });
}

std::size_t frame_decoder::run(const std::int8_t* integers,
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

byte_array frame_decoder::decode(const float_array& llr, int threads) const
{
    require(llr.ndim() == 4 && symbols_are_small(llr) &&
                takes(llr.shape(1) * llr.shape(3), llr.shape(2)),
            "FrameDecoder.decode");
    const std::int64_t frames = llr.shape(0), symbols = llr.shape(2);
    byte_array out({ frames, decoded() });
    viterbi_batch b{};
    run_batch(b, threads, [&](viterbi_batch& batch) {
        scratch<std::int8_t> integers(size(frames, symbols));
        for (std::int64_t f = 0; f < frames; ++f)
            round({ llr.data() + f * (llr.size() / frames),
                    llr.shape(1),
                    symbols,
                    llr.shape(3) },
                  f,
                  integers.data());
        return run(integers.data(), frames, out.mutable_data(), batch);
    });
    return out;
}

descrambler::descrambler(const byte_array& sequences,
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

std::vector<mpdu_places> descrambler::run(const std::uint8_t* from,
                                          std::int64_t frames,
                                          std::int64_t given,
                                          std::uint8_t* to,
                                          std::uint8_t* bytes) const
{
    std::vector<mpdu_places> found;
    std::vector<std::uint8_t> sequence(d_size + period);
    for (std::int64_t f = 0; f < frames; ++f) {
        descramble_frame(from, given, sequence, to, bytes);
        found.push_back(find_mpdus(bytes, d_length, d_aggregated));
        from += given;
        to += d_size;
        bytes += d_length;
    }
    return found;
}

void descrambler::descramble_frame(const std::uint8_t* from,
                                   std::int64_t given,
                                   std::vector<std::uint8_t>& sequence,
                                   std::uint8_t* to,
                                   std::uint8_t* bytes) const
{
    int seed = 0;
    for (int i = 0; i < seed_bits; ++i)
        seed = seed << 1 | (i < given ? from[i] & 1 : 0);
    for (std::int64_t i = 0; i < d_size; i += period)
        std::copy_n(d_sequences.data() + seed * period, period, sequence.data() + i);
    const std::int64_t kept = std::min(given, d_end);
    std::copy_n(from, kept, to);
    std::fill(to + kept, to + d_end, std::uint8_t{ 0 });
    std::copy_n(sequence.data() + d_end, d_size - d_end, to + d_end);
    for (std::int64_t i = 0; i < d_length; ++i) {
        std::uint64_t a, b;
        std::memcpy(&a, to + d_service + 8 * i, sizeof a);
        std::memcpy(&b, sequence.data() + d_service + 8 * i, sizeof b);
        /* The product packs the bits of eight bytes into one, the first bit lowest. */
        bytes[i] = static_cast<std::uint8_t>(
            ((a ^ b) & 0x0101010101010101u) * 0x0102040810204080u >> 56);
    }
}

py::tuple descrambler::descramble(const byte_array& bits) const
{
    require(bits.ndim() == 2 && bits.shape(1) <= d_size, "Descrambler.run");
    byte_array out({ bits.shape(0), d_size });
    std::vector<std::uint8_t> psdus(bits.shape(0) * d_length);
    const auto found = run(
        bits.data(), bits.shape(0), bits.shape(1), out.mutable_data(), psdus.data());
    return py::make_tuple(out, payload_list(psdus.data(), d_length, found));
}

void bind_wifi_decoding(py::module_& m)
{
    m.def("order",
          &order,
          py::arg("llr").noconvert(),
          py::kw_only(),
          py::arg("source").noconvert(),
          py::arg("isa") = "auto");
    py::class_<frame_decoder>(m, "FrameDecoder", py::module_local())
        .def(py::init(constructor<frame_decoder,
                                  const long_array&,
                                  const std::string&,
                                  std::int64_t,
                                  std::int64_t,
                                  float,
                                  const std::string&>()),
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
    py::class_<descrambler>(m, "Descrambler", py::module_local())
        .def(py::init(constructor<descrambler,
                                  const byte_array&,
                                  std::int64_t,
                                  std::int64_t,
                                  std::int64_t,
                                  std::int64_t,
                                  bool>()),
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
            const mpdu_places found =
                find_mpdus(reinterpret_cast<const std::uint8_t*>(psdu.data()),
                           static_cast<std::int64_t>(psdu.size()),
                           aggregated);
            return py::make_tuple(mpdu_list(found), found.complete);
        },
        py::arg("psdu"),
        py::arg("aggregated"));
}

} // namespace mimopack

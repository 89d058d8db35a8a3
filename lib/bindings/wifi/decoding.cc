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
        py::gil_scoped_release release;
        build.order(o);
    }
    return out;
}

} // namespace

py::list mpdu_list(const mpdu_places& found)
{
    py::list mpdus;
    for (const mpdu_place& one : found.mpdus)
        mpdus.append(py::make_tuple(one.offset, one.length, one.fcs_ok));
    return mpdus;
}

frame_decoder::frame_decoder(const long_array& source,
                             const std::string& rate,
                             std::int64_t encoders,
                             float largest_mean,
                             const std::string& isa)
    : d_source(source),
      d_encoders(encoders),
      d_mean(largest_mean),
      d_build(find_wifi(isa)),
      d_decoder(find_viterbi(find_build(isa)))
{
    const int rates = static_cast<int>(std::size(viterbi_rates));
    while (d_rate < rates && rate != viterbi_rates[d_rate].rate)
        ++d_rate;
    require(d_rate < rates && source.ndim() == 1 && encoders >= 1 && encoders <= 16 &&
                source.size() > 0 && source.size() % encoders == 0 && largest_mean > 0 &&
                within(source, INT32_MAX),
            "FrameDecoder");
    d_sources = 1 + *std::max_element(source.data(), source.data() + source.size());
}

std::int64_t frame_decoder::used(std::int64_t count) const
{
    return coded_length(viterbi_rates[d_rate], count + viterbi_tail);
}

bool frame_decoder::takes(std::int64_t llrs_of_symbol,
                          std::int64_t symbols,
                          std::int64_t count) const
{
    return d_sources <= llrs_of_symbol && count >= 0 &&
           count < std::int64_t{ 1 } << 32 &&
           used(count) <= symbols * (d_source.size() / d_encoders);
}

void frame_decoder::round(const frame_llrs& from,
                          std::int64_t count,
                          std::int8_t* to) const
{
    scratch<std::int8_t> rows(from.carriers * from.symbols * from.bits + 16);
    d_build.round({ from.carriers,
                    from.symbols,
                    from.bits,
                    d_source.size(),
                    d_encoders,
                    used(count),
                    from.llr,
                    d_source.data(),
                    d_rate,
                    d_mean,
                    rows.data(),
                    to });
}

std::size_t frame_decoder::run(const std::int8_t* integers,
                               const std::vector<std::int64_t>& counts,
                               std::uint8_t* out,
                               viterbi_batch& b) const
{
    std::vector<std::int64_t> num_bits;
    for (const std::int64_t count : counts)
        num_bits.insert(num_bits.end(), d_encoders, count);
    const std::int64_t all = std::accumulate(num_bits.begin(), num_bits.end(), 0LL);
    std::vector<std::uint8_t> parts(d_encoders > 1 ? all : 0);
    b.n = num_bits.size();
    b.rate = d_rate;
    b.int8 = b.rounded = true;
    b.num_bits = num_bits.data();
    b.llr = integers;
    b.bits = d_encoders > 1 ? parts.data() : out;
    if (!all)
        return 0;
    const std::size_t result = decode_viterbi(d_decoder, b);
    if (d_encoders > 1) {
        const std::uint8_t* from = parts.data();
        for (const std::int64_t count : counts) {
            for (std::int64_t i = 0; i < d_encoders; ++i)
                for (std::int64_t j = 0; j < count; ++j)
                    out[j * d_encoders + i] = *from++;
            out += decoded(count);
        }
    }
    return result;
}

byte_array
frame_decoder::decode(const float_array& llr, std::int64_t count, int threads) const
{
    require(llr.ndim() == 4 && symbols_are_small(llr) &&
                takes(llr.shape(1) * llr.shape(3), llr.shape(2), count),
            "FrameDecoder.decode");
    const std::int64_t frames = llr.shape(0), symbols = llr.shape(2);
    byte_array out({ frames, decoded(count) });
    viterbi_batch b{};
    run_batch(b, threads, [&](viterbi_batch& batch) {
        /* Each frame overwrites what the one before wrote behind its last used bit. */
        scratch<std::int8_t> memory(frames * integers(count) + written(symbols));
        for (std::int64_t f = 0; f < frames; ++f)
            round({ llr.data() + f * (llr.size() / frames),
                    llr.shape(1),
                    symbols,
                    llr.shape(3) },
                  count,
                  memory.data() + f * integers(count));
        return run(memory.data(),
                   std::vector<std::int64_t>(frames, count),
                   out.mutable_data(),
                   batch);
    });
    return out;
}

descrambler::descrambler(const byte_array& sequences, std::int64_t service)
    : d_sequences(sequences), d_service(service)
{
    require(has_shape(sequences, { 1 << seed_bits, period }) && service >= 0,
            "Descrambler");
}

bool descrambler::fits(const payload_layout& p) const
{
    return p.size >= seed_bits && p.end >= seed_bits && p.end <= p.size &&
           p.length >= 0 && d_service + 8 * p.length <= p.size;
}

mpdu_places descrambler::run(const std::uint8_t* from,
                             std::int64_t given,
                             const payload_layout& p,
                             std::uint8_t* to,
                             std::uint8_t* bytes) const
{
    int seed = 0;
    for (int i = 0; i < seed_bits; ++i)
        seed = seed << 1 | (i < given ? from[i] & 1 : 0);
    scratch<std::uint8_t> sequence(p.size + period);
    for (std::int64_t i = 0; i < p.size; i += period)
        std::copy_n(d_sequences.data() + seed * period, period, sequence.data() + i);
    const std::int64_t kept = std::min(given, p.end);
    std::copy_n(from, kept, to);
    std::fill(to + kept, to + p.end, std::uint8_t{ 0 });
    std::copy_n(sequence.data() + p.end, p.size - p.end, to + p.end);
    for (std::int64_t i = 0; i < p.length; ++i) {
        std::uint64_t a, b;
        std::memcpy(&a, to + d_service + 8 * i, sizeof a);
        std::memcpy(&b, sequence.data() + d_service + 8 * i, sizeof b);
        /* The product packs the bits of eight bytes into one, the first bit lowest. */
        bytes[i] = static_cast<std::uint8_t>(
            ((a ^ b) & 0x0101010101010101u) * 0x0102040810204080u >> 56);
    }
    return find_mpdus(bytes, p.length, p.aggregated);
}

py::tuple descrambler::descramble(const byte_array& bits, const payload_layout& p) const
{
    require(bits.ndim() == 2 && fits(p) && bits.shape(1) <= p.size, "Descrambler.run");
    const std::int64_t given = bits.shape(1);
    byte_array out({ bits.shape(0), static_cast<py::ssize_t>(p.size) });
    std::vector<std::uint8_t> psdu(p.length);
    py::list payloads;
    for (std::int64_t f = 0; f < bits.shape(0); ++f) {
        const mpdu_places found = run(bits.data() + f * given,
                                      given,
                                      p,
                                      out.mutable_data() + f * p.size,
                                      psdu.data());
        payloads.append(py::make_tuple(
            py::bytes(reinterpret_cast<const char*>(psdu.data()), psdu.size()),
            mpdu_list(found),
            found.complete));
    }
    return py::make_tuple(out, payloads);
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
        .def(py::init<const long_array&,
                      const std::string&,
                      std::int64_t,
                      float,
                      const std::string&>(),
             py::kw_only(),
             py::arg("source").noconvert(),
             py::arg("rate"),
             py::arg("encoders"),
             py::arg("largest_mean"),
             py::arg("isa") = "auto")
        .def("decode",
             &frame_decoder::decode,
             py::arg("llr").noconvert(),
             py::kw_only(),
             py::arg("count"),
             py::arg("threads"));
    py::class_<descrambler>(m, "Descrambler", py::module_local())
        .def(py::init<const byte_array&, std::int64_t>(),
             py::arg("sequences").noconvert(),
             py::arg("service"))
        .def(
            "run",
            [](const descrambler& self,
               const byte_array& bits,
               std::int64_t size,
               std::int64_t end,
               std::int64_t length,
               bool aggregated) {
                return self.descramble(bits, { size, end, length, aggregated });
            },
            py::arg("bits").noconvert(),
            py::kw_only(),
            py::arg("size"),
            py::arg("end"),
            py::arg("length"),
            py::arg("aggregated"));
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

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/wifi/decoding.h"
#include <cstring>

namespace mimopack {

namespace {

constexpr std::int64_t period = 127, seed_bits = 7; /* of the scrambler */
constexpr std::int64_t service = 16;                /* bits of the SERVICE field */

py::bytes bytes_of(const std::vector<std::uint8_t>& data, std::size_t size)
{
    return { reinterpret_cast<const char*>(data.data()), std::min(size, data.size()) };
}

py::list mpdu_list(const mpdu_places& found)
{
    py::list mpdus;
    for (const mpdu_place& one : found.mpdus)
        mpdus.append(py::make_tuple(one.offset, one.length, one.fcs_ok));
    return mpdus;
}

} // namespace

py::tuple payload::as_tuple() const
{
    return py::make_tuple(bytes_of(psdu, psdu.size()),
                          mpdu_list(mpdus),
                          mpdus.complete,
                          bytes_of(scrambled, service));
}

byte_array payload::bits() const
{
    return byte_array({ py::ssize_t{ 1 }, static_cast<py::ssize_t>(scrambled.size()) },
                      scrambled.data());
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
      d_decoder(find_build(isa).decoders.viterbi)
{
    while (rate != viterbi_rates[d_rate].rate)
        ++d_rate;
}

std::int64_t frame_decoder::used(std::int64_t count) const
{
    return coded_length(viterbi_rates[d_rate], count + viterbi_tail);
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

payload descramble(const std::uint8_t* from, std::int64_t given, const payload_sizes& p)
{
    payload out{ std::vector<std::uint8_t>(p.size),
                 std::vector<std::uint8_t>(p.length),
                 {} };
    std::uint8_t* const to = out.scrambled.data();
    /* The first seven bits of the SERVICE field are 0 before scrambling, so they begin
     * the sequence (§17.3.5.5). */
    scratch<std::uint8_t> sequence(p.size + period);
    std::uint8_t* const x = sequence.data();
    for (std::int64_t i = 0; i < period; ++i)
        x[i] = i >= seed_bits ? x[i - 7] ^ x[i - 4] : i < given ? from[i] & 1 : 0;
    for (std::int64_t i = period; i < p.size; i += period)
        std::copy_n(x, period, x + i);
    std::copy_n(from, std::min(given, p.end), to);
    std::copy_n(sequence.data() + p.end, p.size - p.end, to + p.end);
    for (std::int64_t i = 0; i < p.length; ++i) {
        std::uint64_t a, b;
        std::memcpy(&a, to + service + 8 * i, sizeof a);
        std::memcpy(&b, sequence.data() + service + 8 * i, sizeof b);
        /* The product packs the bits of eight bytes into one, the first bit lowest. */
        out.psdu[i] = static_cast<std::uint8_t>(
            ((a ^ b) & 0x0101010101010101u) * 0x0102040810204080u >> 56);
    }
    out.mpdus = find_mpdus(out.psdu.data(), p.length, p.aggregated);
    return out;
}

void bind_wifi_decoding(py::module_& m)
{
    py::class_<frame_decoder>(m, "FrameDecoder", py::module_local())
        .def(py::init<const long_array&,
                      const std::string&,
                      std::int64_t,
                      float,
                      const std::string&>(),
             py::kw_only(),
             py::arg("source"),
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
    m.def(
        "descramble",
        [](const byte_array& bits, /* (frames, at most size) */
           std::int64_t size,
           std::int64_t end,
           std::int64_t length,
           bool aggregated) {
            py::list out;
            for (py::ssize_t f = 0; f < bits.shape(0); ++f) {
                const payload found = descramble(
                    bits.data(f, 0), bits.shape(1), { size, end, length, aggregated });
                out.append(py::make_tuple(found.as_tuple(), found.bits()));
            }
            return out;
        },
        py::arg("bits"),
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

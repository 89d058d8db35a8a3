/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/wifi/decoding.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

namespace mimopack {

namespace {

constexpr std::int64_t service = 16; /* bits of the SERVICE field */

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

frame_decoder::frame_decoder(const py::kwargs& given)
    : d_source(keyword<long_array>(given, "source")),
      d_encoders(keyword<std::int64_t>(given, "encoders")),
      d_sent(keyword<std::int64_t>(given, "sent")),
      d_block(keyword<std::int64_t>(given, "block")),
      d_mean(keyword<float>(given, "largest_mean")),
      d_build(find_wifi(isa_of(given))),
      d_decoder(find_build(isa_of(given)).decoders.viterbi)
{
    const auto rate = keyword<std::string>(given, "rate");
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
                    d_sent,
                    from.last,
                    d_block,
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

byte_array frame_decoder::decode(const float_array& llr,
                                 std::int64_t count,
                                 std::int64_t last,
                                 int threads) const
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
                    llr.shape(3),
                    last },
                  count,
                  memory.data() + f * integers(count));
        return run(memory.data(),
                   std::vector<std::int64_t>(frames, count),
                   out.mutable_data(),
                   batch);
    });
    return out;
}

ldpc_frame_decoder::ldpc_frame_decoder(const py::kwargs& given)
    : d_sent(keyword<std::int64_t>(given, "sent")),
      d_block(keyword<std::int64_t>(given, "block")),
      d_iterations(keyword<int>(given, "iterations")),
      d_factor(keyword<float>(given, "factor")),
      d_run(find_build(isa_of(given)).decoders.ldpc)
{
    using checks = std::tuple<int, std::vector<int>, std::vector<int>>;
    for (const auto& [length, one] : keyword<std::map<int, checks>>(given, "codes"))
        d_codes[length] = { std::get<0>(one), std::get<1>(one), std::get<2>(one) };
    const auto source = keyword<long_array>(given, "source");
    const auto bits = keyword<std::int64_t>(given, "bits");
    for (std::int64_t j = 0; j < d_sent; ++j) {
        const std::int64_t place = source.at(j);
        d_carrier.push_back(static_cast<std::int32_t>(place - place % bits));
        d_bit.push_back(static_cast<std::int32_t>(place % bits));
    }
}

namespace {

constexpr float certain = -1e20f; /* LLR of a shortened bit */
constexpr float largest_float = std::numeric_limits<float>::max();

/* Call f(i, first place of the codeword, its shortened, punctured and repeated bits) for
 * each codeword. The first ones have one more if numbers do not divide. */
template <typename Function>
void each_codeword(const frame_codewords& c, Function f)
{
    const auto share = [&](std::int64_t total, std::int64_t i) {
        return total / c.count + (i < total % c.count);
    };
    for (std::int64_t i = 0; i < c.count; ++i)
        f(i * c.length,
          share(c.shortened, i),
          share(c.punctured, i),
          share(c.repeated, i));
}

} // namespace

void ldpc_frame_decoder::recover(const frame_llrs& from,
                                 const frame_codewords& c,
                                 float* words) const
{
    const std::int64_t info = d_codes.at(c.length).num_info;
    const std::int64_t whole = from.symbols - d_block;
    const std::int64_t num_sent =
        c.count * c.length - c.shortened - c.punctured + c.repeated;
    /* Return how many bits come before symbol t. */
    const auto before = [&](std::int64_t t) {
        return t < whole ? t * d_sent : whole * d_sent + (t - whole) * from.last;
    };
    const std::int64_t given = std::min(num_sent, before(from.symbols));
    scratch<float> in_order(num_sent);
    float* const sent = in_order.data();
    /* A subcarrier's LLRs of all symbols lie together: a few subcarriers come first. */
    constexpr std::int64_t most = 64;
    for (std::int64_t first = 0; first < d_sent; first += most) {
        const std::int64_t block = std::min(most, d_sent - first);
        std::int32_t places[most];
        for (std::int64_t j = 0; j < block; ++j)
            places[j] = d_carrier[first + j] * static_cast<std::int32_t>(from.symbols) +
                        d_bit[first + j];
        for (std::int64_t t = 0; t < from.symbols; ++t) {
            const float* const symbol = from.llr + t * from.bits;
            const std::int64_t begin = before(t) + first;
            const std::int64_t count =
                std::min(block, std::min(before(t + 1), given) - begin);
            for (std::int64_t j = 0; j < count; ++j)
                sent[begin + j] = symbol[places[j]];
        }
    }
    std::fill(sent + given, sent + num_sent, 0.0f);
    for (std::int64_t i = 0; i < given; ++i)
        sent[i] = std::abs(sent[i]) <= largest_float ? sent[i] : 0.0f;
    const float* next = sent;
    each_codeword(c, [&](std::int64_t at, auto shortened, auto punctured, auto repeated) {
        float* const word = words + at;
        const std::int64_t payload = info - shortened,
                           once = c.length - shortened - punctured;
        const float* const end = next + once + repeated;
        /* A codeword whose LLRs are all 0 is an erasure. */
        const bool any = std::any_of(next, end, [](float x) { return x != 0; });
        std::copy_n(next, payload, word);
        std::fill_n(word + payload, shortened, any ? certain : 0.0f);
        std::copy_n(next + payload, once - payload, word + info);
        std::fill_n(word + c.length - punctured, punctured, 0.0f);
        for (std::int64_t i = 0; i < repeated; ++i) {
            const std::int64_t bit = i % once;
            word[bit < payload ? bit : bit + shortened] += next[once + i];
        }
        next = end;
    });
}

std::size_t ldpc_frame_decoder::run(std::int64_t length,
                                    std::size_t n,
                                    float* words,
                                    const viterbi_batch& b) const
{
    const code& own = d_codes.at(length);
    std::vector<std::uint8_t> found(n);
    std::vector<std::int32_t> iterations(n);
    codeword_batch all{};
    all.n = n;
    all.llr = words;
    all.posterior = words;
    all.found = found.data();
    all.iterations = iterations.data();
    all.threads = b.threads;
    all.stop = b.stop;
    all.stop_context = b.stop_context;
    const std::size_t result = d_run({ static_cast<int>(length),
                                       static_cast<int>(own.first.size()) - 1,
                                       own.first.data(),
                                       own.columns.data(),
                                       d_iterations,
                                       d_factor,
                                       0.0f,
                                       false,
                                       true },
                                     all);
    return result == out_of_memory ? result : 0;
}

void ldpc_frame_decoder::decide(const frame_codewords& c,
                                const float* words,
                                std::uint8_t* bits) const
{
    const std::int64_t info = d_codes.at(c.length).num_info;
    each_codeword(c, [&](std::int64_t at, auto shortened, auto, auto) {
        const float* const word = words + at;
        for (std::int64_t i = 0; i < info - shortened; ++i)
            bits[i] = word[i] > 0;
        bits += info - shortened;
    });
}

void arrangement::pair(const float* y,
                       std::int64_t carriers,
                       std::int64_t symbols,
                       std::int64_t rows,
                       float* to) const
{
    for (std::int64_t i = 0; i < carriers * symbols; ++i) {
        const float sign = i % 2 ? -1.0f : 1.0f; /* symbols are even */
        for (std::int64_t r = 0; r < rows; ++r, y += 2, to += 2) {
            to[0] = y[0];
            to[1] = sign * y[1];
        }
    }
}

void arrangement::pair_channel(const float* h,
                               std::int64_t carriers,
                               std::int64_t rows,
                               float* to) const
{
    const std::int64_t columns = 2 * streams, sent = streams + stbc;
    std::fill_n(to, 2 * carriers * 2 * rows * columns, 0.0f);
    for (std::int64_t k = 0; k < carriers; ++k, to += 2 * 2 * rows * columns)
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto put =
                [&](std::int64_t row, std::int64_t column, float a, float b) {
                    to[2 * (row * columns + column)] = a;
                    to[2 * (row * columns + column) + 1] = b;
                };
            const float* own = h + 2 * (k * rows + r) * sent;
            for (std::int64_t i = 0; i < streams; ++i) {
                put(r, 2 * i, own[0], own[1]);
                put(rows + r, 2 * i + 1, own[0], -own[1]);
                own += 2;
                if (i >= stbc)
                    continue;
                put(rows + r, 2 * i, own[0], -own[1]);
                put(r, 2 * i + 1, -own[0], -own[1]);
                own += 2;
            }
        }
}

void arrangement::unpair(const float* llr,
                         std::int64_t carriers,
                         std::int64_t pairs,
                         float* to) const
{
    for (std::int64_t p = 0; p < carriers * pairs; ++p, to += 2 * streams * bits)
        for (std::int64_t i = 0; i < streams; ++i)
            for (std::int64_t t = 0; t < 2; ++t)
                for (std::int64_t b = 0; b < bits; ++b) {
                    /* The second point is conjugate, which turns the sign of its
                     * quadrature axis. */
                    const bool turned = t && bits > 1 && b == bits / 2;
                    to[(t * streams + i) * bits + b] = turned ? -*llr : *llr;
                    ++llr;
                }
}

namespace {

/* Log-likelihoods of the four levels of an axis of 16-QAM: outer and inner level of each
 * sign, up to a constant. Max-log LLRs of its bits (sign, inner level) tell them: with
 * levels x = +-1, +-3, an estimate z and a weight w, they are -w (z - x)^2. */
struct axis_levels {
    float value[2][2]; /* [positive][inner] */

    explicit axis_levels(const float* llr)
    {
        /* 8 w, which LLRs of several streams together may make negative, and 2 w z */
        const float gap =
            std::max(0.0f, std::abs(llr[0]) + llr[1] + std::min(llr[1], 0.0f));
        const float slope = std::copysign((gap - llr[1]) / 2, llr[0]);
        for (int positive = 0; positive < 2; ++positive) {
            const float one = positive ? slope : -slope;
            value[positive][0] = 3 * one - gap;
            value[positive][1] = one;
        }
    }
};

/* Max-log LLRs of the bits of an axis that is sent twice, the second time with its bits
 * exchanged */
void joint_axis(const float* first, const float* second, float* to)
{
    const axis_levels one(first), two(second);
    float sum[2][2];
    for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b)
            sum[a][b] = one.value[a][b] + two.value[b][a];
    to[0] = std::max(sum[1][0], sum[1][1]) - std::max(sum[0][0], sum[0][1]);
    to[1] = std::max(sum[0][1], sum[1][1]) - std::max(sum[0][0], sum[1][0]);
}

} // namespace

std::int64_t arrangement::combine_copies(const float* llr,
                                         std::int64_t carriers,
                                         std::int64_t symbols,
                                         float* to) const
{
    const std::int64_t all = place.size(), size = carriers / segments / 2;
    for (std::int64_t s = 0, point = 0; s < segments; ++s)
        for (std::int64_t k = 0; k < size; ++k, ++point) {
            const float* one = llr + (2 * s * size + k) * symbols * all;
            const float* two = one + size * symbols * all;
            const float* signs = sign.data() + point * all;
            for (std::int64_t t = 0; t < symbols; ++t, one += all, two += all, to += all)
                if (bits == 4)
                    for (std::int64_t b = 0; b < all; b += 2)
                        joint_axis(one + b, two + b, to + b);
                else
                    for (std::int64_t b = 0; b < all; ++b)
                        to[b] = one[b] + signs[b] * two[place.data()[b]];
        }
    return carriers / 2;
}

payload descramble(const std::uint8_t* from, std::int64_t given, const payload_sizes& p)
{
    payload out{ std::vector<std::uint8_t>(p.size),
                 std::vector<std::uint8_t>(p.length),
                 {} };
    std::uint8_t* const to = out.scrambled.data();
    /* The first bits of the SERVICE field are 0 before scrambling, so they begin the
     * sequence (§17.3.5.5; §36.3.13.2 of 802.11be). */
    const std::int64_t seed_bits = p.scrambler, period = (1 << seed_bits) - 1;
    const std::int64_t tap = seed_bits == 7 ? 4 : 9;
    scratch<std::uint8_t> sequence(p.size + period);
    std::uint8_t* const x = sequence.data();
    for (std::int64_t i = 0; i < period; ++i)
        x[i] = i >= seed_bits ? x[i - seed_bits] ^ x[i - tap]
               : i < given    ? from[i] & 1
                              : 0;
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
        .def(py::init<const py::kwargs&>())
        .def("decode",
             &frame_decoder::decode,
             py::arg("llr").noconvert(),
             py::kw_only(),
             py::arg("count"),
             py::arg("last"),
             py::arg("threads"));
    py::class_<ldpc_frame_decoder>(m, "LdpcFrameDecoder", py::module_local())
        .def(py::init<const py::kwargs&>());
    py::class_<arrangement>(m, "Arrangement", py::module_local())
        .def(py::init([](const py::kwargs& given) {
            return arrangement{ keyword<std::int64_t>(given, "streams"),
                                keyword<std::int64_t>(given, "bits"),
                                keyword<std::int64_t>(given, "stbc"),
                                keyword<std::int64_t>(given, "segments"),
                                keyword<long_array>(given, "place"),
                                keyword<float_array>(given, "sign") };
        }))
        .def("combine_copies", [](const arrangement& self, const float_array& llr) {
            const py::ssize_t n = llr.shape(0), carriers = llr.shape(1);
            float_array out({ n, carriers / 2, llr.shape(2), llr.shape(3) });
            for (py::ssize_t i = 0; i < n; ++i)
                self.combine_copies(llr.data() + i * (llr.size() / n),
                                    carriers,
                                    llr.shape(2),
                                    out.mutable_data() + i * (out.size() / n));
            return out;
        });
    m.def(
        "descramble",
        [](const byte_array& bits, /* (frames, at most size) */
           std::int64_t size,
           std::int64_t end,
           std::int64_t length,
           bool aggregated,
           int scrambler) {
            py::list out;
            for (py::ssize_t f = 0; f < bits.shape(0); ++f) {
                const payload found =
                    descramble(bits.data(f, 0),
                               bits.shape(1),
                               { size, end, length, aggregated, scrambler });
                out.append(py::make_tuple(found.as_tuple(), found.bits()));
            }
            return out;
        },
        py::arg("bits"),
        py::kw_only(),
        py::arg("size"),
        py::arg("end"),
        py::arg("length"),
        py::arg("aggregated"),
        py::arg("scrambler"));
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

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The decoders of codes */
#include "bindings/common.h"
#include "codes/viterbi/builds.h"
#include <stdexcept>
#include <vector>

namespace mimopack {

namespace {

using index_array = py::array_t<std::int32_t, py::array::c_style>;
using long_array = py::array_t<std::int64_t, py::array::c_style>;

/* Return the number of messages of n codewords, in groups of `lanes` codewords. */
std::size_t count_messages(std::size_t n, int lanes, std::size_t of_codeword)
{
    return (n + lanes - 1) / lanes * lanes * of_codeword;
}

/* The arrays of a decoder's call, see codeword_batch */
struct codeword_arrays {
    const float_array& llr;
    float_array& posterior;
    std::optional<float_array>& messages;
    byte_array& found;
    index_array& iterations;

    /* Make a batch of the arrays. Throw std::invalid_argument if they do not fit. */
    codeword_batch batch(int lanes, int num_bits, std::size_t messages_of_codeword) const
    {
        codeword_batch b{};
        b.n = llr.ndim() == 2 ? llr.shape(0) : 0;
        if (llr.ndim() != 2 || llr.shape(1) != num_bits || posterior.size() != llr.size() ||
            static_cast<std::size_t>(found.size()) != b.n ||
            static_cast<std::size_t>(iterations.size()) != b.n)
            throw std::invalid_argument("decode: inconsistent array shapes");
        if (messages && static_cast<std::size_t>(messages->size()) !=
                            count_messages(b.n, lanes, messages_of_codeword))
            throw std::invalid_argument("decode: size of messages does not fit llr");
        b.llr = llr.data();
        b.posterior = posterior.mutable_data();
        b.messages = messages ? messages->mutable_data() : nullptr;
        b.found = found.mutable_data();
        b.iterations = iterations.mutable_data();
        return b;
    }
};

class ldpc_decoder
{
public:
    ldpc_decoder(int num_bits,
                 const std::vector<int>& first,
                 const std::vector<int>& columns,
                 const std::string& isa)
        : d_build(find_build(isa)),
          d_num_bits(num_bits),
          d_first(first),
          d_columns(columns)
    {
        bool fits = num_bits > 0 && first.size() > 1 && first[0] == 0 &&
                    first.back() == static_cast<int>(columns.size());
        for (std::size_t c = 1; c < first.size(); ++c)
            fits = fits && first[c - 1] < first[c];
        for (int column : columns)
            fits = fits && column >= 0 && column < num_bits;
        if (!fits)
            throw std::invalid_argument("LdpcDecoder: inconsistent parity checks");
    }

    std::size_t decode(const float_array& llr,
                       float_array& posterior,
                       std::optional<float_array> messages,
                       byte_array& found,
                       index_array& iterations,
                       int most,
                       float factor,
                       float offset,
                       bool early_stop,
                       int threads) const
    {
        const codeword_arrays arrays{ llr, posterior, messages, found, iterations };
        codeword_batch b = arrays.batch(d_build.lanes, d_num_bits, d_columns.size());
        if (b.n == 0)
            return 0;
        const ldpc_plan p{ d_num_bits,     static_cast<int>(d_first.size()) - 1,
                           d_first.data(), d_columns.data(),
                           most,           factor,
                           offset,         early_stop };
        return run_batch(b, threads, [&](const codeword_batch& all) {
            return d_build.decode_ldpc(p, all);
        });
    }

    std::size_t num_messages(std::size_t n) const
    {
        return count_messages(n, d_build.lanes, d_columns.size());
    }

    std::string isa() const { return d_build.name; }

private:
    const isa_build& d_build;
    const int d_num_bits;
    const std::vector<int> d_first, d_columns;
};

class turbo_decoder
{
public:
    turbo_decoder(const std::vector<int>& interleaver, bool int16, const std::string& isa)
        : d_build(find_build(isa)),
          d_lanes(int16 ? 2 * d_build.lanes : d_build.lanes),
          d_int16(int16),
          d_interleaver(interleaver)
    {
        const int size = d_interleaver.size();
        bool fits = size > 0;
        for (int place : d_interleaver)
            fits = fits && place >= 0 && place < size;
        if (!fits)
            throw std::invalid_argument("TurboDecoder: inconsistent interleaver");
    }

    std::size_t decode(const float_array& llr,
                       float_array& posterior,
                       std::optional<float_array> messages,
                       byte_array& found,
                       index_array& iterations,
                       int most,
                       float scale,
                       bool early_stop,
                       int threads) const
    {
        const int size = d_interleaver.size();
        const codeword_arrays arrays{ llr, posterior, messages, found, iterations };
        codeword_batch b = arrays.batch(d_lanes, 3 * size + 12, size);
        if (b.n == 0)
            return 0;
        const turbo_plan p{
            size, d_interleaver.data(), most, scale, early_stop, d_int16
        };
        return run_batch(b, threads, [&](const codeword_batch& all) {
            return d_build.decode_turbo(p, all);
        });
    }

    std::size_t num_messages(std::size_t n) const
    {
        return count_messages(n, d_lanes, d_interleaver.size());
    }

    std::string isa() const { return d_build.name; }

private:
    const isa_build& d_build;
    const int d_lanes;
    const bool d_int16;
    const std::vector<int> d_interleaver;
};

/* Return the places of A and B of each step in a codeword of information bits and sent
 * bits; -1 for a bit that is not sent. */
std::vector<int> places(const puncturing& p, int num_info)
{
    std::vector<int> place;
    int next = num_info;
    for (int i = 0; i < 2 * (num_info + viterbi_tail); ++i)
        place.push_back(p.kept >> i % (2 * p.steps) & 1 ? next++ : -1);
    return place;
}

class convolutional_decoder
{
public:
    convolutional_decoder(int num_info,
                          const std::string& rate,
                          float margin,
                          bool int16,
                          const std::string& isa)
        : d_build(find_build(isa)),
          d_lanes(int16 ? 2 * d_build.lanes : d_build.lanes),
          d_place(places(find_puncturing(rate), num_info))
    {
        const std::int64_t sent =
            coded_length(find_puncturing(rate), num_info + viterbi_tail);
        d_plan = {
            num_info, num_info + static_cast<int>(sent), d_place.data(), margin, int16
        };
    }
    convolutional_decoder(const convolutional_decoder&) = delete;

    std::size_t decode(const float_array& llr,
                       float_array& posterior,
                       std::optional<float_array> messages,
                       byte_array& found,
                       index_array& iterations,
                       int,  /* most */
                       bool, /* early_stop */
                       int threads) const
    {
        const codeword_arrays arrays{ llr, posterior, messages, found, iterations };
        codeword_batch b = arrays.batch(d_lanes, d_plan.num_bits, 0);
        if (b.n == 0)
            return 0;
        return run_batch(b, threads, [&](const codeword_batch& all) {
            return find_viterbi(d_build).decode_soft(d_plan, all);
        });
    }

    std::string isa() const { return d_build.name; }

private:
    const isa_build& d_build;
    const int d_lanes;
    const std::vector<int> d_place;
    convolutional_plan d_plan;

    static const puncturing& find_puncturing(const std::string& rate)
    {
        for (const puncturing& p : viterbi_rates)
            if (rate == p.rate)
                return p;
        throw std::invalid_argument("ConvolutionalDecoder: no code has rate " + rate);
    }
};

class viterbi_decoder
{
public:
    viterbi_decoder(const std::string& rate, const std::string& isa)
        : d_build(find_viterbi(find_build(isa))), d_rate(0)
    {
        constexpr int count = sizeof viterbi_rates / sizeof *viterbi_rates;
        while (d_rate < count && rate != viterbi_rates[d_rate].rate)
            ++d_rate;
        if (d_rate == count)
            throw std::invalid_argument("ViterbiDecoder: no code has rate " + rate);
    }

    /* Decode the bits of all blocks. */
    byte_array decode(const py::array& llr,
                      const long_array& num_bits,
                      float largest_mean,
                      int threads) const
    {
        viterbi_batch b{};
        b.n = num_bits.size();
        b.num_bits = num_bits.data();
        b.rate = d_rate;
        b.llr = llr.data();
        b.int8 = py::isinstance<py::array_t<std::int8_t>>(llr);
        b.largest_mean = largest_mean;
        if ((!b.int8 && !py::isinstance<py::array_t<float>>(llr)) ||
            !(llr.flags() & py::array::c_style) || !(largest_mean > 0))
            throw std::invalid_argument("decode: inconsistent arguments");
        constexpr std::int64_t most = 0xffffffff; /* sums must fit */
        std::int64_t coded = 0, decoded = 0;
        for (std::size_t i = 0; i < b.n; ++i) {
            if (b.num_bits[i] < 0 || b.num_bits[i] > most)
                throw std::invalid_argument("num_bits: got " +
                                            std::to_string(b.num_bits[i]) +
                                            ", allowed are 0 to " + std::to_string(most));
            coded += coded_length(viterbi_rates[d_rate], b.num_bits[i] + viterbi_tail);
            decoded += b.num_bits[i];
        }
        if (coded != llr.size())
            throw std::invalid_argument("llr: got " + std::to_string(llr.size()) +
                                        " values, must be " + std::to_string(coded) +
                                        " for blocks of num_bits at rate " +
                                        viterbi_rates[d_rate].rate);
        byte_array bits(decoded);
        b.bits = bits.mutable_data();
        if (decoded > 0)
            run_batch(b, threads, [&](const viterbi_batch& all) {
                return decode_viterbi(d_build, all);
            });
        return bits;
    }

    std::string isa() const { return d_build.name; }

private:
    const viterbi_build& d_build;
    int d_rate; /* place in viterbi_rates */
};

} // namespace

void bind_codes(py::module_& m)
{
    py::class_<ldpc_decoder>(m, "LdpcDecoder", py::module_local())
        .def(py::init<int,
                      const std::vector<int>&,
                      const std::vector<int>&,
                      const std::string&>(),
             py::kw_only(),
             py::arg("num_bits"),
             py::arg("first"),
             py::arg("columns"),
             py::arg("isa") = "auto")
        .def("decode",
             &ldpc_decoder::decode,
             py::arg("llr").noconvert(),
             py::arg("posterior").noconvert(),
             py::arg("messages").noconvert(),
             py::arg("found").noconvert(),
             py::arg("iterations").noconvert(),
             py::kw_only(),
             py::arg("most"),
             py::arg("factor"),
             py::arg("offset"),
             py::arg("early_stop"),
             py::arg("threads"))
        .def("num_messages", &ldpc_decoder::num_messages)
        .def_property_readonly("isa", &ldpc_decoder::isa);
    py::class_<turbo_decoder>(m, "TurboDecoder", py::module_local())
        .def(py::init<const std::vector<int>&, bool, const std::string&>(),
             py::kw_only(),
             py::arg("interleaver"),
             py::arg("int16"),
             py::arg("isa") = "auto")
        .def("decode",
             &turbo_decoder::decode,
             py::arg("llr").noconvert(),
             py::arg("posterior").noconvert(),
             py::arg("messages").noconvert(),
             py::arg("found").noconvert(),
             py::arg("iterations").noconvert(),
             py::kw_only(),
             py::arg("most"),
             py::arg("scale"),
             py::arg("early_stop"),
             py::arg("threads"))
        .def("num_messages", &turbo_decoder::num_messages)
        .def_property_readonly("isa", &turbo_decoder::isa);
    py::class_<convolutional_decoder>(m, "ConvolutionalDecoder", py::module_local())
        .def(py::init<int, const std::string&, float, bool, const std::string&>(),
             py::kw_only(),
             py::arg("num_info"),
             py::arg("rate"),
             py::arg("margin"),
             py::arg("int16"),
             py::arg("isa") = "auto")
        .def("decode",
             &convolutional_decoder::decode,
             py::arg("llr").noconvert(),
             py::arg("posterior").noconvert(),
             py::arg("messages").noconvert(),
             py::arg("found").noconvert(),
             py::arg("iterations").noconvert(),
             py::kw_only(),
             py::arg("most"),
             py::arg("early_stop"),
             py::arg("threads"))
        .def_property_readonly("isa", &convolutional_decoder::isa);
    /* Return {rate: which of A1 B1 A2 B2 ... are sent}. */
    py::dict rates;
    for (const puncturing& p : viterbi_rates) {
        py::tuple kept(2 * p.steps);
        for (int i = 0; i < 2 * p.steps; ++i)
            kept[i] = static_cast<int>(p.kept >> i & 1);
        rates[p.rate] = kept;
    }
    m.attr("VITERBI_RATES") = rates;
    py::class_<viterbi_decoder>(m, "ViterbiDecoder", py::module_local())
        .def(py::init<const std::string&, const std::string&>(),
             py::kw_only(),
             py::arg("rate"),
             py::arg("isa") = "auto")
        .def("decode",
             &viterbi_decoder::decode,
             py::arg("llr").noconvert(),
             py::arg("num_bits").noconvert(),
             py::kw_only(),
             py::arg("largest_mean"),
             py::arg("threads"))
        .def_property_readonly("isa", &viterbi_decoder::isa);
}

} // namespace mimopack

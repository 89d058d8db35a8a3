/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/common.h"
#include "codes/viterbi/plan.h"
#include <stdexcept>

namespace mimopack {

namespace {

using long_array = py::array_t<std::int64_t, py::array::c_style>;

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

void bind_viterbi(py::module_& m)
{
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
        .def(py::init(
                 constructor<viterbi_decoder, const std::string&, const std::string&>()),
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

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/common.h"
#include "codes/viterbi/plan.h"
#include <stdexcept>
#include <vector>

namespace mimopack {

namespace {

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

} // namespace

void bind_convolutional(py::module_& m)
{
    py::class_<convolutional_decoder>(m, "ConvolutionalDecoder", py::module_local())
        .def(py::init(constructor<convolutional_decoder,
                                  int,
                                  const std::string&,
                                  float,
                                  bool,
                                  const std::string&>()),
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
}

} // namespace mimopack

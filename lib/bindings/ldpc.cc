/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/common.h"
#include <stdexcept>
#include <vector>

namespace mimopack {

namespace {

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
        return mimopack::num_messages(n, d_build.lanes, d_columns.size());
    }

    std::string isa() const { return d_build.name; }

private:
    const isa_build& d_build;
    const int d_num_bits;
    const std::vector<int> d_first, d_columns;
};

} // namespace

void bind_ldpc(py::module_& m)
{
    py::class_<ldpc_decoder>(m, "LdpcDecoder", py::module_local())
        .def(py::init(constructor<ldpc_decoder,
                                  int,
                                  const std::vector<int>&,
                                  const std::vector<int>&,
                                  const std::string&>()),
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
}

} // namespace mimopack

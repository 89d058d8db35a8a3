/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/common.h"
#include <stdexcept>
#include <vector>

namespace mimopack {

namespace {

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
        return mimopack::num_messages(n, d_lanes, d_interleaver.size());
    }

    std::string isa() const { return d_build.name; }

private:
    const isa_build& d_build;
    const int d_lanes;
    const bool d_int16;
    const std::vector<int> d_interleaver;
};

} // namespace

void bind_turbo(py::module_& m)
{
    py::class_<turbo_decoder>(m, "TurboDecoder", py::module_local())
        .def(py::init(constructor<turbo_decoder,
                                  const std::vector<int>&,
                                  bool,
                                  const std::string&>()),
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
}

} // namespace mimopack

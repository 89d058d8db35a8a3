/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/wifi/headers.h"

namespace mimopack {

namespace {

/* Return (kind, fields) of each frame, from symbols (frames, 3, legacy) behind a matched
 * filter and the strength (frames,) of its channel. */
py::list read_symbols(const header_reader& self,
                      const complex_array& combined,
                      const double_array& strength)
{
    std::vector<wifi_signal> signals(strength.size());
    for (std::size_t i = 0; i < signals.size(); ++i) {
        constexpr std::size_t size = sizeof signals[i].symbols / sizeof(float);
        std::copy_n(floats(combined) + i * size, size, signals[i].symbols[0]);
        signals[i].strength = strength.data()[i];
    }
    self.build.read(
        self.layout.plan(), signals.data(), static_cast<std::int64_t>(signals.size()));
    py::list out;
    for (const wifi_signal& s : signals)
        out.append(py::make_tuple(
            s.kind, py::bytes(reinterpret_cast<const char*>(s.fields), wifi_field_bits)));
    return out;
}

} // namespace

void bind_wifi_headers(py::module_& m)
{
    py::dict kinds;
    kinds["greenfield"] = +wifi_greenfield;
    kinds["l_sig"] = +wifi_l_sig;
    kinds["second_turned"] = +wifi_second_turned;
    kinds["third_turned"] = +wifi_third_turned;
    kinds["repeated"] = +wifi_repeated;
    kinds["he_signal"] = +wifi_he_signal;
    kinds["he_extended"] = +wifi_he_extended;
    m.attr("signal_kinds") = kinds;
    py::class_<header_reader, std::shared_ptr<header_reader>>(
        m, "HeaderReader", py::module_local())
        .def(py::init([](const py::kwargs& given) {
            return std::shared_ptr<header_reader>(
                new header_reader{ keyword<int>(given, "fft"),
                                   keyword<float_array>(given, "sequence"),
                                   keyword<std::shared_ptr<smoother>>(given, "smoother"),
                                   { keyword<long_array>(given, "data"),
                                     keyword<long_array>(given, "pilots"),
                                     keyword<float_array>(given, "pilot_signs"),
                                     keyword<long_array>(given, "order"),
                                     keyword<long_array>(given, "he_order"),
                                     keyword<double_array>(given, "distance") },
                                   keyword<long_array>(given, "windows"),
                                   find_wifi(isa_of(given)) });
        }))
        .def("read_symbols",
             &read_symbols,
             py::arg("combined").noconvert(),
             py::arg("strength").noconvert());
}

} // namespace mimopack

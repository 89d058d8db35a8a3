/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* _runtime: parts of blocks in C++. GNU Radio's own Python modules register the types of
 * PMTs, tags and blocks. */

#include "runtime/bindings.h"

namespace py = pybind11;

PYBIND11_MODULE(_runtime, m)
{
    m.doc() = "Parts of blocks in C++: messages, and samples for a thread of Python.";
    py::module_::import("pmt");
    py::module_::import("gnuradio.gr");
    mimopack::bind_arrivals(m);
    mimopack::bind_messages(m);
    mimopack::bind_samples(m);
}

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* _runtime: parts of blocks in C++. GNU Radio's own Python modules register the types of
 * PMTs, tags and blocks. */

#include "runtime/bindings.h"

#include <gnuradio/hier_block2.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/tags.h>
#include <pmt/pmt.h>

namespace py = pybind11;

PYBIND11_MODULE(_runtime, m)
{
    m.doc() = "Parts of blocks in C++: messages, samples for a thread of Python, and the "
              "hierarchical block.";
    py::module_::import("pmt");
    py::module_::import("gnuradio.gr");
    for (const std::type_info* type : { &typeid(pmt::pmt_base),
                                        &typeid(gr::tag_t),
                                        &typeid(gr::basic_block),
                                        &typeid(gr::sync_block),
                                        &typeid(gr::hier_block2) })
        if (!py::detail::get_type_info(*type))
            throw py::import_error(
                "_runtime and GNU Radio's Python modules do not know each other's types: "
                "build gr-mimopack with GNU Radio's compiler and version of pybind11");
    mimopack::bind_arrivals(m);
    mimopack::bind_hierarchy(m);
    mimopack::bind_messages(m);
    mimopack::bind_running(m);
    mimopack::bind_samples(m);
}

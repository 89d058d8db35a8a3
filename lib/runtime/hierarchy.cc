/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* The hierarchical block in Python */

#include "bindings/constructor.h"
#include "runtime/bindings.h"
#include "runtime/hierarchy.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>

namespace py = pybind11;

void mimopack::bind_hierarchy(py::module_& m)
{
    py::class_<hierarchy, gr::hier_block2, hierarchy::sptr>(
        m,
        "hierarchy",
        R"(A hierarchical block that passes log level and processor affinity to its inner blocks.

In GNU Radio 3.10, these methods of a hierarchical block with message ports recurse without end.

Args:
    name: of the block.
    inputs, outputs: its signatures.)")
        .def(py::init([](const std::string& name,
                         gr::io_signature::sptr inputs,
                         gr::io_signature::sptr outputs) {
                 return mimopack::constructed{ gnuradio::make_block_sptr<hierarchy>(
                     name, std::move(inputs), std::move(outputs)) };
             }),
             py::arg("name"),
             py::arg("inputs"),
             py::arg("outputs"))
        .def("contain",
             &hierarchy::contain,
             py::arg("block"),
             "Add an inner block. The first one tells log level and affinity.")
        .def("rename",
             &hierarchy::rename,
             py::arg("name"),
             "Change the name, which stands in the errors of a flowgraph.");
}

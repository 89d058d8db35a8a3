/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* Whether any block of a flowgraph still runs */

#include "runtime/bindings.h"
#include "runtime/hierarchy.h"

#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <pybind11/stl.h>

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <vector>

namespace py = pybind11;

namespace {

bool any_runs(const std::vector<gr::basic_block_sptr>& blocks);

/* GNU Radio has a thread for each block, and joins it in wait() only: until then its
 * handle is valid, and the system knows its clock until it ends, by an exception, too. */
bool runs(const gr::basic_block_sptr& block)
{
    if (auto outer = std::dynamic_pointer_cast<mimopack::hierarchy>(block))
        return any_runs(outer->inner());
    auto inner = std::dynamic_pointer_cast<gr::block>(block);
    if (!inner)
        return false;
    const auto detail = inner->detail();
    clockid_t clock;
    return detail && detail->threaded &&
           pthread_getcpuclockid(detail->thread, &clock) != ESRCH;
}

bool any_runs(const std::vector<gr::basic_block_sptr>& blocks)
{
    return std::any_of(blocks.begin(), blocks.end(), runs);
}

} // namespace

void mimopack::bind_running(py::module_& m)
{
    m.def("any_runs",
          any_runs,
          py::arg("blocks"),
          R"(Return whether the thread of any block still runs.

Only for blocks of a flowgraph whose start() has returned and whose wait() has not been called.
Other hierarchical blocks than those of this package count as ended.)");
}

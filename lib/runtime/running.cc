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

/* GNU Radio has a thread for each block. Only wait() joins it, so its handle is valid
 * until then. glibc forgets the clock of a thread that has ended, also by an exception.
 * Elsewhere a thread that ended by an exception counts as running. */
bool runs(const gr::basic_block_sptr& block)
{
    if (auto outer = std::dynamic_pointer_cast<mimopack::hierarchy>(block))
        return any_runs(outer->inner());
    auto inner = std::dynamic_pointer_cast<gr::block>(block);
    if (!inner)
        throw py::type_error("blocks: got the hierarchical block " + block->alias() +
                             ", whose inner blocks are not known");
    const auto detail = inner->detail();
    if (!detail || !detail->threaded)
        return false;
#if defined(__GLIBC__)
    clockid_t clock;
    return pthread_getcpuclockid(detail->thread, &clock) != ESRCH;
#else
    return !detail->done() && !inner->finished();
#endif
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

Call this only between start() and wait() of the blocks' flowgraph, and not if it was locked.

Raises:
    TypeError: a hierarchical block is not one of this package's.)");
}

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/common.h"
#include <omp.h>
#include <unistd.h>
#include <algorithm>
#include <stdexcept>

namespace mimopack {

namespace {

std::atomic<bool> forked{ false };

} // namespace

std::string isa_of(const py::kwargs& given)
{
    return given.contains("isa") ? keyword<std::string>(given, "isa") : "auto";
}

int most_threads()
{
    /* sysconf() reads a file, and each call of a detector asks for this number. */
    static const int most =
        static_cast<int>(std::max(16l, 4 * sysconf(_SC_NPROCESSORS_ONLN)));
    return most;
}

void watch_forks()
{
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
}

const isa_build& find_build(const std::string& name)
{
    int count;
    const isa_build* const* builds = available_builds(count);
    if (name == "auto")
        return *builds[0];
    for (int i = 0; i < count; ++i)
        if (name == builds[i]->name)
            return *builds[i];
    std::string allowed = "auto";
    for (int i = 0; i < count; ++i)
        allowed += std::string(", ") + builds[i]->name;
    throw std::invalid_argument("isa: got " + name + ", this machine has " + allowed);
}

int team_size(int threads)
{
    const int most = most_threads();
    if (threads < 0 || threads > most)
        throw std::invalid_argument("threads: got " + std::to_string(threads) +
                                    ", allowed are 0 to " + std::to_string(most));
    return forked ? 1 : threads > 0 ? threads : std::min(omp_get_max_threads(), most);
}

void signal_watch::look()
{
    const auto now = clock::now();
    if (now - d_checked < std::chrono::milliseconds(100))
        return;
    d_checked = now;
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals())
        d_raised = true;
}

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays, checks and calls that the bindings of detectors and decoders share */
#pragma once
#include "cpu/plan.h"
#include <pthread.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <atomic>
#include <chrono>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

namespace mimopack {

namespace py = pybind11;

using float_array = py::array_t<float, py::array::c_style>;
using byte_array = py::array_t<std::uint8_t, py::array::c_style>;

/* Return a keyword argument of a constructor. */
template <class T>
T keyword(const py::kwargs& given, const char* name)
{
    return given[name].cast<T>();
}

/* Return the keyword argument "isa"; "auto" without one. */
std::string isa_of(const py::kwargs& given);

/* Return the build for an instruction set; "auto" is the best one. Throw
 * std::invalid_argument for an unknown name. */
const isa_build& find_build(const std::string& name);

/* Return the largest number of threads that one call may ask for. */
int most_threads();

/* Return the number of threads for one call; 0 asks for all cores. Throw
 * std::invalid_argument for too large a number. */
int team_size(int threads);

/* Stop using OpenMP in forked children. Its threads do not survive a fork, and the child
 * would wait for them for ever. */
void watch_forks();

/* A MIMO detector on the CPU, for other bindings */
class cpu_detector
{
public:
    virtual ~cpu_detector() = default;
    virtual const plan& shape() const = 0;
    /* Return how many vectors were erased, or out_of_memory. */
    virtual std::size_t run(const batch& b) const = 0;
};

void bind_codes(py::module_& m);
void bind_matrices(py::module_& m);
void bind_recording(py::module_& m);
void bind_tasks(py::module_& m);
void bind_wifi(py::module_& m);

/* Lets Ctrl-C end a long call */
class signal_watch
{
public:
    /* The calling thread makes the object, because it alone may run Python's signal
     * handlers. */
    signal_watch() : d_caller(pthread_self()) {}

    bool raised() const { return d_raised.load(std::memory_order_relaxed); }

    static bool ask(void* self)
    {
        auto& watch = *static_cast<signal_watch*>(self);
        if (pthread_equal(watch.d_caller, pthread_self()) && ++watch.d_calls % 16 == 0)
            watch.look();
        return watch.raised();
    }

private:
    using clock = std::chrono::steady_clock;
    const pthread_t d_caller;
    /* All threads read d_raised all the time. */
    alignas(64) std::atomic<bool> d_raised{ false };
    alignas(64) unsigned d_calls = 0;
    clock::time_point d_checked = clock::now();

    void look();
};

/* Run a batch in a way that Ctrl-C can end. Return how many of its parts were erased. The
 * caller must not hold the GIL. */
template <class Batch, class Run>
std::size_t run_unlocked(Batch& b, int threads, Run run)
{
    b.threads = team_size(threads);
    signal_watch signals;
    b.stop = signal_watch::ask;
    b.stop_context = &signals;
    const std::size_t erased = run(b);
    if (signals.raised()) {
        const py::gil_scoped_acquire gil;
        throw py::error_already_set();
    }
    if (erased == out_of_memory)
        throw std::bad_alloc();
    return erased;
}

/* Run a batch without the GIL, which the caller holds. */
template <class Batch, class Run>
std::size_t run_batch(Batch& b, int threads, Run run)
{
    const py::gil_scoped_release release;
    return run_unlocked(b, threads, run);
}

} // namespace mimopack

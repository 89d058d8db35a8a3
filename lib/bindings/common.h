/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays, checks and calls that the bindings of detectors and decoders share */
#pragma once
#include "bindings/constructor.h"
#include "bindings/interpreter.h"
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
using index_array = py::array_t<std::int32_t, py::array::c_style>;

/* Return the build for an instruction set; "auto" is the best one. Throw
 * std::invalid_argument for an unknown name. */
const isa_build& find_build(const std::string& name);

/* Return the largest number of threads that one call may ask for. */
int most_threads();

/* Return the number of threads for one call; 0 asks for all cores. Throw
 * std::invalid_argument for too large a number. */
int team_size(int threads);

/* The system refuses the threads that a call asks for. In Python, ThreadsRefused. */
struct threads_refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* Return the function batch.team for a call that asks for so many threads.
 *
 * OpenMP's library ends the process if it cannot start a thread. The function therefore
 * makes the calling thread's team itself, after a look whether the system has room. If it
 * has none, the function throws threads_refused. If the call asks for all cores, it warns
 * once and returns the number of threads that the team has. */
int (*team_function(int threads))(int);

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

void bind_convolutional(py::module_& m);
void bind_ldpc(py::module_& m);
void bind_recording(py::module_& m);
void bind_tasks(py::module_& m);
void bind_turbo(py::module_& m);
void bind_viterbi(py::module_& m);
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
        if (pthread_equal(watch.d_caller, pthread_self()) && --watch.d_left == 0)
            watch.look();
        return watch.raised();
    }

private:
    using clock = std::chrono::steady_clock;
    const pthread_t d_caller;
    alignas(64) std::atomic<bool> d_raised{
        false
    };                               /* read by all threads, all the time */
    alignas(64) unsigned d_left = 1; /* calls of ask() until the next look */
    unsigned d_period = 1;
    clock::time_point d_last = clock::now(), d_checked = d_last;

    void look();
};

/* Run a batch in a way that Ctrl-C can end. Return how many of its parts were erased. The
 * caller must not hold the GIL. */
template <class Batch, class Run>
std::size_t run_unlocked(Batch& b, int threads, Run run)
{
    b.threads = team_size(threads);
    b.team = team_function(threads);
    signal_watch signals;
    b.stop = signal_watch::ask;
    b.stop_context = &signals;
    const std::size_t erased = run(b);
    if (signals.raised()) {
        const python_held gil;
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
    const python_released release;
    return run_unlocked(b, threads, run);
}

/* Return the number of messages of n codewords, in groups of `lanes` codewords. */
std::size_t num_messages(std::size_t n, int lanes, std::size_t of_codeword);

/* The arrays of a decoder's call, see codeword_batch */
struct codeword_arrays {
    const float_array& llr;
    float_array& posterior;
    std::optional<float_array>& messages;
    byte_array& found;
    index_array& iterations;

    /* Make a batch of the arrays. Throw std::invalid_argument if they do not fit. */
    codeword_batch batch(int lanes, int num_bits, std::size_t messages_of_codeword) const;
};

} // namespace mimopack

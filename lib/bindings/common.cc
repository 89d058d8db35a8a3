/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/common.h"
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace mimopack {

namespace {

std::atomic<bool> forked{ false };

/* Threads that must have room besides those of a team. Between the look and the start of
 * the team, other parts of the process may start as many. */
constexpr int spare_threads = 4;

/* Return the size in bytes of the stacks that GCC's OpenMP library gives its threads, or
 * 0 for the system's default. The library reads the environment when it is loaded. */
std::size_t read_stack_size()
{
    std::size_t largest = 0;
    for (const char* name : { "OMP_STACKSIZE", "OMP_STACKSIZE_ALL", "GOMP_STACKSIZE" }) {
        const char* const text = std::getenv(name);
        if (!text)
            continue;
        char* end;
        errno = 0;
        const unsigned long number = std::strtoul(text, &end, 10);
        while (std::isspace(static_cast<unsigned char>(*end)))
            ++end;
        int shift = 10;
        switch (std::tolower(static_cast<unsigned char>(*end))) {
        case 'b':
            shift = 0;
            break;
        case 'm':
            shift = 20;
            break;
        case 'g':
            shift = 30;
        }
        if (!errno && number << shift >> shift == number)
            largest = std::max<std::size_t>(largest, number << shift);
    }
    return largest;
}

const std::size_t stack_size = read_stack_size();

/* What the threads of refusal() wait for */
struct gate {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;
    std::vector<long> ids;

    static void* wait(void* self)
    {
        gate& g = *static_cast<gate*>(self);
        std::unique_lock lock(g.mutex);
        g.ids.push_back(syscall(SYS_gettid));
        g.opened.wait(lock, [&] { return g.open; });
        return nullptr;
    }
};

/* Start threads that exist at the same time, and end them. Return 0, or the error with
 * which the system refuses one. */
int refusal(int count)
{
    gate g;
    std::vector<pthread_t> threads;
    threads.reserve(count);
    g.ids.reserve(count);
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    if (stack_size)
        pthread_attr_setstacksize(&attributes, stack_size);
    while (!error && static_cast<int>(threads.size()) < count) {
        pthread_t thread;
        error = pthread_create(&thread, &attributes, gate::wait, &g);
        if (!error)
            threads.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
    {
        const std::lock_guard lock(g.mutex);
        g.open = true;
    }
    g.opened.notify_all();
    for (const pthread_t thread : threads)
        pthread_join(thread, nullptr);
    /* For a moment, the system still counts a thread that was joined. */
    for (const long id : g.ids)
        for (int i = 0; i < 1000 && !syscall(SYS_tgkill, getpid(), id, 0); ++i)
            usleep(50);
    return error;
}

/* Only one thread at a time looks for room and makes its team: two might both count on
 * the same room. */
std::mutex making_team;

using std::chrono::steady_clock;

/* Each calling thread has a team of its own. OpenMP's library keeps it until the thread
 * runs a parallel region with another number of threads, except one: then it ends the
 * threads that are too many, or starts those that are missing. */
struct team {
    int size = 1;
    int looked = 1; /* size for which there was room at a moment */
    steady_clock::time_point moment;
    steady_clock::time_point refused; /* when the system last refused it */
};
thread_local team own;

/* Where small and large batches take turns, a look before each would take longer than the
 * batches. */
constexpr std::chrono::milliseconds look_lasts{ 500 };

/* Give the calling thread's team a size. Return 0, or the error with which the system
 * refuses a thread; then the team stays as it is. */
int resize(int size)
{
    if (size > own.size) {
        const std::lock_guard lock(making_team);
        if (size > own.looked || steady_clock::now() - own.moment > look_lasts) {
            if (const int error = refusal(size - own.size + spare_threads))
                return error;
            own.looked = size;
            own.moment = steady_clock::now();
        }
#pragma omp parallel num_threads(size)
        {
            /* A thread's first allocation may take address space, on which another
             * thread's look for room could count. */
            void* volatile first = std::malloc(1);
            std::free(first);
        }
    }
    own.size = size;
    return 0;
}

std::string refused(int size, int error)
{
    return "threads: the system refused to start " + std::to_string(size) + " threads (" +
           std::strerror(error) + ")";
}

/* team_function() of a call that asks for this number */
int exact_team(int size)
{
    if (const int error = resize(size))
        throw threads_refused(
            refused(size, error) +
            ". Ask for fewer, or raise the limits of processes and memory (ulimit)");
    return size;
}

/* team_function() of a call that asks for all cores */
int largest_team(int size)
{
    if (size <= own.size) {
        own.size = size;
        return size;
    }
    const auto now = steady_clock::now();
    if (own.refused.time_since_epoch().count() &&
        now - own.refused < std::chrono::seconds(1))
        return own.size;
    const int error = resize(size);
    if (!error)
        return size;
    own.refused = now;
    static std::atomic<bool> told{ false };
    if (!told.exchange(true)) {
        const python_held gil;
        const std::string text =
            refused(size, error) + ", going on with " + std::to_string(own.size) +
            ". To use more, raise the limits of processes and memory "
            "(ulimit)";
        if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1))
            throw py::error_already_set();
    }
    return own.size;
}

} // namespace

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

int (*team_function(int threads))(int) { return threads > 0 ? exact_team : largest_team; }

void signal_watch::look()
{
    const auto now = clock::now();
    if (now - d_last < std::chrono::milliseconds(1))
        d_period = std::min(2 * d_period, 1u << 16);
    else if (d_period > 1)
        d_period /= 2;
    d_left = d_period;
    d_last = now;
    if (now - d_checked > std::chrono::milliseconds(100)) {
        d_checked = now;
        const python_held gil;
        if (PyErr_CheckSignals())
            d_raised = true;
    }
}

std::size_t num_messages(std::size_t n, int lanes, std::size_t of_codeword)
{
    return (n + lanes - 1) / lanes * lanes * of_codeword;
}

codeword_batch
codeword_arrays::batch(int lanes, int num_bits, std::size_t messages_of_codeword) const
{
    codeword_batch b{};
    b.n = llr.ndim() == 2 ? llr.shape(0) : 0;
    if (llr.ndim() != 2 || llr.shape(1) != num_bits || posterior.size() != llr.size() ||
        static_cast<std::size_t>(found.size()) != b.n ||
        static_cast<std::size_t>(iterations.size()) != b.n)
        throw std::invalid_argument("decode: inconsistent array shapes");
    if (messages && static_cast<std::size_t>(messages->size()) !=
                        num_messages(b.n, lanes, messages_of_codeword))
        throw std::invalid_argument("decode: size of messages does not fit llr");
    b.llr = llr.data();
    b.posterior = posterior.mutable_data();
    b.messages = messages ? messages->mutable_data() : nullptr;
    b.found = found.mutable_data();
    b.iterations = iterations.mutable_data();
    return b;
}

} // namespace mimopack

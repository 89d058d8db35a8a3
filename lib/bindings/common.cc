/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/common.h"
#include <omp.h>
#include <unistd.h>
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace mimopack {

namespace {

std::atomic<bool> forked{ false };

/* What the threads of start_threads() wait for */
struct gate {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;

    static void* wait(void* self)
    {
        gate& g = *static_cast<gate*>(self);
        std::unique_lock lock(g.mutex);
        g.opened.wait(lock, [&] { return g.open; });
        return nullptr;
    }
};

/* Start threads that exist at the same time, and end them. Throw std::runtime_error if the
 * system refuses one. */
void start_threads(int count)
{
    gate g;
    std::vector<pthread_t> threads;
    threads.reserve(count);
    int error = 0;
    while (!error && static_cast<int>(threads.size()) < count) {
        pthread_t thread;
        error = pthread_create(&thread, nullptr, gate::wait, &g);
        if (!error)
            threads.push_back(thread);
    }
    {
        const std::lock_guard lock(g.mutex);
        g.open = true;
    }
    g.opened.notify_all();
    for (const pthread_t thread : threads)
        pthread_join(thread, nullptr);
    if (error)
        throw std::runtime_error(
            "threads: the system refused to start " + std::to_string(count + 1) +
            " threads (" + std::strerror(error) +
            "). Ask for fewer, or raise the limits of processes and memory (ulimit)");
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
    const int count =
        forked ? 1 : threads > 0 ? threads : std::min(omp_get_max_threads(), most);
    /* Each calling thread has a team of its own, which OpenMP keeps until it changes its
     * size. */
    thread_local int kept = 1;
    if (count > kept)
        start_threads(count - 1);
    if (count > 1)
        kept = count;
    return count;
}

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

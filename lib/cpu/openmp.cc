/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of GCC's OpenMP library that this project uses, for builds with
 * ThreadSanitizer. The library itself synchronises its threads in ways that
 * ThreadSanitizer does not see, so that each shared loop would be reported as a race.
 *
 * Threads take the shares of a loop in turn. A common counter would order the shares and
 * hide races between them, and a fast thread would leave nothing to the others. */
#include <condition_variable>
#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using number = unsigned long long;

struct barrier {
    std::mutex mutex;
    std::condition_variable change;
    unsigned arrived = 0, generation = 0;

    void wait(unsigned count)
    {
        std::unique_lock lock(mutex);
        const unsigned mine = generation;
        if (++arrived == count) {
            arrived = 0;
            ++generation;
            change.notify_all();
        } else
            change.wait(lock, [&] { return generation != mine; });
    }
};

/* Two barriers take turns. With one, a thread that is late to leave it would lock the
 * mutex after a thread that waits again, and so come after that thread's work. */
struct team {
    const unsigned size;
    barrier barriers[2];

    explicit team(unsigned size_) : size(size_) {}
};

/* A thread of a team, and its next share of the loop that it is in */
struct member {
    team* in = nullptr;
    unsigned index = 0, passed = 0;
    number next = 0, end = 0, share = 1;

    unsigned size() const { return in ? in->size : 1; }

    void begin(number first, number last, number size_of_share)
    {
        share = size_of_share;
        next = first + index * share;
        end = last;
    }

    template <class T>
    bool take(T* from, T* to)
    {
        if (next >= end)
            return false;
        *from = static_cast<T>(next);
        *to = static_cast<T>(std::min(end, next + share));
        next += size() * share;
        return true;
    }
};

thread_local member here;
std::mutex atomic;

} // namespace

extern "C" {

int omp_get_max_threads()
{
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}
int omp_get_num_threads() { return static_cast<int>(here.size()); }
int omp_get_thread_num() { return static_cast<int>(here.index); }

void GOMP_parallel(void (*run)(void*), void* data, unsigned count, unsigned)
{
    team all(count ? count : omp_get_max_threads());
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < all.size; ++i)
        threads.emplace_back([&all, run, data, i] {
            here = { &all, i };
            run(data);
        });
    const member outside = here;
    here = { &all, 0 };
    run(data);
    here = outside;
    for (std::thread& one : threads)
        one.join();
}

bool GOMP_loop_nonmonotonic_dynamic_next(long* from, long* to)
{
    return here.take(from, to);
}

bool GOMP_loop_nonmonotonic_dynamic_start(
    long first, long last, long, long share, long* from, long* to)
{
    here.begin(first, std::max(first, last), share);
    return here.take(from, to);
}

bool GOMP_loop_ull_nonmonotonic_dynamic_next(number* from, number* to)
{
    return here.take(from, to);
}

bool GOMP_loop_ull_nonmonotonic_dynamic_start(
    bool, number first, number last, number, number share, number* from, number* to)
{
    here.begin(first, last, share);
    return here.take(from, to);
}

void GOMP_loop_end()
{
    if (here.in)
        here.in->barriers[here.passed++ % 2].wait(here.in->size);
}

void GOMP_atomic_start() { atomic.lock(); }
void GOMP_atomic_end() { atomic.unlock(); }

} // extern "C"

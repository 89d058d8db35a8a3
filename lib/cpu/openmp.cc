/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of GCC's OpenMP library that this project uses, for builds with
 * ThreadSanitizer. The library itself synchronises its threads in ways that
 * ThreadSanitizer does not see, so that each shared loop would be reported as a race.
 *
 * Every team has new threads, so a loop is also checked without the order that kept
 * threads would give. A mutex guards the counter of a loop; relaxed atomics would do. */
#include <condition_variable>
#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using number = unsigned long long;

/* Loops of a team come one after the other: a barrier ends each. */
struct team {
    const unsigned size;
    std::mutex mutex;
    std::condition_variable change;
    number next = 0, end = 0, chunk = 1;
    unsigned arrived = 0, generation = 0;
    bool open = false; /* a thread has begun the loop */

    explicit team(unsigned size_) : size(size_) {}

    void wait_for_all()
    {
        std::unique_lock lock(mutex);
        const unsigned mine = generation;
        if (++arrived == size) {
            arrived = 0;
            open = false;
            ++generation;
            change.notify_all();
        } else
            change.wait(lock, [&] { return generation != mine; });
    }

    void begin(number first, number last, number size_of_chunk)
    {
        const std::lock_guard guard(mutex);
        if (open)
            return;
        open = true;
        next = first;
        end = last;
        chunk = size_of_chunk;
    }

    template <class T>
    bool take(T* from, T* to)
    {
        const std::lock_guard guard(mutex);
        if (next >= end)
            return false;
        *from = static_cast<T>(next);
        next = std::min(end, next + chunk);
        *to = static_cast<T>(next);
        return true;
    }
};

struct place {
    team* in;
    unsigned number;
};

thread_local place here{ nullptr, 0 };
std::mutex atomic;

} // namespace

extern "C" {

int omp_get_max_threads()
{
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}
int omp_get_num_threads() { return here.in ? static_cast<int>(here.in->size) : 1; }
int omp_get_thread_num() { return static_cast<int>(here.number); }

void GOMP_parallel(void (*run)(void*), void* data, unsigned count, unsigned)
{
    team all(count ? count : omp_get_max_threads());
    const place outside = here;
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < all.size; ++i)
        threads.emplace_back([&all, run, data, i] {
            here = { &all, i };
            run(data);
        });
    here = { &all, 0 };
    run(data);
    for (std::thread& one : threads)
        one.join();
    here = outside;
}

bool GOMP_loop_nonmonotonic_dynamic_next(long* from, long* to)
{
    return here.in->take(from, to);
}

bool GOMP_loop_nonmonotonic_dynamic_start(
    long first, long last, long, long chunk, long* from, long* to)
{
    here.in->begin(first, std::max(first, last), chunk);
    return here.in->take(from, to);
}

bool GOMP_loop_ull_nonmonotonic_dynamic_next(number* from, number* to)
{
    return here.in->take(from, to);
}

bool GOMP_loop_ull_nonmonotonic_dynamic_start(
    bool, number first, number last, number, number chunk, number* from, number* to)
{
    here.in->begin(first, last, chunk);
    return here.in->take(from, to);
}

void GOMP_loop_end() { here.in->wait_for_all(); }

void GOMP_atomic_start() { atomic.lock(); }
void GOMP_atomic_end() { atomic.unlock(); }

} // extern "C"

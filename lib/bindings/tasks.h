/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks for the threads of a receiver. A thread that waits for a task holds no Python
 * lock, and a task in C++ needs none: handing the lock over takes longer than many tasks.
 */
#pragma once
#include "bindings/common.h"
#include <condition_variable>
#include <time.h>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace mimopack {

/* CPU time of the calling thread */
class stopwatch
{
public:
    /* Return this thread's seconds since the last call, or since the watch was made. */
    double lap()
    {
        const double now = seconds(), taken = now - d_last;
        d_last = now;
        return taken;
    }

private:
    double d_last = seconds();

    static double seconds()
    {
        timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    }
};

/* A call that one thread makes and another one waits for */
class task
{
public:
    virtual ~task() = default;

    /* Make the call, unless it was made or another thread makes it: then wait. The caller
     * must not hold Python's lock. */
    void run();

    bool done() const { return d_done; }

    /* Wait until the call has ended. The caller must not hold Python's lock. */
    void wait();

    /* Return whether Ctrl-C has ended the call, and value() has not told so yet. */
    bool interrupted() const;

    /* Return the result of a finished call, or throw its exception. */
    py::object value()
    {
        rethrow();
        return result();
    }

    /* Throw if the call has not ended, or its exception. */
    void rethrow();

protected:
    /* Make the call without Python's lock. */
    virtual void work() = 0;
    /* Return the result, with Python's lock. */
    virtual py::object result() = 0;

private:
    std::mutex d_mutex;
    std::condition_variable d_ended;
    std::atomic<bool> d_begun{ false }, d_done{ false };
    std::exception_ptr d_error;
};

/* Delete a task with Python's lock, which its Python objects need. */
void delete_task(task* t);

template <class Task, class... Arguments>
std::shared_ptr<Task> make_task(Arguments&&... arguments)
{
    return { new Task(std::forward<Arguments>(arguments)...), delete_task };
}

/* Tasks that wait for a thread. No caller of run_one() and serve() may hold Python's
 * lock, which they never ask for themselves. */
class task_queue
{
public:
    /* Add a task. The caller holds Python's lock. */
    void put(std::shared_ptr<task> added);

    /* Run the oldest task. Return whether there was one. */
    bool run_one();

    /* Run tasks until close(). */
    void serve();

    /* Let serve() return as soon as no task waits. */
    void close();

    /* Return whether more tasks wait than threads have called serve(). */
    bool overloaded();

    /* Set a function that serve() calls after each task. */
    void set_alarm(std::function<void()> function);

private:
    std::mutex d_mutex;
    std::condition_variable d_change;
    std::deque<std::shared_ptr<task>> d_tasks;
    /* Tasks that have run. put() deletes them, because it has Python's lock. */
    std::vector<std::shared_ptr<task>> d_ended;
    std::shared_ptr<const std::function<void()>> d_alarm; /* copied without new memory */
    std::size_t d_threads = 0;                            /* in serve() */
    std::size_t d_unfinished = 0; /* tasks that were put and are not in d_ended */
    bool d_closed = false;

    void run_oldest(std::unique_lock<std::mutex>& lock);
};

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/tasks.h"
#include <utility>

namespace mimopack {

namespace {

/* A call of a Python function */
class python_task : public task
{
public:
    python_task(py::object function, py::args arguments)
        : d_function(std::move(function)), d_arguments(std::move(arguments))
    {
    }

protected:
    void work() override
    {
        const py::gil_scoped_acquire lock;
        const py::object function = std::move(d_function);
        const py::object arguments = std::move(d_arguments);
        d_value = function(*arguments);
    }

    py::object result() override { return d_value; }

private:
    py::object d_function, d_arguments, d_value;
};

} // namespace

void task::run()
{
    if (d_begun.exchange(true)) {
        wait();
        return;
    }
    try {
        work();
    } catch (...) { /* thrown again by value() */
        d_error = std::current_exception();
    }
    const std::lock_guard guard(d_mutex);
    d_done = true;
    d_ended.notify_all();
}

void task::wait()
{
    std::unique_lock lock(d_mutex);
    d_ended.wait(lock, [&] { return d_done.load(); });
}

bool task::interrupted() const
{
    if (!d_done || !d_error)
        return false;
    try {
        std::rethrow_exception(d_error);
    } catch (const py::error_already_set& error) {
        return !error.matches(PyExc_Exception);
    } catch (...) {
        return false;
    }
}

void task::rethrow()
{
    if (!d_done)
        throw std::runtime_error("the task is not done");
    if (!d_error)
        return;
    const std::exception_ptr error = d_error;
    /* Raise one KeyboardInterrupt per Ctrl-C, however often the value is asked for. */
    if (interrupted())
        d_error = std::make_exception_ptr(std::runtime_error("a task was interrupted"));
    try {
        std::rethrow_exception(error);
    } catch (const py::error_already_set& raised) { /* can be raised only once */
        PyErr_Restore(raised.type().inc_ref().ptr(),
                      raised.value().inc_ref().ptr(),
                      raised.trace().inc_ref().ptr());
        throw py::error_already_set();
    }
}

void delete_task(task* t)
{
    const py::gil_scoped_acquire lock;
    delete t;
}

void task_queue::put(std::shared_ptr<task> added)
{
    std::vector<std::shared_ptr<task>> ended;
    const std::lock_guard guard(d_mutex);
    ended.reserve(d_unfinished + 1); /* for run_oldest() */
    d_tasks.push_back(std::move(added));
    ended.swap(d_ended); /* they die after the guard */
    ++d_unfinished;
    d_change.notify_one();
}

/* Run the oldest task. The caller holds d_mutex in `lock`. */
void task_queue::run_oldest(std::unique_lock<std::mutex>& lock)
{
    std::shared_ptr<task> next = std::move(d_tasks.front());
    d_tasks.pop_front();
    lock.unlock();
    next->run();
    lock.lock();
    d_ended.push_back(std::move(next)); /* put() has made room */
    --d_unfinished;
}

bool task_queue::run_one()
{
    std::unique_lock lock(d_mutex);
    if (d_tasks.empty())
        return false;
    run_oldest(lock);
    return true;
}

void task_queue::serve()
{
    std::unique_lock lock(d_mutex);
    ++d_threads;
    while (true) {
        d_change.wait(lock, [&] { return !d_tasks.empty() || d_closed; });
        if (d_tasks.empty())
            return;
        run_oldest(lock);
        if (const auto alarm = d_alarm) {
            lock.unlock();
            (*alarm)();
            lock.lock();
        }
    }
}

void task_queue::close()
{
    const std::lock_guard guard(d_mutex);
    d_closed = true;
    d_change.notify_all();
}

bool task_queue::overloaded()
{
    const std::lock_guard guard(d_mutex);
    return d_tasks.size() > d_threads;
}

void task_queue::set_alarm(std::function<void()> function)
{
    std::shared_ptr<const std::function<void()>> alarm;
    if (function)
        alarm = std::make_shared<const std::function<void()>>(std::move(function));
    const std::lock_guard guard(d_mutex);
    d_alarm = std::move(alarm);
}

void bind_tasks(py::module_& m)
{
    using unlocked = py::call_guard<py::gil_scoped_release>;
    py::class_<task, std::shared_ptr<task>>(
        m,
        "Task",
        py::module_local(),
        R"(A function call, made by a thread of a TaskQueue or with run().

Attributes:
    done: whether the call has ended.
    interrupted: whether Ctrl-C has ended the call, and value() has not raised KeyboardInterrupt yet.)")
        .def_property_readonly("done", &task::done)
        .def_property_readonly("interrupted", &task::interrupted)
        .def("run", &task::run, unlocked(), "Make the call.")
        .def("wait", &task::wait, unlocked(), "Wait until the call has ended.")
        .def("value",
             &task::value,
             "Return the result of a finished call, or raise its exception.");
    m.def(
        "python_task",
        [](py::object function, py::args arguments) {
            return std::shared_ptr<task>(
                make_task<python_task>(std::move(function), std::move(arguments)));
        },
        py::arg("function"),
        "Return the Task of a call of a function with the other arguments.");
    py::class_<task_queue, std::shared_ptr<task_queue>>(
        m, "TaskQueue", py::module_local(), "Tasks that wait for a thread.")
        .def(py::init<>())
        .def_property_readonly("overloaded",
                               &task_queue::overloaded,
                               "Whether the queue holds more tasks than threads serve.")
        .def("put", &task_queue::put, py::arg("task").none(false), "Add a task.")
        .def("run_one",
             &task_queue::run_one,
             unlocked(),
             "Run the oldest task; return whether there was one.")
        .def("serve", &task_queue::serve, unlocked(), "Run tasks until close().")
        .def("close", &task_queue::close, "Let serve() return as soon as no task waits.")
        .def(
            "set_alarm",
            [](task_queue& self, const std::optional<py::capsule>& alarm) {
                self.set_alarm(alarm ? *alarm->get_pointer<std::function<void()>>()
                                     : std::function<void()>());
            },
            py::arg("alarm").none(true),
            "Set what serve() calls after each task: a capsule of a "
            "std::function<void()>, "
            "such as SampleQueue.alarm; None for nothing.");
}

} // namespace mimopack

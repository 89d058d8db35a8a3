/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Python's interpreter and its lock, as C++ threads see them.
 *
 * Before Python 3.14, a thread that asks for the lock at the interpreter's end is ended by
 * an exception, which ends the process in any destructor. Here it sleeps for good instead,
 * as with Python 3.14. */
#pragma once
#include <cxxabi.h>
#include <optional>
#include <pybind11/pybind11.h>
#include <unistd.h>

namespace mimopack {

/* Return whether a thread may ask for Python's lock. At the interpreter's end the call
 * would not return. */
inline bool python_is_there()
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsInitialized() && !Py_IsFinalizing();
#else
    return Py_IsInitialized() && !_Py_IsFinalizing();
#endif
}

/* Call a function that asks for Python's lock. */
template <class Ask>
void ask_python(Ask ask)
{
#ifdef __GLIBCXX__
    try {
        ask();
    } catch (abi::__forced_unwind&) {
        while (true)
            pause();
    }
#else
    ask();
#endif
}

/* Holds Python's lock while it lives. */
class python_held
{
public:
    python_held()
    {
        ask_python([this] { d_lock.emplace(); });
    }
    python_held(const python_held&) = delete;

private:
    std::optional<pybind11::gil_scoped_acquire> d_lock;
};

/* Releases Python's lock, which the thread must hold, while it lives. */
class python_released
{
public:
    python_released() : d_thread(PyEval_SaveThread()) {}
    ~python_released()
    {
        ask_python([this] { PyEval_RestoreThread(d_thread); });
    }
    python_released(const python_released&) = delete;

private:
    PyThreadState* const d_thread;
};

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Python's interpreter, as C++ threads see it */
#pragma once
#include <Python.h>

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

} // namespace mimopack

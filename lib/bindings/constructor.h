/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Constructors for Python that raise MemoryError when memory fails.
 *
 * pybind11 allocates memory to register a new object. After the usual function of
 * py::init it does so where nothing turns std::bad_alloc into Python's MemoryError, and
 * the process ends. A function that returns constructed lets the object be registered
 * earlier. */
#pragma once
#include <pybind11/pybind11.h>
#include <memory>
#include <utility>

namespace mimopack {

/* A new object: what the function of py::init returns */
template <class Pointer>
struct constructed {
    Pointer object;
};

template <class Pointer>
constructed(Pointer) -> constructed<Pointer>;

/* Return the function of py::init for a constructor in C++. */
template <class Class, class... Arguments>
auto constructor()
{
    return [](Arguments... arguments) {
        return constructed{ std::make_unique<Class>(
            std::forward<Arguments>(arguments)...) };
    };
}

/* Give a new object to Python's object. pybind11 calls this function, which it finds by
 * its name and its argument, for what the function of py::init returns. */
template <class Bound, class Pointer>
void construct(pybind11::detail::value_and_holder& self, constructed<Pointer> made, bool)
{
    typename Bound::holder_type holder = std::move(made.object);
    self.value_ptr() = holder.get();
    try {
        self.type->init_instance(self.inst, &holder);
    } catch (...) {
        pybind11::detail::deregister_instance(self.inst, self.value_ptr(), self.type);
        self.value_ptr() = nullptr; /* holder deletes the object */
        throw;
    }
}

} // namespace mimopack

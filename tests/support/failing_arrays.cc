/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* Let NumPy have no memory for the data of an array. NumPy asks one table of functions
 * for the data of all arrays (NEP 49): those of its functions, methods and operators, and
 * those that C++ code makes. */

#include <cstddef>
#include <cstdint>

extern "C" {

/* Python's interface, found in the running interpreter */
void* PyErr_Occurred();
void* PyObject_CallNoArgs(void* function);
int PyObject_IsTrue(void* object);
void Py_DecRef(void* object);

/* NumPy's table, PyDataMem_Handler */
struct handler {
    char name[127];
    std::uint8_t version;
    void* context;
    void* (*malloc)(void*, std::size_t);
    void* (*calloc)(void*, std::size_t, std::size_t);
    void* (*realloc)(void*, void*, std::size_t);
    void (*free)(void*, void*, std::size_t);
};
}

namespace {

/* NumPy itself ends the process where a single number has no memory. */
constexpr std::size_t largest_number = 16;

handler real;
void* question = nullptr; /* Python's function that tells whether a call fails */

/* The caller holds Python's lock. */
bool fails(std::size_t bytes)
{
    if (bytes <= largest_number || !question || PyErr_Occurred())
        return false;
    void* const answer = PyObject_CallNoArgs(question);
    const bool yes = PyObject_IsTrue(answer) == 1;
    Py_DecRef(answer);
    return yes;
}

void* failing_malloc(void* context, std::size_t bytes)
{
    return fails(bytes) ? nullptr : real.malloc(context, bytes);
}

void* failing_calloc(void* context, std::size_t count, std::size_t bytes)
{
    return fails(count * bytes) ? nullptr : real.calloc(context, count, bytes);
}

void* failing_realloc(void* context, void* old, std::size_t bytes)
{
    return fails(bytes) ? nullptr : real.realloc(context, old, bytes);
}

} // namespace

/* Change NumPy's table, once and for all. A table that is set with PyDataMem_SetHandler
 * counts for one thread only. */
extern "C" void install(handler* table)
{
    real = *table;
    table->malloc = failing_malloc;
    table->calloc = failing_calloc;
    table->realloc = failing_realloc;
}

/* Let a function without arguments tell which calls fail; null: none fails. */
extern "C" void ask(void* function) { question = function; }

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversion of messages (PMTs) to Python's values and back. An input is a PMT in the
 * form that value() reads. */
#include "runtime/bindings.h"
#include <pmt/pmt.h>
#include <pybind11/embed.h>
#include <pybind11/stl.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

namespace py = pybind11;
using pmt::pmt_t;

PYBIND11_EMBEDDED_MODULE(fuzzed, m) { mimopack::bind_messages(m); }

namespace {

constexpr int deepest = 5;
const char* const names[] = {
    "format", "mcs", "snr_db", "evm_db", "start", "level_dbfs"
};

/* The bytes of an input; zeros follow the last one. */
class source
{
public:
    source(const std::uint8_t* data, std::size_t size) : d_data(data), d_left(size) {}

    template <class T>
    T take()
    {
        T value{};
        const std::size_t count = std::min(sizeof(T), d_left);
        std::memcpy(&value, d_data, count);
        skip(count);
        return value;
    }

    template <class T>
    std::vector<T> vector()
    {
        const std::size_t count =
            std::min<std::size_t>(take<std::uint8_t>(), d_left / sizeof(T));
        std::vector<T> values(count);
        if (count)
            std::memcpy(values.data(), d_data, count * sizeof(T));
        skip(count * sizeof(T));
        return values;
    }

private:
    const std::uint8_t* d_data;
    std::size_t d_left;

    void skip(std::size_t count)
    {
        d_data += count;
        d_left -= count;
    }
};

pmt_t symbol(source& from)
{
    /* GNU Radio keeps every symbol for ever, so only the first two bytes count. */
    const std::vector<char> text = from.vector<char>();
    return pmt::intern(
        std::string(text.begin(), text.begin() + std::min<std::size_t>(2, text.size())));
}

pmt_t value(source& from, int depth = 0);

pmt_t dictionary(source& from, int depth)
{
    pmt_t made = pmt::make_dict();
    for (int count = from.take<std::uint8_t>() % 16; count > 0; --count) {
        const std::uint8_t name = from.take<std::uint8_t>();
        const pmt_t key = name < 200 ? pmt::intern(names[name % std::size(names)])
                                     : value(from, deepest);
        made = pmt::acons(key, value(from, depth + 1), made);
    }
    return made;
}

pmt_t value(source& from, int depth)
{
    switch (from.take<std::uint8_t>() % (depth < deepest ? 16 : 13)) {
    case 0:
        return pmt::from_bool(from.take<std::uint8_t>() & 1);
    case 1:
        return pmt::from_long(from.take<std::int64_t>());
    case 2:
        return pmt::from_uint64(from.take<std::uint64_t>());
    case 3:
        return pmt::from_double(from.take<double>());
    case 4:
        return symbol(from);
    case 5:
        return pmt::PMT_EOF;
    case 6: {
        const std::vector<std::uint8_t> bytes = from.vector<std::uint8_t>();
        return pmt::init_u8vector(bytes.size(), bytes);
    }
    case 7: {
        const std::vector<float> x = from.vector<float>();
        return pmt::init_f32vector(x.size(), x);
    }
    case 8: {
        const std::vector<double> x = from.vector<double>();
        return pmt::init_f64vector(x.size(), x);
    }
    case 9: {
        const std::vector<std::int32_t> x = from.vector<std::int32_t>();
        return pmt::init_s32vector(x.size(), x);
    }
    case 10: {
        const std::vector<std::complex<float>> x = from.vector<std::complex<float>>();
        return pmt::init_c32vector(x.size(), x);
    }
    case 11:
        return pmt::from_complex(from.take<double>(), from.take<double>());
    case 12:
        return pmt::PMT_NIL;
    case 13:
        return dictionary(from, depth);
    case 14: {
        const pmt_t first = value(from, depth + 1);
        return pmt::cons(first, value(from, depth + 1));
    }
    default:
        return pmt::make_tuple(value(from, depth + 1), value(from, depth + 1));
    }
}

/* The functions of the module under test; never destroyed, as the interpreter is not */
struct functions {
    py::object to_python, to_python_dict, to_pmt, to_pmt_dict;
    py::dict wanted;

    functions()
    {
        const py::module_ module = py::module_::import("fuzzed");
        to_python = module.attr("to_python");
        to_python_dict = module.attr("to_python_dict");
        to_pmt = module.attr("to_pmt");
        to_pmt_dict = module.attr("to_pmt_dict");
        for (const char* name : names)
            wanted[name] = py::none();
    }
};

const functions& tested()
{
    static const functions* made = new functions;
    return *made;
}

void require(bool holds)
{
    if (!holds)
        std::abort();
}

/* Return the PMT of a value, or null if it is refused as documented. */
pmt_t back(const py::object& made)
{
    try {
        return tested().to_pmt(made).cast<pmt_t>();
    } catch (py::error_already_set& error) {
        require(error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError));
        return nullptr;
    }
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***)
{
    /* Another Python on the path would look for numpy and pmt elsewhere. */
    Py_SetProgramName(L"/usr/bin/python3");
    py::initialize_interpreter(false);
    tested();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    source from(data, size);
    const pmt_t message = value(from);
    py::object made;
    try {
        made = tested().to_python(message);
    } catch (py::error_already_set& error) {
        /* A symbol from another program may hold bytes that are no text. */
        require(error.matches(PyExc_UnicodeDecodeError) && pmt::is_symbol(message));
        return 0;
    }
    const pmt_t again = back(made);
    /* A float32 becomes a double; other values stay what they are. */
    if (again && (pmt::is_integer(message) || pmt::is_symbol(message) ||
                  pmt::is_u8vector(message) || pmt::is_s32vector(message)))
        require(pmt::equal(again, message));
    try {
        const py::dict told = tested().to_python_dict(message, tested().wanted);
        require(told.size() <= std::size(names));
        tested().to_pmt_dict(told);
    } catch (py::error_already_set& error) {
        require(error.matches(PyExc_UnicodeDecodeError) ||
                error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError));
    }
    return 0;
}

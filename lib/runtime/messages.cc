/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* Conversion of Python's values to GNU Radio's messages (PMTs) and back. A dictionary or
 * an array takes one call: GNU Radio's functions for Python would take a call for each
 * key and each number. */

#include "runtime/bindings.h"

#include <pmt/pmt.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace py = pybind11;
using pmt::pmt_t;

namespace {

/* Python objects that the conversions need; set when the module is imported */
py::handle numpy_scalar, numpy_uint64, pmt_type, pmt_to_pmt;

pmt_t to_pmt(py::handle value);

/* Return an f64vector of a tuple or list of numbers, in which None is NaN. */
pmt_t numbers_to_pmt(const py::sequence& values)
{
    std::vector<double> numbers;
    for (const py::handle value : values)
        numbers.push_back(value.is_none() ? std::numeric_limits<double>::quiet_NaN()
                                          : value.cast<double>());
    return pmt::init_f64vector(numbers.size(), numbers);
}

pmt_t array_to_pmt(const py::array& array)
{
    const char kind = array.dtype().kind();
    if (kind == 'c') {
        const py::array_t<std::complex<float>, py::array::c_style | py::array::forcecast>
            points(array);
        return pmt::init_c32vector(points.size(), points.data());
    }
    if (array.ndim() != 1)
        throw py::type_error("an array of numbers must have one dimension, got " +
                             std::to_string(array.ndim()));
    if (kind != 'i' && kind != 'u')
        return numbers_to_pmt(array.attr("tolist")());
    return pmt::init_s32vector(array.size(), array.cast<std::vector<int32_t>>());
}

pmt_t to_pmt(py::handle value)
{
    if (py::isinstance<py::float_>(value))
        return pmt::from_double(value.cast<double>());
    if (py::isinstance<py::bool_>(value))
        return pmt::from_bool(value.cast<bool>());
    if (py::isinstance<py::int_>(value))
        return pmt::from_long(value.cast<long>());
    if (py::isinstance<py::str>(value))
        return pmt::intern(value.cast<std::string>());
    if (py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value))
        return numbers_to_pmt(py::reinterpret_borrow<py::sequence>(value));
    if (py::isinstance<py::bytes>(value)) {
        const auto data = value.cast<std::string_view>();
        return pmt::init_u8vector(data.size(),
                                  reinterpret_cast<const uint8_t*>(data.data()));
    }
    if (py::isinstance<py::array>(value))
        return array_to_pmt(py::reinterpret_borrow<py::array>(value));
    if (py::isinstance(value, pmt_type))
        return value.cast<pmt_t>();
    if (py::isinstance(value, numpy_scalar))
        return to_pmt(value.attr("item")());
    return pmt_to_pmt(value).cast<pmt_t>();
}

/* Return a value as the PMT of a Python or NumPy type. */
pmt_t typed(py::handle value, py::handle kind)
{
    const auto is = [&](const PyTypeObject& type) {
        return kind.ptr() == reinterpret_cast<const PyObject*>(&type);
    };
    if (is(PyFloat_Type))
        return pmt::from_double(value.cast<double>());
    if (is(PyBool_Type))
        return pmt::from_bool(value.cast<bool>());
    if (is(PyLong_Type))
        return pmt::from_long(value.cast<long>());
    if (is(PyUnicode_Type))
        return pmt::intern(value.cast<std::string>());
    if (is(PyTuple_Type)) {
        const auto numbers = value.cast<std::vector<float>>();
        return pmt::init_f32vector(numbers.size(), numbers);
    }
    if (kind.is(numpy_uint64))
        return pmt::from_uint64(value.cast<uint64_t>());
    return value.cast<pmt_t>();
}

pmt_t to_pmt_dict(const py::dict& values,
                  const std::optional<py::dict>& kinds,
                  pmt_t onto)
{
    if (!onto)
        onto = pmt::make_dict();
    for (const auto& [name, value] : values) {
        if (kinds && !kinds->contains(name))
            throw py::value_error(py::str("info: got the key {!r}, allowed are {}")
                                      .format(name, py::str(", ").attr("join")(*kinds)));
        if (value.is_none())
            continue;
        pmt_t made;
        try {
            made = kinds ? typed(value, (*kinds)[name]) : to_pmt(value);
        } catch (const py::cast_error&) {
            throw py::value_error(
                kinds
                    ? py::str("{}: got {!r}, must be a {}")
                          .format(name, value, (*kinds)[name].attr("__name__"))
                    : py::str("{}: got {!r}, which no PMT can hold").format(name, value));
        }
        /* dict_add() would search all earlier entries for the name. */
        onto = pmt::acons(pmt::intern(name.cast<std::string>()), made, onto);
    }
    return onto;
}

/* Return a copy of a vector as an array. */
template <class T>
py::object array_of(const T* (*elements)(pmt_t, size_t&), const pmt_t& value)
{
    size_t size;
    const T* const data = elements(value, size);
    return py::array_t<T>(size, data);
}

py::object to_python(const pmt_t& value)
{
    if (pmt::is_bool(value))
        return py::bool_(pmt::to_bool(value));
    if (pmt::is_uint64(value))
        return py::int_(pmt::to_uint64(value));
    if (pmt::is_integer(value))
        return py::int_(pmt::to_long(value));
    if (pmt::is_real(value))
        return py::float_(pmt::to_double(value));
    if (pmt::is_symbol(value))
        return py::str(pmt::symbol_to_string(value));
    if (pmt::is_u8vector(value)) {
        size_t size;
        const uint8_t* const data = pmt::u8vector_elements(value, size);
        return py::bytes(reinterpret_cast<const char*>(data), size);
    }
    if (pmt::is_c32vector(value))
        return array_of(pmt::c32vector_elements, value);
    if (pmt::is_f32vector(value))
        return array_of(pmt::f32vector_elements, value);
    if (pmt::is_f64vector(value))
        return array_of(pmt::f64vector_elements, value);
    if (pmt::is_s32vector(value))
        return array_of(pmt::s32vector_elements, value);
    return py::cast(value);
}

py::dict to_python_dict(pmt_t message, const py::dict& names)
{
    py::dict values;
    for (; pmt::is_pair(message); message = pmt::cdr(message)) {
        const pmt_t entry = pmt::car(message);
        if (!pmt::is_pair(entry))
            break;
        if (!pmt::is_symbol(pmt::car(entry)) || pmt::is_null(pmt::cdr(entry)))
            continue;
        const std::string text = pmt::symbol_to_string(pmt::car(entry));
        /* Another program's text may hold any bytes. */
        const auto name = py::reinterpret_steal<py::str>(
            PyUnicode_DecodeUTF8(text.data(), text.size(), "replace"));
        /* The first of equal names counts. */
        if (names.contains(name) && !values.contains(name))
            values[name] = to_python(pmt::cdr(entry));
    }
    return values;
}

} // namespace

void mimopack::bind_messages(py::module_& m)
{
    const auto kept = [](const char* module, const char* name) {
        return py::object(py::module_::import(module).attr(name)).release();
    };
    numpy_scalar = kept("numpy", "generic");
    numpy_uint64 = kept("numpy", "uint64");
    pmt_type = kept("pmt", "pmt_base");
    pmt_to_pmt = kept("pmt", "to_pmt");
    m.def("to_pmt",
          &to_pmt,
          py::arg("value"),
          R"(Return the PMT of a value.

Numbers, flags and text become what pmt.to_pmt() makes of them, and bytes a u8vector. A tuple or
list of numbers becomes an f64vector, in which None is NaN. An array of integers becomes an
s32vector, an array of reals an f64vector, and an array of complex numbers, of any shape, a
c32vector. A PMT stays as it is. Any other value is passed to pmt.to_pmt().)");
    m.def("to_pmt_dict",
          &to_pmt_dict,
          py::arg("values"),
          py::arg("kinds") = py::none(),
          py::arg("onto") = py::none(),
          R"(Return the PMT of a dictionary with names as keys.

Args:
    values: the dictionary; a value of None leaves its key out.
    kinds: dictionary of the allowed names and the types that their values become: int, float,
        bool, str, numpy.uint64, tuple (an f32vector) or pmt.pmt_base. None allows all names, and
        to_pmt() converts the values.
    onto: PMT dictionary to which the keys are added in a copy; None is an empty one. An existing
        key is found with its new value.

Raises:
    ValueError: a name is not allowed, or a value does not fit its type.)");
    m.def(
        "to_pdu",
        [](const py::dict& values,
           py::handle payload,
           const std::optional<py::dict>& kinds,
           pmt_t onto) {
            return pmt::cons(to_pmt_dict(values, kinds, std::move(onto)),
                             to_pmt(payload));
        },
        py::arg("values"),
        py::arg("payload"),
        py::arg("kinds") = py::none(),
        py::arg("onto") = py::none(),
        "Return the pair of to_pmt_dict(values, kinds, onto) and to_pmt(payload).");
    m.def("to_python",
          &to_python,
          py::arg("value").none(false),
          R"(Return the Python value of a PMT.

The value is a real number, a flag or text, bytes for a u8vector, or an array for a vector of f32,
f64, s32 or c32. Any other PMT is returned as it is.)");
    m.def("to_python_dict",
          &to_python_dict,
          py::arg("message").none(false),
          py::arg("names"),
          R"(Return a dictionary of some keys of a PMT dictionary.

Args:
    message: the PMT; one that is no dictionary has no keys.
    names: dictionary whose keys are wanted.

Returns:
    The keys that are there, with the values from to_python(). A key with PMT_NIL is left out.)");
}

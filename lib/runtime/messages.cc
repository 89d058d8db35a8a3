/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* Conversion of Python's values to GNU Radio's messages (PMTs) and back, a dictionary or
 * an array in one call */

#include "bindings/interpreter.h"
#include "runtime/bindings.h"

#include <gnuradio/basic_block.h>
#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/block_registry.h>
#include <gnuradio/thread/thread.h>
#include <pmt/pmt.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string_view>
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace py = pybind11;
using pmt::pmt_t;

namespace {

/* Python objects that the conversions need; set when the module is imported */
py::handle numpy_scalar, numpy_uint64, pmt_type, pmt_to_pmt;

/* Turn a Python exception into the C++ exception that carries it. */
PyObject* checked(PyObject* object)
{
    if (!object)
        throw py::error_already_set();
    return object;
}

std::string text(py::handle value)
{
    Py_ssize_t size;
    const char* data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (!data)
        throw py::error_already_set();
    return { data, static_cast<size_t>(size) };
}

long whole(py::handle value)
{
    long found = PyLong_AsLong(value.ptr());
    if (found == -1 && PyErr_Occurred())
        throw py::error_already_set();
    return found;
}

double real(py::handle value)
{
    if (PyFloat_Check(value.ptr()))
        return PyFloat_AS_DOUBLE(value.ptr());
    return py::reinterpret_steal<py::float_>(checked(PyNumber_Float(value.ptr())));
}

/* Return the numbers of a tuple or list. None is NaN if allowed. */
template <class T>
std::vector<T> reals(py::handle sequence, bool none_is_nan)
{
    auto items = py::reinterpret_steal<py::object>(
        checked(PySequence_Fast(sequence.ptr(), "must be a sequence of numbers")));
    std::vector<T> found(PySequence_Fast_GET_SIZE(items.ptr()));
    for (size_t i = 0; i < found.size(); i++) {
        py::handle one = PySequence_Fast_GET_ITEM(items.ptr(), i);
        found[i] = none_is_nan && one.is_none() ? std::numeric_limits<T>::quiet_NaN()
                                                : static_cast<T>(real(one));
    }
    return found;
}

pmt_t to_pmt(py::handle value);

pmt_t array_to_pmt(const py::array& array)
{
    char kind = array.dtype().kind();
    if (kind == 'c') {
        py::array_t<std::complex<float>, py::array::c_style | py::array::forcecast>
            points(array);
        return pmt::init_c32vector(points.size(), points.data());
    }
    if (array.ndim() != 1)
        throw py::type_error("an array of numbers must have one dimension, got " +
                             std::to_string(array.ndim()));
    if (kind != 'i' && kind != 'u')
        return to_pmt(array.attr("tolist")());
    /* Raise TypeError for uint64: 64 signed bits cannot hold all its values. */
    py::array_t<int64_t, py::array::c_style> wide(array);
    std::vector<int32_t> numbers(wide.data(), wide.data() + wide.size());
    for (size_t i = 0; i < numbers.size(); i++)
        if (numbers[i] != wide.data()[i])
            throw py::type_error("an array of integers must fit into 32 bits, got " +
                                 std::to_string(wide.data()[i]));
    return pmt::init_s32vector(numbers.size(), numbers);
}

pmt_t to_pmt(py::handle value)
{
    PyObject* object = value.ptr();
    if (PyFloat_Check(object))
        return pmt::from_double(PyFloat_AS_DOUBLE(object));
    if (PyBool_Check(object))
        return pmt::from_bool(object == Py_True);
    if (int overflow = 0; PyLong_Check(object)) {
        long number = PyLong_AsLongAndOverflow(object, &overflow);
        if (!overflow)
            return pmt::from_long(number);
    }
    if (PyUnicode_Check(object))
        return pmt::intern(text(value));
    if (PyTuple_Check(object) || PyList_Check(object)) {
        auto numbers = reals<double>(value, true);
        return pmt::init_f64vector(numbers.size(), numbers);
    }
    if (PyBytes_Check(object))
        return pmt::init_u8vector(PyBytes_GET_SIZE(object),
                                  reinterpret_cast<uint8_t*>(PyBytes_AS_STRING(object)));
    if (py::isinstance<py::array>(value))
        return array_to_pmt(py::reinterpret_borrow<py::array>(value));
    if (py::isinstance(value, pmt_type))
        return value.cast<pmt_t>();
    if (py::isinstance(value, numpy_scalar)) {
        py::object item = value.attr("item")();
        if (!py::isinstance(item, numpy_scalar)) // a long double's is itself
            return to_pmt(item);
    }
    return pmt_to_pmt(value).cast<pmt_t>();
}

/* Return a value as the PMT of a Python or NumPy type. */
pmt_t typed(py::handle value, py::handle kind)
{
    auto is = [&](const PyTypeObject& type) { return kind.ptr() == (PyObject*)&type; };
    if (is(PyFloat_Type))
        return pmt::from_double(real(value));
    if (is(PyBool_Type))
        return pmt::from_bool(py::bool_(py::reinterpret_borrow<py::object>(value)));
    if (is(PyUnicode_Type))
        return pmt::intern(text(value));
    if (is(PyTuple_Type)) {
        auto numbers = reals<float>(value, false);
        return pmt::init_f32vector(numbers.size(), numbers);
    }
    if (kind.is(pmt_type)) {
        if (!py::isinstance(value, pmt_type))
            throw py::type_error("must be a PMT");
        return value.cast<pmt_t>();
    }
    auto number = py::reinterpret_steal<py::object>(checked(PyNumber_Long(value.ptr())));
    if (is(PyLong_Type))
        return pmt::from_long(whole(number));
    if (!kind.is(numpy_uint64))
        throw py::type_error(
            "kinds must be int, float, bool, str, tuple, numpy.uint64 or pmt.pmt_base");
    uint64_t found = PyLong_AsUnsignedLong(number.ptr());
    if (PyErr_Occurred())
        throw py::error_already_set();
    return pmt::from_uint64(found);
}

/* Convert likewise, with an error that names the key. */
pmt_t typed(py::handle name, py::handle value, py::handle kind)
{
    try {
        return typed(value, kind);
    } catch (py::type_error&) {
    } catch (py::error_already_set& error) {
        if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError) &&
            !error.matches(PyExc_OverflowError))
            throw;
    }
    throw py::value_error(
        py::str("{}: got {!r}, must be a {}").format(name, value, kind.attr("__name__")));
}

pmt_t to_pmt_dict(const py::dict& values,
                  const std::optional<py::dict>& kinds,
                  pmt_t onto)
{
    if (!onto)
        onto = pmt::make_dict();
    for (auto [name, value] : values) {
        py::handle kind;
        if (kinds) {
            kind = PyDict_GetItemWithError(kinds->ptr(), name.ptr());
            if (!kind)
                throw py::value_error(
                    py::str("info: got the key {!r}, allowed are {}")
                        .format(name, py::str(", ").attr("join")(*kinds)));
        }
        if (value.is_none())
            continue;
        /* dict_add() would search all earlier entries for the name. */
        onto = pmt::acons(pmt::intern(text(name)),
                          kind ? typed(name, value, kind) : to_pmt(value),
                          onto);
    }
    return onto;
}

/* Return an array with a copy of the data. pybind11's own copy would not raise
 * MemoryError but be a null pointer. */
template <class T>
py::object array(const T* data, size_t size)
{
    py::array_t<T> made(size);
    std::copy(data, data + size, made.mutable_data());
    return std::move(made);
}

py::object to_python(const pmt_t& value)
{
    size_t size;
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
        auto* data = pmt::u8vector_elements(value, size);
        return py::bytes(reinterpret_cast<const char*>(data), size);
    }
    if (pmt::is_c32vector(value)) {
        auto* data = pmt::c32vector_elements(value, size);
        return array(data, size);
    }
    if (pmt::is_f32vector(value)) {
        auto* data = pmt::f32vector_elements(value, size);
        return array(data, size);
    }
    if (pmt::is_f64vector(value)) {
        auto* data = pmt::f64vector_elements(value, size);
        return array(data, size);
    }
    if (pmt::is_s32vector(value)) {
        auto* data = pmt::s32vector_elements(value, size);
        return array(data, size);
    }
    return py::cast(value);
}

py::dict to_python_dict(pmt_t told, const py::dict& names)
{
    py::dict found;
    for (; pmt::is_pair(told); told = pmt::cdr(told)) {
        pmt_t entry = pmt::car(told);
        if (!pmt::is_pair(entry))
            break;
        if (!pmt::is_symbol(pmt::car(entry)) || pmt::is_null(pmt::cdr(entry)))
            continue;
        std::string text = pmt::symbol_to_string(pmt::car(entry));
        auto name = py::reinterpret_steal<py::object>(
            checked(PyUnicode_DecodeUTF8(text.data(), text.size(), "replace")));
        /* The first of equal names counts. */
        if (names.contains(name) && !found.contains(name))
            found[name] = to_python(pmt::cdr(entry));
    }
    return found;
}

/* Keys that belong to an MPDU and not to its frame, interned once */
struct mpdu_keys {
    const pmt_t frame_bytes = pmt::intern("frame_bytes"), fcs_ok = pmt::intern("fcs_ok"),
                fcs = pmt::intern("fcs"), ampdu_index = pmt::intern("ampdu_index"),
                ampdu_count = pmt::intern("ampdu_count"),
                ampdu_reference = pmt::intern("ampdu_reference");
};

using mpdu_place = std::tuple<int64_t, int64_t, bool>;

std::vector<pmt_t>
mpdus_to_pdus(std::string_view psdu,
              const std::vector<mpdu_place>& places,
              bool bad_fcs,
              const std::optional<uint64_t>& ampdu_reference,
              const pmt_t& onto)
{
    static const mpdu_keys keys;
    constexpr int64_t fcs_bytes = 4;
    std::vector<pmt_t> pdus;
    for (size_t i = 0; i < places.size(); ++i) {
        const auto [offset, length, fcs_ok] = places[i];
        if (!fcs_ok && !bad_fcs)
            continue;
        if (offset < 0 || length < 0 || offset > int64_t(psdu.size()) ||
            length > int64_t(psdu.size()) - offset)
            throw py::value_error("places: an MPDU lies outside the PSDU");
        const auto* data = reinterpret_cast<const uint8_t*>(psdu.data()) + offset;
        pmt_t told = onto;
        const auto put = [&](const pmt_t& key, pmt_t value) {
            told = pmt::acons(key, std::move(value), told);
        };
        put(keys.frame_bytes, pmt::from_uint64(length));
        put(keys.fcs_ok, pmt::from_bool(fcs_ok));
        int64_t size = length;
        if (length >= fcs_bytes) {
            size -= fcs_bytes;
            uint32_t fcs = 0;
            for (int byte = fcs_bytes; byte-- > 0;)
                fcs = fcs << 8 | data[size + byte];
            put(keys.fcs, pmt::from_long(fcs));
        }
        if (ampdu_reference) {
            put(keys.ampdu_index, pmt::from_long(static_cast<long>(i)));
            put(keys.ampdu_count, pmt::from_long(static_cast<long>(places.size())));
            put(keys.ampdu_reference,
                pmt::from_long(static_cast<long>(*ampdu_reference)));
        }
        pdus.push_back(pmt::cons(told, pmt::init_u8vector(size, data)));
    }
    return pdus;
}

void forget_listeners(gr::basic_block& block)
{
    const pmt_t ports = block.message_ports_out();
    for (std::size_t i = 0; i < pmt::length(ports); ++i) {
        const pmt_t port = pmt::vector_ref(ports, i);
        for (pmt_t left = block.message_subscribers(port); pmt::is_pair(left);
             left = pmt::cdr(left))
            block.message_port_unsub(port, pmt::car(left));
    }
}

/* GNU Radio has a list of all blocks, but does not show it. An explicit instantiation may
 * name private members. */
template <typename Name, typename Name::type member>
struct shown {
    friend typename Name::type private_member(Name) { return member; }
};

struct registry_blocks {
    using type =
        std::map<std::string, std::map<long, gr::basic_block*>> gr::block_registry::*;
    friend type private_member(registry_blocks);
};

struct registry_mutex {
    using type = gr::thread::mutex gr::block_registry::*;
    friend type private_member(registry_mutex);
};

template struct shown<registry_blocks, &gr::block_registry::d_map>;
template struct shown<registry_mutex, &gr::block_registry::d_mutex>;

bool runs(gr::basic_block& sender)
{
    auto* const block = dynamic_cast<gr::block*>(&sender);
    const auto detail = block ? block->detail() : nullptr;
    if (!detail)
        return false;
    /* A block with streams can be "finished" by a message and still have work. */
    const bool streams = detail->ninputs() + detail->noutputs() > 0;
    return !(streams ? detail->done() : block->finished());
}

bool sends_to(gr::basic_block& sender, const pmt_t& target)
{
    const pmt_t ports = sender.message_ports_out();
    for (std::size_t i = 0; i < pmt::length(ports); ++i)
        for (pmt_t left = sender.message_subscribers(pmt::vector_ref(ports, i));
             pmt::is_pair(left);
             left = pmt::cdr(left))
            if (pmt::equal(pmt::car(left), target))
                return true;
    return false;
}

bool has_senders(gr::basic_block& receiver, const pmt_t& port)
{
    const pmt_t target = pmt::cons(receiver.alias_pmt(), port);
    const gr::thread::scoped_lock held(global_block_registry.*
                                       private_member(registry_mutex{}));
    for (const auto& [name, blocks] :
         global_block_registry.*private_member(registry_blocks{}))
        for (const auto& [id, block] : blocks)
            if (block != &receiver && sends_to(*block, target) && runs(*block))
                return true;
    return false;
}

void publish(gr::basic_block& block,
             const pmt_t& port,
             const std::vector<pmt_t>& messages)
{
    for (const pmt_t& message : messages)
        if (!message)
            throw py::type_error("messages: got None, must be PMTs");
    const mimopack::python_released unlocked;
    for (const pmt_t& message : messages)
        block.message_port_pub(port, message);
}

void find_python_types()
{
    auto kept = [](const char* module, const char* name) {
        return py::object(py::module_::import(module).attr(name)).release();
    };
    numpy_scalar = kept("numpy", "generic");
    numpy_uint64 = kept("numpy", "uint64");
    pmt_type = kept("pmt", "pmt_base");
    pmt_to_pmt = kept("pmt", "to_pmt");
}

void bind_to_pmt(py::module_& m)
{
    m.def("to_pmt",
          &to_pmt,
          py::arg("value"),
          R"(Return the PMT of a value.

Numbers, flags and text become what pmt.to_pmt() makes of them, and bytes a u8vector. A tuple or
list of numbers becomes an f64vector, in which None is NaN. An array of integers becomes an
s32vector, an array of reals an f64vector, and an array of complex numbers, of any shape, a
c32vector. A PMT stays as it is. Any other value is passed to pmt.to_pmt().

Raises:
    TypeError, ValueError: no PMT can hold the value.)");
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
    TypeError, ValueError: a name is not allowed, or a value does not fit its type.)");
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
}

void bind_mpdus(py::module_& m)
{
    m.def("mpdus_to_pdus",
          &mpdus_to_pdus,
          py::arg("psdu"),
          py::arg("places"),
          py::kw_only(),
          py::arg("bad_fcs"),
          py::arg("ampdu_reference").none(true),
          py::arg("onto").none(false),
          R"(Return the PDUs of a frame's MPDUs, with the keys of wifi.pdu.frame_to_pdus.

Args:
    psdu: bytes.
    places: list of (offset, length, whether the FCS is correct), one for each MPDU.
    bad_fcs: whether to include MPDUs with a wrong FCS.
    ampdu_reference: number of the A-MPDU, or None if the frame is not aggregated.
    onto: PMT dictionary with the keys of the frame, which the PDUs share.

Raises:
    ValueError: an MPDU lies outside the PSDU.)");
}

void bind_to_python(py::module_& m)
{
    m.def("to_python",
          &to_python,
          py::arg("value").none(false),
          R"(Return the Python value of a PMT.

The value is a real number, a flag or text, bytes for a u8vector, or an array for a vector of f32,
f64, s32 or c32. Any other PMT is returned as it is.)");
    m.def("to_python_dict",
          &to_python_dict,
          py::arg("told").none(false),
          py::arg("names"),
          R"(Return a dictionary of some keys of a PMT dictionary.

Args:
    told: the PMT; one that is no dictionary has no keys.
    names: dictionary whose keys are wanted.

Returns:
    The keys found, with the values from to_python(). A key with PMT_NIL is left out.)");
}

void bind_ports(py::module_& m)
{
    m.def("publish",
          &publish,
          py::arg("block"),
          py::arg("port").none(false),
          py::arg("messages"),
          R"(Send PMTs through a message port, without holding Python's lock.

Args:
    block: to_basic_block() of the sender.
    port: PMT of the port's name.
    messages: sequence of PMTs.

Raises:
    RuntimeError: the block has no such port.)");
    m.def(
        "listeners",
        [](gr::basic_block& block, const pmt_t& port) {
            return pmt::length(block.message_subscribers(port));
        },
        py::arg("block"),
        py::arg("port").none(false),
        R"(Return how many ports a message port is connected to; known while the block runs.

Args:
    block, port: as for publish().)");
    m.def("has_senders",
          &has_senders,
          py::arg("block"),
          py::arg("port").none(false),
          R"(Return whether a block that is connected to a message input still runs.

GNU Radio tells a block that a sender is done, but not which one.

Args:
    block: to_basic_block() of the receiver.
    port: PMT of the port's name.)");
    m.def(
        "forget_listeners",
        &forget_listeners,
        py::arg("block"),
        R"(Forget the connections of a block's message outputs. Call this when the block stops.

GNU Radio makes the connections again at each start of a flowgraph, but 3.10 also keeps those of
earlier flowgraphs. Once one of these listeners is gone, a message reaches none of those behind it,
nor does the news that the sender is done: they wait for ever.

Args:
    block: as for publish().)");
}

} // namespace

void mimopack::bind_messages(py::module_& m)
{
    find_python_types();
    bind_to_pmt(m);
    bind_mpdus(m);
    bind_to_python(m);
    bind_ports(m);
}

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include "bindings/constructor.h"
#include "bindings/interpreter.h"
#include "runtime/bindings.h"
#include "runtime/sample_queue.h"
#include "runtime/sample_sink.h"

#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <functional>
#include <stdexcept>

namespace py = pybind11;
using mimopack::constructed;
using mimopack::constructor;
using mimopack::python_released;
using mimopack::sample_queue;
using mimopack::sample_sink;

namespace {

using rows_array =
    py::array_t<sample_queue::sample, py::array::c_style | py::array::forcecast>;

void put(sample_queue& queue,
         std::uint64_t first,
         const rows_array& samples,
         const std::vector<gr::tag_t>& tags)
{
    if (samples.ndim() != 2 || samples.shape(0) != queue.num_rx())
        throw std::invalid_argument("samples: must be (" +
                                    std::to_string(queue.num_rx()) + ", n)");
    std::vector<const sample_queue::sample*> rows;
    for (py::ssize_t row = 0; row < samples.shape(0); ++row)
        rows.push_back(samples.data(row, 0));
    const python_released unlocked;
    queue.put(first, rows.data(), samples.shape(1), tags);
}

/* Return (first, samples, tags), or None at the end. */
py::object take(sample_queue& queue)
{
    std::optional<sample_queue::span> found;
    {
        const python_released unlocked;
        found = queue.look();
    }
    if (!found)
        return py::none();
    constexpr py::ssize_t one = sizeof(sample_queue::sample);
    using memory = std::shared_ptr<sample_queue::chunk>;
    auto kept = std::make_unique<memory>(found->memory);
    const py::capsule owner(kept.get(),
                            [](void* held) { delete static_cast<memory*>(held); });
    kept.release();
    const py::array_t<sample_queue::sample> samples(
        { static_cast<py::ssize_t>(queue.num_rx()),
          static_cast<py::ssize_t>(found->end - found->begin) },
        { one * static_cast<py::ssize_t>(queue.at_a_time()), one },
        reinterpret_cast<const sample_queue::sample*>(found->memory->data.get()) +
            found->begin,
        owner);
    py::tuple taken = py::make_tuple(found->first, samples, found->tags);
    queue.accept(*found); /* only now: there may be no memory for these objects */
    return taken;
}

py::capsule make_alarm(const std::shared_ptr<sample_queue>& queue)
{
    using function = std::function<void()>;
    return { new function([kept = std::weak_ptr<sample_queue>(queue)] {
                 if (const auto found = kept.lock())
                     found->wake();
             }),
             [](void* alarm) { delete static_cast<function*>(alarm); } };
}

void bind_queue(py::module_& m)
{
    py::class_<sample_queue, std::shared_ptr<sample_queue>>(
        m, "SampleQueue", R"(A queue of samples of several antennas for another thread.

One thread puts samples, another thread takes them. If too many samples wait, put() holds back its
caller or drops whole spans. Dropping begins when no more samples fit and ends when half of the
queue is free again. Tags of dropped samples come with the next samples.

Args:
    num_rx: antennas.
    most: samples of each antenna that may wait.
    at_a_time: samples taken at once, at most.
    drops: drop samples that do not fit; otherwise put() waits.

Attributes:
    dropped: samples of each antenna that were dropped since the object was made.
    waiting: samples of each antenna that wait, or are being taken.
    has_more: whether more samples wait than are being taken.)")
        .def(py::init(constructor<sample_queue, int, std::int64_t, std::int64_t, bool>()),
             py::arg("num_rx"),
             py::arg("most"),
             py::arg("at_a_time"),
             py::arg("drops"))
        .def_property_readonly("dropped", &sample_queue::dropped)
        .def_property_readonly("waiting", &sample_queue::waiting)
        .def_property_readonly("has_more", &sample_queue::has_more)
        .def("open", &sample_queue::open, "Begin a new stream.")
        .def("abandon",
             &sample_queue::abandon,
             "Forget the samples that wait, and drop further ones until open().")
        .def("close",
             &sample_queue::close,
             "End the stream: take() returns the samples that wait, and then None.")
        .def("put",
             &put,
             py::arg("first"),
             py::arg("samples"),
             py::arg("tags"),
             "Copy samples (num_rx, n) and their tags; first is the number of the first "
             "sample in the stream.")
        .def("take",
             &take,
             R"(Wait for the oldest samples.

Returns:
    (number of the first sample in the stream, complex64 (num_rx, n), list of tags up to the last
    sample), or None at the end. From the next call on, these samples do not count as waiting.)")
        .def("wait",
             &sample_queue::wait,
             py::call_guard<python_released>(),
             "Wait until take() need not wait, or until the alarm. Return whether take() "
             "need not wait. The samples of the previous take() do not count as waiting "
             "any more.")
        .def_property_readonly("alarm",
                               &make_alarm,
                               "A capsule of a std::function<void()> that any thread may "
                               "call: it lets wait() "
                               "return.")
        .def("rest",
             &sample_queue::rest,
             py::arg("least"),
             py::arg("most"),
             py::call_guard<python_released>(),
             "Wait for the least seconds, and then until no samples wait, for the most "
             "seconds in all.");
}

void bind_sink(py::module_& m)
{
    py::class_<sample_sink,
               gr::sync_block,
               gr::block,
               gr::basic_block,
               std::shared_ptr<sample_sink>>(
        m,
        "sample_sink",
        R"(A block without outputs that puts its samples into a SampleQueue.

While the flowgraph runs, the block holds Python's side, an object with three methods: begin();
end(done), called after the queue was closed, where done tells that the flowgraph has ended and was
not only changed; and control(message).

Args:
    name: of the block.
    queue: SampleQueue.
    least, most: seconds for which work() rests after each call if the queue drops samples, see
        SampleQueue.rest().
    control: name of the message port for control().
    find: function that returns Python's side, or None if it is gone, such as a weakref.ref.
    outlet: an object that lives as long as the block, with end(done), which is called if begin()
        has failed.)")
        .def(py::init([](const std::string& name,
                         std::shared_ptr<sample_queue> queue,
                         double least,
                         double most,
                         const std::string& control,
                         py::object find,
                         py::object outlet) {
                 return constructed{ gnuradio::make_block_sptr<sample_sink>(
                     name,
                     std::move(queue),
                     least,
                     most,
                     control,
                     std::move(find),
                     std::move(outlet)) };
             }),
             py::arg("name"),
             py::arg("queue"),
             py::arg("least"),
             py::arg("most"),
             py::arg("control"),
             py::arg("find"),
             py::arg("outlet"));
}

} // namespace

void mimopack::bind_samples(py::module_& m)
{
    bind_queue(m);
    bind_sink(m);
}

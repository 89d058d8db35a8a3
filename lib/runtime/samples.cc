/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* A block that hands samples of several antennas to a Python thread, without waiting for
 * Python's lock for each piece */

#include "runtime/bindings.h"
#include "runtime/sample_queue.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;
using mimopack::sample_queue;

namespace {

class sample_sink : public gr::sync_block
{
public:
    sample_sink(const std::string& name,
                std::shared_ptr<sample_queue> queue,
                double least,
                double most,
                const std::string& control,
                py::object owner)
        : gr::sync_block(name,
                         gr::io_signature::make(queue->num_rx(),
                                                queue->num_rx(),
                                                sizeof(sample_queue::sample)),
                         gr::io_signature::make(0, 0, 0)),
          d_queue(std::move(queue)),
          d_least(least),
          d_most(most),
          d_owner(std::move(owner))
    {
        /* An output multiple makes the scheduler give the block in front large buffers;
         * start() takes it back so that nothing waits for more samples than have come. */
        set_output_multiple(static_cast<int>(d_queue->at_a_time()));
        const pmt::pmt_t port = pmt::mp(control);
        message_port_register_in(port);
        set_msg_handler(port,
                        [this](const pmt::pmt_t& message) { call("control", message); });
    }

    ~sample_sink() override
    {
        if (!Py_IsInitialized()) { /* nobody can take it back */
            d_owner.release();
            return;
        }
        const py::gil_scoped_acquire lock;
        d_owner = py::object();
    }

    bool start() override
    {
        set_output_multiple(1);
        d_queue->open();
        if (!call("begin"))
            d_queue->abandon(); /* nobody takes the samples */
        return gr::sync_block::start();
    }

    bool stop() override
    {
        d_queue->close();
        call("end", detail()->done());
        set_output_multiple(static_cast<int>(d_queue->at_a_time())); /* for start() */
        return gr::sync_block::stop();
    }

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star&) override
    {
        std::vector<gr::tag_t> tags;
        get_tags_in_window(tags, 0, 0, noutput_items);
        const bool wanted = d_queue->put(
            nitems_read(0),
            reinterpret_cast<const sample_queue::sample* const*>(input_items.data()),
            noutput_items,
            tags);
        if (!wanted)
            return WORK_DONE; /* a flowgraph without further sinks ends */
        if (d_queue->drops())
            d_queue->rest(d_least, d_most);
        return noutput_items;
    }

private:
    const std::shared_ptr<sample_queue> d_queue;
    const double d_least, d_most;
    py::object d_owner;

    /* Call a method of the owner, and log an exception. Return whether there was none. */
    template <class... Arguments>
    bool call(const char* method, const Arguments&... arguments)
    {
        if (!Py_IsInitialized()) /* the program ends while its flowgraph runs */
            return false;
        const py::gil_scoped_acquire lock;
        try {
            d_owner.attr(method)(arguments...);
            return true;
        } catch (const std::exception& error) { /* py::error_already_set is one */
            d_logger->error("{:s}(): {:s}", method, error.what());
            return false;
        }
    }
};

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
    const py::gil_scoped_release unlocked;
    queue.put(first, rows.data(), samples.shape(1), tags);
}

/* Return (first, samples, tags), or None at the end. */
py::object take(sample_queue& queue)
{
    std::optional<sample_queue::span> taken;
    {
        const py::gil_scoped_release unlocked;
        taken = queue.take();
    }
    if (!taken)
        return py::none();
    constexpr py::ssize_t size = sizeof(sample_queue::sample);
    using memory = std::shared_ptr<sample_queue::chunk>;
    const py::capsule owner(new memory(taken->memory),
                            [](void* held) { delete static_cast<memory*>(held); });
    const py::array_t<sample_queue::sample> samples(
        { static_cast<py::ssize_t>(queue.num_rx()),
          static_cast<py::ssize_t>(taken->end - taken->begin) },
        { size * static_cast<py::ssize_t>(queue.at_a_time()), size },
        reinterpret_cast<const sample_queue::sample*>(taken->memory->data.get()) +
            taken->begin,
        owner);
    return py::make_tuple(taken->first, samples, taken->tags);
}

py::capsule make_alarm(const std::shared_ptr<sample_queue>& queue)
{
    using function = std::function<void()>;
    return { new function([kept = std::weak_ptr<sample_queue>(queue)] {
                 if (const auto woken = kept.lock())
                     woken->wake();
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
        .def(py::init<int, std::int64_t, std::int64_t, bool>(),
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
             py::call_guard<py::gil_scoped_release>(),
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
             py::call_guard<py::gil_scoped_release>(),
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

Args:
    name: of the block.
    queue: SampleQueue.
    least, most: seconds for which work() rests after each call if the queue drops samples, see
        SampleQueue.rest().
    control: name of a message port.
    owner: object with three methods. begin() is called when the block starts; end(done) when it
        stops, after the queue was closed, where done tells that the flowgraph has ended and was not
        only changed; and control(message) for each message.)")
        .def(py::init([](const std::string& name,
                         std::shared_ptr<sample_queue> queue,
                         double least,
                         double most,
                         const std::string& control,
                         py::object owner) {
                 return gnuradio::make_block_sptr<sample_sink>(
                     name, std::move(queue), least, most, control, std::move(owner));
             }),
             py::arg("name"),
             py::arg("queue"),
             py::arg("least"),
             py::arg("most"),
             py::arg("control"),
             py::arg("owner"));
}

} // namespace

void mimopack::bind_samples(py::module_& m)
{
    bind_queue(m);
    bind_sink(m);
}

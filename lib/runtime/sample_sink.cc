/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include "bindings/interpreter.h"
#include "runtime/sample_sink.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/io_signature.h>

#include <exception>
#include <utility>

namespace py = pybind11;

namespace mimopack {

sample_sink::sample_sink(const std::string& name,
                         std::shared_ptr<sample_queue> queue,
                         double least,
                         double most,
                         const std::string& control,
                         py::object find,
                         py::object outlet)
    : gr::sync_block(name,
                     gr::io_signature::make(
                         queue->num_rx(), queue->num_rx(), sizeof(sample_queue::sample)),
                     gr::io_signature::make(0, 0, 0)),
      d_queue(std::move(queue)),
      d_least(least),
      d_most(most),
      d_find(std::move(find)),
      d_outlet(std::move(outlet))
{
    /* An output multiple makes the scheduler give the block in front large buffers;
     * start() takes it back so that nothing waits for more samples than have come. */
    set_output_multiple(static_cast<int>(d_queue->at_a_time()));
    const pmt::pmt_t port = pmt::mp(control);
    message_port_register_in(port);
    set_msg_handler(port, [this](const pmt::pmt_t& message) { on_control(message); });
}

sample_sink::~sample_sink()
{
    if (!python_is_there()) { /* nothing to give them back to */
        d_find.release();
        d_outlet.release();
        d_held.release();
        return;
    }
    const python_held lock;
    d_find = py::object();
    d_outlet = py::object();
    d_held = py::object();
}

/* Call Python and log what it raises. Return whether it raised nothing. */
template <typename Call>
bool sample_sink::with_python(const char* what, Call&& call)
{
    if (!python_is_there())
        return false;
    const python_held lock;
    try {
        call();
        return true;
    } catch (const std::exception& error) { /* py::error_already_set is one */
        d_logger->error("{:s}: {:s}", what, error.what());
        return false;
    }
}

bool sample_sink::start()
{
    set_output_multiple(1);
    d_lost = false;
    d_taken = with_python("the start", [&] {
        d_queue->open();
        d_held = d_find();
        if (d_held.is_none()) {
            PyErr_SetString(
                PyExc_RuntimeError,
                "its Python object is gone, so that its samples are dropped: keep "
                "a reference to the block, as self.receiver, for as long as the "
                "flowgraph runs");
            throw py::error_already_set();
        }
        d_held.attr("begin")();
    });
    return gr::sync_block::start();
}

bool sample_sink::stop()
{
    d_queue->close();
    const bool done = detail()->done();
    with_python("the end", [&] {
        const py::object held = std::move(d_held);
        d_held = py::object();
        if (d_taken)
            held.attr("end")(done);
        else
            d_outlet.attr("end")(done); /* its listeners would wait for ever */
    });
    d_taken = false;
    set_output_multiple(static_cast<int>(d_queue->at_a_time())); /* for the next start */
    return gr::sync_block::stop();
}

void sample_sink::on_control(const pmt::pmt_t& message)
{
    with_python("a control message", [&] {
        const py::object found = d_find();
        if (!found.is_none())
            found.attr("control")(message);
    });
}

/* Log that samples were dropped, once in a run. */
void sample_sink::tell_loss(const std::exception& error)
{
    if (!std::exchange(d_lost, true))
        d_logger->error("samples are dropped: {:s}", error.what());
}

int sample_sink::work(int noutput_items,
                      gr_vector_const_void_star& input_items,
                      gr_vector_void_star&)
{
    if (!d_taken) {
        d_queue->lose(noutput_items);
        return noutput_items;
    }
    std::vector<gr::tag_t> tags;
    try {
        get_tags_in_window(tags, 0, 0, noutput_items);
    } catch (const std::exception& error) {
        d_queue->lose(noutput_items);
        tell_loss(error);
        return noutput_items;
    }
    const auto rows =
        reinterpret_cast<const sample_queue::sample* const*>(input_items.data());
    try {
        d_queue->put(nitems_read(0), rows, noutput_items, tags);
    } catch (const std::exception& error) { /* it has counted the samples */
        tell_loss(error);
    }
    if (d_queue->drops())
        d_queue->rest(d_least, d_most);
    return noutput_items;
}

} // namespace mimopack

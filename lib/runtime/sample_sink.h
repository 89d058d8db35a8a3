/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* A block that hands samples of several antennas to a Python thread without waiting for
 * Python's lock */

#ifndef MIMOPACK_RUNTIME_SAMPLE_SINK_H
#define MIMOPACK_RUNTIME_SAMPLE_SINK_H

#include "runtime/sample_queue.h"

#include <gnuradio/sync_block.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <string>

namespace mimopack {

/* Python's side of the block is an object with begin(), end(done) and control(message).
 * The object holds the block. The block therefore finds it through a function, as a weak
 * reference would, and holds it only while the flowgraph runs. */
class sample_sink : public gr::sync_block
{
public:
    /* least, most: seconds between calls of work() if the queue drops samples, see
     * sample_queue::rest(). control: name of a message port. outlet: an object that
     * lives as long as the block, with end(done), see message_outlet. */
    sample_sink(const std::string& name,
                std::shared_ptr<sample_queue> queue,
                double least,
                double most,
                const std::string& control,
                pybind11::object find,
                pybind11::object outlet);
    ~sample_sink() override;

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    const std::shared_ptr<sample_queue> d_queue;
    const double d_least, d_most;
    pybind11::object d_find, d_outlet, d_held;
    bool d_taken = false; /* somebody takes the samples */
    bool d_lost = false;  /* memory was missing in this run */

    void tell_loss(const std::exception& error);
    void on_control(const pmt::pmt_t& message);
    template <typename Call>
    bool with_python(const char* what, Call&& call);
};

} // namespace mimopack

#endif

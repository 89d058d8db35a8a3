/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* A block that notes when the PDUs of a receiver arrive. A block in Python would wait for
 * Python's lock with each PDU, and make the receiver's threads wait for it. */

#include "runtime/bindings.h"

#include <gnuradio/block.h>
#include <gnuradio/io_signature.h>
#include <pmt/pmt.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

namespace py = pybind11;

namespace {

class arrivals : public gr::block
{
public:
    using sptr = std::shared_ptr<arrivals>;

    arrivals()
        : gr::block("arrivals",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(0, 0, 0))
    {
        message_port_register_in(pmt::intern("in"));
        set_msg_handler(pmt::intern("in"), [this](const pmt::pmt_t& pdu) { note(pdu); });
    }

    /* Return rows of a PDU's first sample, the time of this sample and the time of
     * arrival, both in ns. Leave out other messages. */
    py::array_t<std::int64_t> take()
    {
        std::vector<std::int64_t> noted;
        {
            const std::lock_guard<std::mutex> held(d_mutex);
            noted.swap(d_noted);
        }
        const auto rows = static_cast<py::ssize_t>(noted.size() / 3);
        py::array_t<std::int64_t> table({ rows, py::ssize_t{ 3 } });
        std::copy(noted.begin(), noted.end(), table.mutable_data());
        return table;
    }

private:
    std::mutex d_mutex;
    std::vector<std::int64_t> d_noted;

    void note(const pmt::pmt_t& pdu)
    {
        using namespace std::chrono;
        const auto now = steady_clock::now().time_since_epoch();
        try {
            const auto start = value(pdu, "start"), time = value(pdu, "rx_time");
            const auto first = pmt::to_uint64(start);
            const auto seconds = pmt::to_uint64(pmt::tuple_ref(time, 0));
            const double fraction = pmt::to_double(pmt::tuple_ref(time, 1));
            const std::lock_guard<std::mutex> held(d_mutex);
            d_noted.insert(d_noted.end(),
                           { static_cast<std::int64_t>(first),
                             static_cast<std::int64_t>(seconds) * 1000000000 +
                                 std::llround(1e9 * fraction),
                             duration_cast<nanoseconds>(now).count() });
        } catch (const std::exception&) { /* no PDU with these keys */
        }
    }

    static pmt::pmt_t value(const pmt::pmt_t& pdu, const char* key)
    {
        return pmt::dict_ref(pmt::car(pdu), pmt::intern(key), pmt::PMT_NIL);
    }
};

} // namespace

void mimopack::bind_arrivals(py::module_& m)
{
    py::class_<arrivals, gr::block, gr::basic_block, arrivals::sptr>(
        m,
        "arrivals",
        "A block that notes when PDUs with the keys start and rx_time arrive at its port "
        "in.")
        .def(py::init([] { return gnuradio::make_block_sptr<arrivals>(); }))
        .def("take",
             &arrivals::take,
             R"(Return what was noted since the last call.

Returns:
    (n, 3) int64: a PDU's first sample, the time of this sample in ns, and the time of arrival in ns
    as of time.monotonic_ns().)");
}

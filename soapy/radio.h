// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_RADIO_H
#define MIMOPACK_SOAPY_RADIO_H

#include "arguments.h"
#include "clock.h"
#include <condition_variable>
#include <mutex>

namespace mimopack {

//! Counts of events, for the sensors.
struct Counts {
    uint64_t rx_overflows = 0, rx_lost = 0, rx_dropped = 0, rx_duplicated = 0;
    uint64_t tx_bursts = 0, tx_late = 0, tx_underflows = 0;
};

//! State shared by a device's receiver and transmitter; the lock guards all of it.
struct Radio {
    Radio(const Arguments& arguments, double rate)
        : arguments(arguments), clock(rate, arguments.speed, arguments.faults.clock_ppm)
    {
    }

    //! Capacity of a stream's buffer in samples.
    int64_t capacity() const
    {
        return std::max<int64_t>(64, int64_t(arguments.buffer_s * clock.rate()));
    }

    //! Samples per transfer: the requested number, or half a millisecond as a compromise
    //! between the number of calls and latency.
    size_t packet() const
    {
        if (arguments.packet > 0)
            return arguments.packet;
        return size_t(std::clamp(clock.rate() / 2000, 64.0, double(MTU)));
    }

    static constexpr size_t MTU = 16384;

    std::mutex lock;
    //! Notified when a waiting reader or writer must look at the state again.
    std::condition_variable changed;
    Arguments arguments;
    SampleClock clock;
    bool gone = false;
    Counts counts;
};

} // namespace mimopack

#endif

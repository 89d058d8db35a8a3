// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_TRANSMITTER_H
#define MIMOPACK_SOAPY_TRANSMITTER_H

#include "capture.h"
#include "channel.h"
#include "radio.h"
#include <deque>

namespace mimopack {

/*!
 * A transmit stream. It places bursts at their times, and reports bursts that were late,
 * ran dry, or were sent.
 */
class Transmitter
{
public:
    //! capture and channel may be null.
    Transmitter(Radio& radio,
                Capture* capture,
                Channel* channel,
                const std::vector<size_t>& channels,
                size_t device_channels,
                bool int16);

    int activate(int flags, long long time);
    void deactivate();
    int write(const void* const* buffs,
              size_t count,
              int& flags,
              long long time,
              long timeout_us);
    int status(size_t& mask, int& flags, long long& time, long timeout_us);

private:
    struct Queued {
        int64_t start, end;
    };
    struct Event {
        int64_t due; // index
        int code;
        int flags;
        int64_t time;
    };

    void begin(int64_t index);
    void tell(const Event& event);
    void check_underflow();
    int64_t queued(int64_t now);

    Radio& d_radio;
    Capture* d_capture;
    Channel* d_channel;
    std::vector<size_t> d_channels;
    size_t d_device_channels;
    bool d_int16;

    bool d_active = false;
    bool d_in_burst = false;
    bool d_late = false; // discard the rest of the burst
    int64_t d_end = 0;   // index after the last sample
    std::deque<Queued> d_queue;
    std::deque<Event> d_events;
    std::vector<std::vector<cf32>> d_converted;
};

} // namespace mimopack

#endif

// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "transmitter.h"
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.hpp>
#include <SoapySDR/Logger.hpp>

namespace mimopack {

namespace {

// Delay of a burst without a time, so that its next samples arrive in time.
constexpr double LEAD_S = 0.005;
// Largest number of unread reports; the oldest are dropped first.
constexpr size_t MOST_EVENTS = 1000;

} // namespace

Transmitter::Transmitter(Radio& radio,
                         Capture* capture,
                         Channel* channel,
                         const std::vector<size_t>& channels,
                         size_t device_channels,
                         bool int16)
    : d_radio(radio),
      d_capture(capture),
      d_channel(channel),
      d_channels(channels),
      d_device_channels(device_channels),
      d_int16(int16),
      d_converted(channels.size())
{
}

int Transmitter::activate(int flags, long long time)
{
    std::lock_guard<std::mutex> hold(d_radio.lock);
    if (d_radio.gone)
        return SOAPY_SDR_STREAM_ERROR;
    if (flags & SOAPY_SDR_HAS_TIME) {
        const int64_t index = d_radio.clock.index_of(time);
        if (index < d_radio.clock.now())
            return SOAPY_SDR_TIME_ERROR;
        d_end = std::max(d_end, index);
    }
    d_active = true;
    d_radio.changed.notify_all();
    return 0;
}

void Transmitter::deactivate()
{
    std::lock_guard<std::mutex> hold(d_radio.lock);
    d_active = d_in_burst = d_late = false;
    d_radio.changed.notify_all();
}

void Transmitter::tell(const Event& event)
{
    if (d_events.size() >= MOST_EVENTS)
        d_events.pop_front();
    d_events.push_back(event);
    d_radio.changed.notify_all();
}

void Transmitter::check_underflow()
{
    if (!d_in_burst || d_late || !d_radio.clock.paced() || d_radio.clock.now() <= d_end)
        return;
    d_in_burst = false;
    d_radio.counts.tx_underflows++;
    SoapySDR::log(SOAPY_SDR_SSI, "U");
    tell(
        { d_end, SOAPY_SDR_UNDERFLOW, SOAPY_SDR_HAS_TIME, d_radio.clock.time_of(d_end) });
}

int64_t Transmitter::queued(int64_t now)
{
    while (!d_queue.empty() && d_queue.front().end <= now)
        d_queue.pop_front();
    int64_t sum = 0;
    for (const Queued& part : d_queue)
        sum += part.end - std::max(part.start, now);
    return sum;
}

void Transmitter::begin(int64_t index)
{
    d_end = index;
    d_in_burst = true;
    d_late = false;
    d_radio.counts.tx_bursts++;
    if (d_capture)
        d_capture->begin_burst();
}

int Transmitter::write(
    const void* const* buffs, size_t count, int& flags, long long time, long timeout_us)
{
    const Host::time_point deadline = Host::now() + std::chrono::microseconds(timeout_us);
    std::unique_lock<std::mutex> hold(d_radio.lock);
    const SampleClock& clock = d_radio.clock;
    while (!d_active || d_radio.gone) {
        // A caller that writes again and again must not spin.
        const Host::time_point until =
            d_radio.gone
                ? std::min(deadline, Host::now() + std::chrono::milliseconds(100))
                : deadline;
        if (d_radio.changed.wait_until(hold, until) == std::cv_status::timeout)
            return d_radio.gone ? SOAPY_SDR_STREAM_ERROR : SOAPY_SDR_TIMEOUT;
    }
    check_underflow();
    if (flags & SOAPY_SDR_HAS_TIME) {
        const int64_t index = clock.index_of(time);
        if (!d_in_burst || d_late || index != d_end) {
            if (index < d_end || (clock.paced() && index < clock.now())) {
                d_in_burst = d_late = true;
                d_radio.counts.tx_late++;
                SoapySDR::log(SOAPY_SDR_SSI, "L");
                tell({ clock.now(), SOAPY_SDR_TIME_ERROR, SOAPY_SDR_HAS_TIME, time });
            } else
                begin(index);
        }
    } else if (!d_in_burst && count > 0) {
        const double lead = std::min(LEAD_S, d_radio.arguments.buffer_s / 2);
        const int64_t soonest = clock.now() + int64_t(lead * clock.rate());
        begin(clock.paced() ? std::max(d_end, soonest) : d_end);
    }
    if (d_late) {
        if (flags & SOAPY_SDR_END_BURST)
            d_in_burst = d_late = false;
        return int(count);
    }

    int64_t room = NEVER;
    if (clock.paced() && count > 0) {
        const int64_t wanted = std::min<int64_t>(
            int64_t(std::min(count, d_radio.packet())), d_radio.capacity());
        for (;;) {
            const int64_t now = clock.now();
            room = d_radio.capacity() - queued(now);
            if (room >= wanted || !d_active || d_radio.gone)
                break;
            if (Host::now() >= deadline)
                break;
            const int64_t first = std::max(now, d_queue.front().start);
            d_radio.changed.wait_until(
                hold, std::min(deadline, clock.host_at(first + wanted - room)));
        }
        if (d_radio.gone)
            return SOAPY_SDR_STREAM_ERROR;
        if (room <= 0)
            return SOAPY_SDR_TIMEOUT;
    }
    const size_t taken = size_t(std::min<int64_t>(int64_t(count), room));
    const int64_t index = d_end;
    const int64_t stamp = clock.time_of(index);
    std::vector<const cf32*> samples(d_device_channels, nullptr);
    std::vector<const cf32*> written(d_channels.size());
    for (size_t i = 0; i < d_channels.size(); i++) {
        if (d_int16) {
            const cs16* in = static_cast<const cs16*>(buffs[i]);
            d_converted[i].resize(taken);
            for (size_t j = 0; j < taken; j++)
                d_converted[i][j] = { in[j].re * (1 / SCALE_16),
                                      in[j].im * (1 / SCALE_16) };
            written[i] = d_converted[i].data();
        } else
            written[i] = static_cast<const cf32*>(buffs[i]);
        samples[d_channels[i]] = written[i];
    }
    if (d_channel && taken > 0)
        d_channel->transmit(samples, taken, index);
    if (taken > 0) {
        if (!d_queue.empty() && d_queue.back().end == index)
            d_queue.back().end += taken;
        else
            d_queue.push_back({ index, index + int64_t(taken) });
    }
    d_end += taken;
    d_radio.clock.advance(d_end);
    if ((flags & SOAPY_SDR_END_BURST) && taken == count && d_in_burst) {
        d_in_burst = false;
        tell(
            { d_end, 0, SOAPY_SDR_END_BURST | SOAPY_SDR_HAS_TIME, clock.time_of(d_end) });
    }
    if (!clock.paced())
        d_queue.clear();
    hold.unlock();
    // The lock is released: only this stream writes to the file, and writing may be slow.
    if (d_capture)
        d_capture->write(written, taken, index, stamp);
    return int(taken);
}

int Transmitter::status(size_t& mask, int& flags, long long& time, long timeout_us)
{
    const Host::time_point deadline = Host::now() + std::chrono::microseconds(timeout_us);
    std::unique_lock<std::mutex> hold(d_radio.lock);
    const SampleClock& clock = d_radio.clock;
    flags = 0;
    for (;;) {
        check_underflow();
        Host::time_point until = deadline;
        const int64_t now = clock.now();
        for (auto event = d_events.begin(); event != d_events.end(); ++event) {
            if (clock.paced() && event->due > now) {
                until = std::min(until, clock.host_at(event->due));
                continue;
            }
            mask = 0;
            for (size_t channel : d_channels)
                mask |= size_t(1) << channel;
            flags = event->flags;
            time = event->time;
            const int code = event->code;
            d_events.erase(event);
            return code;
        }
        if (d_in_burst && !d_late && clock.paced())
            until = std::min(until, clock.host_at(d_end + 1));
        if (Host::now() >= deadline)
            return SOAPY_SDR_TIMEOUT;
        d_radio.changed.wait_until(hold, until);
    }
}

} // namespace mimopack

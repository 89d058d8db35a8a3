// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "receiver.h"
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.hpp>
#include <SoapySDR/Logger.hpp>
#include <exception>

namespace mimopack {

Receiver::Receiver(Radio& radio,
                   Air& air,
                   const std::vector<size_t>& channels,
                   bool int16)
    : d_radio(radio), d_air(air), d_channels(channels), d_int16(int16)
{
}

void Receiver::arm()
{
    const FaultPlan& plan = d_radio.arguments.faults;
    const double rate = d_radio.clock.rate();
    d_overflow.arm(plan.overflow, rate, d_next);
    d_drop.arm(plan.drop, rate, d_next);
    d_duplicate.arm(plan.duplicate, rate, d_next);
    d_shift.arm(plan.shift, rate, d_next);
    d_disappear.arm(plan.disappear, rate, d_next);
    if (plan.shift.at.empty())
        d_shifted = NEVER;
}

int64_t Receiver::oldest() const
{
    return d_active ? d_start + d_next - d_again - d_echo_delay : NEVER;
}

int Receiver::activate(int flags, long long time, size_t count)
{
    std::lock_guard<std::mutex> hold(d_radio.lock);
    if (d_radio.gone)
        return SOAPY_SDR_STREAM_ERROR;
    if (d_active)
        return 0;
    const int64_t now = d_radio.clock.now();
    d_start = flags & SOAPY_SDR_HAS_TIME ? d_radio.clock.index_of(time)
                                         : now + d_radio.clock.paced();
    if (d_start < now)
        return SOAPY_SDR_TIME_ERROR;
    d_next = d_again = d_echo_until = d_echo_delay = 0;
    d_full = d_shifted = NEVER;
    d_left = count > 0 ? int64_t(count) : NEVER;
    d_active = true;
    arm();
    d_radio.changed.notify_all();
    return 0;
}

void Receiver::deactivate()
{
    std::lock_guard<std::mutex> hold(d_radio.lock);
    d_active = false;
    d_radio.changed.notify_all();
}

int Receiver::wait_over(int code,
                        std::unique_lock<std::mutex>& hold,
                        Host::time_point deadline)
{
    while (d_radio.changed.wait_until(hold, deadline) != std::cv_status::timeout)
        ;
    return code;
}

int Receiver::lose(int64_t samples, int& flags, long long& time)
{
    flags = SOAPY_SDR_HAS_TIME;
    time = d_radio.clock.time_of(d_start + d_next);
    d_next += samples;
    d_radio.counts.rx_overflows++;
    d_radio.counts.rx_lost += samples;
    SoapySDR::log(SOAPY_SDR_SSI, "O");
    return SOAPY_SDR_OVERFLOW;
}

// Apply the faults of this moment. Return true if the read ends with code. Otherwise set
// limit to the sample number of the next fault. A fault whose time falls into a gap
// happens after the gap. A fault skips its own times in the gap that it makes, so that
// samples come between two faults.
bool Receiver::act(int64_t& limit, int& code, int& flags, long long& time)
{
    const FaultPlan& plan = d_radio.arguments.faults;
    if (d_disappear.next() <= d_next) {
        d_radio.gone = true;
        code = SOAPY_SDR_STREAM_ERROR;
        return true;
    }
    if (d_shift.next() <= d_next) {
        d_shift.pass(d_next + 1);
        d_shifted = std::min(d_shifted, d_next);
    }
    if (d_duplicate.next() <= d_next) {
        const int64_t samples = std::min(d_duplicate.samples(), d_next);
        d_radio.counts.rx_duplicated += samples;
        d_duplicate.pass(d_next + 1);
        if (plan.duplicate_old_time) {
            d_again = samples;
            return false;
        }
        d_echo_until = d_next + samples;
        d_echo_delay = samples;
    }
    if (d_overflow.next() <= d_next) {
        code = lose(d_overflow.samples(), flags, time);
        d_overflow.pass(d_next + 1);
        return true;
    }
    if (d_drop.next() <= d_next) {
        d_next += d_drop.samples();
        d_radio.counts.rx_dropped += d_drop.samples();
        d_drop.pass(d_next + 1);
        return act(limit, code, flags, time);
    }
    limit = std::min({ d_overflow.next(),
                       d_drop.next(),
                       d_duplicate.next(),
                       d_shift.next(),
                       d_disappear.next(),
                       d_air.length() });
    if (d_next >= d_echo_until)
        d_echo_delay = 0;
    else
        limit = std::min(limit, d_echo_until);
    return false;
}

void Receiver::deliver(void* const* buffs,
                       const Piece& piece,
                       int64_t start,
                       size_t shift_channel,
                       int64_t shifted)
{
    for (size_t i = 0; i < d_channels.size(); i++) {
        int64_t from = piece.content;
        if (d_channels[i] == shift_channel)
            from -= shifted;
        if (d_int16)
            d_air.fetch(d_channels[i],
                        from,
                        start + from,
                        piece.count,
                        static_cast<cs16*>(buffs[i]));
        else
            d_air.fetch(d_channels[i],
                        from,
                        start + from,
                        piece.count,
                        static_cast<cf32*>(buffs[i]));
    }
}

int Receiver::read(
    void* const* buffs, size_t count, int& flags, long long& time, long timeout_us)
{
    const Host::time_point deadline = Host::now() + std::chrono::microseconds(timeout_us);
    std::unique_lock<std::mutex> hold(d_radio.lock);
    const SampleClock& clock = d_radio.clock;
    flags = 0;
    for (;;) {
        if (d_radio.gone) {
            // A caller that reads again and again must not spin.
            if (d_told_gone)
                return wait_over(
                    SOAPY_SDR_STREAM_ERROR,
                    hold,
                    std::min(deadline, Host::now() + std::chrono::milliseconds(100)));
            d_told_gone = true;
            return SOAPY_SDR_STREAM_ERROR;
        }
        if (!d_active || d_left == 0) {
            if (d_radio.changed.wait_until(hold, deadline) == std::cv_status::timeout)
                return SOAPY_SDR_TIMEOUT;
            continue;
        }
        // Samples arrive in whole packets.
        const int64_t packet = int64_t(d_radio.packet());
        const auto whole = [packet](int64_t sample) { return sample - sample % packet; };
        const int64_t taken = clock.paced() ? whole(clock.now() - d_start) : NEVER;
        if (clock.paced() && d_full == NEVER && taken - d_next > d_radio.capacity() &&
            d_next + d_radio.capacity() < d_air.length())
            d_full = d_next + d_radio.capacity();
        if (d_next >= d_full) {
            d_full = NEVER;
            if (taken > d_next)
                return lose(taken - d_next, flags, time);
        }

        Piece piece{ d_next, d_next, 0 };
        int64_t limit = NEVER;
        if (d_again > 0) {
            piece.content = piece.stamp = d_next - d_again;
            limit = d_next;
        } else {
            int code;
            if (act(limit, code, flags, time)) {
                d_told_gone = code == SOAPY_SDR_STREAM_ERROR;
                return code;
            }
            if (d_again > 0)
                continue;
            if (d_next >= d_air.length()) {
                if (d_radio.arguments.end_disappears) {
                    d_radio.gone = true;
                    continue;
                }
                if (d_radio.changed.wait_until(hold, deadline) == std::cv_status::timeout)
                    return SOAPY_SDR_TIMEOUT;
                continue;
            }
            piece.stamp = d_next;
            piece.content = d_next - d_echo_delay;
        }
        const int64_t asked = std::min<int64_t>({ int64_t(count),
                                                  int64_t(Radio::MTU),
                                                  limit - piece.stamp,
                                                  d_left,
                                                  d_full - piece.stamp });
        const int64_t wanted = std::min(asked, packet);
        const int64_t ready = d_again > 0 ? asked : std::min(asked, taken - d_next);
        if (ready < wanted) {
            if (Host::now() < deadline) {
                const int64_t end = whole(d_next + wanted + packet - 1);
                d_radio.changed.wait_until(
                    hold, std::min(deadline, clock.host_at(d_start + end)));
                continue;
            }
            if (ready <= 0)
                return SOAPY_SDR_TIMEOUT;
        }
        piece.count = size_t(std::max<int64_t>(0, ready));
        const FaultPlan& plan = d_radio.arguments.faults;
        const int64_t shifted =
            d_shifted <= piece.stamp ? plan.shift.samples.samples(clock.rate(), 0) : 0;
        const size_t before = size_t(shifted);
        d_air.prepare(d_start + piece.content, piece.count, before);
        time = clock.time_of(d_start + piece.stamp);
        flags = SOAPY_SDR_HAS_TIME;
        if (d_again > 0)
            d_again -= piece.count;
        else
            d_next += piece.count;
        if (d_left != NEVER && (d_left -= piece.count) == 0)
            flags |= SOAPY_SDR_END_BURST;
        d_radio.clock.advance(d_start + d_next);
        const int64_t start = d_start;
        const size_t shift_channel = plan.shift_channel;
        // Release the lock during the slow copy: the data it reads does not change.
        hold.unlock();
        try {
            deliver(buffs, piece, start, shift_channel, shifted);
        } catch (const std::exception& error) {
            SoapySDR::logf(SOAPY_SDR_ERROR, "mimopack: %s", error.what());
            hold.lock();
            d_radio.gone = d_told_gone = true;
            d_radio.changed.notify_all();
            flags = 0;
            return SOAPY_SDR_STREAM_ERROR;
        }
        return int(piece.count);
    }
}

} // namespace mimopack

// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_CLOCK_H
#define MIMOPACK_SOAPY_CLOCK_H

#include <chrono>
#include <cmath>
#include <cstdint>

namespace mimopack {

using Host = std::chrono::steady_clock;

/*!
 * The sample clock of the simulated radio, which determines all its times.
 *
 * Samples have an index, counted from the start of the device. The host's monotonic clock
 * determines the present index. The hardware time determines the time stamp of an index.
 * Callers hold the device's lock.
 */
class SampleClock
{
public:
    SampleClock(double rate, double speed, double ppm)
        : d_rate(rate), d_speed(speed), d_ppm(ppm), d_host(Host::now())
    {
    }

    double rate() const { return d_rate; }
    //! False if samples come as fast as they are read.
    bool paced() const { return d_speed > 0; }

    //! Index of the present sample.
    int64_t now() const { return int64_t(std::floor(position())); }

    //! Without a pace, advance the time to the samples read or written.
    void advance(int64_t index)
    {
        if (!paced() && index > d_index)
            d_index = index;
    }

    Host::time_point host_at(int64_t index) const
    {
        // Add 1 ns, so that the sample exists after a wait until this time.
        const double seconds = double(index - d_index - d_fraction) / pace();
        return d_host + std::chrono::nanoseconds(int64_t(std::ceil(seconds * 1e9)) + 1);
    }

    int64_t time_of(int64_t index) const
    {
        return d_time + std::llround((index - d_time_index) * (1e9L / d_rate));
    }

    //! Index of the sample nearest to a hardware time.
    int64_t index_of(int64_t time) const
    {
        return d_time_index + std::llround((time - d_time) * (d_rate / 1e9L));
    }

    int64_t time_now() const
    {
        return d_time + std::llround((position() - d_time_index) * (1e9L / d_rate));
    }

    void set_time(int64_t time)
    {
        // Keep time stamps on the grid of the samples.
        d_time_index = now();
        d_time = time;
    }

    void set_rate(double rate)
    {
        const int64_t time = time_now();
        anchor();
        d_rate = rate;
        set_time(time);
    }

    void set_ppm(double ppm)
    {
        anchor();
        d_ppm = ppm;
    }

private:
    //! Samples per second by the host's clock.
    double pace() const { return d_rate * d_speed * (1 + d_ppm * 1e-6); }

    long double position() const
    {
        if (!paced())
            return d_index;
        const std::chrono::duration<long double> passed = Host::now() - d_host;
        return d_index + d_fraction + passed.count() * pace();
    }

    void anchor()
    {
        const long double here = position();
        d_host = Host::now();
        d_index = int64_t(std::floor(here));
        d_fraction = here - d_index;
    }

    double d_rate;
    double d_speed;
    double d_ppm;
    Host::time_point d_host;
    int64_t d_index = 0;
    long double d_fraction = 0;
    int64_t d_time_index = 0;
    int64_t d_time = 0;
};

} // namespace mimopack

#endif

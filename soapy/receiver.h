// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_RECEIVER_H
#define MIMOPACK_SOAPY_RECEIVER_H

#include "air.h"
#include "radio.h"
#include <memory>

namespace mimopack {

/*!
 * A receive stream. The clock and the requested faults determine what it delivers next.
 *
 * Nothing runs in the background, and there is no real buffer: samples older than
 * buffer_s that were not read are lost.
 */
class Receiver
{
public:
    Receiver(Radio& radio, Air& air, const std::vector<size_t>& channels, bool int16);

    int activate(int flags, long long time, size_t count);
    void deactivate();
    int
    read(void* const* buffs, size_t count, int& flags, long long& time, long timeout_us);
    //! Apply changed faults. The lock is held.
    void arm();
    //! Index of the oldest sample that may still be needed. The lock is held.
    int64_t oldest() const;

private:
    struct Piece {
        int64_t content; // number of the first sample, from the start of the stream
        int64_t stamp;   // number of the sample that determines the time stamp
        size_t count;
    };

    int
    wait_over(int code, std::unique_lock<std::mutex>& hold, Host::time_point deadline);
    int lose(int64_t samples, int& flags, long long& time);
    bool act(int64_t& limit, int& code, int& flags, long long& time);
    void deliver(void* const* buffs,
                 const Piece& piece,
                 int64_t start,
                 size_t shift_channel,
                 int64_t shifted);

    Radio& d_radio;
    Air& d_air;
    std::vector<size_t> d_channels;
    bool d_int16;

    bool d_active = false;
    int64_t d_start = 0;    // index of the stream's sample 0
    int64_t d_next = 0;     // number of the next sample
    int64_t d_left = 0;     // samples to deliver before the stream ends
    int64_t d_full = NEVER; // number of the first sample that did not fit the buffer
    int64_t d_again = 0;    // samples to deliver again with their old times
    int64_t d_echo_until = 0, d_echo_delay = 0;
    int64_t d_shifted = NEVER;
    bool d_told_gone = false;
    Schedule d_overflow, d_drop, d_duplicate, d_shift, d_disappear;
};

} // namespace mimopack

#endif

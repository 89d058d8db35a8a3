// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_CAPTURE_H
#define MIMOPACK_SOAPY_CAPTURE_H

#include "air.h"
#include <string>
#include <vector>

namespace mimopack {

/*!
 * Write what is transmitted to SigMF, each sample at its time.
 *
 * The recording begins with the first sample transmitted. Between bursts it is zero; file
 * systems keep no bytes for that.
 */
class Capture
{
public:
    /*!
     * \throws std::invalid_argument the recording exists, or cannot be made.
     */
    Capture(const std::string& path, bool int16);
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /*!
     * What the metadata says, told before the first sample.
     * \throws std::invalid_argument another number of channels was written before.
     */
    void describe(size_t channels, double rate, double frequency);
    //! Write samples whose first has this index and hardware time. Returns how many were
    //! clipped.
    size_t write(const std::vector<const cf32*>& samples,
                 size_t count,
                 int64_t index,
                 int64_t time);
    void set_frequency(double frequency) { d_frequency = frequency; }
    //! The samples written next start a burst.
    void begin_burst() { d_new_burst = true; }
    //! Write the metadata of what was written so far. Writing may go on.
    void save();

private:
    struct Burst {
        int64_t start, count;
    };

    std::string d_base;
    bool d_int16;
    int d_file = -1;
    bool d_failed = false;
    size_t d_channels = 0;
    double d_rate = 0;
    double d_frequency = 0;
    bool d_any = false;
    bool d_new_burst = true;
    int64_t d_first = 0, d_end = 0;
    int64_t d_time = 0;
    uint64_t d_unnamed = 0; // bursts without annotation
    std::vector<Burst> d_bursts;
    std::vector<char> d_bytes;
};

} // namespace mimopack

#endif

// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_CAPTURE_H
#define MIMOPACK_SOAPY_CAPTURE_H

#include "air.h"
#include <string>
#include <vector>

namespace mimopack {

/*!
 * Write transmitted samples to SigMF, each at its time.
 *
 * The recording begins with the first transmitted sample. Between bursts the samples are
 * zero; file systems store these as holes.
 */
class Capture
{
public:
    /*!
     * \throws std::invalid_argument the recording exists, or cannot be created.
     */
    explicit Capture(const std::string& path);
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /*!
     * Set the values of the metadata, before the first sample.
     * \throws std::invalid_argument the recording has another number of channels or rate.
     */
    void describe(size_t channels, double rate, double frequency);
    //! Write samples. index and time are those of the first sample.
    void write(const std::vector<const cf32*>& samples,
               size_t count,
               int64_t index,
               int64_t time);
    void set_frequency(double frequency) { d_frequency = frequency; }
    //! Begin a burst with the next sample.
    void begin_burst() { d_new_burst = true; }
    //! Write the metadata of the samples written so far. More samples may follow.
    void save();

private:
    struct Burst {
        int64_t start, count;
    };

    std::string d_base;
    int d_file = -1;
    bool d_failed = false;
    size_t d_channels = 0;
    double d_rate = 0;
    double d_frequency = 0;
    bool d_any = false;
    bool d_new_burst = true;
    int64_t d_first = 0, d_end = 0;
    int64_t d_time = 0;
    std::vector<Burst> d_bursts;
    std::vector<cf32> d_stored;
};

} // namespace mimopack

#endif

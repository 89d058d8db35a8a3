// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_FAULTS_H
#define MIMOPACK_SOAPY_FAULTS_H

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace mimopack {

constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();

//! A position in samples or seconds; "now" is the next sample to be read.
struct Position {
    enum class Unit { samples, seconds, now };
    double value = 0;
    Unit unit = Unit::samples;

    int64_t samples(double rate, int64_t here) const;
};

//! The times of a fault, and the number of samples it affects.
struct FaultTimes {
    std::vector<Position> at;
    Position every;
    Position samples{ 1000 };
};

//! All requested faults.
struct FaultPlan {
    FaultTimes overflow;
    FaultTimes drop;
    FaultTimes duplicate;
    bool duplicate_old_time = true;
    FaultTimes shift;
    size_t shift_channel = 0;
    FaultTimes disappear;
    double clock_ppm = 0;
    //! The given text of each setting, for readSetting().
    std::map<std::string, std::string> text;
};

/*!
 * The sample numbers at which one fault happens.
 *
 * Sample numbers count from the start of the stream and include lost samples.
 */
class Schedule
{
public:
    //! Set the times, relative to a sample number.
    void arm(const FaultTimes& times, double rate, int64_t here);
    int64_t next() const;
    //! Skip the times before a sample number.
    void pass(int64_t here);
    int64_t samples() const { return d_samples; }

private:
    std::vector<int64_t> d_at; // descending
    int64_t d_every = 0;
    int64_t d_periodic = 0;
    int64_t d_samples = 0;
};

} // namespace mimopack

#endif

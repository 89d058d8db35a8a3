// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_ARGUMENTS_H
#define MIMOPACK_SOAPY_ARGUMENTS_H

#include "faults.h"
#include <SoapySDR/Types.hpp>
#include <string>
#include <vector>

namespace mimopack {

//! Checked device arguments.
struct Arguments {
    std::string recording;
    bool repeat = false;
    bool end_disappears = false;
    double speed = 1;
    double buffer_s = 0.1;
    size_t packet = 0; // samples; 0: half a millisecond
    size_t channels = 2;
    double rate = 20e6;
    std::string capture;
    std::string loopback;
    double snr_db = 40;
    double level_db = 0;
    double cfo_hz = 0;
    size_t taps = 3;
    size_t seed = 1;
    FaultPlan faults;
};

/*!
 * Read device arguments.
 * \throws std::invalid_argument an argument is unknown or invalid. The message gives the
 * argument, its value and the allowed values.
 */
Arguments parse_arguments(const SoapySDR::Kwargs& given);

/*!
 * Change a fault while the device runs.
 * \throws std::invalid_argument as parse_arguments().
 */
void change_fault(FaultPlan& plan, const std::string& key, const std::string& value);

//! Return the arguments that may change while the device runs, for getSettingInfo().
SoapySDR::ArgInfoList setting_info();

} // namespace mimopack

#endif

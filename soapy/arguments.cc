// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "arguments.h"
#include "text.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <stdexcept>

namespace mimopack {

namespace {

bool number(const std::string& text, double& value)
{
    char* end = nullptr;
    value = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == 0 && std::isfinite(value);
}

double parse_number(const std::string& key,
                    const std::string& text,
                    double least,
                    double most,
                    const std::string& allowed)
{
    double value;
    if (!number(text, value) || value < least || value > most)
        refuse(key, quoted(text), allowed);
    return value;
}

size_t
parse_count(const std::string& key, const std::string& text, size_t least, size_t most)
{
    const std::string allowed =
        "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    const double value = parse_number(key, text, least, most, allowed);
    if (value != std::floor(value))
        refuse(key, quoted(text), allowed);
    return size_t(value);
}

bool parse_switch(const std::string& key, const std::string& text)
{
    if (text == "1" || text == "true")
        return true;
    if (text == "0" || text == "false")
        return false;
    refuse(key, quoted(text), "0 or 1");
}

std::string parse_choice(const std::string& key,
                         const std::string& text,
                         const std::vector<std::string>& choices)
{
    if (std::find(choices.begin(), choices.end(), text) != choices.end())
        return text;
    std::string allowed;
    for (const std::string& choice : choices)
        allowed += (allowed.empty() ? "" : " or ") + choice;
    refuse(key, quoted(text), allowed);
}

Position parse_position(const std::string& key, const std::string& text, double least)
{
    const std::string allowed =
        "a number of samples such as " + std::string(least > 0 ? "1000" : "0") +
        ", or seconds such as 0.5s" + (least > 0 ? "" : ", or now");
    if (text == "now" && least <= 0)
        return { 0, Position::Unit::now };
    const bool seconds = !text.empty() && text.back() == 's';
    double value;
    if (!number(seconds ? text.substr(0, text.size() - 1) : text, value) || value < 0 ||
        value > 1e15 ||
        (seconds ? least > 0 && value <= 0 : value < least || value != std::floor(value)))
        refuse(key, quoted(text), allowed);
    return { value, seconds ? Position::Unit::seconds : Position::Unit::samples };
}

//! Parse positions separated by colons; an empty text has none.
std::vector<Position> parse_positions(const std::string& key, const std::string& text)
{
    std::vector<Position> positions;
    for (size_t from = 0; !text.empty() && from <= text.size();) {
        const size_t to = std::min(text.find(':', from), text.size());
        positions.push_back(parse_position(key, text.substr(from, to - from), 0));
        from = to + 1;
    }
    return positions;
}

Position parse_interval(const std::string& key, const std::string& text)
{
    if (text == "now")
        refuse(key,
               quoted(text),
               "a number of samples such as 1000, or seconds such as 0.5s");
    return parse_position(key, text, 0);
}

Position parse_length(const std::string& key, const std::string& text)
{
    return parse_position(key, text, 1);
}

struct Setting {
    const char* key;
    const char* value;
    std::string meaning;
    std::function<void(FaultPlan&, const std::string&, const std::string&)> read;
};

using Fault = FaultTimes FaultPlan::*;

Setting when(const char* key, Fault fault, const std::string& what)
{
    return { key,
             "",
             "sample numbers or seconds, separated by colons: " + what,
             [fault](FaultPlan& plan, const std::string& name, const std::string& text) {
                 (plan.*fault).at = parse_positions(name, text);
             } };
}

Setting how_often(const char* key, Fault fault, const std::string& what)
{
    return { key,
             "0",
             "interval in samples or seconds: " + what,
             [fault](FaultPlan& plan, const std::string& name, const std::string& text) {
                 (plan.*fault).every = parse_interval(name, text);
             } };
}

Setting how_long(const char* key, Fault fault, const char* otherwise, const char* what)
{
    return { key,
             otherwise,
             what,
             [fault](FaultPlan& plan, const std::string& name, const std::string& text) {
                 (plan.*fault).samples = parse_length(name, text);
             } };
}

const std::vector<Setting>& settings()
{
    const std::string overflow = "samples are lost and SOAPY_SDR_OVERFLOW reports it";
    const std::string drop = "samples are lost, and only the time stamp shows it";
    const std::string duplicate = "the last samples are delivered again";
    static const std::vector<Setting> all = {
        when("overflow_at", &FaultPlan::overflow, overflow),
        how_often("overflow_every", &FaultPlan::overflow, overflow),
        how_long(
            "overflow_samples", &FaultPlan::overflow, "1000", "number of lost samples"),
        when("drop_at", &FaultPlan::drop, drop),
        how_often("drop_every", &FaultPlan::drop, drop),
        how_long("drop_samples", &FaultPlan::drop, "1000", "number of lost samples"),
        when("duplicate_at", &FaultPlan::duplicate, duplicate),
        how_often("duplicate_every", &FaultPlan::duplicate, duplicate),
        how_long("duplicate_samples",
                 &FaultPlan::duplicate,
                 "1000",
                 "number of samples delivered again"),
        { "duplicate_time",
          "old",
          "old: repeated samples keep their time stamps; new: they replace the samples "
          "that follow",
          [](FaultPlan& plan, const std::string& key, const std::string& text) {
              plan.duplicate_old_time =
                  parse_choice(key, text, { "old", "new" }) == "old";
          } },
        when("shift_at", &FaultPlan::shift, "from this time on, one channel lags"),
        { "shift_channel",
          "0",
          "the channel that lags",
          [](FaultPlan& plan, const std::string& key, const std::string& text) {
              plan.shift_channel = parse_count(key, text, 0, 63);
          } },
        how_long("shift_samples", &FaultPlan::shift, "1", "lag in samples"),
        when("disappear_at",
             &FaultPlan::disappear,
             "from this time on, every read and write fails"),
        { "clock_ppm",
          "0",
          "ppm by which the device's clock is faster than the host's",
          [](FaultPlan& plan, const std::string& key, const std::string& text) {
              plan.clock_ppm = parse_number(key, text, -1e5, 1e5, "-1e5 to 1e5");
          } },
    };
    return all;
}

const Setting* find_setting(const std::string& key)
{
    for (const Setting& setting : settings())
        if (key == setting.key)
            return &setting;
    return nullptr;
}

//! Read an argument that cannot change while the device runs.
using Reader =
    std::function<void(Arguments&, const std::string& key, const std::string& text)>;

Reader file(std::string Arguments::*member)
{
    return [member](Arguments& to, const std::string&, const std::string& text) {
        to.*member = text;
    };
}

Reader count(size_t Arguments::*member, size_t least, size_t most)
{
    return [=](Arguments& to, const std::string& key, const std::string& text) {
        to.*member = parse_count(key, text, least, most);
    };
}

Reader
value(double Arguments::*member, double least, double most, const std::string& allowed)
{
    return [=](Arguments& to, const std::string& key, const std::string& text) {
        to.*member = parse_number(key, text, least, most, allowed);
    };
}

const std::map<std::string, Reader>& others()
{
    // SoapySDR passes these on; the serial distinguishes equal devices.
    const Reader ignored = [](Arguments&, const std::string&, const std::string&) {};
    static const std::map<std::string, Reader> all = {
        { "recording", file(&Arguments::recording) },
        { "repeat",
          [](Arguments& to, const std::string& key, const std::string& text) {
              to.repeat = parse_switch(key, text);
          } },
        { "end",
          [](Arguments& to, const std::string& key, const std::string& text) {
              to.end_disappears =
                  parse_choice(key, text, { "wait", "disappear" }) == "disappear";
          } },
        { "speed",
          value(&Arguments::speed, 0, 1000, "0 (as fast as it is read) to 1000") },
        { "buffer_s", value(&Arguments::buffer_s, 0.001, 60, "0.001 to 60 seconds") },
        { "packet", count(&Arguments::packet, 16, 16384) },
        { "channels", count(&Arguments::channels, 1, 16) },
        { "rate", value(&Arguments::rate, 1e3, 1e9, "1e3 to 1e9 samples/s") },
        { "capture", file(&Arguments::capture) },
        { "loopback",
          [](Arguments& to, const std::string& key, const std::string& text) {
              to.loopback = parse_choice(key, text, { "identity", "rayleigh" });
          } },
        { "snr_db",
          [](Arguments& to, const std::string& key, const std::string& text) {
              to.snr_db = text == "inf"
                              ? HUGE_VAL
                              : parse_number(key, text, -100, 200, "-100 to 200, or inf");
          } },
        { "level_db", value(&Arguments::level_db, -100, 100, "-100 to 100") },
        { "cfo_hz", value(&Arguments::cfo_hz, -1e8, 1e8, "-1e8 to 1e8 Hz") },
        { "taps", count(&Arguments::taps, 1, 32) },
        { "seed", count(&Arguments::seed, 0, size_t(1) << 53) },
        { "driver", ignored },
        { "label", ignored },
        { "serial", ignored },
    };
    return all;
}

} // namespace

void change_fault(FaultPlan& plan, const std::string& key, const std::string& value)
{
    const Setting* setting = find_setting(key);
    if (!setting) {
        std::string allowed;
        for (const Setting& known : settings())
            allowed += (allowed.empty() ? "" : ", ") + std::string(known.key);
        refuse("setting", quoted(key), allowed);
    }
    setting->read(plan, key, value);
    plan.text[key] = value;
}

SoapySDR::ArgInfoList setting_info()
{
    SoapySDR::ArgInfoList list;
    for (const Setting& setting : settings()) {
        SoapySDR::ArgInfo info;
        info.key = setting.key;
        info.name = setting.key;
        info.value = setting.value;
        info.description = setting.meaning;
        info.type = SoapySDR::ArgInfo::STRING;
        list.push_back(info);
    }
    return list;
}

Arguments parse_arguments(const SoapySDR::Kwargs& given)
{
    Arguments arguments;
    arguments.faults.shift.samples = { 1 };
    for (const auto& [key, value] : given) {
        const auto other = others().find(key);
        if (other != others().end())
            other->second(arguments, key, value);
        else if (find_setting(key))
            change_fault(arguments.faults, key, value);
        else {
            std::string allowed;
            for (const auto& known : others())
                allowed += known.first + ", ";
            for (const Setting& known : settings())
                allowed +=
                    known.key + std::string(&known == &settings().back() ? "" : ", ");
            refuse("argument", quoted(key), allowed);
        }
    }
    if (arguments.recording.empty() && arguments.capture.empty() &&
        arguments.loopback.empty())
        throw std::invalid_argument(
            "recording, capture, loopback: got none, give recording=FILE to receive it, "
            "capture=FILE to keep transmitted samples, or loopback=rayleigh");
    if (!arguments.recording.empty()) {
        if (!arguments.loopback.empty())
            refuse("loopback",
                   quoted(arguments.loopback),
                   "recording or loopback, not both");
        for (const char* key : { "channels", "rate" })
            if (given.count(key))
                refuse(key,
                       quoted(given.at(key)),
                       "none with a recording, whose metadata gives it");
    } else if (arguments.repeat || arguments.end_disappears)
        refuse(arguments.repeat ? "repeat" : "end",
               quoted(given.at(arguments.repeat ? "repeat" : "end")),
               "none without a recording");
    if (!arguments.loopback.empty() && arguments.speed == 0)
        refuse("speed",
               quoted(given.at("speed")),
               "more than 0 with loopback, which needs a clock");
    return arguments;
}

} // namespace mimopack

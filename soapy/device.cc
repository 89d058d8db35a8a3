// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "device.h"
#include "text.h"
#include <SoapySDR/Errors.hpp>
#include <SoapySDR/Formats.hpp>
#include <limits>
#include <stdexcept>
#include <utility>

namespace mimopack {

using SoapySDR::Kwargs;

namespace {

const char* const SOURCES[] = { "internal", "external" };

std::string check_source(const char* what, const std::string& source)
{
    if (source != SOURCES[0] && source != SOURCES[1])
        refuse(what, quoted(source), "internal or external");
    return source;
}

std::unique_ptr<Recording> open_recording(const Arguments& arguments)
{
    if (arguments.recording.empty())
        return nullptr;
    return std::make_unique<Recording>(arguments.recording, arguments.repeat);
}

using Guard = std::lock_guard<std::mutex>;

} // namespace

Device::Device(const Arguments& arguments)
    : d_radio(arguments, arguments.rate), d_recording(open_recording(arguments))
{
    size_t channels = arguments.channels;
    if (d_recording) {
        channels = d_recording->channels();
        d_radio.clock.set_rate(d_recording->rate());
    }
    if (arguments.faults.shift_channel >= channels)
        refuse("shift_channel",
               std::to_string(arguments.faults.shift_channel),
               "0 to " + std::to_string(channels - 1));
    for (std::vector<Front>& fronts : d_front)
        fronts.resize(channels);
    if (d_recording)
        for (Front& each : d_front[SOAPY_SDR_RX])
            each.frequency = d_recording->frequency();
    if (!arguments.loopback.empty())
        d_channel = std::make_unique<Channel>(d_radio, channels);
    if (!d_recording && !d_channel)
        d_front[SOAPY_SDR_RX].clear();
    if (!arguments.capture.empty())
        d_capture = std::make_unique<Capture>(arguments.capture);
}

Device::~Device() = default;

Device::Front& Device::front(int direction, size_t channel)
{
    return const_cast<Front&>(std::as_const(*this).front(direction, channel));
}

const Device::Front& Device::front(int direction, size_t channel) const
{
    const std::vector<Front>& fronts = d_front[direction == SOAPY_SDR_RX];
    if (channel >= fronts.size())
        refuse("channel",
               std::to_string(channel),
               "less than " + std::to_string(fronts.size()));
    return fronts[channel];
}

std::string Device::getHardwareKey() const
{
    return d_recording ? "recording" : d_channel ? "simulated channel" : "file";
}

Kwargs Device::getHardwareInfo() const
{
    Kwargs info;
    const Arguments& arguments = d_radio.arguments;
    if (d_recording) {
        info["origin"] = "recording";
        info["recording"] = d_recording->path();
        info["datatype"] = d_recording->datatype();
        info["description"] = d_recording->description();
        info["simulated"] = d_recording->simulated() ? "true" : "unknown";
    } else if (d_channel) {
        info["origin"] = "SIMULATED: " + arguments.loopback + " channel, " +
                         text_of(arguments.snr_db) + " dB SNR, carrier offset " +
                         text_of(arguments.cfo_hz) + " Hz, seed " +
                         std::to_string(arguments.seed);
        info["simulated"] = "true";
    }
    return info;
}

size_t Device::getNumChannels(int direction) const
{
    return d_front[direction == SOAPY_SDR_RX].size();
}

bool Device::getFullDuplex(int, size_t) const { return true; }

std::vector<std::string> Device::getStreamFormats(int, size_t) const
{
    return { SOAPY_SDR_CF32, SOAPY_SDR_CS16 };
}

std::string Device::getNativeStreamFormat(int, size_t, double& full_scale) const
{
    const bool integers = d_recording && d_recording->integers();
    full_scale = integers ? SCALE_16 : 1;
    return integers ? SOAPY_SDR_CS16 : SOAPY_SDR_CF32;
}

SoapySDR::Stream* Device::setupStream(int direction,
                                      const std::string& format,
                                      const std::vector<size_t>& channels,
                                      const Kwargs&)
{
    if (format != SOAPY_SDR_CF32 && format != SOAPY_SDR_CS16)
        refuse("format", format, "CF32 or CS16");
    const std::vector<size_t> chosen =
        channels.empty() ? std::vector<size_t>{ 0 } : channels;
    for (size_t i = 0; i < chosen.size(); i++) {
        front(direction, chosen[i]);
        if (std::count(chosen.begin(), chosen.end(), chosen[i]) > 1)
            refuse("channels", std::to_string(chosen[i]) + " twice", "each once");
    }
    const bool int16 = format == SOAPY_SDR_CS16;
    Guard hold(d_radio.lock);
    if (direction == SOAPY_SDR_RX) {
        if (d_receiver)
            throw std::runtime_error("stream: another stream uses the receiver");
        Air* air = d_recording ? static_cast<Air*>(d_recording.get()) : d_channel.get();
        d_receiver = std::make_unique<Receiver>(d_radio, *air, chosen, int16);
        return reinterpret_cast<SoapySDR::Stream*>(d_receiver.get());
    }
    if (d_transmitter)
        throw std::runtime_error("stream: another stream uses the transmitter");
    if (d_capture)
        d_capture->describe(chosen.size(),
                            d_radio.clock.rate(),
                            d_front[SOAPY_SDR_TX][chosen[0]].frequency);
    d_transmitter = std::make_unique<Transmitter>(d_radio,
                                                  d_capture.get(),
                                                  d_channel.get(),
                                                  chosen,
                                                  d_front[SOAPY_SDR_TX].size(),
                                                  int16);
    return reinterpret_cast<SoapySDR::Stream*>(d_transmitter.get());
}

void Device::closeStream(SoapySDR::Stream* stream)
{
    deactivateStream(stream, 0, 0);
    Guard hold(d_radio.lock);
    if (static_cast<void*>(stream) == d_receiver.get())
        d_receiver.reset();
    else {
        d_transmitter.reset();
        if (d_capture)
            d_capture->save();
    }
}

size_t Device::getStreamMTU(SoapySDR::Stream*) const { return Radio::MTU; }

int Device::activateStream(SoapySDR::Stream* stream,
                           int flags,
                           long long time,
                           size_t count)
{
    if (static_cast<void*>(stream) == d_receiver.get())
        return d_receiver->activate(flags, time, count);
    if (d_capture) {
        Guard hold(d_radio.lock);
        d_capture->set_frequency(d_front[SOAPY_SDR_TX][0].frequency);
    }
    return d_transmitter->activate(flags, time);
}

int Device::deactivateStream(SoapySDR::Stream* stream, int, long long)
{
    if (static_cast<void*>(stream) == d_receiver.get())
        d_receiver->deactivate();
    else
        d_transmitter->deactivate();
    return 0;
}

int Device::readStream(SoapySDR::Stream* stream,
                       void* const* buffs,
                       size_t count,
                       int& flags,
                       long long& time,
                       long timeout_us)
{
    if (static_cast<void*>(stream) != d_receiver.get())
        return SOAPY_SDR_NOT_SUPPORTED;
    return d_receiver->read(buffs, count, flags, time, timeout_us);
}

int Device::writeStream(SoapySDR::Stream* stream,
                        const void* const* buffs,
                        size_t count,
                        int& flags,
                        long long time,
                        long timeout_us)
{
    if (static_cast<void*>(stream) != d_transmitter.get())
        return SOAPY_SDR_NOT_SUPPORTED;
    // gr-soapy 3.10 can pass a negative count, which it would repeat after an error code.
    if (count > size_t(std::numeric_limits<int>::max()))
        throw std::invalid_argument("writeStream: got " + std::to_string(count) +
                                    " samples, allowed are up to 2147483647");
    const int result = d_transmitter->write(buffs, count, flags, time, timeout_us);
    if (d_channel) {
        Guard hold(d_radio.lock);
        const int64_t heard = d_receiver ? d_receiver->oldest() : NEVER;
        d_channel->forget(std::min(heard, d_radio.clock.now() - d_radio.capacity()));
    }
    return result;
}

int Device::readStreamStatus(
    SoapySDR::Stream* stream, size_t& mask, int& flags, long long& time, long timeout_us)
{
    if (static_cast<void*>(stream) != d_transmitter.get())
        return SOAPY_SDR_NOT_SUPPORTED;
    return d_transmitter->status(mask, flags, time, timeout_us);
}

std::vector<std::string> Device::listClockSources() const
{
    return { SOURCES[0], SOURCES[1] };
}

void Device::setClockSource(const std::string& source)
{
    Guard hold(d_radio.lock);
    d_clock_source = check_source("clock source", source);
}

std::string Device::getClockSource() const
{
    Guard hold(d_radio.lock);
    return d_clock_source;
}

std::vector<std::string> Device::listTimeSources() const
{
    return { SOURCES[0], SOURCES[1] };
}

void Device::setTimeSource(const std::string& source)
{
    Guard hold(d_radio.lock);
    d_time_source = check_source("time source", source);
}

std::string Device::getTimeSource() const
{
    Guard hold(d_radio.lock);
    return d_time_source;
}

bool Device::hasHardwareTime(const std::string& what) const
{
    return what.empty() || what == "PPS";
}

long long Device::getHardwareTime(const std::string&) const
{
    Guard hold(d_radio.lock);
    return d_radio.clock.time_now();
}

void Device::setHardwareTime(long long time, const std::string& what)
{
    if (!hasHardwareTime(what))
        refuse("hardware time", quoted(what), "nothing or PPS");
    Guard hold(d_radio.lock);
    if (what == "PPS") {
        // PPS sets the time at the device's next second.
        constexpr long long SECOND = 1000000000;
        time -= SECOND - d_radio.clock.time_now() % SECOND;
    }
    d_radio.clock.set_time(time);
}

namespace {

struct Sensor {
    const char* key;
    const char* meaning;
    uint64_t Counts::*count;
};

const Sensor SENSORS[] = {
    { "rx_overflows", "overflows reported", &Counts::rx_overflows },
    { "rx_lost", "samples lost in overflows", &Counts::rx_lost },
    { "rx_dropped", "samples lost by drop_at and drop_every", &Counts::rx_dropped },
    { "rx_duplicated", "samples delivered twice", &Counts::rx_duplicated },
    { "tx_bursts", "bursts begun", &Counts::tx_bursts },
    { "tx_late", "bursts discarded because their time had passed", &Counts::tx_late },
    { "tx_underflows", "bursts that ran dry before their end", &Counts::tx_underflows },
};

const Sensor& find_sensor(const std::string& key)
{
    std::string known;
    for (const Sensor& sensor : SENSORS) {
        if (key == sensor.key)
            return sensor;
        known += (known.empty() ? "" : ", ") + std::string(sensor.key);
    }
    refuse("sensor", quoted(key), known);
}

} // namespace

std::vector<std::string> Device::listSensors() const
{
    std::vector<std::string> keys;
    for (const Sensor& sensor : SENSORS)
        keys.push_back(sensor.key);
    return keys;
}

SoapySDR::ArgInfo Device::getSensorInfo(const std::string& key) const
{
    SoapySDR::ArgInfo info;
    info.key = info.name = key;
    info.description = find_sensor(key).meaning;
    info.type = SoapySDR::ArgInfo::INT;
    info.value = "0";
    return info;
}

std::string Device::readSensor(const std::string& key) const
{
    const Sensor& sensor = find_sensor(key);
    Guard hold(d_radio.lock);
    return std::to_string(d_radio.counts.*sensor.count);
}

SoapySDR::ArgInfoList Device::getSettingInfo() const { return setting_info(); }

void Device::writeSetting(const std::string& key, const std::string& value)
{
    Guard hold(d_radio.lock);
    FaultPlan changed = d_radio.arguments.faults;
    change_fault(changed, key, value);
    const size_t channels = std::max<size_t>(1, d_front[SOAPY_SDR_RX].size());
    if (changed.shift_channel >= channels)
        refuse("shift_channel", value, "0 to " + std::to_string(channels - 1));
    d_radio.arguments.faults = changed;
    d_radio.clock.set_ppm(changed.clock_ppm);
    if (d_receiver)
        d_receiver->arm();
    d_radio.changed.notify_all();
}

std::string Device::readSetting(const std::string& key) const
{
    Guard hold(d_radio.lock);
    const std::map<std::string, std::string>& text = d_radio.arguments.faults.text;
    const auto found = text.find(key);
    if (found != text.end())
        return found->second;
    for (const SoapySDR::ArgInfo& info : setting_info())
        if (info.key == key)
            return info.value;
    refuse("setting", quoted(key), "a name that getSettingInfo() gives");
}

} // namespace mimopack

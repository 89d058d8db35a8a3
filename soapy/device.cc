// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "device.h"
#include <SoapySDR/Errors.hpp>
#include <SoapySDR/Formats.hpp>
#include <stdexcept>
#include <utility>

namespace mimopack {

using SoapySDR::Kwargs;
using SoapySDR::Range;
using SoapySDR::RangeList;

namespace {

constexpr double MOST_GAIN = 80;
constexpr double LEAST_RATE = 1e3, MOST_RATE = 1e9;
constexpr double MOST_FREQUENCY = 1e12;
const char* const SOURCES[] = { "internal", "external" };

std::string text_of(double value)
{
    char text[40];
    snprintf(text, sizeof(text), "%.12g", value);
    return text;
}

[[noreturn]] void
refuse(const std::string& what, const std::string& got, const std::string& allowed)
{
    throw std::invalid_argument(what + ": got " + got + ", allowed is " + allowed);
}

std::string check_source(const char* what, const std::string& source)
{
    if (source != SOURCES[0] && source != SOURCES[1])
        refuse(what, "\"" + source + "\"", "internal or external");
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
        d_capture = std::make_unique<Capture>(arguments.capture, arguments.capture_ci16);
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

void Device::check_fixed(const char* what,
                         double got,
                         double allowed,
                         double tolerance) const
{
    if (!(std::abs(got - allowed) <= tolerance))
        refuse(what,
               text_of(got),
               text_of(allowed) + ", at which " + d_recording->path() + " was recorded");
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
    const std::vector<size_t> chosen = channels.empty() ? std::vector<size_t>{ 0 } : channels;
    for (size_t i = 0; i < chosen.size(); i++) {
        front(direction, chosen[i]);
        if (std::count(chosen.begin(), chosen.end(), chosen[i]) > 1)
            refuse("channels", std::to_string(chosen[i]) + " twice", "each once");
    }
    const bool int16 = format == SOAPY_SDR_CS16;
    Guard hold(d_radio.lock);
    if (direction == SOAPY_SDR_RX) {
        if (d_receiver)
            throw std::runtime_error("stream: the receiver is in use by another one");
        Air* air = d_recording ? static_cast<Air*>(d_recording.get()) : d_channel.get();
        d_receiver = std::make_unique<Receiver>(d_radio, *air, chosen, int16);
        return reinterpret_cast<SoapySDR::Stream*>(d_receiver.get());
    }
    if (d_transmitter)
        throw std::runtime_error("stream: the transmitter is in use by another one");
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

int Device::activateStream(SoapySDR::Stream* stream, int flags, long long time, size_t count)
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
    const int result = d_transmitter->write(buffs, count, flags, time, timeout_us);
    if (d_channel) {
        Guard hold(d_radio.lock);
        const int64_t heard = d_receiver ? d_receiver->oldest() : NEVER;
        d_channel->forget(
            std::min(heard, d_radio.clock.now() - d_radio.capacity()));
    }
    return result;
}

int Device::readStreamStatus(SoapySDR::Stream* stream,
                             size_t& mask,
                             int& flags,
                             long long& time,
                             long timeout_us)
{
    if (static_cast<void*>(stream) != d_transmitter.get())
        return SOAPY_SDR_NOT_SUPPORTED;
    return d_transmitter->status(mask, flags, time, timeout_us);
}

std::vector<std::string> Device::listAntennas(int direction, size_t) const
{
    return { direction == SOAPY_SDR_RX ? "RX" : "TX" };
}

void Device::setAntenna(int direction, size_t channel, const std::string& name)
{
    if (name != getAntenna(direction, channel))
        refuse("antenna", "\"" + name + "\"", getAntenna(direction, channel));
}

std::string Device::getAntenna(int direction, size_t channel) const
{
    return listAntennas(direction, channel)[0];
}

bool Device::hasDCOffsetMode(int direction, size_t) const
{
    return direction == SOAPY_SDR_RX;
}

void Device::setDCOffsetMode(int direction, size_t channel, bool automatic)
{
    Guard hold(d_radio.lock);
    front(direction, channel).dc_automatic = automatic;
}

bool Device::getDCOffsetMode(int direction, size_t channel) const
{
    Guard hold(d_radio.lock);
    return front(direction, channel).dc_automatic;
}

bool Device::hasDCOffset(int, size_t) const { return true; }

void Device::setDCOffset(int direction, size_t channel, const std::complex<double>& value)
{
    Guard hold(d_radio.lock);
    front(direction, channel).dc_offset = value;
}

std::complex<double> Device::getDCOffset(int direction, size_t channel) const
{
    Guard hold(d_radio.lock);
    return front(direction, channel).dc_offset;
}

bool Device::hasIQBalance(int, size_t) const { return true; }

void Device::setIQBalance(int direction, size_t channel, const std::complex<double>& value)
{
    Guard hold(d_radio.lock);
    front(direction, channel).iq_balance = value;
}

std::complex<double> Device::getIQBalance(int direction, size_t channel) const
{
    Guard hold(d_radio.lock);
    return front(direction, channel).iq_balance;
}

bool Device::hasIQBalanceMode(int direction, size_t) const
{
    return direction == SOAPY_SDR_RX;
}

void Device::setIQBalanceMode(int direction, size_t channel, bool automatic)
{
    Guard hold(d_radio.lock);
    front(direction, channel).iq_automatic = automatic;
}

bool Device::getIQBalanceMode(int direction, size_t channel) const
{
    Guard hold(d_radio.lock);
    return front(direction, channel).iq_automatic;
}

std::vector<std::string> Device::listGains(int direction, size_t) const
{
    return { direction == SOAPY_SDR_RX ? "LNA" : "PA" };
}

void Device::setGain(int direction, size_t channel, double value)
{
    if (!(value >= 0 && value <= MOST_GAIN))
        refuse("gain", text_of(value), "0 to " + text_of(MOST_GAIN));
    Guard hold(d_radio.lock);
    front(direction, channel).gain = value;
}

void Device::setGain(int direction, size_t channel, const std::string& name, double value)
{
    if (name != listGains(direction, channel)[0])
        refuse("gain", "\"" + name + "\"", listGains(direction, channel)[0]);
    setGain(direction, channel, value);
}

double Device::getGain(int direction, size_t channel) const
{
    Guard hold(d_radio.lock);
    return front(direction, channel).gain;
}

double Device::getGain(int direction, size_t channel, const std::string&) const
{
    return getGain(direction, channel);
}

Range Device::getGainRange(int, size_t) const { return Range(0, MOST_GAIN); }

Range Device::getGainRange(int direction, size_t channel, const std::string&) const
{
    return getGainRange(direction, channel);
}

void Device::setFrequency(int direction, size_t channel, double frequency, const Kwargs&)
{
    if (!(frequency >= 0 && frequency <= MOST_FREQUENCY))
        refuse("frequency", text_of(frequency), "0 to " + text_of(MOST_FREQUENCY) + " Hz");
    if (direction == SOAPY_SDR_RX && d_recording && d_recording->frequency() > 0)
        check_fixed("frequency", frequency, d_recording->frequency(), 1);
    Guard hold(d_radio.lock);
    front(direction, channel).frequency = frequency;
}

void Device::setFrequency(int direction,
                          size_t channel,
                          const std::string& name,
                          double frequency,
                          const Kwargs& args)
{
    if (name != "RF")
        refuse("frequency", "\"" + name + "\"", "RF");
    setFrequency(direction, channel, frequency, args);
}

double Device::getFrequency(int direction, size_t channel) const
{
    Guard hold(d_radio.lock);
    return front(direction, channel).frequency;
}

double Device::getFrequency(int direction, size_t channel, const std::string&) const
{
    return getFrequency(direction, channel);
}

std::vector<std::string> Device::listFrequencies(int, size_t) const { return { "RF" }; }

RangeList Device::getFrequencyRange(int direction, size_t) const
{
    if (direction == SOAPY_SDR_RX && d_recording && d_recording->frequency() > 0)
        return { Range(d_recording->frequency(), d_recording->frequency()) };
    return { Range(0, MOST_FREQUENCY) };
}

RangeList
Device::getFrequencyRange(int direction, size_t channel, const std::string&) const
{
    return getFrequencyRange(direction, channel);
}

void Device::setSampleRate(int, size_t, double rate)
{
    if (d_recording)
        return check_fixed("sample rate", rate, d_recording->rate(), 1e-6);
    if (!(rate >= LEAST_RATE && rate <= MOST_RATE))
        refuse("sample rate", text_of(rate), "1e3 to 1e9");
    Guard hold(d_radio.lock);
    if (rate == d_radio.clock.rate())
        return;
    if (d_receiver || d_transmitter)
        throw std::runtime_error("sample rate: it cannot change while there are streams");
    d_radio.clock.set_rate(rate);
}

double Device::getSampleRate(int, size_t) const
{
    Guard hold(d_radio.lock);
    return d_radio.clock.rate();
}

std::vector<double> Device::listSampleRates(int, size_t) const
{
    if (d_recording)
        return { d_recording->rate() };
    return { 1e6, 5e6, 10e6, 20e6, 40e6, 80e6 };
}

RangeList Device::getSampleRateRange(int, size_t) const
{
    if (d_recording)
        return { Range(d_recording->rate(), d_recording->rate()) };
    return { Range(LEAST_RATE, MOST_RATE) };
}

void Device::setBandwidth(int direction, size_t channel, double bandwidth)
{
    if (!(bandwidth >= 0 && bandwidth <= MOST_RATE))
        refuse("bandwidth", text_of(bandwidth), "0 to 1e9 Hz");
    Guard hold(d_radio.lock);
    front(direction, channel).bandwidth = bandwidth;
}

double Device::getBandwidth(int direction, size_t channel) const
{
    Guard hold(d_radio.lock);
    return front(direction, channel).bandwidth;
}

RangeList Device::getBandwidthRange(int, size_t) const { return { Range(0, MOST_RATE) }; }

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
        refuse("hardware time", "\"" + what + "\"", "nothing or PPS");
    Guard hold(d_radio.lock);
    if (what == "PPS") {
        // The time is that of the next second of the device.
        constexpr long long SECOND = 1000000000;
        time -= SECOND - d_radio.clock.time_now() % SECOND;
    }
    d_radio.clock.set_time(time);
}

namespace {

struct Sensor {
    const char* key;
    const char* meaning;
    uint64_t (*read)(const Radio&);
};

#define COUNT(name, meaning)                                                            \
    {                                                                                   \
        #name, meaning, [](const Radio& radio) { return radio.counts.name; }            \
    }

const Sensor SENSORS[] = {
    COUNT(rx_overflows, "overflows that were reported"),
    COUNT(rx_lost, "samples that overflows lost"),
    COUNT(rx_dropped, "samples that drop_at and drop_every lost"),
    COUNT(rx_duplicated, "samples that were delivered twice"),
    COUNT(tx_bursts, "bursts that began"),
    COUNT(tx_late, "bursts thrown away, because their time had passed"),
    COUNT(tx_underflows, "bursts that ran dry before their end"),
    COUNT(tx_clipped, "transmitted samples beyond full scale, in a ci16_le capture"),
};

const Sensor& find_sensor(const std::string& key)
{
    std::string known;
    for (const Sensor& sensor : SENSORS) {
        if (key == sensor.key)
            return sensor;
        known += (known.empty() ? "" : ", ") + std::string(sensor.key);
    }
    refuse("sensor", "\"" + key + "\"", known);
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
    return std::to_string(sensor.read(d_radio));
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
    refuse("setting", "\"" + key + "\"", "a name that getSettingInfo() gives");
}

} // namespace mimopack

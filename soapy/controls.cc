// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "device.h"
#include "text.h"

// Settings of a front end: antenna, corrections, gain, frequency, rate and bandwidth.

namespace mimopack {

using SoapySDR::Kwargs;
using SoapySDR::Range;
using SoapySDR::RangeList;

namespace {

constexpr double MOST_GAIN = 80;
constexpr double LEAST_RATE = 1e3, MOST_RATE = 1e9;
constexpr double MOST_FREQUENCY = 1e12;

using Guard = std::lock_guard<std::mutex>;

} // namespace

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

std::vector<std::string> Device::listAntennas(int direction, size_t) const
{
    return { direction == SOAPY_SDR_RX ? "RX" : "TX" };
}

void Device::setAntenna(int direction, size_t channel, const std::string& name)
{
    if (name != getAntenna(direction, channel))
        refuse("antenna", quoted(name), getAntenna(direction, channel));
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

void Device::setIQBalance(int direction,
                          size_t channel,
                          const std::complex<double>& value)
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
        refuse("gain", quoted(name), listGains(direction, channel)[0]);
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
        refuse(
            "frequency", text_of(frequency), "0 to " + text_of(MOST_FREQUENCY) + " Hz");
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
        refuse("frequency", quoted(name), "RF");
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

} // namespace mimopack

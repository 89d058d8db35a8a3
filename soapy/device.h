// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_DEVICE_H
#define MIMOPACK_SOAPY_DEVICE_H

#include "capture.h"
#include "channel.h"
#include "receiver.h"
#include "recording.h"
#include "transmitter.h"
#include <SoapySDR/Device.hpp>
#include <complex>
#include <memory>

namespace mimopack {

//! A simulated radio, behind SoapySDR's interface.
class Device : public SoapySDR::Device
{
public:
    explicit Device(const Arguments& arguments);
    ~Device() override;

    std::string getDriverKey() const override { return "mimopack"; }
    std::string getHardwareKey() const override;
    SoapySDR::Kwargs getHardwareInfo() const override;

    size_t getNumChannels(int direction) const override;
    bool getFullDuplex(int direction, size_t channel) const override;
    std::vector<std::string> getStreamFormats(int direction,
                                              size_t channel) const override;
    std::string getNativeStreamFormat(int direction,
                                      size_t channel,
                                      double& full_scale) const override;

    SoapySDR::Stream* setupStream(int direction,
                                  const std::string& format,
                                  const std::vector<size_t>& channels,
                                  const SoapySDR::Kwargs& args) override;
    void closeStream(SoapySDR::Stream* stream) override;
    size_t getStreamMTU(SoapySDR::Stream* stream) const override;
    int activateStream(SoapySDR::Stream* stream,
                       int flags,
                       long long time,
                       size_t count) override;
    int deactivateStream(SoapySDR::Stream* stream, int flags, long long time) override;
    int readStream(SoapySDR::Stream* stream,
                   void* const* buffs,
                   size_t count,
                   int& flags,
                   long long& time,
                   long timeout_us) override;
    int writeStream(SoapySDR::Stream* stream,
                    const void* const* buffs,
                    size_t count,
                    int& flags,
                    long long time,
                    long timeout_us) override;
    int readStreamStatus(SoapySDR::Stream* stream,
                         size_t& mask,
                         int& flags,
                         long long& time,
                         long timeout_us) override;

    std::vector<std::string> listAntennas(int direction, size_t channel) const override;
    void setAntenna(int direction, size_t channel, const std::string& name) override;
    std::string getAntenna(int direction, size_t channel) const override;

    bool hasDCOffsetMode(int direction, size_t channel) const override;
    void setDCOffsetMode(int direction, size_t channel, bool automatic) override;
    bool getDCOffsetMode(int direction, size_t channel) const override;
    bool hasDCOffset(int direction, size_t channel) const override;
    void setDCOffset(int direction,
                     size_t channel,
                     const std::complex<double>& value) override;
    std::complex<double> getDCOffset(int direction, size_t channel) const override;
    bool hasIQBalance(int direction, size_t channel) const override;
    void setIQBalance(int direction,
                      size_t channel,
                      const std::complex<double>& value) override;
    std::complex<double> getIQBalance(int direction, size_t channel) const override;
    bool hasIQBalanceMode(int direction, size_t channel) const override;
    void setIQBalanceMode(int direction, size_t channel, bool automatic) override;
    bool getIQBalanceMode(int direction, size_t channel) const override;

    std::vector<std::string> listGains(int direction, size_t channel) const override;
    void setGain(int direction, size_t channel, double value) override;
    void setGain(int direction,
                 size_t channel,
                 const std::string& name,
                 double value) override;
    double getGain(int direction, size_t channel) const override;
    double getGain(int direction, size_t channel, const std::string& name) const override;
    SoapySDR::Range getGainRange(int direction, size_t channel) const override;
    SoapySDR::Range
    getGainRange(int direction, size_t channel, const std::string& name) const override;

    void setFrequency(int direction,
                      size_t channel,
                      double frequency,
                      const SoapySDR::Kwargs& args) override;
    void setFrequency(int direction,
                      size_t channel,
                      const std::string& name,
                      double frequency,
                      const SoapySDR::Kwargs& args) override;
    double getFrequency(int direction, size_t channel) const override;
    double
    getFrequency(int direction, size_t channel, const std::string& name) const override;
    std::vector<std::string> listFrequencies(int direction,
                                             size_t channel) const override;
    SoapySDR::RangeList getFrequencyRange(int direction, size_t channel) const override;
    SoapySDR::RangeList getFrequencyRange(int direction,
                                          size_t channel,
                                          const std::string& name) const override;

    void setSampleRate(int direction, size_t channel, double rate) override;
    double getSampleRate(int direction, size_t channel) const override;
    std::vector<double> listSampleRates(int direction, size_t channel) const override;
    SoapySDR::RangeList getSampleRateRange(int direction, size_t channel) const override;
    void setBandwidth(int direction, size_t channel, double bandwidth) override;
    double getBandwidth(int direction, size_t channel) const override;
    SoapySDR::RangeList getBandwidthRange(int direction, size_t channel) const override;

    std::vector<std::string> listClockSources() const override;
    void setClockSource(const std::string& source) override;
    std::string getClockSource() const override;
    std::vector<std::string> listTimeSources() const override;
    void setTimeSource(const std::string& source) override;
    std::string getTimeSource() const override;
    bool hasHardwareTime(const std::string& what) const override;
    long long getHardwareTime(const std::string& what) const override;
    void setHardwareTime(long long time, const std::string& what) override;

    std::vector<std::string> listSensors() const override;
    SoapySDR::ArgInfo getSensorInfo(const std::string& key) const override;
    std::string readSensor(const std::string& key) const override;

    SoapySDR::ArgInfoList getSettingInfo() const override;
    void writeSetting(const std::string& key, const std::string& value) override;
    std::string readSetting(const std::string& key) const override;

private:
    //! Settings of a channel that are stored and returned; they change no sample.
    struct Front {
        double gain = 0;
        double frequency = 0;
        double bandwidth = 0;
        bool dc_automatic = false, iq_automatic = false;
        std::complex<double> dc_offset, iq_balance;
    };

    Front& front(int direction, size_t channel);
    const Front& front(int direction, size_t channel) const;
    void
    check_fixed(const char* what, double got, double allowed, double tolerance) const;

    mutable Radio d_radio;
    std::unique_ptr<Recording> d_recording;
    std::unique_ptr<Channel> d_channel;
    std::unique_ptr<Capture> d_capture;
    std::vector<Front> d_front[2];
    std::string d_clock_source = "internal";
    std::string d_time_source = "internal";
    std::unique_ptr<Receiver> d_receiver;
    std::unique_ptr<Transmitter> d_transmitter;
};

} // namespace mimopack

#endif

// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "device.h"
#include <SoapySDR/Registry.hpp>

namespace {

// Find the device only if the caller asks for the driver by name, so that it does not
// appear among the computer's radios. All arguments identify the device: SoapySDR returns
// the same device for equal arguments.
SoapySDR::KwargsList find(const SoapySDR::Kwargs& args)
{
    const auto driver = args.find("driver");
    if (driver == args.end() || driver->second != "mimopack")
        return {};
    SoapySDR::Kwargs found = args;
    found["label"] = "gr-mimopack: recordings and a simulated channel";
    return { found };
}

SoapySDR::Device* make(const SoapySDR::Kwargs& args)
{
    return new mimopack::Device(mimopack::parse_arguments(args));
}

const SoapySDR::Registry registry("mimopack", &find, &make, SOAPY_SDR_ABI_VERSION);

} // namespace

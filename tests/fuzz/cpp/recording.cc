/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* SigMF metadata for the SoapySDR driver. An input is the text of the metadata, which
 * describes a dataset of 4096 bytes. */
#include "../soapy/recording.h"
#include <SoapySDR/Logger.hpp>
#include <unistd.h>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::size_t bytes = 4096;
std::string stem;

void require(bool holds)
{
    if (!holds)
        std::abort();
}

/* Read samples before, within and behind the recording. */
void fetch(mimopack::Recording& recording, std::size_t channel)
{
    constexpr std::size_t count = 300;
    std::vector<mimopack::cf32> floats(count);
    std::vector<mimopack::cs16> integers(count);
    for (const std::int64_t from : { std::int64_t{ -200 },
                                     std::int64_t{ 0 },
                                     recording.length() - 100,
                                     std::int64_t{ 1 } << 40 }) {
        recording.fetch(channel, from, from, count, floats.data());
        recording.fetch(channel, from, from, count, integers.data());
    }
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***)
{
    SoapySDR::setLogLevel(SOAPY_SDR_FATAL);
    std::string folder = "/dev/shm/mimopack-fuzz-XXXXXX";
    require(mkdtemp(folder.data()));
    stem = folder + "/air";
    std::ofstream data(stem + ".sigmf-data");
    for (std::size_t i = 0; i < bytes; ++i)
        data.put(static_cast<char>(i * 37));
    std::atexit([] {
        for (const char* ending : { ".sigmf-data", ".sigmf-meta" })
            unlink((stem + ending).c_str());
        rmdir(stem.substr(0, stem.find_last_of('/')).c_str());
    });
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::ofstream(stem + ".sigmf-meta", std::ios::binary)
        .write(reinterpret_cast<const char*>(data), size);
    try {
        mimopack::Recording recording(stem, false);
        require(recording.channels() >= 1 && recording.channels() <= 64);
        require(recording.rate() >= 1 && recording.rate() <= 1e9);
        require(std::isfinite(recording.frequency()));
        require(recording.length() >= 1 && recording.length() <= std::int64_t(bytes / 2));
        for (const std::size_t channel : { std::size_t{ 0 }, recording.channels() - 1 })
            fetch(recording, channel);
    } catch (const std::invalid_argument& error) {
        /* The text names the metadata or the dataset. */
        const std::string folder = stem.substr(0, stem.size() - 3);
        require(std::string(error.what()).find(folder) != std::string::npos);
    }
    return 0;
}

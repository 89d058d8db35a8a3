// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "capture.h"
#include "recording.h"
#include <SoapySDR/Logger.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace mimopack {

Capture::Capture(const std::string& path) : d_base(sigmf_base(path))
{
    for (const std::string ending : { ".sigmf-meta", ".sigmf-data" })
        if (access((d_base + ending).c_str(), F_OK) == 0)
            throw std::invalid_argument("capture: " + d_base + ending +
                                        " exists: choose another name, or remove it");
    d_file = open(
        (d_base + ".sigmf-data").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (d_file < 0)
        throw std::invalid_argument("capture: " + d_base +
                                    ".sigmf-data: " + std::strerror(errno));
}

Capture::~Capture()
{
    if (d_any)
        save();
    close(d_file);
    if (!d_any)
        unlink((d_base + ".sigmf-data").c_str());
}

void Capture::describe(size_t channels, double rate, double frequency)
{
    if (d_any && (channels != d_channels || rate != d_rate))
        throw std::invalid_argument(
            "capture: holds " + std::to_string(d_channels) + " channels at " +
            std::to_string(d_rate) +
            " samples/s, and cannot hold another stream: give another name");
    d_channels = channels;
    d_rate = rate;
    d_frequency = frequency;
}

void Capture::write(const std::vector<const cf32*>& samples,
                    size_t count,
                    int64_t index,
                    int64_t time)
{
    if (d_failed || count == 0)
        return;
    if (!d_any) {
        d_any = true;
        d_first = index;
        d_time = time;
    }
    const int64_t start = index - d_first;
    if (d_new_burst)
        d_bursts.push_back({ start, 0 });
    d_new_burst = false;
    d_end = start + int64_t(count);
    d_bursts.back().count = d_end - d_bursts.back().start;

    d_stored.resize(count * d_channels);
    for (size_t channel = 0; channel < d_channels; channel++)
        for (size_t i = 0; i < count; i++)
            d_stored[i * d_channels + channel] = samples[channel][i];
    const char* const bytes = reinterpret_cast<const char*>(d_stored.data());
    const size_t size = d_stored.size() * sizeof(cf32);
    const int64_t offset = start * int64_t(d_channels * sizeof(cf32));
    for (size_t done = 0; done < size;) {
        const ssize_t now = pwrite(d_file, bytes + done, size - done, offset + done);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0) {
            d_failed = true;
            SoapySDR::logf(
                SOAPY_SDR_ERROR,
                "mimopack: capture: %s.sigmf-data: %s; further samples are not written",
                d_base.c_str(),
                std::strerror(errno));
            break;
        }
        done += size_t(now);
    }
}

void Capture::save()
{
    if (!d_any)
        return;
    using json = nlohmann::ordered_json;
    json annotations = json::array();
    for (const Burst& burst : d_bursts)
        annotations.push_back({ { "core:sample_start", burst.start },
                                { "core:sample_count", burst.count },
                                { "core:label", "burst" } });
    json capture = { { "core:sample_start", 0 } };
    if (d_frequency > 0)
        capture["core:frequency"] = d_frequency;
    capture["mimopack:time_ns"] = d_time;
    const json global = {
        { "core:datatype", "cf32_le" },
        { "core:sample_rate", d_rate },
        { "core:version", "1.2.0" },
        { "core:num_channels", d_channels },
        { "core:recorder", "gr-mimopack, SoapySDR driver" },
        { "core:description", "Samples as they were given to a transmitter" },
        { "core:extensions",
          { { { "name", "mimopack" }, { "version", "0.1.0" }, { "optional", true } } } }
    };
    const json whole = { { "global", global },
                         { "captures", { capture } },
                         { "annotations", annotations } };
    // Write to a temporary file and rename it, so that no reader sees an incomplete file.
    const std::string name = d_base + ".sigmf-meta";
    const std::string part = name + ".part";
    bool written;
    {
        std::ofstream file(part);
        file << whole.dump(4) << "\n";
        written = bool(file.flush());
    }
    if (!written || std::rename(part.c_str(), name.c_str()) != 0)
        SoapySDR::logf(SOAPY_SDR_ERROR,
                       "mimopack: capture: %s: %s",
                       name.c_str(),
                       std::strerror(errno));
}

} // namespace mimopack

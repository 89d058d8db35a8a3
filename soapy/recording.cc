// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording.h"
#include <SoapySDR/Logger.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace mimopack {

using json = nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why)
{
    throw std::invalid_argument("recording: " + path + ": " + why);
}

//! Return a field, which may be missing only if there is a default.
template <typename T>
T field(const std::string& path, const json& object, const char* key, const T* otherwise)
{
    if (!object.contains(key) && otherwise)
        return *otherwise;
    if (!object.contains(key))
        refuse(path, std::string(key) + " is missing");
    try {
        return object.at(key).get<T>();
    } catch (const json::exception& error) {
        refuse(path, std::string(key) + ": " + error.what());
    }
}

template <typename T>
T required(const std::string& path, const json& object, const char* key)
{
    return field<T>(path, object, key, nullptr);
}

template <typename T>
T optional(const std::string& path,
           const json& object,
           const char* key,
           const T& otherwise)
{
    return field<T>(path, object, key, &otherwise);
}

/*! Return an integer of a field, or the default.
 *
 * get<int>() would also take 2.5, true and 2^32 + 2 for an integer, and cut them off.
 */
int64_t
integer(const std::string& path, const json& object, const char* key, int64_t otherwise)
{
    const json value = optional<json>(path, object, key, otherwise);
    if (!value.is_number_integer())
        refuse(path, std::string(key) + ": must be an integer");
    if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)
        refuse(path, std::string(key) + ": too large");
    return value.get<int64_t>();
}

bool is_file(const std::string& path)
{
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

//! Return whether a path is a symbolic link that leaves the folder of a metadata file.
bool leads_outside(const std::string& meta, const std::string& path)
{
    namespace fs = std::filesystem;
    std::error_code none, here, there;
    return fs::is_symlink(path, none) && (fs::canonical(path, there).parent_path() !=
                                              fs::canonical(meta, here).parent_path() ||
                                          here || there);
}

} // namespace

std::string sigmf_base(const std::string& path)
{
    for (const std::string ending : { ".sigmf-meta", ".sigmf-data", ".sigmf" })
        if (path.size() > ending.size() &&
            path.compare(path.size() - ending.size(), ending.size(), ending) == 0)
            return path.substr(0, path.size() - ending.size());
    return path;
}

void Recording::read_metadata(const std::string& meta, std::string& data)
{
    std::ifstream file(meta);
    if (!file)
        refuse(meta, std::strerror(errno));
    const json whole = json::parse(file);
    const json global = required<json>(meta, whole, "global");
    d_datatype = required<std::string>(meta, global, "core:datatype");
    if (d_datatype == "cf32_le")
        d_type = Type::cf32;
    else if (d_datatype == "ci16_le")
        d_type = Type::ci16;
    else if (d_datatype == "ci8")
        d_type = Type::ci8;
    else
        refuse(meta,
               "core:datatype: got \"" + d_datatype +
                   "\", allowed are cf32_le, ci16_le, ci8");
    const int64_t channels = integer(meta, global, "core:num_channels", 1);
    if (channels < 1 || channels > 64)
        refuse(meta,
               "core:num_channels: got " + std::to_string(channels) +
                   ", allowed is 1 to 64");
    d_channels = size_t(channels);
    d_rate = required<double>(meta, global, "core:sample_rate");
    if (!(d_rate >= 1 && d_rate <= 1e9))
        refuse(meta,
               "core:sample_rate: got " + std::to_string(d_rate) +
                   ", allowed is 1 to 1e9");
    d_simulated = optional<bool>(meta, global, "mimopack:simulated", false);
    d_description = optional<std::string>(meta, global, "core:description", "");
    const std::string dataset = optional<std::string>(meta, global, "core:dataset", "");
    if (dataset.find('/') != std::string::npos || dataset.find('\0') != std::string::npos)
        refuse(meta, "core:dataset: allowed is the name of a file in the same folder");
    if (!dataset.empty())
        data = meta.substr(0, meta.find_last_of('/') + 1) + dataset;
    if (integer(meta, global, "core:trailing_bytes", 0) != 0)
        refuse(meta, "core:trailing_bytes is not supported");
    bool first = true;
    for (const json& capture : optional<json>(meta, whole, "captures", json::array())) {
        if (integer(meta, capture, "core:header_bytes", 0) != 0)
            refuse(meta, "core:header_bytes is not supported");
        const double frequency = optional<double>(meta, capture, "core:frequency", 0);
        if (first)
            d_frequency = frequency;
        else if (frequency != d_frequency)
            SoapySDR::logf(
                SOAPY_SDR_WARNING,
                "mimopack: %s: later captures have other frequencies; the whole "
                "recording is played at %g Hz",
                meta.c_str(),
                d_frequency);
        first = false;
    }
}

Recording::Recording(const std::string& path, bool repeat)
    : d_path(sigmf_base(path)), d_repeat(repeat)
{
    const std::string meta = d_path + ".sigmf-meta";
    if (!is_file(meta))
        refuse(path,
               is_file(d_path + ".sigmf-collection")
                   ? "a collection; allowed is one file with interleaved channels"
                   : "no such recording: there is no " + meta);
    std::string data = d_path + ".sigmf-data";
    try {
        read_metadata(meta, data);
    } catch (const json::exception& error) {
        refuse(meta, error.what());
    }
    /* Opening a pipe would wait for its writer. */
    if (!is_file(data))
        refuse(data, "no such file");
    if (leads_outside(meta, data))
        refuse(data,
               "a symbolic link to another folder, must be a file in the folder of " +
                   meta);
    d_data = data;
    const int file = open(data.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (file < 0 || fstat(file, &info) < 0) {
        const std::string why = std::strerror(errno);
        if (file >= 0)
            close(file);
        refuse(data, why);
    }
    const size_t component = d_type == Type::cf32 ? 4 : d_type == Type::ci16 ? 2 : 1;
    d_bytes = int64_t(info.st_size);
    d_frame = 2 * component * d_channels;
    d_samples = d_bytes / int64_t(d_frame);
    if (d_samples == 0) {
        close(file);
        refuse(data, "holds no samples");
    }
    posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
    d_file = file;
}

Recording::~Recording() { close(d_file); }

int64_t Recording::length() const { return d_repeat ? Air::length() : d_samples; }

// Forget the samples of the last read, so that each read finds out if the file was cut.
void Recording::prepare(int64_t, size_t, size_t) { d_held = 0; }

const char* Recording::load(int64_t from, size_t count)
{
    if (from < d_first || from + int64_t(count) > d_first + d_held) {
        d_held = 0;
        if (d_block.size() < count * d_frame)
            d_block.resize(count * d_frame);
        // The file has this piece in at most two parts; a short recording repeats in the
        // block.
        const size_t stored = std::min<int64_t>(count, d_samples);
        const int64_t start = from % d_samples;
        const size_t first = std::min<int64_t>(stored, d_samples - start);
        fill(start, 0, first);
        fill(0, first, stored - first);
        for (size_t done = stored; done < count; done += stored)
            std::copy_n(d_block.data(),
                        std::min(stored, count - done) * d_frame,
                        d_block.data() + done * d_frame);
        d_first = from;
        d_held = int64_t(count);
    }
    return d_block.data() + size_t(from - d_first) * d_frame;
}

void Recording::fill(int64_t start, size_t place, size_t count)
{
    const int64_t offset = start * int64_t(d_frame);
    char* const out = d_block.data() + place * d_frame;
    const size_t bytes = count * d_frame;
    for (size_t done = 0; done < bytes;) {
        const int64_t at = offset + int64_t(done);
        const ssize_t now = pread(d_file, out + done, bytes - done, at);
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            throw std::runtime_error("recording: " + d_data + ": " +
                                     std::strerror(errno) + " at byte " +
                                     std::to_string(at));
        if (now == 0) {
            struct stat info;
            const int64_t found = fstat(d_file, &info) == 0 ? int64_t(info.st_size) : at;
            throw std::runtime_error(
                "recording: " + d_data + " was cut: expected " + std::to_string(d_bytes) +
                " bytes, as when it was opened, found " + std::to_string(found));
        }
        done += size_t(now);
    }
}

namespace {

inline void convert(const float* in, cf32& out) { out = { in[0], in[1] }; }
inline void convert(const int16_t* in, cf32& out)
{
    out = { in[0] * (1 / SCALE_16), in[1] * (1 / SCALE_16) };
}
inline void convert(const int8_t* in, cf32& out)
{
    out = { in[0] * (1 / 128.f), in[1] * (1 / 128.f) };
}
inline void convert(const float* in, cs16& out)
{
    out = { to_int16(in[0]), to_int16(in[1]) };
}
inline void convert(const int16_t* in, cs16& out) { out = { in[0], in[1] }; }
inline void convert(const int8_t* in, cs16& out)
{
    out = { int16_t(in[0] * 256), int16_t(in[1] * 256) };
}

template <typename Stored, typename T>
void take(const char* block, size_t channels, size_t channel, size_t count, T* out)
{
    const Stored* in = reinterpret_cast<const Stored*>(block) + 2 * channel;
    for (size_t i = 0; i < count; i++)
        convert(in + 2 * channels * i, out[i]);
}

} // namespace

template <typename T>
void Recording::read(size_t channel, int64_t from, size_t count, T* out)
{
    while (count > 0) {
        size_t now = count;
        if (from < 0 || (!d_repeat && from >= d_samples)) {
            if (from < 0)
                now = std::min<int64_t>(count, -from);
            std::fill_n(out, now, T{});
        } else {
            if (!d_repeat)
                now = std::min<int64_t>(count, d_samples - from);
            const char* block = load(from, now);
            if (d_type == Type::cf32)
                take<float>(block, d_channels, channel, now, out);
            else if (d_type == Type::ci16)
                take<int16_t>(block, d_channels, channel, now, out);
            else
                take<int8_t>(block, d_channels, channel, now, out);
        }
        from += now;
        out += now;
        count -= now;
    }
}

void Recording::fetch(size_t channel, int64_t from, int64_t, size_t count, cf32* out)
{
    read(channel, from, count, out);
}

void Recording::fetch(size_t channel, int64_t from, int64_t, size_t count, cs16* out)
{
    read(channel, from, count, out);
}

} // namespace mimopack

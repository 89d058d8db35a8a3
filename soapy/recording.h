// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_RECORDING_H
#define MIMOPACK_SOAPY_RECORDING_H

#include "air.h"
#include <string>

namespace mimopack {

//! A SigMF recording with interleaved channels, mapped into memory.
class Recording : public Air
{
public:
    /*!
     * \throws std::invalid_argument the files are missing, or their format is not
     * supported.
     */
    Recording(const std::string& path, bool repeat);
    ~Recording() override;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    size_t channels() const { return d_channels; }
    double rate() const { return d_rate; }
    //! Centre frequency in Hz; 0 if the metadata does not give it.
    double frequency() const { return d_frequency; }
    bool simulated() const { return d_simulated; }
    const std::string& datatype() const { return d_datatype; }
    const std::string& description() const { return d_description; }
    const std::string& path() const { return d_path; }
    bool integers() const { return d_type != Type::cf32; }

    int64_t length() const override;
    void
    fetch(size_t channel, int64_t from, int64_t index, size_t count, cf32* out) override;
    void
    fetch(size_t channel, int64_t from, int64_t index, size_t count, cs16* out) override;

private:
    enum class Type { cf32, ci16, ci8 };

    void read_metadata(const std::string& meta, std::string& data);
    template <typename T>
    void read(size_t channel, int64_t from, size_t count, T* out) const;

    std::string d_path;
    std::string d_datatype;
    std::string d_description;
    Type d_type = Type::cf32;
    bool d_repeat;
    bool d_simulated = false;
    size_t d_channels = 1;
    double d_rate = 0;
    double d_frequency = 0;
    int64_t d_samples = 0;
    const void* d_mapped = nullptr;
    size_t d_bytes = 0;
};

//! Return a path without its SigMF extension.
std::string sigmf_base(const std::string& path);

} // namespace mimopack

#endif

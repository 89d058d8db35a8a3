// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_RECORDING_H
#define MIMOPACK_SOAPY_RECORDING_H

#include "air.h"
#include <string>
#include <vector>

namespace mimopack {

/*!
 * A SigMF recording with interleaved channels.
 *
 * The dataset is read rather than mapped: if it is cut meanwhile, an access to mapped
 * memory would end the process.
 */
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
    void prepare(int64_t index, size_t count, size_t before) override;
    void
    fetch(size_t channel, int64_t from, int64_t index, size_t count, cf32* out) override;
    void
    fetch(size_t channel, int64_t from, int64_t index, size_t count, cs16* out) override;

private:
    enum class Type { cf32, ci16, ci8 };

    void read_metadata(const std::string& meta, std::string& data);
    template <typename T>
    void read(size_t channel, int64_t from, size_t count, T* out);
    //! Return the stored samples of all channels, from the one with number start on.
    const char* load(int64_t from, size_t count);
    //! Read bytes of the dataset into the block.
    void fill(int64_t start, size_t place, size_t count);

    std::string d_path;
    std::string d_datatype;
    std::string d_description;
    Type d_type = Type::cf32;
    bool d_repeat;
    bool d_simulated = false;
    size_t d_channels = 1;
    double d_rate = 0;
    double d_frequency = 0;
    std::string d_data; // path of the dataset
    int d_file = -1;
    int64_t d_bytes = 0; // size of the dataset when it was opened
    size_t d_frame = 0;  // bytes of a sample of all channels
    int64_t d_samples = 0;

    // Samples that were read for one channel serve the other channels too.
    std::vector<char> d_block;
    int64_t d_first = 0, d_held = 0; // number of the block's first sample; samples in it
};

//! Return a path without its SigMF extension.
std::string sigmf_base(const std::string& path);

} // namespace mimopack

#endif

// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_AIR_H
#define MIMOPACK_SOAPY_AIR_H

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

namespace mimopack {

using cf32 = std::complex<float>;
struct cs16 {
    int16_t re, im;
};

//! Full scale of 16-bit samples, as in gr-mimopack's recordings.
constexpr float SCALE_16 = 32768;

inline int16_t to_int16(float value)
{
    // Round by a conversion for which processors have SIMD instructions. NaN fails both
    // comparisons and becomes 0.
    const float scaled = value * SCALE_16;
    const float rounded = scaled + std::copysign(0.5f, scaled);
    const float low = rounded > -32768 ? rounded : (scaled == scaled ? -32768.f : 0.f);
    return int16_t(int32_t(low < 32767 ? low : 32767.f));
}

//! Source of the signals at a receiver's antennas.
class Air
{
public:
    virtual ~Air() = default;

    //! Number of samples available from the start of a stream.
    virtual int64_t length() const { return std::numeric_limits<int64_t>::max(); }

    //! Prepare for fetch() of the same range. The device's lock is held here, but not in
    //! fetch().
    virtual void prepare(int64_t /*index*/, size_t /*count*/, size_t /*before*/) {}

    /*!
     * Read samples of one channel. `from` is the sample's number from the start of the
     * stream, `index` its number from the start of the device. Samples before the stream
     * are 0.
     * \throws std::runtime_error the samples cannot be read.
     */
    virtual void
    fetch(size_t channel, int64_t from, int64_t index, size_t count, cf32* out) = 0;
    virtual void
    fetch(size_t channel, int64_t from, int64_t index, size_t count, cs16* out)
    {
        constexpr size_t PIECE = 1024;
        cf32 piece[PIECE];
        for (size_t done = 0; done < count; done += PIECE) {
            const size_t now = std::min(PIECE, count - done);
            fetch(channel, from + done, index + done, now, piece);
            for (size_t i = 0; i < now; i++)
                out[done + i] = { to_int16(piece[i].real()), to_int16(piece[i].imag()) };
        }
    }
};

} // namespace mimopack

#endif

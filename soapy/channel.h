// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_CHANNEL_H
#define MIMOPACK_SOAPY_CHANNEL_H

#include "air.h"
#include "radio.h"
#include <deque>
#include <vector>

namespace mimopack {

/*!
 * The simulated channel from transmitter to receiver:
 *
 *   y[n] = e^(2 pi j cfo n / rate) sum_l H_l x[n - l] + w[n]
 *
 * H_l are matrices of one realisation of Rayleigh fading, which stays constant. The
 * elements of H_l have mean power e^-l, scaled so that each antenna receives the
 * transmitted power. Alternatively, H_0 is the identity. The noise w is white, snr_db
 * below a transmitted power of level_db.
 */
class Channel : public Air
{
public:
    Channel(Radio& radio, size_t channels);

    //! Transmit samples from an index on, after all earlier ones. The lock is held.
    void transmit(const std::vector<const cf32*>& samples, size_t count, int64_t index);
    //! Forget the samples before an index. The lock is held.
    void forget(int64_t before);

    void prepare(int64_t index, size_t count, size_t before) override;
    using Air::fetch;
    void
    fetch(size_t channel, int64_t from, int64_t index, size_t count, cf32* out) override;

private:
    struct Sent {
        int64_t start;
        std::vector<std::vector<cf32>> samples;
        int64_t end() const { return start + int64_t(samples[0].size()); }
    };

    cf32 coefficient(size_t to, size_t from, size_t tap) const
    {
        return d_matrix[(tap * d_channels + to) * d_channels + from];
    }
    void add_noise(size_t channel, int64_t index, size_t count, cf32* out) const;

    Radio& d_radio;
    size_t d_channels;
    size_t d_taps;
    bool d_identity;
    double d_turns; // turns of the carrier offset per sample at the present rate
    uint64_t d_seed;
    std::vector<cf32> d_matrix;
    std::vector<cf32> d_noise;
    std::deque<Sent> d_sent;

    // Transmitted samples around the samples that are being read.
    bool d_silent = true;
    int64_t d_window = 0;
    std::vector<std::vector<float>> d_re, d_im;
    std::vector<float> d_turn_re, d_turn_im;
    std::vector<float> d_sum_re, d_sum_im;
};

} // namespace mimopack

#endif

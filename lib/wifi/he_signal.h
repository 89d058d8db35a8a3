/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The first symbols of an HE frame: L-SIG, its repetition, and the HE-SIG-A */
#pragma once
#include "wifi/lanes.h"
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

/* The symbols of an HE frame through a matched filter */
class he_signal
{
public:
    float symbols[wifi_he_symbols][2 * wifi_he_carriers]; /* complex */

    /* Return whether an HE-SIG-A, or a U-SIG, follows the L-SIGs of a frame. */
    static bool follows(const wifi_signal& signal);

    explicit he_signal(wifi_signal& signal) : d_signal(&signal) {}

    void clear();

    /* Add an antenna's subcarrier k, whose symbols lie `step` complex numbers apart, over
     * its channel h. Both are over the noise. */
    void add(const float* x, std::int64_t step, std::int64_t k, const float* h)
    {
        for (int t = 0; t < wifi_he_symbols; ++t, x += 2 * step) {
            symbols[t][2 * k] += h[0] * x[0] + h[1] * x[1];
            symbols[t][2 * k + 1] += h[0] * x[1] - h[1] * x[0];
        }
    }

    /* Find the phases of the symbols from the L-SIG and its repetition. */
    void follow_l_sig(const wifi_signal_layout& layout);

    /* Let a symbol of the HE-SIG-A tell the frequency. sent: he_bits values of data, 1 or
     * -1, or j or -j */
    void follow(const wifi_signal_layout& layout, int t, const complex* sent);

    /* Return the symbols' turn since the L-LTF, in radians per sample at 20 MS/s. */
    double frequency() const { return d_slope / d_lever; }

    /* Add an antenna's outer subcarriers, whose channel the L-SIGs tell. x: the first
     * symbol's subcarriers */
    void add_outer(const float* x, std::int64_t step);

    /* Write a symbol in phase: its he_bits values of data. */
    void aligned(const wifi_signal_layout& layout, int t, complex* data) const;

    wifi_signal& signal() { return *d_signal; }

private:
    wifi_signal* d_signal;
    double d_slope = 0, d_lever = 0; /* of a line through the middle of the L-LTF */
    complex d_turn[wifi_he_symbols]; /* conjugate of the phase */

    /* Add the phase of symbol t to the line. sum: its subcarriers times the conjugates of
     * what was sent */
    void add_phase(const wifi_signal_layout& layout, int t, complex sum);
};

/* Read the HE-SIG-As of frames into their signals. */
void read_he(const wifi_signal_layout& layout, std::vector<he_signal>& signals);

} // namespace MIMOPACK_ISA
} // namespace mimopack

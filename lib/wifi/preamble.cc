/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Confirmation and timing of preambles; tests/support/wifi_oracle.py has the formulas in
 * NumPy. A preamble's results depend on its samples only. Places count samples at 20 MS/s,
 * or samples of the stream where a comment says so. */
#include "wifi/preamble_samples.h"
#include "wifi/preamble_spectra.h"
#include <cmath>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

class acquirer
{
public:
    explicit acquirer(const wifi_acquisition& a) : d_a(a), d_samples(a), d_spectra(a) {}

    void run(std::int64_t index)
    {
        d_a.part[index] = 0;
        const float* x = d_a.samples + 2 * d_a.starts[index];
        float* direct = d_a.direct + 2 * index * d_a.rows;
        if (!d_samples.repeats(x, direct))
            return;
        double coarse = -std::atan2(d_a.lag[2 * index + 1], d_a.lag[2 * index]) /
                        (2 * M_PI * 16 * d_a.scale);
        if (!d_samples.level(x, direct, coarse))
            return;
        double most;
        std::int64_t place = d_samples.search(most);
        if (d_a.turns) {
            /* The long field appears at the right offset only. */
            const double first = coarse, period = 1.0 / (16 * d_a.scale);
            for (int turn = -d_a.turns; turn <= d_a.turns; ++turn) {
                double found;
                if (!turn || !d_samples.level(x, direct, first + turn * period))
                    continue;
                const std::int64_t at = d_samples.search(found);
                if (found > most) {
                    most = found;
                    place = at;
                    coarse = first + turn * period;
                }
            }
            d_samples.level(x, direct, coarse);
        }
        double residual;
        if (!d_samples.halves_agree(place, residual))
            return;
        d_spectra.compute(d_samples, place, residual);
        const std::int64_t part = d_spectra.occupied();
        int delay, shift;
        if (!part || !d_spectra.timing(part, delay, shift))
            return;
        const std::int64_t ltf = d_samples.first() + place;
        d_a.part[index] = part;
        d_a.start[index] = ltf + (delay - ltf_start) * d_a.scale;
        d_a.window[index] = ltf + shift * d_a.scale;
        d_a.cfo[index] = coarse + residual;
    }

private:
    const wifi_acquisition& d_a;
    preamble_samples d_samples;
    preamble_spectra d_spectra;
};

} // namespace

void acquire(const wifi_acquisition& a)
{
    acquirer work(a);
    for (std::int64_t piece = 0; piece < a.pieces; ++piece)
        work.run(piece);
}

void shifts(const wifi_shifts& s)
{
    for (std::int64_t channel = 0; channel < s.channels; ++channel)
        s.shift[channel] = best_shift(s.power + 64 * channel, s.guard);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

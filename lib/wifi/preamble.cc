/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Confirmation and timing of preambles. A preamble's results depend on its samples only.
 * Places count samples at 20 MS/s, or samples of the stream where a comment says so. */
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

    void run(wifi_preamble& p)
    {
        p.part = 0;
        const float* x = d_a.from.data + 2 * p.place;
        if (!d_samples.repeats(x, p.direct))
            return;
        double coarse = -std::atan2(p.lag[1], p.lag[0]) / (2 * M_PI * 16 * d_a.scale);
        if (!d_samples.level(x, p.direct, coarse))
            return;
        double most;
        std::int64_t place = d_samples.search(most);
        if (d_a.turns) {
            /* The long field appears at the right offset only. */
            const double first = coarse, period = 1.0 / (16 * d_a.scale);
            for (int turn = -d_a.turns; turn <= d_a.turns; ++turn) {
                double found;
                if (!turn || !d_samples.level(x, p.direct, first + turn * period))
                    continue;
                const std::int64_t at = d_samples.search(found);
                if (found > most) {
                    most = found;
                    place = at;
                    coarse = first + turn * period;
                }
            }
            d_samples.level(x, p.direct, coarse);
        }
        double residual;
        if (!d_samples.halves_agree(place, residual))
            return;
        d_spectra.compute(d_samples, place, residual);
        const std::int64_t part = d_spectra.occupied();
        int delay, shift;
        if (!part || !d_spectra.timing(part, delay, shift))
            return;
        p.part = part;
        p.start = place + d_samples.first() + (delay - ltf_start) * d_a.scale;
        p.window = place + d_samples.first() + shift * d_a.scale;
        p.cfo = coarse + residual;
    }

private:
    const wifi_acquisition& d_a;
    preamble_samples d_samples;
    preamble_spectra d_spectra;
};

} // namespace

void acquire(const wifi_acquisition& a, wifi_preamble* preambles, std::int64_t count)
{
    acquirer work(a);
    for (std::int64_t i = 0; i < count; ++i)
        work.run(preambles[i]);
}

int best_shift(const double* power, int shortest)
{
    const int count = 2 * shortest + 17, begin = -shortest - 8;
    const auto at = [&](int d) { return d < 32 ? power[d + 32] : 0; };
    /* Power before the window of a shift and behind the symbol's end, and the sum of
     * powers times their distances */
    double before = 0, behind = 0, cost[2 * guard + 17] = {}, total = 0;
    for (int d = -32; d < 32; ++d) {
        total += at(d);
        before += d <= begin ? at(d) : 0;
        behind += d > begin + shortest ? at(d) : 0;
        cost[0] += at(d) * (std::max(begin - d, 0) + std::max(d - begin - shortest, 0));
    }
    double least = cost[0];
    for (int i = 1; i < count; ++i) {
        cost[i] = cost[i - 1] + before - behind;
        before += at(begin + i);
        behind -= at(begin + i + shortest);
        least = std::min(least, cost[i]);
    }
    int number = 0;
    for (int i = 0; i < count; ++i)
        number += cost[i] <= least + 0.01 * total;
    /* The middle one of equal shifts */
    int seen = 0;
    for (int i = 0; i < count; ++i) {
        seen += cost[i] <= least + 0.01 * total;
        if (number && seen == (number + 1) / 2)
            return begin + i;
    }
    return begin;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

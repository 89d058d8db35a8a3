/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames up to their signal fields: noise, channel, and symbols through matched filters.
 * A frame's results depend on no other frame. */
#include "wifi/he_signal.h"
#include "wifi/lanes.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* Limits of magnitudes, as multiples of the median. A tone must outvote neither the other
 * subcarriers nor, on a pilot, the other pilots. */
constexpr float most_channel = 2.5f, most_symbol = 1.5f;

/* Limit the magnitudes of `count` complex numbers, `step` of them apart. */
void limit(float* x, std::int64_t count, std::int64_t step, float most, float* work)
{
    for (std::int64_t i = 0; i < count; ++i)
        work[i] = __builtin_sqrtf(x[2 * i * step] * x[2 * i * step] +
                                  x[2 * i * step + 1] * x[2 * i * step + 1]);
    /* The largest one is seldom beyond the limit. Counting tells so faster than sorting.
     */
    const float enough = *std::max_element(work, work + count) / most;
    if (std::count_if(work, work + count, [&](float w) { return w < enough; }) <
        count / 2)
        return;
    float* sizes = work + count;
    std::copy(work, sizes, sizes);
    const float largest = most * median(sizes, count);
    for (std::int64_t i = 0; i < count; ++i)
        if (work[i] > largest) {
            x[2 * i * step] *= largest / work[i];
            x[2 * i * step + 1] *= largest / work[i];
        }
}

bool finite(const float* x, std::int64_t count)
{
    bool all = true;
    for (std::int64_t i = 0; i < count; ++i)
        all = all && __builtin_fabsf(x[i]) < infinity;
    return all;
}

/* Reads the headers of preambles. The spectra of a frame are rows x windows x parts x
 * legacy complex, its channel is legacy x parts x rows complex, over the noise. */
class header_reader
{
public:
    header_reader(const wifi_headers& h, std::int64_t count)
        : d_h(h),
          d_all(h.parts * wifi_legacy),
          d_spectra(2 * count * h.rows * wifi_header_windows * d_all),
          d_channels(2 * count * h.rows * d_all),
          d_smoothed(d_channels.size()),
          d_noise(count * h.rows),
          d_work(2 * d_all + 2 * wifi_legacy)
    {
    }

    /* Compute the spectra of a frame, whiten them if asked, and find noise and channel.
     */
    void train(wifi_preamble& p, std::int64_t frame)
    {
        std::int64_t starts[wifi_header_windows];
        for (int i = 0; i < wifi_header_windows; ++i)
            starts[i] = p.place + p.window + d_h.windows[i];
        wifi_spectra s{ d_h.rows, wifi_header_windows,
                        d_all,    d_h.fft,
                        d_h.from, p.direct,
                        p.cfo,    starts,
                        d_h.bins, nullptr,
                        nullptr,  spectrum(frame) };
        spectra(s);
        train(frame, p.noise, p.signal);
        double* noise = d_noise.data() + frame * d_h.rows;
        if (d_h.white) {
            double unused[wifi_max_rows];
            s.white = d_h.white + 2 * frame * d_h.rows * d_h.rows;
            spectra(s);
            train(frame, noise, unused);
        } else
            std::copy_n(p.noise, d_h.rows, noise);
    }

    /* Smooth channels. They stay as they are where their paths spread too far. */
    void smooth(std::int64_t count)
    {
        constexpr double of_halves = 0.5; /* noise of an L-LTF's two halves together */
        const std::int64_t size = 2 * d_h.rows * d_all;
        std::vector<double> error(count), paths(64 * count);
        std::vector<std::int64_t> done(count);
        smooth_channels({ d_h.smoother,
                          count,
                          d_h.parts * d_h.rows,
                          d_channels.data(),
                          of_halves,
                          true,
                          d_smoothed.data(),
                          error.data(),
                          done.data(),
                          paths.data() });
        for (std::int64_t f = 0; f < count; ++f)
            if (!done[f])
                std::copy_n(
                    d_channels.data() + f * size, size, d_smoothed.data() + f * size);
    }

    /* Combine the symbols through matched filters, over antennas and parts. Symbols that
     * are not finite become 0; return whether there were none. */
    bool combine(std::int64_t frame, const wifi_preamble& p, wifi_signal& signal)
    {
        float *re = d_work.data(), *im = re + d_all, *work = im + d_all;
        float* const symbols = signal.symbols[0];
        constexpr std::int64_t of_symbol = 2 * wifi_legacy,
                               of_symbols = wifi_signal_symbols * of_symbol;
        std::fill_n(symbols, of_symbols, 0.0f);
        double strength = 0;
        for (std::int64_t row = 0; row < d_h.rows; ++row) {
            const float* h = d_smoothed.data() + 2 * (frame * d_all * d_h.rows + row);
            const float gain =
                static_cast<float>(1 / std::sqrt(d_noise[frame * d_h.rows + row]));
            for (std::int64_t k = 0; k < wifi_legacy; ++k)
                for (std::int64_t at = k; at < d_all;
                     at += wifi_legacy, h += 2 * d_h.rows) {
                    re[at] = h[0];
                    im[at] = h[1];
                    strength += h[0] * h[0] + h[1] * h[1];
                }
            const float* x =
                spectrum(frame) + 2 * (row * wifi_header_windows + 2) * d_all;
            for (float* to = symbols; to < symbols + of_symbols; to += of_symbol)
                for (std::int64_t part = 0; part < d_all; part += wifi_legacy)
                    for (std::int64_t k = 0; k < wifi_legacy; ++k, x += 2) {
                        const float a = x[0] * gain, b = x[1] * gain;
                        to[2 * k] += re[part + k] * a + im[part + k] * b;
                        to[2 * k + 1] += re[part + k] * b - im[part + k] * a;
                    }
        }
        for (float* to = symbols; to < symbols + of_symbols; to += of_symbol)
            limit(to, wifi_legacy, 1, most_symbol, work);
        /* The first symbol tells the strength; the channel of an interferer is no
         * strength. */
        double sum = 0;
        for (std::int64_t k = 0; k < wifi_legacy; ++k)
            sum += __builtin_sqrtf(symbols[2 * k] * symbols[2 * k] +
                                   symbols[2 * k + 1] * symbols[2 * k + 1]);
        signal.strength = sum < strength ? sum : strength;
        const bool usable = finite(symbols, of_symbols) &&
                            std::all_of(p.noise, p.noise + d_h.rows, [](double x) {
                                return x < infinity;
                            });
        if (!usable)
            std::fill_n(symbols, of_symbols, 0.0f);
        return usable;
    }

    /* Combine the symbols of an HE frame, from the L-SIG on, in the same way. The L-SIG
     * is known, and so is the channel of the outer subcarriers from it. */
    void combine_he(std::int64_t frame, const wifi_preamble& p, he_signal& signal)
    {
        constexpr std::int64_t outer = 2, carriers = wifi_he_carriers;
        const std::int64_t all = d_h.parts * carriers;
        std::vector<std::int64_t> bins;
        for (std::int64_t part = 0; part < d_h.parts; ++part) {
            const std::int64_t* own = d_h.bins + part * wifi_legacy;
            for (std::int64_t k = -outer; k < 0; ++k)
                bins.push_back((own[0] + k + d_h.fft) % d_h.fft);
            bins.insert(bins.end(), own, own + wifi_legacy);
            for (std::int64_t k = 1; k <= outer; ++k)
                bins.push_back((own[wifi_legacy - 1] + k) % d_h.fft);
        }
        std::int64_t starts[wifi_he_symbols];
        for (int i = 0; i < wifi_he_symbols; ++i)
            starts[i] = p.place + p.window + d_h.windows[2 + i];
        std::vector<float> x(2 * d_h.rows * wifi_he_symbols * all);
        spectra({ d_h.rows,
                  wifi_he_symbols,
                  all,
                  d_h.fft,
                  d_h.from,
                  p.direct,
                  p.cfo,
                  starts,
                  bins.data(),
                  d_h.white ? d_h.white + 2 * frame * d_h.rows * d_h.rows : nullptr,
                  nullptr,
                  x.data() });
        signal.clear();
        for (std::int64_t row = 0; row < d_h.rows; ++row) {
            const float gain =
                static_cast<float>(1 / std::sqrt(d_noise[frame * d_h.rows + row]));
            float* own = x.data() + 2 * row * wifi_he_symbols * all;
            for (std::int64_t i = 0; i < 2 * wifi_he_symbols * all; ++i)
                own[i] *= gain;
            for (std::int64_t part = 0; part < d_h.parts; ++part)
                for (std::int64_t k = 0; k < wifi_legacy; ++k) {
                    const float* h =
                        d_smoothed.data() + 2 * (frame * d_all * d_h.rows +
                                                 (k * d_h.parts + part) * d_h.rows + row);
                    signal.add(
                        own + 2 * (part * carriers + outer + k), all, outer + k, h);
                }
        }
        signal.follow_l_sig(d_h.layout);
        for (std::int64_t row = 0; row < d_h.rows; ++row)
            for (std::int64_t part = 0; part < d_h.parts; ++part)
                signal.add_outer(
                    x.data() + 2 * (row * wifi_he_symbols * all + part * carriers), all);
        for (int t = 0; t < wifi_he_symbols; ++t)
            limit(signal.symbols[t], carriers, 1, most_symbol, d_work.data());
    }

private:
    const wifi_headers& d_h;
    const std::int64_t d_all; /* carriers of all parts */
    std::vector<float> d_spectra, d_channels, d_smoothed;
    std::vector<double> d_noise; /* of each frame: rows, after whitening */
    std::vector<float> d_work;

    float* spectrum(std::int64_t frame)
    {
        return d_spectra.data() + 2 * frame * d_h.rows * wifi_header_windows * d_all;
    }

    /* Find noise and signal of each row from the L-LTF's halves, and the channel. The
     * noise of the halves' mean is half the power of their difference. */
    void train(std::int64_t frame, double* noises, double* signals)
    {
        float* channel = d_channels.data() + 2 * frame * d_all * d_h.rows;
        for (std::int64_t row = 0; row < d_h.rows; ++row, channel += 2) {
            const float* a = spectrum(frame) + 2 * row * wifi_header_windows * d_all;
            const float* b = a + 2 * d_all;
            double noise = 0, power = 0;
            for (std::int64_t i = 0; i < 2 * d_all; ++i) {
                const double difference = a[i] - b[i], mean = (a[i] + b[i]) / 2;
                noise += difference * difference;
                power += mean * mean;
            }
            const double share = 1 / static_cast<double>(d_all);
            power *= share;
            /* NaN must stay NaN. */
            const double least = 1e-7 * power + 1e-30;
            noise *= share / 2;
            noise = noise < least ? least : noise;
            noises[row] = noise;
            signals[row] = power - noise / 2 < 0 ? 0 : power - noise / 2;
            const float gain = static_cast<float>(0.5 / std::sqrt(noise));
            for (std::int64_t part = 0; part < d_h.parts; ++part) {
                for (std::int64_t k = 0; k < wifi_legacy; ++k, a += 2, b += 2) {
                    const float scale = gain * d_h.sequence[k];
                    float* to = channel + 2 * (k * d_h.parts + part) * d_h.rows;
                    to[0] = (a[0] + b[0]) * scale;
                    to[1] = (a[1] + b[1]) * scale;
                }
                limit(channel + 2 * part * d_h.rows,
                      wifi_legacy,
                      d_h.parts * d_h.rows,
                      most_channel,
                      d_work.data());
            }
        }
    }
};

} // namespace

void headers(const wifi_headers& h, wifi_preamble* const* preambles, std::int64_t count)
{
    header_reader reader(h, count);
    std::vector<wifi_signal> signals(count);
    std::vector<std::uint8_t> usable(count);
    for (std::int64_t i = 0; i < count; ++i)
        reader.train(*preambles[i], i);
    reader.smooth(count);
    for (std::int64_t i = 0; i < count; ++i)
        usable[i] = reader.combine(i, *preambles[i], signals[i]);
    read(h.layout, signals.data(), count);
    std::vector<he_signal> long_ones;
    std::vector<std::int64_t> of_long;
    for (std::int64_t i = 0; i < count; ++i)
        if (usable[i] && he_signal::follows(signals[i])) {
            long_ones.emplace_back(signals[i]);
            of_long.push_back(i);
            reader.combine_he(i, *preambles[i], long_ones.back());
        }
    read_he(h.layout, long_ones);
    /* Long HE-LTFs need a better carrier offset than the L-LTF tells. */
    for (std::size_t i = 0; i < of_long.size(); ++i)
        preambles[of_long[i]]->cfo += long_ones[i].frequency() * 64 / (2 * M_PI * h.fft);
    for (std::int64_t i = 0; i < count; ++i) {
        preambles[i]->kind = usable[i] ? signals[i].kind : +wifi_no_signal;
        std::copy_n(signals[i].fields, wifi_field_bits, preambles[i]->fields);
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

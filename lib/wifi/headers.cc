/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames up to their signal fields: noise, channel, and symbols through matched filters.
 * A frame's results depend on no other frame. */
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
    float* sizes = work + count;
    std::copy(work, sizes, sizes);
    const float largest = most * median(sizes, count);
    for (std::int64_t i = 0; i < count; ++i)
        if (work[i] > largest) {
            x[2 * i * step] *= largest / work[i];
            x[2 * i * step + 1] *= largest / work[i];
        }
}

} // namespace

/* The noise of the halves' mean is half the power of their difference. */
void train(const wifi_training& t)
{
    const std::int64_t all = t.parts * t.carriers;
    std::vector<float> work(2 * t.carriers);
    for (std::int64_t frame = 0; frame < t.frames; ++frame) {
        float* channel = t.channel + 2 * frame * all * t.rows;
        for (std::int64_t row = 0; row < t.rows; ++row, channel += 2) {
            const std::int64_t one = frame * t.rows + row;
            const float* a = t.spectra + 2 * one * t.windows * all;
            const float* b = a + 2 * all;
            double noise = 0, power = 0;
            for (std::int64_t i = 0; i < 2 * all; ++i) {
                const double difference = a[i] - b[i], mean = (a[i] + b[i]) / 2;
                noise += difference * difference;
                power += mean * mean;
            }
            const double share = 1 / static_cast<double>(all);
            power *= share;
            /* NaN must stay NaN. */
            const double least = 1e-7 * power + 1e-30;
            noise *= share / 2;
            noise = noise < least ? least : noise;
            t.noise[one] = noise;
            t.signal[one] = power - noise / 2 < 0 ? 0 : power - noise / 2;
            const float gain = static_cast<float>(0.5 / std::sqrt(noise));
            for (std::int64_t part = 0; part < t.parts; ++part)
                for (std::int64_t k = 0; k < t.carriers; ++k) {
                    const std::int64_t at = part * t.carriers + k;
                    const float scale = gain * t.sequence[k];
                    float* to = channel + 2 * (k * t.parts + part) * t.rows;
                    to[0] = (a[2 * at] + b[2 * at]) * scale;
                    to[1] = (a[2 * at + 1] + b[2 * at + 1]) * scale;
                }
            for (std::int64_t part = 0; part < t.parts; ++part)
                limit(channel + 2 * part * t.rows,
                      t.carriers,
                      t.parts * t.rows,
                      most_channel,
                      work.data());
        }
    }
}

void combine(const wifi_combination& c)
{
    const std::int64_t all = c.parts * c.carriers, symbols = c.windows - 2;
    std::vector<float> memory(2 * all + 2 * c.carriers);
    float *re = memory.data(), *im = re + all, *work = im + all;
    for (std::int64_t frame = 0; frame < c.frames; ++frame) {
        float* out = c.out + 2 * frame * symbols * c.carriers;
        std::fill_n(out, 2 * symbols * c.carriers, 0.0f);
        double strength = 0;
        for (std::int64_t row = 0; row < c.rows; ++row) {
            const std::int64_t one = frame * c.rows + row;
            const float* h = c.channel + 2 * (frame * all * c.rows + row);
            const float gain = static_cast<float>(1 / std::sqrt(c.noise[one]));
            for (std::int64_t k = 0; k < c.carriers; ++k)
                for (std::int64_t part = 0; part < c.parts; ++part, h += 2 * c.rows) {
                    re[part * c.carriers + k] = h[0];
                    im[part * c.carriers + k] = h[1];
                    strength += h[0] * h[0] + h[1] * h[1];
                }
            for (std::int64_t s = 0; s < symbols; ++s) {
                float* to = out + 2 * s * c.carriers;
                const float* x = c.spectra + 2 * (one * c.windows + 2 + s) * all;
                for (std::int64_t part = 0; part < c.parts; ++part)
                    for (std::int64_t k = 0; k < c.carriers; ++k) {
                        const std::int64_t at = part * c.carriers + k;
                        const float a = x[2 * at] * gain, b = x[2 * at + 1] * gain;
                        to[2 * k] += re[at] * a + im[at] * b;
                        to[2 * k + 1] += re[at] * b - im[at] * a;
                    }
            }
        }
        for (std::int64_t s = 0; s < symbols; ++s)
            limit(out + 2 * s * c.carriers, c.carriers, 1, most_symbol, work);
        /* The first symbol tells the strength; the channel of an interferer is no
         * strength. */
        double sum = 0;
        for (std::int64_t k = 0; symbols && k < c.carriers; ++k)
            sum += __builtin_sqrtf(out[2 * k] * out[2 * k] +
                                   out[2 * k + 1] * out[2 * k + 1]);
        c.strength[frame] = symbols && sum < strength ? sum : strength;
    }
}

namespace {

/* Variance of the noise of an L-LTF's two halves together */
constexpr double of_halves = 0.5;

bool finite(const float* x, std::int64_t count)
{
    bool all = true;
    for (std::int64_t i = 0; i < count; ++i)
        all = all && __builtin_fabsf(x[i]) < infinity;
    return all;
}

/* Spectra of frames, and the channels and noise that their L-LTFs tell */
struct trained_spectra {
    std::vector<float> spectrum; /* frames x rows x windows x parts x legacy complex */
    std::vector<float> channel;  /* frames x legacy x parts x rows complex */
    std::vector<double> noise;   /* frames x rows */
};

/* Compute spectra, whiten them if asked, and train. */
trained_spectra train_headers(const wifi_headers& h)
{
    const std::int64_t windows = wifi_header_windows, all = h.parts * wifi_legacy;
    const std::int64_t of_frame = h.rows * windows * all;
    const std::vector<float> ones(h.frames * h.rows, 1.0f);
    trained_spectra found{ std::vector<float>(2 * h.frames * of_frame),
                           std::vector<float>(2 * h.frames * h.rows * all),
                           {} };
    spectra({ h.frames,
              h.rows,
              windows,
              all,
              h.fft,
              h.from,
              h.direct,
              h.cfo,
              h.starts,
              h.bins,
              ones.data(),
              found.spectrum.data() });
    wifi_training training{ h.frames,    h.rows,
                            windows,     h.parts,
                            wifi_legacy, found.spectrum.data(),
                            h.sequence,  h.noise,
                            h.signal,    found.channel.data() };
    train(training);
    found.noise.assign(h.noise, h.noise + h.frames * h.rows);
    if (h.white) {
        for (std::int64_t f = 0; f < h.frames; ++f)
            mix(h.white + 2 * f * h.rows * h.rows,
                h.rows,
                windows * all,
                ones.data(),
                found.spectrum.data() + 2 * f * of_frame);
        std::vector<double> unused(found.noise.size());
        training.noise = found.noise.data();
        training.signal = unused.data();
        train(training);
    }
    return found;
}

/* Return the channels smoothed, or as they are if their paths spread too far. */
std::vector<float> smoothed_channels(const wifi_headers& h,
                                     const std::vector<float>& channel)
{
    const std::int64_t of_channel = h.rows * h.parts * wifi_legacy;
    std::vector<float> smoothed(channel.size());
    std::vector<double> error(h.frames), paths(64 * h.frames);
    std::vector<std::int64_t> done(h.frames);
    smooth_channels({ h.smoother,
                      h.frames,
                      h.parts * h.rows,
                      channel.data(),
                      of_halves,
                      true,
                      smoothed.data(),
                      error.data(),
                      done.data(),
                      paths.data() });
    for (std::int64_t f = 0; f < h.frames; ++f)
        if (!done[f])
            std::copy_n(channel.data() + 2 * f * of_channel,
                        2 * of_channel,
                        smoothed.data() + 2 * f * of_channel);
    return smoothed;
}

} // namespace

void headers(const wifi_headers& h)
{
    const trained_spectra trained = train_headers(h);
    const std::vector<float> smoothed = smoothed_channels(h, trained.channel);
    constexpr std::int64_t of_symbols = 2 * (wifi_header_windows - 2) * wifi_legacy;
    std::vector<float> combined(h.frames * of_symbols);
    std::vector<double> strength(h.frames);
    combine({ h.frames,
              h.rows,
              wifi_header_windows,
              h.parts,
              wifi_legacy,
              trained.spectrum.data(),
              smoothed.data(),
              trained.noise.data(),
              combined.data(),
              strength.data() });
    std::vector<std::uint8_t> usable(h.frames);
    for (std::int64_t f = 0; f < h.frames; ++f) {
        float* symbols = combined.data() + f * of_symbols;
        usable[f] = finite(symbols, of_symbols) &&
                    std::all_of(h.noise + f * h.rows,
                                h.noise + (f + 1) * h.rows,
                                [](double x) { return x < infinity; });
        if (!usable[f])
            std::fill_n(symbols, of_symbols, 0.0f);
    }
    wifi_signals signals = h.signals;
    signals.frames = h.frames;
    signals.combined = combined.data();
    signals.strength = strength.data();
    read(signals);
    for (std::int64_t f = 0; f < h.frames; ++f)
        if (!usable[f])
            signals.kind[f] = wifi_no_signal;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What the signal fields are read from: noise, channel, and symbols through matched filters.
 * A frame's results depend on nothing but that frame. */
#include "wifi_lanes.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* A tone must outvote neither the other subcarriers nor, where it hits a pilot, the other
 * pilots: subcarriers count no more than so many times the middle one. */
constexpr float most_channel = 2.5f, most_symbol = 1.5f;

/* Limits the magnitudes of `count` complex numbers, `step` of them apart. */
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

/* Half the power of the halves' difference is the noise of their mean's. */
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
        /* What the first symbol holds; the channel of an interferer is no strength. */
        double sum = 0;
        for (std::int64_t k = 0; symbols && k < c.carriers; ++k)
            sum += __builtin_sqrtf(out[2 * k] * out[2 * k] + out[2 * k + 1] * out[2 * k + 1]);
        c.strength[frame] = symbols && sum < strength ? sum : strength;
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The Wi-Fi receiver's inner loops over samples: what repeats itself in a stream, and
 * spectra. A frame's results depend on nothing but that frame. */
#include "wifi_fft.h"
#include "wifi_lanes.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

void correlate(const wifi_correlation& c)
{
    const std::int64_t block = c.block; /* a multiple of 16 */
    std::vector<float> memory(4 * block);
    float *before = memory.data(), *now = before + 2 * block;
    const float unit = 1 / __builtin_sqrtf(static_cast<float>(block));
    for (std::int64_t row = 0; row < c.rows; ++row) {
        const float* x = c.samples + 2 * row * c.stride;
        float mean_re = 0, mean_im = 0;
        for (std::int64_t b = 0; b < c.blocks; ++b, x += 2 * block) {
            for (std::int64_t i = 0; i < block; ++i) {
                now[i] = x[2 * i];
                now[block + i] = x[2 * i + 1];
            }
            simd energy(0.0f), re(0.0f), im(0.0f);
            complex_simd lag{ simd(0.0f), simd(0.0f) };
            for (std::int64_t i = 0; i < block; i += width) {
                const complex_simd v{ simd::load(now + i), simd::load(now + block + i) };
                energy = fma(v.re, v.re, fma(v.im, v.im, energy));
                re = re + v.re;
                im = im + v.im;
                if (b)
                    lag = add_conjugate(
                        lag,
                        v,
                        { simd::load(before + i), simd::load(before + block + i) });
            }
            const float last_re = mean_re, last_im = mean_im;
            mean_re = sum(re) * unit;
            mean_im = sum(im) * unit;
            const float rest = sum(energy) - (mean_re * mean_re + mean_im * mean_im);
            c.energy[row * c.blocks + b] = rest < 0 ? 0 : rest;
            if (b) {
                float* out = c.lag + 2 * (row * (c.blocks - 1) + b - 1);
                out[0] = sum(lag.re) - (last_re * mean_re + last_im * mean_im);
                out[1] = sum(lag.im) - (last_im * mean_re - last_re * mean_im);
            }
            std::swap(before, now);
        }
    }
}

void metric(const wifi_metric& m)
{
    for (std::int64_t j = 0; j < 2 * m.size; ++j)
        m.mean[j] = 0;
    const float share = 1.0f / m.rows;
    constexpr std::int64_t piece = 256;
    float energy[piece + 1], re[piece], im[piece];
    for (std::int64_t begin = 0; begin < m.size; begin += piece) {
        const std::int64_t n = std::min(piece, m.size - begin);
        float* mean = m.mean + 2 * begin;
        for (std::int64_t row = 0; row < m.rows; ++row) {
            const float* e = m.energy + row * (m.size + m.window) + begin;
            const float* lag = m.lag + 2 * (row * (m.size + m.window - 1) + begin);
            for (std::int64_t j = 0; j < n; ++j)
                energy[j] = re[j] = im[j] = 0;
            energy[n] = 0;
            for (int i = 0; i < m.window; ++i) {
                for (std::int64_t j = 0; j < n + 1; ++j)
                    energy[j] += e[j + i];
                for (std::int64_t j = 0; j < n; ++j) {
                    re[j] += lag[2 * (j + i)];
                    im[j] += lag[2 * (j + i) + 1];
                }
            }
            /* Each antenna by its own level: their gains and noise may differ. */
            for (std::int64_t j = 0; j < n; ++j) {
                const float product = energy[j] * energy[j + 1];
                const float gain = product > 0 ? share / __builtin_sqrtf(product) : 0;
                mean[2 * j] += product > 0 ? re[j] * gain : 0;
                mean[2 * j + 1] += product > 0 ? im[j] * gain : 0;
            }
        }
        for (std::int64_t j = 0; j < n; ++j)
            m.square[begin + j] =
                mean[2 * j] * mean[2 * j] + mean[2 * j + 1] * mean[2 * j + 1];
    }
}

void means(const wifi_means& m)
{
    for (std::int64_t frame = 0; frame < m.frames; ++frame)
        for (std::int64_t row = 0; row < m.rows; ++row) {
            const std::int64_t count = 2 * m.from.length[frame], one = frame * m.rows + row;
            const float* x = m.from.samples[frame] + 2 * row * m.from.stride[frame];
            simd total(0.0f), energy(0.0f);
            std::int64_t i = 0;
            for (; i + width <= count; i += width) {
                const simd v = simd::load(x + i);
                total = total + v;
                energy = fma(v, v, energy);
            }
            double re = 0, im = 0, power = sum(energy);
            for (int l = 0; l < width; l += 2) {
                re += total.v[l];
                im += total.v[l + 1];
            }
            for (; i < count; i += 2) {
                re += x[i];
                im += x[i + 1];
                power += x[i] * x[i] + x[i + 1] * x[i + 1];
            }
            const double share = 1 / static_cast<double>(m.from.length[frame]);
            m.mean[2 * one] = static_cast<float>(re * share);
            m.mean[2 * one + 1] = static_cast<float>(im * share);
            m.power[one] = static_cast<float>(power * share);
        }
}

} // namespace

void spectra(const wifi_spectra& s)
{
    const lane_fft fft(s.fft);
    std::vector<complex_simd> lanes(s.fft);
    std::vector<int> places(s.num_bins);
    for (std::int64_t k = 0; k < s.num_bins; ++k)
        places[k] = fft.place(s.bins[k]);
    std::vector<float> memory;
    const std::int64_t jobs = s.rows * s.windows;
    for (std::int64_t frame = 0; frame < s.frames && jobs; ++frame) {
        const std::int64_t* starts = s.starts + frame * s.windows;
        const std::int64_t begin = *std::min_element(starts, starts + s.windows);
        const std::int64_t end = *std::max_element(starts, starts + s.windows) + s.fft;
        const std::int64_t padded = (end - begin + 63) / 64 * 64;
        memory.resize(2 * padded);
        float *turn_re = memory.data(), *turn_im = turn_re + padded;
        rotation(s.cfo[frame], begin, end - begin, turn_re, turn_im);
        for (std::int64_t first = 0; first < jobs; first += width) {
            const int count =
                static_cast<int>(jobs - first < width ? jobs - first : width);
            float* lane = reinterpret_cast<float*>(lanes.data());
            float scale[width];
            for (int l = 0; l < width; ++l, ++lane) {
                const std::int64_t job = first + (l < count ? l : count - 1);
                const std::int64_t row = job / s.windows, one = frame * s.rows + row;
                const std::int64_t at = starts[job % s.windows];
                const float* x =
                    s.from.samples[frame] + 2 * (row * s.from.stride[frame] + at);
                const float direct_re = s.direct[2 * one], direct_im = s.direct[2 * one + 1];
                const float *c = turn_re + at - begin, *d = turn_im + at - begin;
                for (int i = 0; i < s.fft; ++i) {
                    const float a = x[2 * i] - direct_re, b = x[2 * i + 1] - direct_im;
                    lane[2 * width * i] = a * c[i] - b * d[i];
                    lane[2 * width * i + width] = a * d[i] + b * c[i];
                }
                scale[l] = s.scale[one];
            }
            fft.run(lanes.data());
            const simd gain = simd::load(scale);
            float* out = s.out + 2 * (frame * jobs + first) * s.num_bins;
            for (std::int64_t k = 0; k < s.num_bins; ++k) {
                const simd a = lanes[places[k]].re * gain,
                           b = lanes[places[k]].im * gain;
                for (int l = 0; l < count; ++l) {
                    out[2 * (l * s.num_bins + k)] = a.v[l];
                    out[2 * (l * s.num_bins + k) + 1] = b.v[l];
                }
            }
        }
    }
}

#define MIMOPACK_STRING(x) MIMOPACK_STRING_(x)
#define MIMOPACK_STRING_(x) #x

extern const wifi_build wifi = { MIMOPACK_STRING(MIMOPACK_ISA),
                                 correlate,
                                 metric,
                                 acquire,
                                 shifts,
                                 train,
                                 combine,
                                 read,
                                 order,
                                 track,
                                 means,
                                 spectra,
                                 profiles,
                                 extents,
                                 smooth,
                                 condition,
                                 errors,
                                 points,
                                 refine,
                                 whiten,
                                 smooth_channels,
                                 demodulate };

} // namespace MIMOPACK_ISA
} // namespace mimopack

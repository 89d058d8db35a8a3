/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The Wi-Fi receiver's inner loops over samples: what repeats itself in a stream, and
 * spectra. A frame's results depend on nothing but that frame. */
#include "transpose.h"
#include "wifi_fft.h"
#include "wifi_lanes.h"
#include <algorithm>
#include <cmath>
#include <memory>
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

/* Samples of a frame's antennas without direct current and carrier offset */
class planes
{
public:
    planes(const wifi_spectra& s, std::int64_t frame)
        : d_starts(s.starts + frame * s.windows), d_windows(s.windows),
          d_begin(*std::min_element(d_starts, d_starts + s.windows))
    {
        const std::int64_t end = *std::max_element(d_starts, d_starts + s.windows) + s.fft;
        const std::int64_t length = end - d_begin;
        d_padded = (length + 63) / 64 * 64;
        d_memory.resize(2 * (s.rows + 1) * d_padded);
        float *turn_re = d_memory.data() + 2 * s.rows * d_padded, *turn_im = turn_re + d_padded;
        rotation(s.cfo[frame], d_begin, length, turn_re, turn_im);
        for (std::int64_t row = 0; row < s.rows; ++row) {
            const float* x = s.from.samples[frame] + 2 * (row * s.from.stride[frame] + d_begin);
            const float* direct = s.direct + 2 * (frame * s.rows + row);
            float *re = plane(row, 0), *im = plane(row, 1);
            for (std::int64_t i = 0; i < length; ++i) {
                const float a = x[2 * i] - direct[0], b = x[2 * i + 1] - direct[1];
                re[i] = a * turn_re[i] - b * turn_im[i];
                im[i] = a * turn_im[i] + b * turn_re[i];
            }
        }
    }

    /* Columns of windows, one a lane; jobs are windows of row after row, and lanes beyond
     * `count` repeat the last one. */
    void load(std::int64_t first, int count, int part, int length, simd* columns)
    {
        const float* from[width];
        for (int l = 0; l < width; ++l) {
            const std::int64_t job = first + (l < count ? l : count - 1);
            from[l] = plane(job / d_windows, part) + d_starts[job % d_windows] - d_begin;
        }
        const std::ptrdiff_t apart = from[1] - from[0];
        bool even = apart >= 0;
        for (int l = 2; l < width; ++l)
            even = even && from[l] - from[l - 1] == apart;
        if (even) {
            load_rows(from[0], static_cast<std::size_t>(apart), length, columns);
            return;
        }
        float* to = reinterpret_cast<float*>(columns);
        for (int l = 0; l < width; ++l)
            for (int i = 0; i < length; ++i)
                to[i * width + l] = from[l][i];
    }

private:
    const std::int64_t *d_starts, d_windows, d_begin;
    std::int64_t d_padded;
    std::vector<float> d_memory;

    float* plane(std::int64_t row, int part)
    {
        return d_memory.data() + (2 * row + part) * d_padded;
    }
};

} // namespace

const lane_fft& fft_of(int size)
{
    static thread_local std::unique_ptr<lane_fft> kept[32];
    int place = 0;
    while (size >> place > 1)
        ++place;
    if (!kept[place])
        kept[place] = std::make_unique<lane_fft>(size);
    return *kept[place];
}

void spectra(const wifi_spectra& s)
{
    const lane_fft& fft = fft_of(s.fft);
    std::vector<complex_simd> lanes(s.fft);
    std::vector<simd> columns(std::max<std::int64_t>(s.fft, 2 * s.num_bins));
    std::vector<int> places(s.num_bins);
    for (std::int64_t k = 0; k < s.num_bins; ++k)
        places[k] = fft.place(s.bins[k]);
    const std::int64_t jobs = s.rows * s.windows;
    for (std::int64_t frame = 0; frame < s.frames && jobs; ++frame) {
        planes samples(s, frame);
        for (std::int64_t first = 0; first < jobs; first += width) {
            const int count =
                static_cast<int>(jobs - first < width ? jobs - first : width);
            samples.load(first, count, 0, s.fft, columns.data());
            for (int i = 0; i < s.fft; ++i)
                lanes[i].re = columns[i];
            samples.load(first, count, 1, s.fft, columns.data());
            for (int i = 0; i < s.fft; ++i)
                lanes[i].im = columns[i];
            fft.run(lanes.data());
            float scale[width];
            for (int l = 0; l < width; ++l)
                scale[l] = s.scale[frame * s.rows +
                                   (first + (l < count ? l : count - 1)) / s.windows];
            const simd gain = simd::load(scale);
            for (std::int64_t k = 0; k < s.num_bins; ++k) {
                columns[2 * k] = lanes[places[k]].re * gain;
                columns[2 * k + 1] = lanes[places[k]].im * gain;
            }
            const std::int64_t size = 2 * s.num_bins;
            float* out = s.out + (frame * jobs + first) * size;
            if (count == width)
                store_rows(out, size, static_cast<int>(size), columns.data());
            else
                for (int l = 0; l < count; ++l)
                    for (std::int64_t i = 0; i < size; ++i)
                        out[l * size + i] = columns[i].v[l];
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
                                 headers,
                                 order,
                                 round,
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

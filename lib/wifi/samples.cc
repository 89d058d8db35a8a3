/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The Wi-Fi receiver's inner loops over samples: correlations within a stream, and
 * spectra. A frame's results depend on no other frame. */
#include "cpu/transpose.h"
#include "wifi/fft.h"
#include "wifi/lanes.h"
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* Sums over a block of samples, with real and imaginary parts in turns in the lanes. The
 * product's real part is the sum of all lanes of `lag`. Its imaginary part is the even
 * lanes of `turned` less the odd ones. */
struct block_sums {
    simd energy, total, lag, turned;
};

/* Lanes 1, 0, 3, 2, ... */
MP_FN simd neighbours(simd a)
{
    typedef float raw __attribute__((vector_size(4 * width)));
    const raw v = (raw)a.v;
    a.v = decltype(a.v)(shuffle<width>(v, v, [](int l) { return l ^ 1; }));
    return a;
}

MP_FN block_sums sums_of(const float* now, const float* before, std::int64_t block)
{
    block_sums s{ simd(0.0f), simd(0.0f), simd(0.0f), simd(0.0f) };
    for (std::int64_t i = 0; i < 2 * block; i += width) {
        const simd v = simd::load(now + i), w = simd::load(before + i);
        const simd other = neighbours(w);
        s.energy = fma(v, v, s.energy);
        s.total = s.total + v;
        s.lag = fma(w, v, s.lag);
        s.turned = fma(other, v, s.turned);
    }
    return s;
}

/* Handle as many blocks at once as a register has lanes. The sums within blocks are then
 * summed for all of them together. */
void correlate(const wifi_correlation& c)
{
    const simd unit(1 / __builtin_sqrtf(static_cast<float>(c.block)));
    for (std::int64_t row = 0; row < c.rows; ++row) {
        const float* x = c.samples + 2 * row * c.stride;
        float* energies = c.energy + row * c.apart;
        float* lags = c.lag + 2 * row * c.apart;
        float mean_re[1 + width] = {}, mean_im[1 + width] = {}, lag_re[width],
                          lag_im[width], energy[width];
        for (std::int64_t first = 0; first < c.blocks; first += width) {
            const int n =
                static_cast<int>(std::min<std::int64_t>(width, c.blocks - first));
            simd e[width], total[width], lag[width], turned[width];
            for (int j = 0; j < width; ++j) {
                const float* now = x + 2 * (first + (j < n ? j : n - 1)) * c.block;
                const block_sums s =
                    sums_of(now, now == x ? now : now - 2 * c.block, c.block);
                e[j] = s.energy;
                total[j] = s.total;
                lag[j] = s.lag;
                turned[j] = s.turned;
            }
            simd odd[width / 2];
            for (int j = 0; j < width; j += 2) {
                exchange<1>(total[j], total[j + 1]);
                odd[j / 2] = total[j + 1];
                total[j / 2] = total[j];
                exchange<1>(turned[j], turned[j + 1]);
                turned[j / 2] = turned[j] - turned[j + 1];
            }
            const simd re = sums<2>(total) * unit, im = sums<2>(odd) * unit;
            re.store(mean_re + 1);
            im.store(mean_im + 1);
            const simd last_re = simd::load(mean_re), last_im = simd::load(mean_im);
            const simd rest = fnma(im, im, fnma(re, re, sums(e)));
            select(rest < simd(0.0f), simd(0.0f), rest).store(energy);
            fnma(last_im, im, fnma(last_re, re, sums(lag))).store(lag_re);
            fnma(last_im, re, fma(last_re, im, sums<2>(turned))).store(lag_im);
            mean_re[0] = mean_re[n];
            mean_im[0] = mean_im[n];
            for (int j = 0; j < n; ++j) {
                energies[first + j] = energy[j];
                if (first + j) {
                    lags[2 * (first + j - 1)] = lag_re[j];
                    lags[2 * (first + j - 1) + 1] = lag_im[j];
                }
            }
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
            const float* e = m.energy + row * m.apart + begin;
            const float* lag = m.lag + 2 * (row * m.apart + begin);
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
            /* Each antenna counts by its own level, because gains and noise may
             * differ. */
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
            const std::int64_t count = 2 * m.from.length[frame],
                               one = frame * m.rows + row;
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
        : d_starts(s.starts + frame * s.windows),
          d_windows(s.windows),
          d_begin(*std::min_element(d_starts, d_starts + s.windows))
    {
        const std::int64_t end =
            *std::max_element(d_starts, d_starts + s.windows) + s.fft;
        const std::int64_t length = end - d_begin;
        d_padded = (length + 63) / 64 * 64;
        d_memory.resize(2 * (s.rows + 1) * d_padded);
        float *turn_re = d_memory.data() + 2 * s.rows * d_padded,
              *turn_im = turn_re + d_padded;
        rotation(s.cfo[frame], d_begin, length, turn_re, turn_im);
        for (std::int64_t row = 0; row < s.rows; ++row) {
            const float* x =
                s.from.samples[frame] + 2 * (row * s.from.stride[frame] + d_begin);
            const float* direct = s.direct + 2 * (frame * s.rows + row);
            float *re = plane(row, 0), *im = plane(row, 1);
            for (std::int64_t i = 0; i < length; ++i) {
                const float a = x[2 * i] - direct[0], b = x[2 * i + 1] - direct[1];
                re[i] = a * turn_re[i] - b * turn_im[i];
                im[i] = a * turn_im[i] + b * turn_re[i];
            }
        }
    }

    /* Load columns of windows, one a lane. Jobs are windows of row after row. Lanes
     * beyond `count` repeat the last job. */
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
    aligned_vector<complex_simd> lanes(s.fft);
    aligned_vector<simd> columns(std::max<std::int64_t>(s.fft, 2 * s.num_bins));
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

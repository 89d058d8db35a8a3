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
    return shuffle<width>(a.v, a.v, [](int l) { return l ^ 1; });
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

} // namespace

/* The squared mean of a signal is close to its power over its length if the carrier
 * offset moves a subcarrier to frequency 0, and far below otherwise. */
void direct(
    const wifi_samples& from, std::int64_t rows, double cfo, int fft, float* direct)
{
    constexpr double near = 0.25, least_near = 0.5, least_far = 8;
    const double least = std::fabs(cfo * fft) < near ? least_near : least_far;
    const std::int64_t count = 2 * from.length;
    for (std::int64_t row = 0; row < rows; ++row, direct += 2) {
        const float* x = from.data + 2 * row * from.stride;
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
        const bool there = re * re + im * im > least * power;
        const double share = there ? 1 / static_cast<double>(from.length) : 0;
        direct[0] = there ? static_cast<float>(re * share) : 0;
        direct[1] = there ? static_cast<float>(im * share) : 0;
    }
}

namespace {

/* Memory of spectra(), which a thread keeps: fresh memory would take longer than some of
 * the transforms. */
struct spectra_memory {
    aligned_vector<complex_simd> lanes;
    aligned_vector<simd> columns;
    std::vector<std::int64_t> starts;
    std::vector<int> places;
    std::vector<float> samples;
};

/* Samples of a frame's antennas without direct current and carrier offset */
class windows
{
public:
    windows(const wifi_spectra& s, spectra_memory& memory)
        : d_starts(memory.starts),
          d_begin(*std::min_element(d_starts.begin(), d_starts.end()))
    {
        const std::int64_t length =
            *std::max_element(d_starts.begin(), d_starts.end()) + s.fft - d_begin;
        d_padded = (length + 63) / 64 * 64;
        memory.samples.resize(2 * (s.rows + 1) * d_padded);
        d_samples = memory.samples.data();
        float *turn_re = plane(s.rows, 0), *turn_im = plane(s.rows, 1);
        rotation(s.cfo, d_begin, length, turn_re, turn_im);
        for (std::int64_t row = 0; row < s.rows; ++row) {
            const float* x = s.from.data + 2 * (row * s.from.stride + d_begin);
            const float* direct = s.direct + 2 * row;
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
    void load(std::int64_t first, int count, int part, int length, simd* columns) const
    {
        const std::int64_t size = static_cast<std::int64_t>(d_starts.size());
        const float* from[width];
        for (int l = 0; l < width; ++l) {
            const std::int64_t job = first + (l < count ? l : count - 1);
            from[l] = plane(job / size, part) + d_starts[job % size] - d_begin;
        }
        for (int i = 0; i < length; i += width) {
            for (int l = 0; l < width; ++l)
                columns[i + l] = simd::load(from[l] + i);
            transpose<width>(columns + i);
        }
    }

private:
    const std::vector<std::int64_t>& d_starts;
    const std::int64_t d_begin;
    std::int64_t d_padded;
    float* d_samples;

    float* plane(std::int64_t row, int part) const
    {
        return d_samples + (2 * row + part) * d_padded;
    }
};

/* Multiply a matrix and rows in place. Rows hold `size` complex numbers, and each row is
 * then multiplied by its scale. */
void mix(const float* matrix,
         std::int64_t rows,
         std::int64_t size,
         const float* scale,
         float* x)
{
    float column[2 * wifi_max_rows];
    for (std::int64_t i = 0; i < size; ++i) {
        for (std::int64_t r = 0; r < rows; ++r) {
            column[2 * r] = x[2 * (r * size + i)];
            column[2 * r + 1] = x[2 * (r * size + i) + 1];
        }
        for (std::int64_t r = 0; r < rows; ++r) {
            const float* m = matrix + 2 * r * rows;
            float re = 0, im = 0;
            for (std::int64_t q = 0; q < rows; ++q) {
                re += m[2 * q] * column[2 * q] - m[2 * q + 1] * column[2 * q + 1];
                im += m[2 * q] * column[2 * q + 1] + m[2 * q + 1] * column[2 * q];
            }
            x[2 * (r * size + i)] = re * (scale ? scale[r] : 1);
            x[2 * (r * size + i) + 1] = im * (scale ? scale[r] : 1);
        }
    }
}

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
    constexpr std::size_t most = std::size_t{ 1 } << 22; /* floats kept */
    static thread_local spectra_memory memory;
    const std::int64_t jobs = s.rows * s.windows;
    if (!jobs)
        return;
    const lane_fft& fft = fft_of(s.fft);
    memory.starts.assign(s.starts, s.starts + s.windows);
    for (auto& start : memory.starts)
        start = std::min(std::max(start, std::int64_t{ 0 }), s.from.length - s.fft);
    memory.places.resize(s.num_bins);
    for (std::int64_t k = 0; k < s.num_bins; ++k)
        memory.places[k] = fft.place(s.bins[k]);
    memory.lanes.resize(s.fft);
    memory.columns.resize(std::max<std::int64_t>(s.fft, 2 * s.num_bins));
    complex_simd* const lanes = memory.lanes.data();
    simd* const columns = memory.columns.data();
    const windows samples(s, memory);
    const float* const scales = s.white ? nullptr : s.scale;
    for (std::int64_t first = 0; first < jobs; first += width) {
        const int count = static_cast<int>(std::min<std::int64_t>(jobs - first, width));
        samples.load(first, count, 0, s.fft, columns);
        for (int i = 0; i < s.fft; ++i)
            lanes[i].re = columns[i];
        samples.load(first, count, 1, s.fft, columns);
        for (int i = 0; i < s.fft; ++i)
            lanes[i].im = columns[i];
        fft.run(lanes);
        simd gain(1.0f);
        for (int l = 0; scales && l < count; ++l)
            gain.v[l] = scales[(first + l) / s.windows];
        for (std::int64_t k = 0; k < s.num_bins; ++k) {
            columns[2 * k] = lanes[memory.places[k]].re * gain;
            columns[2 * k + 1] = lanes[memory.places[k]].im * gain;
        }
        const std::int64_t size = 2 * s.num_bins, whole = size / width * width;
        float* out = s.out + first * size;
        for (std::int64_t i = 0; i < whole; i += width) {
            transpose<width>(columns + i);
            for (int l = 0; l < count; ++l)
                columns[i + l].store(out + l * size + i);
        }
        for (int l = 0; l < count; ++l)
            for (std::int64_t i = whole; i < size; ++i)
                out[l * size + i] = columns[i].v[l];
    }
    if (s.white)
        mix(s.white, s.rows, s.windows * s.num_bins, s.scale, s.out);
    if (memory.samples.capacity() > most)
        std::vector<float>().swap(memory.samples);
}

#define MIMOPACK_STRING(x) MIMOPACK_STRING_(x)
#define MIMOPACK_STRING_(x) #x

extern const wifi_build wifi = { MIMOPACK_STRING(MIMOPACK_ISA),
                                 correlate,
                                 metric,
                                 acquire,
                                 headers,
                                 read,
                                 round,
                                 direct,
                                 spectra,
                                 condition,
                                 errors,
                                 refine,
                                 smooth_channels,
                                 demodulate };

} // namespace MIMOPACK_ISA
} // namespace mimopack

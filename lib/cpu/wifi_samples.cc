/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The Wi-Fi receiver's inner loops over samples: what finds preambles, and spectra. A
 * frame's results depend on nothing but that frame. */
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

void repetitions(const wifi_repetitions& r)
{
    const std::int64_t needed = r.positions + r.window - 1;
    std::vector<float> memory(2 * r.length + 3 * (needed + r.lag));
    float *re = memory.data(), *im = re + r.length, *power = im + r.length;
    float *lag_re = power + needed + r.lag, *lag_im = lag_re + needed + r.lag;
    std::vector<double> sums(3 * r.positions);
    double *total_re = sums.data(), *total_im = total_re + r.positions,
           *total = total_im + r.positions;
    for (std::int64_t piece = 0; piece < r.pieces; ++piece) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t row = 0; row < r.rows; ++row) {
            const float* x = r.samples + 2 * (row * r.stride + r.starts[piece]);
            double mean_re = 0, mean_im = 0, energy = 0;
            for (std::int64_t i = 0; i < r.length; ++i) {
                mean_re += x[2 * i];
                mean_im += x[2 * i + 1];
                energy += x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1];
            }
            const double n = static_cast<double>(r.length);
            const bool there = mean_re * mean_re + mean_im * mean_im > r.least * energy;
            float* direct = r.direct + 2 * (piece * r.rows + row);
            direct[0] = there ? static_cast<float>(mean_re / n) : 0;
            direct[1] = there ? static_cast<float>(mean_im / n) : 0;
            for (std::int64_t i = 0; i < r.length; ++i) {
                re[i] = x[2 * i] - direct[0];
                im[i] = x[2 * i + 1] - direct[1];
            }
            const float *a = re + r.first, *b = im + r.first;
            const float *c = a + r.lag, *d = b + r.lag;
            for (std::int64_t i = 0; i < needed + r.lag; ++i)
                power[i] = a[i] * a[i] + b[i] * b[i];
            for (std::int64_t i = 0; i < needed; ++i) {
                lag_re[i] = a[i] * c[i] + b[i] * d[i];
                lag_im[i] = b[i] * c[i] - a[i] * d[i];
            }
            double early = 0, late = 0, sum_re = 0, sum_im = 0;
            for (std::int64_t i = 0; i < r.window - 1; ++i) {
                early += power[i];
                late += power[i + r.lag];
                sum_re += lag_re[i];
                sum_im += lag_im[i];
            }
            for (std::int64_t p = 0; p < r.positions; ++p) {
                const std::int64_t next = p + r.window - 1;
                early += power[next];
                late += power[next + r.lag];
                sum_re += lag_re[next];
                sum_im += lag_im[next];
                total_re[p] += sum_re;
                total_im[p] += sum_im;
                total[p] += early > 0 && late > 0 ? __builtin_sqrt(early * late) : 0;
                early -= power[p];
                late -= power[p + r.lag];
                sum_re -= lag_re[p];
                sum_im -= lag_im[p];
            }
        }
        double best = 0;
        for (std::int64_t p = 0; p < r.positions; ++p) {
            const double size = total_re[p] * total_re[p] + total_im[p] * total_im[p];
            if (size > best * best * total[p] * total[p])
                best = __builtin_sqrt(size) / total[p];
        }
        r.agreement[piece] = static_cast<float>(best);
    }
}

void pairs(const wifi_pairs& p)
{
    constexpr int together = 4;
    constexpr std::int64_t group = together * width;
    const std::int64_t places = p.length - 2 * p.size + 1, both = p.length - p.size;
    const std::int64_t padded = (places + group - 1) / group * group;
    std::vector<float> memory(2 * (both + group) + padded);
    float *re = memory.data(), *im = re + both + group, *power = im + both + group;
    for (std::int64_t piece = 0; piece < p.pieces; ++piece) {
        std::fill(power, power + padded, 0.0f);
        for (std::int64_t row = 0; row < p.rows; ++row) {
            const float* x = p.samples + 2 * (piece * p.rows + row) * p.length;
            /* Correlation is linear: with the sum of both at once. */
            for (std::int64_t i = 0; i < both; ++i) {
                re[i] = x[2 * i] + x[2 * (i + p.size)];
                im[i] = x[2 * i + 1] + x[2 * (i + p.size) + 1];
            }
            for (std::int64_t s = 0; s < p.sequences; ++s) {
                const float* reference = p.reference + 2 * s * p.size;
                for (std::int64_t at = 0; at < padded; at += group) {
                    complex_simd sums[together];
                    for (auto& one : sums)
                        one = { simd(0.0f), simd(0.0f) };
                    for (std::int64_t m = 0; m < p.size; ++m) {
                        const simd a(reference[2 * m]), b(reference[2 * m + 1]);
                        for (int i = 0; i < together; ++i) {
                            const simd c = simd::load(re + at + m + i * width);
                            const simd d = simd::load(im + at + m + i * width);
                            sums[i].re = fma(a, c, fnma(b, d, sums[i].re));
                            sums[i].im = fma(a, d, fma(b, c, sums[i].im));
                        }
                    }
                    for (int i = 0; i < together; ++i) {
                        float* to = power + at + i * width;
                        (simd::load(to) + norm(sums[i])).store(to);
                    }
                }
            }
        }
        double sum = 0, most = -1;
        p.place[piece] = 0;
        for (std::int64_t i = 0; i < places; ++i) {
            sum += power[i];
            if (i >= p.width)
                sum -= power[i - p.width];
            if (i >= p.width - 1 && sum > most) {
                most = sum;
                p.place[piece] = i - (p.width - 1);
            }
        }
    }
}

/* exp(-2 pi i cfo n) for n = origin ...: products of coarse and fine steps */
void rotation(double cfo, std::int64_t origin, std::int64_t length, float* re, float* im)
{
    constexpr int fine = 64;
    float fine_re[fine], fine_im[fine];
    const double angle = -2 * M_PI * cfo;
    for (int i = 0; i < fine; ++i) {
        fine_re[i] = static_cast<float>(std::cos(angle * i));
        fine_im[i] = static_cast<float>(std::sin(angle * i));
    }
    for (std::int64_t at = 0; at < length; at += fine) {
        const double start = angle * static_cast<double>(origin + at);
        const simd a(static_cast<float>(std::cos(start)));
        const simd b(static_cast<float>(std::sin(start)));
        for (int i = 0; i < fine; i += width) {
            const complex_simd turned =
                complex_simd{ a, b } *
                complex_simd{ simd::load(fine_re + i), simd::load(fine_im + i) };
            turned.re.store(re + at + i);
            turned.im.store(im + at + i);
        }
    }
}

/* Decimation in frequency, radix 4 and at last 2, of `width` transforms side by side;
 * outputs lie in digit-reversed order, see places(). */
class lane_fft
{
public:
    explicit lane_fft(int size) : d_size(size), d_place(size), d_turns(2 * size)
    {
        for (int i = 0; i < size; ++i) {
            d_turns[2 * i] = static_cast<float>(std::cos(-2 * M_PI * i / size));
            d_turns[2 * i + 1] = static_cast<float>(std::sin(-2 * M_PI * i / size));
        }
        for (int bin = 0; bin < size; ++bin) {
            int place = 0, rest = bin;
            for (int left = size; left > 1;) {
                const int radix = left >= 4 ? 4 : 2;
                left /= radix;
                place += rest % radix * left;
                rest /= radix;
            }
            d_place[bin] = place;
        }
    }

    /* Where a bin's value lies */
    int place(std::int64_t bin) const { return d_place[bin]; }

    MP_CALLED void run(complex_simd* x) const
    {
        for (int span = d_size; span > 1; span /= span >= 4 ? 4 : 2)
            for (int begin = 0; begin < d_size; begin += span)
                if (span >= 4)
                    four(x + begin, span / 4, d_size / span);
                else
                    two(x + begin);
    }

private:
    int d_size;
    std::vector<int> d_place;
    std::vector<float> d_turns;

    complex_simd turn(int i) const
    {
        return { simd(d_turns[2 * i]), simd(d_turns[2 * i + 1]) };
    }

    void four(complex_simd* x, int quarter, int step) const
    {
        for (int i = 0; i < quarter; ++i) {
            const complex_simd a = x[i], b = x[i + quarter], c = x[i + 2 * quarter],
                               d = x[i + 3 * quarter];
            const complex_simd s = a + c, t = a - c, u = b + d;
            const complex_simd v{ b.im - d.im, d.re - b.re }; /* -i (b - d) */
            x[i] = s + u;
            x[i + quarter] = (t + v) * turn(step * i);
            x[i + 2 * quarter] = (s - u) * turn(2 * step * i);
            x[i + 3 * quarter] = (t - v) * turn(3 * step * i);
        }
    }

    static void two(complex_simd* x)
    {
        const complex_simd a = x[0], b = x[1];
        x[0] = a + b;
        x[1] = a - b;
    }
};

void spectra(const wifi_spectra& s)
{
    constexpr int fine = 64;
    const std::int64_t padded = (s.length + fine - 1) / fine * fine;
    std::vector<float> memory(4 * padded);
    float *turn_re = memory.data(), *turn_im = turn_re + padded;
    float *re = turn_im + padded, *im = re + padded;
    const lane_fft fft(s.fft);
    std::vector<complex_simd> lanes(s.fft);
    std::vector<int> places(s.num_bins);
    for (std::int64_t k = 0; k < s.num_bins; ++k)
        places[k] = fft.place(s.bins[k]);
    for (std::int64_t frame = 0; frame < s.frames; ++frame) {
        const std::int64_t* starts = s.starts + frame * s.windows;
        rotation(s.cfo[frame], s.origin, s.length, turn_re, turn_im);
        for (std::int64_t row = 0; row < s.rows; ++row) {
            const std::int64_t one = frame * s.rows + row;
            const float* x = s.samples + 2 * one * s.length;
            const float direct_re = s.direct ? s.direct[2 * one] : 0;
            const float direct_im = s.direct ? s.direct[2 * one + 1] : 0;
            for (std::int64_t i = 0; i < s.length; ++i) {
                const float a = x[2 * i] - direct_re, b = x[2 * i + 1] - direct_im;
                re[i] = a * turn_re[i] - b * turn_im[i];
                im[i] = a * turn_im[i] + b * turn_re[i];
            }
            const simd scale(s.scale[one]);
            for (std::int64_t first = 0; first < s.windows; first += width) {
                const int count = static_cast<int>(
                    s.windows - first < width ? s.windows - first : width);
                float* lane = reinterpret_cast<float*>(lanes.data());
                for (int l = 0; l < width; ++l, ++lane) {
                    const std::int64_t at = starts[first + (l < count ? l : count - 1)];
                    for (int i = 0; i < s.fft; ++i) {
                        lane[2 * width * i] = re[at + i];
                        lane[2 * width * i + width] = im[at + i];
                    }
                }
                fft.run(lanes.data());
                float* out = s.out + 2 * (one * s.windows + first) * s.num_bins;
                for (std::int64_t k = 0; k < s.num_bins; ++k) {
                    const simd a = lanes[places[k]].re * scale,
                               b = lanes[places[k]].im * scale;
                    for (int l = 0; l < count; ++l) {
                        out[2 * (l * s.num_bins + k)] = a.v[l];
                        out[2 * (l * s.num_bins + k) + 1] = b.v[l];
                    }
                }
            }
        }
    }
}

} // namespace

#define MIMOPACK_STRING(x) MIMOPACK_STRING_(x)
#define MIMOPACK_STRING_(x) #x

extern const wifi_build wifi = { MIMOPACK_STRING(MIMOPACK_ISA),
                                 correlate,
                                 metric,
                                 repetitions,
                                 pairs,
                                 symbols,
                                 order,
                                 phases,
                                 spectra,
                                 profiles,
                                 smooth,
                                 condition,
                                 errors };

} // namespace MIMOPACK_ISA
} // namespace mimopack

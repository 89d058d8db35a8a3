/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Look for the long training field in the samples of a preamble: whether the field is
 * there, and where it begins. */
#pragma once
#include "wifi/fft.h"
#include "wifi/lanes.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

/* Places in a preamble count samples at 20 MS/s. */
constexpr int guard = 16, part_fft = 64, short_field = 160;
constexpr int ltf_start = short_field + 2 * guard;
/* Distances by which the long training field may begin earlier or later than ten periods
 * behind the best window of the short one */
constexpr int early = 14, late = 64;
/* The largest cyclic advance of an antenna */
constexpr int advance = 4;
constexpr int first_place = ltf_start - late - guard;
static_assert(wifi_preamble_samples(1) == ltf_start + early + 2 * part_fft);

class preamble_samples
{
public:
    explicit preamble_samples(const wifi_acquisition& a)
        : d_a(a),
          d_scale(a.scale),
          d_fft(part_fft * a.scale),
          d_first(first_place * a.scale),
          d_length(wifi_preamble_samples(a.scale)),
          d_tail(d_length - d_first),
          d_padded((d_tail + 4 * width + 63) / 64 * 64),
          d_re(a.rows * d_padded),
          d_im(a.rows * d_padded),
          d_turn_re(d_padded),
          d_turn_im(d_padded),
          d_work(4 * d_padded)
    {
    }

    /* Return the first sample of the stream that is kept. Places count from it. */
    std::int64_t first() const { return d_first; }
    const float* re(std::int64_t row) const { return d_re.data() + row * d_padded; }
    const float* im(std::int64_t row) const { return d_im.data() + row * d_padded; }

    /* Return whether samples may repeat like the long field. Most signals that the short
     * field's correlation takes for a preamble do not. */
    bool repeats(const float* x, float* direct)
    {
        const std::int64_t window = 72 * d_scale, lag = d_fft;
        const std::int64_t first = (ltf_start - late - 8) * d_scale;
        const std::int64_t positions = (early + late) * d_scale + 1;
        const std::int64_t needed = positions + window - 1;
        d_sums.assign(3 * positions, 0);
        double *total_re = d_sums.data(), *total_im = total_re + positions,
               *total = total_im + positions;
        d_products.resize(2 * (needed + lag) + 2 * needed + needed + lag);
        float *re = d_products.data(), *im = re + needed + lag,
              *power = im + needed + lag;
        float *lag_re = power + needed + lag, *lag_im = lag_re + needed;
        for (std::int64_t row = 0; row < d_a.rows;
             ++row, x += 2 * d_a.from.stride, direct += 2) {
            double mean_re = 0, mean_im = 0, energy = 0;
            for (std::int64_t i = 0; i < d_length; ++i) {
                mean_re += x[2 * i];
                mean_im += x[2 * i + 1];
                energy += x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1];
            }
            const double n = static_cast<double>(d_length);
            const bool there =
                mean_re * mean_re + mean_im * mean_im > least_direct * energy;
            direct[0] = there ? static_cast<float>(mean_re / n) : 0;
            direct[1] = there ? static_cast<float>(mean_im / n) : 0;
            const float* y = x + 2 * first;
            for (std::int64_t i = 0; i < needed + lag; ++i) {
                re[i] = y[2 * i] - direct[0];
                im[i] = y[2 * i + 1] - direct[1];
                power[i] = re[i] * re[i] + im[i] * im[i];
            }
            for (std::int64_t i = 0; i < needed; ++i) {
                lag_re[i] = re[i] * re[i + lag] + im[i] * im[i + lag];
                lag_im[i] = im[i] * re[i + lag] - re[i] * im[i + lag];
            }
            double before = 0, after = 0, sum_re = 0, sum_im = 0;
            for (std::int64_t i = 0; i < window - 1; ++i) {
                before += power[i];
                after += power[i + lag];
                sum_re += lag_re[i];
                sum_im += lag_im[i];
            }
            for (std::int64_t p = 0; p < positions; ++p) {
                const std::int64_t next = p + window - 1;
                before += power[next];
                after += power[next + lag];
                sum_re += lag_re[next];
                sum_im += lag_im[next];
                total_re[p] += sum_re;
                total_im[p] += sum_im;
                total[p] += before > 0 && after > 0 ? __builtin_sqrt(before * after) : 0;
                before -= power[p];
                after -= power[p + lag];
                sum_re -= lag_re[p];
                sum_im -= lag_im[p];
            }
        }
        constexpr double least = nearly * least_agreement * nearly * least_agreement;
        for (std::int64_t p = 0; p < positions; ++p)
            if (total_re[p] * total_re[p] + total_im[p] * total_im[p] >
                least * total[p] * total[p])
                return true;
        return false;
    }

    /* Take direct current and coarse offset out of the samples, and give each antenna the
     * same level. Return false if samples are not finite, or are all 0. */
    bool level(const float* x, const float* direct, double cfo)
    {
        rotation(cfo, 0, d_tail, d_turn_re.data(), d_turn_im.data());
        bool any = false;
        for (std::int64_t row = 0; row < d_a.rows;
             ++row, x += 2 * d_a.from.stride, direct += 2) {
            const float* y = x + 2 * d_first;
            float *re = d_re.data() + row * d_padded, *im = d_im.data() + row * d_padded;
            double energy = 0;
            for (std::int64_t i = 0; i < d_tail; ++i) {
                const float a = y[2 * i] - direct[0], b = y[2 * i + 1] - direct[1];
                re[i] = a * d_turn_re[i] - b * d_turn_im[i];
                im[i] = a * d_turn_im[i] + b * d_turn_re[i];
            }
            for (std::int64_t i = 0; i < d_tail; ++i)
                energy += re[i] * re[i] + im[i] * im[i];
            if (!(energy < infinity))
                return false;
            any |= energy > 0;
            const float gain = static_cast<float>(
                energy > 0 ? 1 / std::sqrt(energy / static_cast<double>(d_tail)) : 1);
            for (std::int64_t i = 0; i < d_tail; ++i) {
                re[i] *= gain;
                im[i] *= gain;
            }
            std::fill(re + d_tail, re + d_padded, 0.0f);
            std::fill(im + d_tail, im + d_padded, 0.0f);
        }
        return any;
    }

    /* Return where the first half begins, to about 8 places at 20 MS/s, in samples of the
     * stream. most: power of the correlation there. No part is wider than 20 MHz, so its
     * correlation is computed at 20 MS/s. */
    std::int64_t search(double& most)
    {
        constexpr int together = 4;
        constexpr std::int64_t group = together * width;
        const std::int64_t places = (d_tail - 2 * d_fft) / d_scale + 1;
        const std::int64_t rounded = (places + group - 1) / group * group;
        /* Neighbours in memory are samples that lie `scale` apart. */
        const std::int64_t stretch = rounded + part_fft;
        d_work.assign(2 * d_scale * stretch + rounded, 0.0f);
        float *re = d_work.data(), *im = re + d_scale * stretch,
              *power = im + d_scale * stretch;
        for (std::int64_t row = 0; row < d_a.rows; ++row) {
            const float *x = d_re.data() + row * d_padded,
                        *y = d_im.data() + row * d_padded;
            /* Correlation is linear, so both halves are added first. */
            for (int phase = 0; phase < d_scale; ++phase)
                for (std::int64_t i = phase, to = phase * stretch; i < d_tail - d_fft;
                     i += d_scale, ++to) {
                    re[to] = x[i] + x[i + d_fft];
                    im[to] = y[i] + y[i + d_fft];
                }
            for (int part = 0; part < d_a.parts; ++part) {
                const float* reference = d_a.reference + 2 * part * d_fft;
                for (std::int64_t at = 0; at < rounded; at += group) {
                    complex_simd sums[together];
                    for (auto& one : sums)
                        one = { simd(0.0f), simd(0.0f) };
                    for (int phase = 0; phase < d_scale; ++phase) {
                        const float *from_re = re + phase * stretch + at,
                                    *from_im = im + phase * stretch + at;
                        for (std::int64_t m = 0; m < part_fft; ++m) {
                            const float* tap = reference + 2 * (m * d_scale + phase);
                            const simd a(tap[0]), b(tap[1]);
                            for (int i = 0; i < together; ++i) {
                                const simd c = simd::load(from_re + m + i * width);
                                const simd d = simd::load(from_im + m + i * width);
                                sums[i].re = fma(a, c, fnma(b, d, sums[i].re));
                                sums[i].im = fma(a, d, fma(b, c, sums[i].im));
                            }
                        }
                    }
                    for (int i = 0; i < together; ++i) {
                        float* to = power + at + i * width;
                        (simd::load(to) + norm(sums[i])).store(to);
                    }
                }
            }
        }
        constexpr std::int64_t paths = advance + search_delay + 1;
        double sum = 0;
        std::int64_t best = 0;
        most = -1;
        for (std::int64_t i = 0; i < places; ++i) {
            sum += power[i];
            if (i >= paths)
                sum -= power[i - paths];
            if (i >= paths - 1 && sum > most) {
                most = sum;
                best = i - (paths - 1);
            }
        }
        constexpr std::int64_t least = guard;
        return std::min(std::max(best + advance, least), places - 1) * d_scale;
    }

    /* Return whether the halves at a place agree. residual: remaining offset in cycles
     * per sample, with antennas weighted by their SNR, which the correlation tells. */
    bool halves_agree(std::int64_t place, double& residual) const
    {
        const std::int64_t begin = place - 8 * d_scale, count = d_fft + 8 * d_scale;
        complex all{ 0, 0 }, weighted{ 0, 0 };
        double sizes = 0;
        for (std::int64_t row = 0; row < d_a.rows; ++row) {
            const float *re = d_re.data() + row * d_padded + begin,
                        *im = d_im.data() + row * d_padded + begin;
            complex lag{ 0, 0 };
            double before = 0, after = 0;
            for (std::int64_t i = 0; i < count; ++i) {
                const float a = re[i], b = im[i], c = re[i + d_fft], d = im[i + d_fft];
                lag.re += a * c + b * d;
                lag.im += b * c - a * d;
                before += a * a + b * b;
                after += c * c + d * d;
            }
            const double size = std::sqrt(before * after);
            const double both = std::sqrt(lag.re * lag.re + lag.im * lag.im);
            const double weight = 1 / std::max(size - both, 0.05 * size + 1e-30);
            all.re += lag.re;
            all.im += lag.im;
            weighted.re += weight * lag.re;
            weighted.im += weight * lag.im;
            sizes += size;
        }
        residual = -std::atan2(weighted.im, weighted.re) / (2 * M_PI * d_fft);
        return std::sqrt(all.re * all.re + all.im * all.im) > least_agreement * sizes;
    }

private:
    /* Least correlation of the long field's halves, and a factor for sums in another
     * order */
    static constexpr double least_agreement = 0.3, nearly = 0.999;
    /* Least energy of a direct current's mean over the power. A signal with an unknown
     * carrier offset is seldom this strong at one frequency. */
    static constexpr double least_direct = 8;
    static constexpr int search_delay = 8; /* delays that count in the search */

    const wifi_acquisition& d_a;
    int d_scale, d_fft;
    std::int64_t d_first, d_length, d_tail, d_padded;
    std::vector<float> d_re, d_im; /* rows x padded, from d_first on */
    std::vector<float> d_turn_re, d_turn_im, d_work;
    std::vector<double> d_sums;
    std::vector<float> d_products;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

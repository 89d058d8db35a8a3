/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Find from the spectra of a long training field which parts of 20 MHz hold the field,
 * the delay of the first path, and the best FFT window. */
#pragma once
#include "wifi/fft.h"
#include "wifi/preamble_samples.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

class preamble_spectra
{
public:
    explicit preamble_spectra(const wifi_acquisition& a)
        : d_a(a),
          d_fft(part_fft * a.scale),
          d_turn_re(2 * d_fft),
          d_turn_im(2 * d_fft),
          d_spectra(4 * a.rows * a.parts * wifi_legacy),
          d_transform(fft_of(d_fft)),
          d_part_transform(fft_of(part_fft)),
          d_lanes(d_fft),
          d_places(a.parts * wifi_legacy)
    {
        for (std::size_t i = 0; i < d_places.size(); ++i)
            d_places[i] = d_transform.place(a.bins[i]);
    }

    /* Compute the spectra of the halves at a place. */
    void compute(const preamble_samples& samples, std::int64_t place, double cfo)
    {
        rotation(cfo, 0, 2 * d_fft, d_turn_re.data(), d_turn_im.data());
        const std::int64_t jobs = 2 * d_a.rows;
        for (std::int64_t first = 0; first < jobs; first += width) {
            const int count =
                static_cast<int>(jobs - first < width ? jobs - first : width);
            float* lane = reinterpret_cast<float*>(d_lanes.data());
            for (int l = 0; l < width; ++l, ++lane) {
                const std::int64_t job = first + (l < count ? l : count - 1);
                const int half = job % 2;
                const std::int64_t at = place + half * d_fft;
                const float *re = samples.re(job / 2) + at,
                            *im = samples.im(job / 2) + at;
                const float *a = d_turn_re.data() + half * d_fft,
                            *b = d_turn_im.data() + half * d_fft;
                for (int i = 0; i < d_fft; ++i) {
                    lane[2 * width * i] = re[i] * a[i] - im[i] * b[i];
                    lane[2 * width * i + width] = re[i] * b[i] + im[i] * a[i];
                }
            }
            d_transform.run(d_lanes.data());
            const std::int64_t size = d_a.parts * wifi_legacy;
            float* out = d_spectra.data() + 2 * first * size;
            for (std::int64_t k = 0; k < size; ++k) {
                const complex_simd x = d_lanes[d_places[k]];
                for (int l = 0; l < count; ++l) {
                    out[2 * (l * size + k)] = x.re.v[l];
                    out[2 * (l * size + k) + 1] = x.im.v[l];
                }
            }
        }
    }

    /* Return the parts that hold a long training field: halves agree, and the response is
     * short. */
    std::int64_t occupied()
    {
        double power[wifi_max_parts] = {}, agreement[wifi_max_parts] = {};
        double taps[wifi_max_parts][64] = {};
        d_most.resize(d_a.rows * d_a.parts);
        for (std::int64_t row = 0; row < d_a.rows; ++row)
            for (int s = 0; s < d_a.parts; ++s) {
                const float *a = spectrum(row, 0, s), *b = spectrum(row, 1, s);
                float size[wifi_legacy];
                double energy = 0, real = 0;
                for (int k = 0; k < wifi_legacy; ++k) {
                    const float re = a[2 * k] + b[2 * k],
                                im = a[2 * k + 1] + b[2 * k + 1];
                    size[k] = __builtin_sqrtf(re * re + im * im);
                    energy += a[2 * k] * a[2 * k] + a[2 * k + 1] * a[2 * k + 1] +
                              b[2 * k] * b[2 * k] + b[2 * k + 1] * b[2 * k + 1];
                    real += a[2 * k] * b[2 * k] + a[2 * k + 1] * b[2 * k + 1];
                }
                power[s] += energy / 2;
                agreement[s] += real;
                d_most[row * d_a.parts + s] = 2 * median(size, wifi_legacy);
            }
        /* Limit strong subcarriers to twice the median: a narrow signal must not pass for
         * a channel, and a tone must not hide one. */
        const auto limited =
            [this](std::int64_t row, int s, int k, float& to_re, float& to_im) {
                const float *a = spectrum(row, 0, s), *b = spectrum(row, 1, s);
                const float re = a[2 * k] + b[2 * k], im = a[2 * k + 1] + b[2 * k + 1];
                const float size = __builtin_sqrtf(re * re + im * im);
                const float most = d_most[row * d_a.parts + s];
                const float gain = d_a.sequence[k] * (size > most ? most / size : 1);
                to_re = re * gain;
                to_im = im * gain;
            };
        add_taps(0, d_a.parts, limited, taps);
        const double strongest = *std::max_element(power, power + d_a.parts);
        std::int64_t good = 0;
        for (int s = 0; s < d_a.parts; ++s) {
            double inside = 0, total = 0;
            for (int d = -32; d < 32; ++d) {
                total += taps[s][d + 32];
                if (d >= taps_first && d < taps_end)
                    inside += taps[s][d + 32];
            }
            if (agreement[s] > least_agreement_inside * power[s] &&
                inside > concentrated * total && power[s] > 0.01 * strongest)
                good |= std::int64_t{ 1 } << s;
        }
        return chosen(good, agreement);
    }

    /* Find the delay of the first path and the best shift of the FFT window. Return false
     * if samples are not finite. */
    bool timing(std::int64_t part, int& delay, int& shift)
    {
        int begin = 0, count = 0;
        while (!(part >> begin & 1))
            ++begin;
        while (part >> (begin + count) & 1)
            ++count;
        std::vector<float>& scale = d_most;
        for (std::int64_t row = 0; row < d_a.rows; ++row) {
            double noise = 0;
            for (int s = begin; s < begin + count; ++s) {
                const float *a = spectrum(row, 0, s), *b = spectrum(row, 1, s);
                for (int i = 0; i < 2 * wifi_legacy; ++i)
                    noise += (a[i] - b[i]) * (a[i] - b[i]);
            }
            noise /= count * wifi_legacy;
            scale[row] = static_cast<float>(0.5 / std::sqrt(noise + 1e-30));
        }
        double power[1][64] = {};
        const auto smooth = [&](std::int64_t row, int s, int k, float& re, float& im) {
            const float *a = spectrum(row, 0, s), *b = spectrum(row, 1, s);
            const float gain = d_a.sequence[k] * static_cast<float>(hann(k)) * scale[row];
            re = (a[2 * k] + b[2 * k]) * gain;
            im = (a[2 * k + 1] + b[2 * k + 1]) * gain;
        };
        for (int s = begin; s < begin + count; ++s)
            add_taps(s, 1, smooth, power);
        double sorted[64];
        for (int d = 0; d < 64; ++d) {
            if (!(power[0][d] < infinity))
                return false;
            sorted[d] = power[0][d];
        }
        std::nth_element(sorted, sorted + 32, sorted + 64);
        const double middle = (*std::max_element(sorted, sorted + 32) + sorted[32]) / 2;
        const double floor =
            middle * (1 + 4 / std::sqrt(static_cast<double>(d_a.rows * count)));
        double most = 0;
        for (int d = 0; d < 64; ++d) {
            const bool near = d - 32 <= nearest && d - 32 >= -nearest;
            power[0][d] = near ? std::max(power[0][d] - floor, 0.0) : 0;
            most = std::max(most, power[0][d]);
        }
        delay = 0;
        shift = -guard / 4;
        if (most > 0) {
            /* The Hann window spreads a path to its neighbours at a quarter of its
             * power. */
            int place = 0;
            while (!(power[0][place] > 0.4 * most))
                ++place;
            delay = place - 32;
            shift = best_shift(power[0], guard);
        }
        return true;
    }

private:
    /* Least correlation over subcarriers, without subcarriers of noise only */
    static constexpr double least_agreement_inside = 0.4;
    /* Taps of 64 that a channel may fill, and the share of the power that must lie there:
     * the share of noise plus 0.35 of the rest. */
    static constexpr int taps_first = -advance - 4, taps_end = guard - 3;
    static constexpr double noise_share = (advance + guard + 1) / 64.0;
    static constexpr double concentrated = noise_share + 0.35 * (1 - noise_share);
    /* Paths are looked for at this number of samples on both sides. */
    static constexpr int nearest = guard + 8;

    const wifi_acquisition& d_a;
    int d_fft;
    std::vector<float> d_turn_re, d_turn_im;
    std::vector<float> d_spectra; /* rows x halves x parts x legacy complex */
    const lane_fft &d_transform, &d_part_transform;
    aligned_vector<complex_simd> d_lanes;
    std::vector<int> d_places;
    std::vector<float> d_most;

    /* Return the number of a subcarrier by its index. */
    static int carrier(int index) { return index < 26 ? index - 26 : index - 25; }

    static double hann(int index)
    {
        return 0.5 + 0.5 * std::cos(M_PI * carrier(index) / 27);
    }

    float* spectrum(std::int64_t row, int half, int part)
    {
        return d_spectra.data() + 2 * ((row * 2 + half) * d_a.parts + part) * wifi_legacy;
    }

    /* Add the power of a row's taps over the delays -32 ... 31 to the power of each part.
     * value(row, part, k) gives the subcarriers. */
    template <typename Value>
    void add_taps(std::int64_t part, int parts, Value value, double (*power)[64])
    {
        const std::int64_t jobs = d_a.rows * parts;
        for (std::int64_t first = 0; first < jobs; first += width) {
            const int count =
                static_cast<int>(jobs - first < width ? jobs - first : width);
            std::fill_n(
                reinterpret_cast<float*>(d_lanes.data()), 2 * width * part_fft, 0.0f);
            for (int l = 0; l < count; ++l) {
                float* lane = reinterpret_cast<float*>(d_lanes.data()) + l;
                for (int k = 0; k < wifi_legacy; ++k) {
                    const int bin = carrier(k) & 63;
                    value((first + l) / parts,
                          static_cast<int>(part + (first + l) % parts),
                          k,
                          lane[2 * width * bin],
                          lane[2 * width * bin + width]);
                }
            }
            d_part_transform.run(d_lanes.data());
            for (int d = -32; d < 32; ++d) {
                /* An inverse transform is a transform with reversed delays. */
                const simd tap = norm(d_lanes[d_part_transform.place(-d & 63)]);
                for (int l = 0; l < count; ++l)
                    power[(first + l) % parts][d + 32] += tap.v[l];
            }
        }
    }

    /* Return the parts that hold a frame: all, the best half, the best quarter and so on
     * down to one part, or none. */
    std::int64_t chosen(std::int64_t good, const double* agreement) const
    {
        for (int count = d_a.parts; count > 0; count /= 2) {
            const std::int64_t block = (std::int64_t{ 1 } << count) - 1;
            std::int64_t best = 0;
            double most = -infinity;
            for (int s = 0; s < d_a.parts; s += count) {
                double sum = 0;
                for (int i = s; i < s + count; ++i)
                    sum += agreement[i];
                if ((good >> s & block) == block && sum > most) {
                    most = sum;
                    best = block << s;
                }
            }
            if (best)
                return best;
        }
        return 0;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

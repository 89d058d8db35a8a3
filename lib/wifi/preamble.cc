/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Confirmation and timing of preambles; reference/wifi.py has the formulas in NumPy. A
 * preamble's results depend on its samples only. Places count samples at 20 MS/s, or
 * samples of the stream where a comment says so. */
#include "wifi/fft.h"
#include "wifi/lanes.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

constexpr int guard = 16, part_fft = 64, short_field = 160;
constexpr int ltf_start = short_field + 2 * guard;
/* Distances by which the long training field may begin earlier or later than ten periods
 * behind the best window of the short one */
constexpr int early = 14, late = 64;
/* The largest cyclic advance of an antenna, and delays that count in the search */
constexpr int advance = 4, search_delay = 8;
constexpr int first_place = ltf_start - late - guard;
static_assert(wifi_preamble_samples(1) == ltf_start + early + 2 * part_fft);
/* Least correlation of the long field's halves, and a factor for sums in another order */
constexpr double least_agreement = 0.3, nearly = 0.999;
/* Least correlation over subcarriers, without subcarriers of noise only */
constexpr double least_agreement_inside = 0.4;
/* Least energy of a direct current's mean over the power. A signal with an unknown
 * carrier offset is seldom this strong at one frequency. */
constexpr double least_direct = 8;
/* Taps of 64 that a channel may fill, and the share of the power that must lie there: the
 * share of noise plus 0.35 of the rest. */
constexpr int taps_first = -advance - 4, taps_end = guard - 3;
constexpr double noise_share = (advance + guard + 1) / 64.0;
constexpr double concentrated = noise_share + 0.35 * (1 - noise_share);
/* Paths are looked for at this number of samples on both sides. */
constexpr int nearest = guard + 8;

struct piece {
    double re, im;
};

/* Return the number of a subcarrier by its index. */
int carrier(int index) { return index < 26 ? index - 26 : index - 25; }

double hann(int index) { return 0.5 + 0.5 * std::cos(M_PI * carrier(index) / 27); }

/* Return the best shift of windows for power at delays -32 ... 31. */
int best_shift(const double* power, int shortest)
{
    const int count = 2 * shortest + 9, begin = -shortest - 8;
    double cost[2 * guard + 9], total = 0, least = infinity;
    for (int i = 0; i < count; ++i) {
        const int shift = begin + i;
        cost[i] = 0;
        for (int d = -32; d < 32; ++d)
            cost[i] += power[d + 32] *
                       (std::max(shift - d, 0) + std::max(d - shift - shortest, 0));
        least = std::min(least, cost[i]);
    }
    for (int d = 0; d < 64; ++d)
        total += power[d];
    int number = 0;
    for (int i = 0; i < count; ++i)
        number += cost[i] <= least + 0.01 * total;
    /* The middle one of equal shifts */
    int seen = 0;
    for (int i = 0; i < count; ++i) {
        seen += cost[i] <= least + 0.01 * total;
        if (number && seen == (number + 1) / 2)
            return begin + i;
    }
    return begin;
}

class acquirer
{
public:
    explicit acquirer(const wifi_acquisition& a)
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
          d_work(4 * d_padded),
          d_spectra(4 * a.rows * a.parts * wifi_legacy),
          d_transform(fft_of(d_fft)),
          d_part_transform(fft_of(part_fft)),
          d_lanes(d_fft),
          d_places(a.parts * wifi_legacy)
    {
        for (std::size_t i = 0; i < d_places.size(); ++i)
            d_places[i] = d_transform.place(a.bins[i]);
    }

    void run(std::int64_t index)
    {
        d_a.part[index] = 0;
        const float* x = d_a.samples + 2 * d_a.starts[index];
        float* direct = d_a.direct + 2 * index * d_a.rows;
        if (!repeats(x, direct))
            return;
        double coarse = -std::atan2(d_a.lag[2 * index + 1], d_a.lag[2 * index]) /
                        (2 * M_PI * 16 * d_scale);
        if (!level(x, direct, coarse))
            return;
        double most;
        std::int64_t place = search(most);
        if (d_a.turns) {
            /* The long field appears at the right offset only. */
            const double first = coarse, period = 1.0 / (16 * d_scale);
            for (int turn = -d_a.turns; turn <= d_a.turns; ++turn) {
                double found;
                if (!turn || !level(x, direct, first + turn * period))
                    continue;
                const std::int64_t at = search(found);
                if (found > most) {
                    most = found;
                    place = at;
                    coarse = first + turn * period;
                }
            }
            level(x, direct, coarse);
        }
        double residual;
        if (!halves_agree(place, residual))
            return;
        spectra(place, residual);
        const std::int64_t part = occupied();
        int delay, shift;
        if (!part || !timing(part, delay, shift))
            return;
        const std::int64_t ltf = d_first + place;
        d_a.part[index] = part;
        d_a.start[index] = ltf + (delay - ltf_start) * d_scale;
        d_a.window[index] = ltf + shift * d_scale;
        d_a.cfo[index] = coarse + residual;
    }

private:
    const wifi_acquisition& d_a;
    int d_scale, d_fft;
    std::int64_t d_first, d_length, d_tail, d_padded;
    std::vector<float> d_re, d_im; /* rows x padded, from d_first on */
    std::vector<float> d_turn_re, d_turn_im, d_work;
    std::vector<float> d_spectra; /* rows x halves x parts x legacy complex */
    const lane_fft &d_transform, &d_part_transform;
    std::vector<complex_simd> d_lanes;
    std::vector<int> d_places;

    float* spectrum(std::int64_t row, int half, int part)
    {
        return d_spectra.data() + 2 * ((row * 2 + half) * d_a.parts + part) * wifi_legacy;
    }

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
             ++row, x += 2 * d_a.stride, direct += 2) {
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
             ++row, x += 2 * d_a.stride, direct += 2) {
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
        piece all{ 0, 0 }, weighted{ 0, 0 };
        double sizes = 0;
        for (std::int64_t row = 0; row < d_a.rows; ++row) {
            const float *re = d_re.data() + row * d_padded + begin,
                        *im = d_im.data() + row * d_padded + begin;
            piece lag{ 0, 0 };
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

    /* Compute the spectra of the halves at a place. */
    void spectra(std::int64_t place, double cfo)
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
                const std::int64_t at = job / 2 * d_padded + place + half * d_fft;
                const float *re = d_re.data() + at, *im = d_im.data() + at;
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

    /* Return the parts that hold a frame: all, the better pair, the best one, or none. */
    std::int64_t chosen(std::int64_t good, const double* agreement) const
    {
        const int parts = d_a.parts;
        if (good == (1 << parts) - 1)
            return good;
        std::int64_t best = 0;
        double most = -infinity;
        for (int s = 0; parts > 2 && s < parts; s += 2)
            if ((good >> s & 3) == 3 && agreement[s] + agreement[s + 1] > most) {
                most = agreement[s] + agreement[s + 1];
                best = std::int64_t{ 3 } << s;
            }
        if (best)
            return best;
        for (int s = 0; s < parts; ++s)
            if (good >> s & 1 && agreement[s] > most) {
                most = agreement[s];
                best = std::int64_t{ 1 } << s;
            }
        return best;
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

    std::vector<double> d_sums;
    std::vector<float> d_products, d_most;
};

} // namespace

void acquire(const wifi_acquisition& a)
{
    acquirer work(a);
    for (std::int64_t piece = 0; piece < a.pieces; ++piece)
        work.run(piece);
}

void shifts(const wifi_shifts& s)
{
    for (std::int64_t channel = 0; channel < s.channels; ++channel)
        s.shift[channel] = best_shift(s.power + 64 * channel, s.guard);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

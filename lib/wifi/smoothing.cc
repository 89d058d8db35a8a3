/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Delays of channel estimates, and smoothing within them. A frame's results depend on no
 * other frame. */
#include "wifi/lanes.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* Turn from subcarrier to subcarrier per sample of delay at 20 MS/s */
constexpr double per_delay = 2 * M_PI / 64;

double mean_delay(const wifi_profiles& p, const float* x)
{
    const std::int64_t size = 2 * p.rows;
    double re = 0, im = 0;
    for (std::int64_t c = 1; c < p.carriers; ++c, x += size) {
        if (p.k[c] != p.k[c - 1] + 1)
            continue;
        const float* y = x + size;
        float part_re = 0, part_im = 0;
        for (std::int64_t i = 0; i < size; i += 2) {
            part_re += x[i] * y[i] + x[i + 1] * y[i + 1];
            part_im += x[i] * y[i + 1] - x[i + 1] * y[i];
        }
        re += part_re;
        im += part_im;
    }
    return std::nearbyint(-std::atan2(im, re) * 64 / (2 * M_PI) / p.step) * p.step;
}

} // namespace

void profiles(const wifi_profiles& p)
{
    constexpr int together = 4; /* vectors of delays handled at once */
    constexpr std::int64_t group = together * width;
    const std::int64_t padded = (p.delays + group - 1) / group * group;
    std::vector<float> memory(2 * p.carriers * padded + 4 * p.carriers + padded);
    float *re = memory.data(), *im = re + p.carriers * padded;
    float *turn_re = im + p.carriers * padded, *turn_im = turn_re + p.carriers;
    float *x_re = turn_im + p.carriers, *x_im = x_re + p.carriers;
    float* power = x_im + p.carriers;
    for (std::int64_t c = 0; c < p.carriers; ++c)
        for (std::int64_t d = 0; d < p.delays; ++d) {
            re[c * padded + d] = p.transform[2 * (c * p.delays + d)];
            im[c * padded + d] = p.transform[2 * (c * p.delays + d) + 1];
        }
    const std::int64_t size = p.carriers * p.rows;
    for (std::int64_t frame = 0; frame < p.frames; ++frame) {
        const float* channel = p.channel + 2 * frame * size;
        float* turned = p.turned + 2 * frame * size;
        p.mean[frame] = mean_delay(p, channel);
        double strength = 0;
        for (std::int64_t i = 0; i < 2 * size; ++i)
            strength += channel[i] * channel[i];
        p.strength[frame] = strength / static_cast<double>(size);
        turns(per_delay * p.mean[frame], p.k, p.carriers, turn_re, turn_im);
        std::fill(power, power + padded, 0.0f);
        for (std::int64_t row = 0; row < p.rows; ++row) {
            for (std::int64_t c = 0; c < p.carriers; ++c) {
                const float* x = channel + 2 * (c * p.rows + row);
                float* to = turned + 2 * (c * p.rows + row);
                x_re[c] = to[0] = x[0] * turn_re[c] - x[1] * turn_im[c];
                x_im[c] = to[1] = x[0] * turn_im[c] + x[1] * turn_re[c];
            }
            for (std::int64_t d = 0; d < padded; d += group) {
                complex_simd sums[together];
                for (auto& s : sums)
                    s = { simd(0.0f), simd(0.0f) };
                for (std::int64_t c = 0; c < p.carriers; ++c) {
                    const complex_simd x{ simd(x_re[c]), simd(x_im[c]) };
                    for (int i = 0; i < together; ++i) {
                        const std::int64_t at = c * padded + d + i * width;
                        const simd a = simd::load(re + at), b = simd::load(im + at);
                        sums[i].re = fma(x.re, a, fnma(x.im, b, sums[i].re));
                        sums[i].im = fma(x.re, b, fma(x.im, a, sums[i].im));
                    }
                }
                for (int i = 0; i < together; ++i) {
                    float* at = power + d + i * width;
                    (simd::load(at) + norm(sums[i])).store(at);
                }
            }
        }
        const float share = 1.0f / static_cast<float>(p.rows);
        for (std::int64_t d = 0; d < p.delays; ++d)
            p.power[frame * p.delays + d] = power[d] * share;
    }
}

namespace {

/* Distances from a path at which the power of a Hann window's main lobe has fallen by
 * lobe_db */
constexpr int lobe_points = 8;
constexpr double lobe_db[] = { 0, 1, 3, 6, 10, 15, 22, 31 };
constexpr double lobe_reach[] = { 0, 0.42, 0.72, 1.0, 1.28, 1.5, 1.7, 1.85 };

double lobe(double db)
{
    if (!(db > 0))
        return 0;
    for (int i = 1; i < lobe_points; ++i)
        if (db < lobe_db[i])
            return lobe_reach[i - 1] + (lobe_reach[i] - lobe_reach[i - 1]) *
                                           (db - lobe_db[i - 1]) /
                                           (lobe_db[i] - lobe_db[i - 1]);
    return lobe_reach[lobe_points - 1];
}

} // namespace

void extents(const wifi_extents& e)
{
    const double step = e.delays > 1 ? e.delay[1] - e.delay[0] : 1;
    const std::int64_t near = static_cast<std::int64_t>(std::ceil(2 * e.lobe / step));
    for (std::int64_t frame = 0; frame < e.frames; ++frame) {
        const float* power = e.power + frame * e.delays;
        const double least = e.least[frame];
        double ends[2] = {};
        bool any = false;
        for (const int sign : { 1, -1 }) {
            std::int64_t place = sign > 0 ? 0 : e.delays - 1;
            while (place >= 0 && place < e.delays && !(power[place] > least))
                place += sign;
            any = place >= 0 && place < e.delays;
            if (!any)
                break;
            /* The lobe of a path that is well above the least power reaches beyond the
             * path. */
            double most = 0;
            for (std::int64_t i = 0, at = place; i <= near && at >= 0 && at < e.delays;
                 ++i, at += sign)
                most = std::max<double>(most, power[at]);
            ends[sign < 0] =
                e.delay[place] +
                sign * (e.lobe * lobe(10 * std::log10(most / least)) - e.margin[frame]);
        }
        const double first = std::min(ends[0], ends[1]),
                     last = std::max(ends[0], ends[1]);
        const bool usable = any && last - first <= e.longest;
        e.first[frame] = usable ? first : 0;
        e.last[frame] = usable ? last : 0;
        e.usable[frame] = usable;
    }
}

namespace {

/* Multiply as multiply() does, for an x with few columns: sums along its rows. */
void multiply_few(const float* a,
                  const float* x,
                  float* to,
                  std::int64_t n,
                  std::int64_t m,
                  std::int64_t size)
{
    const std::int64_t padded = (m + width - 1) / width * width;
    std::vector<float> memory((size + 1) * padded);
    float *columns = memory.data(), *row = columns + size * padded;
    for (std::int64_t j = 0; j < m; ++j)
        for (std::int64_t l = 0; l < size; ++l)
            columns[l * padded + j] = x[j * size + l];
    for (std::int64_t i = 0; i < n; ++i, a += m, to += size) {
        std::copy_n(a, m, row);
        for (std::int64_t l = 0; l < size; ++l) {
            simd total(0.0f);
            for (std::int64_t j = 0; j < padded; j += width)
                total =
                    fma(simd::load(row + j), simd::load(columns + l * padded + j), total);
            to[l] = sum(total);
        }
    }
}

/* Set to (n x size) = a (n x m) x (m x size). */
void multiply(const float* a,
              const float* x,
              float* to,
              std::int64_t n,
              std::int64_t m,
              std::int64_t size)
{
    if (size < width) {
        multiply_few(a, x, to, n, m, size);
        return;
    }
    for (std::int64_t i = 0; i < n; ++i, to += size) {
        std::fill(to, to + size, 0.0f);
        for (std::int64_t j = 0; j < m; ++j) {
            const float f = *a++;
            const float* y = x + j * size;
            for (std::int64_t l = 0; l < size; ++l)
                to[l] += f * y[l];
        }
    }
}

} // namespace

void smooth(const wifi_smoothing& s)
{
    const std::int64_t most = std::max(s.carriers, s.wanted), size = 2 * s.rows;
    std::int64_t largest = 0;
    for (std::int64_t frame = 0; frame < s.frames; ++frame)
        largest = std::max(largest, s.rank[frame]);
    std::vector<float> memory(2 * most + (s.carriers + largest) * size);
    float *turn_re = memory.data(), *turn_im = turn_re + most;
    float *x = turn_im + most, *inner = x + s.carriers * size;
    const auto turn = [&](const float* from, float* to, std::int64_t count) {
        for (std::int64_t c = 0; c < count; ++c)
            for (std::int64_t i = c * size; i < (c + 1) * size; i += 2) {
                const float a = from[i], b = from[i + 1];
                to[i] = a * turn_re[c] - b * turn_im[c];
                to[i + 1] = a * turn_im[c] + b * turn_re[c];
            }
    };
    for (std::int64_t frame = 0; frame < s.frames; ++frame) {
        const std::int64_t rank = s.rank[frame];
        if (!rank)
            continue;
        float* out = s.out + frame * s.wanted * size;
        turns(per_delay * s.before[frame], s.k, s.carriers, turn_re, turn_im);
        turn(s.channel + frame * s.carriers * size, x, s.carriers);
        multiply(s.analysis[frame], x, inner, rank, s.carriers, size);
        multiply(s.synthesis[frame], inner, out, s.wanted, rank, size);
        turns(-per_delay * s.after[frame], s.wanted_k, s.wanted, turn_re, turn_im);
        turn(out, out, s.wanted);
    }
}

namespace {

/* Return the least power that is neither noise nor a sidelobe of a path. */
double least_path(double noise,
                  std::int64_t rows,
                  double sidelobe,
                  const float* power,
                  std::int64_t delays)
{
    return std::max(noise * seldom_exceeded(rows),
                    sidelobe * *std::max_element(power, power + delays));
}

void place_paths(
    const wifi_smoother& s, const float* power, double mean, double least, double* out)
{
    std::fill(out, out + 64, 0.0);
    if (!std::isfinite(mean))
        mean = 0;
    for (std::int64_t d = 0; d < s.delays; ++d)
        if (power[d] > least) {
            const double place = std::nearbyint(s.delay[d] + mean) + 32;
            out[static_cast<int>(std::min(std::max(place, 0.0), 63.0))] += power[d];
        }
}

/* The paths of frames' channels, and the filters that fit them */
struct path_estimates {
    std::vector<float> turned, power;
    std::vector<double> mean, strength, least, margin, first, last, snr_db, middle, after;
    std::vector<std::int64_t> rank;
    std::vector<const float*> analysis, synthesis;

    path_estimates(std::int64_t frames, std::int64_t size, std::int64_t delays)
        : turned(2 * frames * size),
          power(frames * delays),
          mean(frames),
          strength(frames),
          least(frames),
          margin(frames),
          first(frames),
          last(frames),
          snr_db(frames),
          middle(frames),
          after(frames),
          rank(frames),
          analysis(frames),
          synthesis(frames)
    {
    }
};

/* Find the power over delays, and from it the paths and the margin around them. */
void find_paths(const wifi_estimates& e, path_estimates& p)
{
    const wifi_smoother& s = *e.smoother;
    profiles({ e.frames,
               s.carriers,
               e.rows,
               s.delays,
               e.channel,
               s.k,
               s.delays > 1 ? s.delay[1] - s.delay[0] : 1,
               s.transform,
               p.turned.data(),
               p.mean.data(),
               p.power.data(),
               p.strength.data() });
    for (std::int64_t i = 0; i < e.frames; ++i) {
        const float* own = p.power.data() + i * s.delays;
        p.least[i] = least_path(e.noise, e.rows, s.rules.sidelobe, own, s.delays);
        place_paths(s, own, p.mean[i], p.least[i], e.paths + 64 * i);
        const double ratio = p.strength[i] / e.noise - 1;
        p.snr_db[i] = 10 * std::log10(ratio > 0.1 ? ratio : 0.1);
        p.margin[i] =
            s.rules.margin + s.rules.margin_per_db * std::max(0.0, p.snr_db[i] - 15);
    }
}

/* Choose each frame's filter by the extent of its paths and its SNR. */
void choose_filters(const wifi_estimates& e, path_estimates& p)
{
    const wifi_smoother& s = *e.smoother;
    extents({ e.frames,
              s.delays,
              p.power.data(),
              p.least.data(),
              p.margin.data(),
              s.delay,
              s.rules.lobe,
              s.rules.longest,
              p.first.data(),
              p.last.data(),
              e.done });
    for (std::int64_t i = 0; i < e.frames; ++i) {
        if (!e.done[i])
            continue;
        const double level = std::nearbyint(p.snr_db[i] / s.rules.step_db);
        const wifi_filter found =
            s.find(s.bank,
                   static_cast<int>(std::ceil((p.last[i] - p.first[i]) / s.rules.step)),
                   static_cast<int>(std::min(std::max(level, -2.0), 14.0)));
        p.rank[i] = found.rank;
        p.analysis[i] = found.analysis;
        p.synthesis[i] = found.synthesis;
        e.error[i] = found.error;
        p.middle[i] = (p.first[i] + p.last[i]) / 2;
        p.after[i] = p.mean[i] + p.middle[i];
    }
}

} // namespace

void smooth_channels(const wifi_estimates& e)
{
    const wifi_smoother& s = *e.smoother;
    path_estimates p(e.frames, s.carriers * e.rows, s.delays);
    find_paths(e, p);
    std::fill_n(e.error, e.frames, 1.0);
    std::fill_n(e.done, e.frames, 0);
    if (!e.smooth)
        return;
    choose_filters(e, p);
    smooth({ e.frames,
             s.carriers,
             s.wanted,
             e.rows,
             p.turned.data(),
             s.k,
             s.wanted_k,
             p.middle.data(),
             p.after.data(),
             p.rank.data(),
             p.analysis.data(),
             p.synthesis.data(),
             e.out });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

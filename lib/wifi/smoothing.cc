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
double per_delay(const wifi_smoother& s) { return 2 * M_PI / 64 / s.density; }

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

/* Vectors of sums handled at once */
constexpr int together = 5;
constexpr std::int64_t group = together * width;
static_assert(wifi_padding % group == 0);
/* Vectors of the delays after which inner factors repeat */
constexpr int phases = wifi_period / width;

/* Set row l of to (rows x padded(n)) to the sums over j of x[j, l] a[j], for a (m x
 * padded(n)). Rows are real and imaginary parts, which share what is loaded. */
void multiply(const float* a,
              std::int64_t m,
              std::int64_t n,
              const float* x,
              std::int64_t step_j,
              std::int64_t step_l,
              std::int64_t rows,
              float* to)
{
    constexpr int parts = 2;
    const std::int64_t padded = wifi_padded(n);
    for (std::int64_t l = 0; l < rows;
         l += parts, x += parts * step_l, to += parts * padded)
        for (std::int64_t at = 0; at < n; at += group) {
            simd sums[parts][together];
            for (auto& row : sums)
                for (auto& one : row)
                    one = simd(0.0f);
            for (std::int64_t j = 0; j < m; ++j)
                for (int i = 0; i < together; ++i)
                    for (int r = 0; r < parts; ++r)
                        sums[r][i] = fma(simd(x[j * step_j + r * step_l]),
                                         simd::load(a + j * padded + at + i * width),
                                         sums[r][i]);
            for (int r = 0; r < parts; ++r)
                for (int i = 0; i < together; ++i)
                    sums[r][i].store(to + r * padded + at + i * width);
        }
}

class channel_smoother
{
public:
    explicit channel_smoother(const wifi_estimates& e)
        : d_e(e),
          d_s(*e.smoother),
          d_size(2 * e.rows),
          d_step(d_s.delays > 1 ? d_s.delay[1] - d_s.delay[0] : 1),
          d_turned(d_s.carriers * d_size),
          d_power(wifi_padded(d_s.delays)),
          d_sums(e.rows * d_s.block * phases),
          d_re(std::max(d_s.carriers, d_s.wanted)),
          d_im(d_re.size()),
          d_out(d_size * wifi_padded(d_s.wanted))
    {
    }

    void run(std::int64_t frame)
    {
        const float* channel = d_e.channel + frame * d_s.carriers * d_size;
        const double mean = mean_delay(channel);
        double strength = 0;
        for (std::int64_t i = 0; i < d_s.carriers * d_size; ++i)
            strength += channel[i] * channel[i];
        turn_by(mean, channel);
        find_power();
        const float most = *std::max_element(d_power.data(), d_power.data() + d_s.delays);
        /* The least power that is neither noise nor a sidelobe of a path */
        const double least =
            std::max(d_e.noise * seldom_exceeded(d_e.rows), d_s.rules.sidelobe * most);
        place_paths(mean, least, d_e.paths + 64 * frame);
        d_e.error[frame] = 1;
        d_e.done[frame] = 0;
        if (!d_e.smooth)
            return;
        const double ratio =
            strength / static_cast<double>(d_s.carriers * d_e.rows) / d_e.noise - 1;
        const double snr_db = 10 * std::log10(ratio > 0.1 ? ratio : 0.1);
        double first, last;
        if (!extent(least, snr_db, first, last))
            return;
        const double level = std::nearbyint(snr_db / d_s.rules.step_db);
        const wifi_filter filter =
            d_s.find(d_s.bank,
                     static_cast<int>(std::ceil((last - first) / d_s.rules.step)),
                     static_cast<int>(std::min(std::max(level, -2.0), 14.0)));
        d_e.error[frame] = filter.error;
        d_e.done[frame] = 1;
        const double middle = mean + (first + last) / 2;
        turn_by(middle, channel);
        d_inner.resize(d_size * wifi_padded(filter.rank));
        multiply(filter.analysis,
                 d_s.carriers,
                 filter.rank,
                 d_turned.data(),
                 d_size,
                 1,
                 d_size,
                 d_inner.data());
        multiply(filter.synthesis,
                 filter.rank,
                 d_s.wanted,
                 d_inner.data(),
                 1,
                 wifi_padded(filter.rank),
                 d_size,
                 d_out.data());
        turn_back(middle, d_e.out + frame * d_s.wanted * d_size);
    }

private:
    const wifi_estimates& d_e;
    const wifi_smoother& d_s;
    const std::int64_t d_size; /* real numbers of a carrier */
    const double d_step;       /* mean delays are multiples of it */
    std::vector<float> d_turned, d_power;
    aligned_vector<complex_simd> d_sums; /* rows x block x phases */
    std::vector<float> d_re, d_im, d_inner;
    std::vector<float> d_out; /* size x padded(wanted) */

    double mean_delay(const float* x) const
    {
        double re = 0, im = 0;
        for (std::int64_t c = d_s.apart; c < d_s.carriers; ++c, x += d_size) {
            if (d_s.k[c] != d_s.k[c - d_s.apart] + d_s.density)
                continue;
            const float* y = x + d_s.apart * d_size;
            float part_re = 0, part_im = 0;
            for (std::int64_t i = 0; i < d_size; i += 2) {
                part_re += x[i] * y[i] + x[i + 1] * y[i + 1];
                part_im += x[i] * y[i + 1] - x[i + 1] * y[i];
            }
            re += part_re;
            im += part_im;
        }
        return std::nearbyint(-std::atan2(im, re) / (2 * M_PI / 64) / d_step) * d_step;
    }

    /* Set d_turned to the channel without a delay. */
    void turn_by(double delay, const float* channel)
    {
        turns(per_delay(d_s) * delay, d_s.k, d_s.carriers, d_re.data(), d_im.data());
        float* to = d_turned.data();
        for (std::int64_t c = 0; c < d_s.carriers; ++c)
            for (std::int64_t i = 0; i < d_size; i += 2, channel += 2, to += 2) {
                to[0] = channel[0] * d_re[c] - channel[1] * d_im[c];
                to[1] = channel[0] * d_im[c] + channel[1] * d_re[c];
            }
    }

    void turn_back(double delay, float* out)
    {
        const std::int64_t padded = wifi_padded(d_s.wanted);
        turns(
            -per_delay(d_s) * delay, d_s.wanted_k, d_s.wanted, d_re.data(), d_im.data());
        for (std::int64_t c = 0; c < d_s.wanted; ++c)
            for (std::int64_t i = 0; i < d_size; i += 2, out += 2) {
                const float a = d_out[i * padded + c], b = d_out[(i + 1) * padded + c];
                out[0] = a * d_re[c] - b * d_im[c];
                out[1] = a * d_im[c] + b * d_re[c];
            }
    }

    /* Set d_sums to the inner sums of the transform to delays. */
    void sum_points()
    {
        complex_simd* sums = d_sums.data();
        for (std::int64_t row = 0; row < d_e.rows; ++row)
            for (std::int64_t i = 0; i < d_s.block; ++i, sums += phases) {
                std::fill_n(sums, phases, complex_simd{ simd(0.0f), simd(0.0f) });
                const float* inner = d_s.inner;
                for (std::int64_t p = i; p < d_s.points;
                     p += d_s.block, inner += 2 * wifi_period) {
                    const float* x = d_turned.data() + d_s.place[p] * d_size + 2 * row;
                    const float a = d_s.weights[2 * p], b = d_s.weights[2 * p + 1];
                    const complex_simd point{ simd(a * x[0] + b * x[d_size]),
                                              simd(a * x[1] + b * x[d_size + 1]) };
                    for (int l = 0; l < phases; ++l) {
                        const float* const turn = inner + l * width;
                        sums[l] = sums[l] +
                                  point * complex_simd{ simd::load(turn),
                                                        simd::load(turn + wifi_period) };
                    }
                }
            }
    }

    /* Set d_power to the mean power of the rows at each delay. */
    void find_power()
    {
        const std::int64_t padded = wifi_padded(d_s.delays);
        const simd share(1.0f / static_cast<float>(d_e.rows));
        sum_points();
        for (std::int64_t d = 0; d < d_s.delays; d += group) {
            simd power[together];
            for (auto& one : power)
                one = simd(0.0f);
            const complex_simd* inner = d_sums.data();
            for (std::int64_t row = 0; row < d_e.rows; ++row) {
                complex_simd sums[together];
                for (auto& one : sums)
                    one = { simd(0.0f), simd(0.0f) };
                const float *re = d_s.re + d, *im = d_s.im + d;
                for (std::int64_t p = 0; p < d_s.block;
                     ++p, inner += phases, re += padded, im += padded)
                    for (int i = 0; i < together; ++i) {
                        const complex_simd x = inner[(d / width + i) % phases];
                        const simd a = simd::load(re + i * width),
                                   b = simd::load(im + i * width);
                        sums[i].re = fma(x.re, a, fnma(x.im, b, sums[i].re));
                        sums[i].im = fma(x.re, b, fma(x.im, a, sums[i].im));
                    }
                for (int i = 0; i < together; ++i)
                    power[i] = power[i] + norm(sums[i]);
            }
            for (int i = 0; i < together; ++i)
                (power[i] * share).store(d_power.data() + d + i * width);
        }
    }

    void place_paths(double mean, double least, double* out) const
    {
        std::fill(out, out + 64, 0.0);
        if (!std::isfinite(mean))
            mean = 0;
        for (std::int64_t d = 0; d < d_s.delays; ++d)
            if (d_power[d] > least) {
                const double place = std::nearbyint(d_s.delay[d] + mean) + 32;
                out[static_cast<int>(std::min(std::max(place, 0.0), 63.0))] += d_power[d];
            }
    }

    /* Find the delays between which the paths lie, with a margin for weaker ones. Return
     * false without a path, and where they spread too far. */
    bool extent(double least, double snr_db, double& first, double& last) const
    {
        const wifi_delay_rules& rules = d_s.rules;
        const double margin =
            rules.margin + rules.margin_per_db * std::max(0.0, snr_db - 15);
        const std::int64_t near =
            static_cast<std::int64_t>(std::ceil(2 * rules.lobe / d_step));
        double ends[2];
        for (const int sign : { 1, -1 }) {
            std::int64_t place = sign > 0 ? 0 : d_s.delays - 1;
            while (place >= 0 && place < d_s.delays && !(d_power[place] > least))
                place += sign;
            if (place < 0 || place >= d_s.delays)
                return false;
            /* The lobe of a path that is well above the least power reaches beyond the
             * path. */
            double most = 0;
            for (std::int64_t i = 0, at = place; i <= near && at >= 0 && at < d_s.delays;
                 ++i, at += sign)
                most = std::max<double>(most, d_power[at]);
            ends[sign < 0] =
                d_s.delay[place] +
                sign * (rules.lobe * lobe(10 * std::log10(most / least)) - margin);
        }
        first = std::min(ends[0], ends[1]);
        last = std::max(ends[0], ends[1]);
        return last - first <= rules.longest;
    }
};

} // namespace

void smooth_channels(const wifi_estimates& e)
{
    channel_smoother smoother(e);
    for (std::int64_t frame = 0; frame < e.frames; ++frame)
        smoother.run(frame);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

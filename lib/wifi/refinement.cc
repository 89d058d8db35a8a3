/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoded frames as further training; tests/support/wifi_oracle.py has the formulas in
 * NumPy. A frame's results depend on no other frame. */
#include "wifi/planes.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

constexpr float tiny = 1e-20f;
/* A pilot whose noise exceeds this multiple of the usual noise of the frame's pilots
 * counts less. */
constexpr float pilot_excess = 2.5f;
/* If an interferer multiplies the noise by more than this, a subcarrier's channel comes
 * from its neighbours. */
constexpr float interference = 4;

/* A new estimate of clock, phase, noise and channel: least squares over training fields
 * and data. All values are over the noise of the antennas. */
class learner
{
public:
    /* channel, least_squares: trained x rows x streams complex */
    learner(const wifi_format& f,
            const frame_shape& s,
            const float* received,
            const float* points)
        : d_f(f),
          d_s(s),
          d_y(s.rows * s.symbols, s.carriers),
          d_x(s.streams * s.symbols, s.carriers),
          d_h(s.rows * s.streams, s.carriers),
          d_estimate(s.rows * s.streams, s.carriers),
          d_noise(s.rows * s.carriers),
          d_doubt(s.rows * d_y.padded())
    {
        d_y.fill(received);
        d_x.fill(points);
    }

    /* Set the channel to its new estimate. received: rows x symbols x carriers complex,
     * set to the symbols without the turns of offset and phase. weight: of the training
     * fields, in symbols */
    void run(std::vector<float>& channel,
             const float* least_squares,
             float weight,
             wifi_frame& after)
    {
        turned_channel(d_s, channel.data(), d_h);
        const float wrong = residuals();
        follow(after);
        solve(weight * (1 + wrong), least_squares);
        /* VHT's pilots train only the sum of the streams. */
        for (std::int64_t e = 0; e < (d_f.shared ? d_f.data : d_s.carriers); ++e) {
            const std::int64_t k = d_f.shared ? d_f.places[e] : e;
            float* to =
                channel.data() + 2 * d_s.trained_place[k] * d_s.rows * d_s.streams;
            for (std::int64_t j = 0; j < d_s.rows * d_s.streams; ++j) {
                *to++ = d_estimate.re(j)[k];
                *to++ = d_estimate.im(j)[k];
            }
        }
        for (std::int64_t r = 0; r < d_s.rows; ++r)
            if (d_f.smoothing)
                interpolate(r, interference * least(r), channel.data());
    }

    /* Return the noise of subcarrier k at an antenna, and the least one of the antenna.
     */
    float noise(std::int64_t k, std::int64_t r) const
    {
        return d_noise[r * d_s.carriers + k];
    }
    float least(std::int64_t r) const
    {
        const float* noise = d_noise.data() + r * d_s.carriers;
        return *std::min_element(noise, noise + d_s.carriers);
    }

private:
    const wifi_format& d_f;
    const frame_shape& d_s;
    planes d_y, d_x, d_h, d_estimate;
    std::vector<float> d_noise; /* rows x carriers */
    std::vector<float> d_doubt; /* rows x padded */

    /* Compute the noise of each subcarrier and the noise that wrong decisions add. Return
     * the mean power of the latter over the noise. */
    float residuals()
    {
        const std::int64_t rows = d_s.rows, carriers = d_s.carriers;
        const std::int64_t count = rows * carriers;
        std::vector<float> power(rows * d_y.padded()), gain(rows * d_y.padded());
        const float share = 1.0f / static_cast<float>(d_s.symbols);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t at = 0; at < d_y.padded(); at += width) {
                simd sum(0.0f), strength(0.0f);
                for (std::int64_t i = 0; i < d_s.streams; ++i)
                    strength = strength + norm(d_h.get(r * d_s.streams + i, at));
                for (std::int64_t t = 0; t < d_s.symbols; ++t)
                    sum = sum + norm(d_y.get(r * d_s.symbols + t, at) -
                                     expected(d_h, d_x, d_s, r, t, at));
                (sum * simd(share)).store(power.data() + r * d_y.padded() + at);
                max(strength, simd(tiny)).store(gain.data() + r * d_y.padded() + at);
            }
        std::vector<float> ratios(count), rest(count), least(rows);
        for (std::int64_t r = 0; r < rows; ++r) {
            const float* p = power.data() + r * d_y.padded();
            const float* g = gain.data() + r * d_y.padded();
            for (std::int64_t k = 0; k < carriers; ++k) {
                ratios[r * carriers + k] = p[k] / g[k];
                rest[r * carriers + k] = std::max(p[k] - 1, 0.0f) / g[k];
            }
            std::vector<float> sorted(p, p + carriers);
            least[r] = std::min(std::max(median(sorted.data(), carriers), 1e-6f), 1.0f);
        }
        const float alpha = median(ratios.data(), count);
        const float share_of_wrong = median(rest.data(), count);
        const float limit = static_cast<float>(seldom_exceeded(d_s.symbols));
        double wrong = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
            const float* p = power.data() + r * d_y.padded();
            const float* g = gain.data() + r * d_y.padded();
            float* doubt = d_doubt.data() + r * d_y.padded();
            float* noise = d_noise.data() + r * carriers;
            for (std::int64_t k = 0; k < carriers; ++k) {
                const float ratio = p[k] / (least[r] + alpha * g[k]);
                noise[k] = least[r] * (ratio > limit ? ratio : 1);
                doubt[k] = noise[k] + share_of_wrong * g[k];
            }
            std::fill(doubt + carriers, doubt + d_y.padded(), 1.0f);
            const float smallest = *std::min_element(noise, noise + carriers);
            for (std::int64_t k = 0; k < carriers; ++k)
                wrong += share_of_wrong * g[k] / smallest;
        }
        trust_pilots();
        return static_cast<float>(wrong / static_cast<double>(count));
    }

    /* Weight pilots by their noise, which follows from the error of their magnitude,
     * whatever their phase. Wrong decisions do not reach pilots. */
    void trust_pilots()
    {
        const std::int64_t pilots = d_f.num_pilots;
        if (!pilots)
            return;
        std::vector<float> noise(pilots);
        for (std::int64_t p = 0; p < pilots; ++p) {
            const std::int64_t k = d_f.pilot_places[p];
            double sum = 0;
            for (std::int64_t t = 0; t < d_s.symbols; ++t) {
                std::complex<float> both = 0;
                float strength = 0;
                for (std::int64_t r = 0; r < d_s.rows; ++r) {
                    std::complex<float> e = 0;
                    for (std::int64_t i = 0; i < d_s.streams; ++i) {
                        const std::int64_t at = r * d_s.streams + i;
                        e += std::complex<float>(d_h.re(at)[k], d_h.im(at)[k]) *
                             d_x.re(i * d_s.symbols + t)[k];
                    }
                    const std::int64_t at = r * d_s.symbols + t;
                    both +=
                        std::conj(e) * std::complex<float>(d_y.re(at)[k], d_y.im(at)[k]);
                    strength += std::norm(e);
                }
                const float root = std::sqrt(std::max(strength, tiny));
                const float off = std::abs(both) / root - root;
                sum += off * off;
            }
            noise[p] = static_cast<float>(sum / static_cast<double>(d_s.symbols));
        }
        std::vector<float> sorted(noise);
        const float usual = std::max(pilot_excess * median(sorted.data(), pilots), tiny);
        for (std::int64_t r = 0; r < d_s.rows; ++r) {
            const float* own = d_noise.data() + r * d_s.carriers;
            const float smallest = *std::min_element(own, own + d_s.carriers);
            for (std::int64_t p = 0; p < pilots; ++p)
                d_doubt[r * d_y.padded() + d_f.pilot_places[p]] =
                    smallest * (std::max(noise[p], usual) / usual);
        }
    }

    /* Track clock and phase by all subcarriers, and take their turns out of the
     * symbols. */
    void follow(wifi_frame& after)
    {
        const std::int64_t symbols = d_s.symbols, carriers = d_s.carriers;
        std::vector<float> known(2 * symbols * carriers);
        float re[width], im[width];
        for (std::int64_t t = 0; t < symbols; ++t)
            for (std::int64_t at = 0; at < d_y.padded(); at += width) {
                complex_simd sum{ simd(0.0f), simd(0.0f) };
                for (std::int64_t r = 0; r < d_s.rows; ++r) {
                    const simd share =
                        simd(1.0f) / simd::load(d_doubt.data() + r * d_y.padded() + at);
                    const complex_simd e = expected(d_h, d_x, d_s, r, t, at);
                    sum = add_conjugate(sum,
                                        { e.re * share, e.im * share },
                                        d_y.get(r * symbols + t, at));
                }
                sum.re.store(re);
                sum.im.store(im);
                const std::int64_t count = std::min<std::int64_t>(width, carriers - at);
                float* to = known.data() + 2 * (t * carriers + at);
                for (std::int64_t l = 0; l < count; ++l) {
                    to[2 * l] = re[l];
                    to[2 * l + 1] = im[l];
                }
            }
        std::vector<double> distance;
        for (std::int64_t t = 0; t < symbols; ++t)
            distance.push_back(d_f.distance(t));
        after.offset =
            track({ symbols, carriers, d_f.fft, known.data(), d_f.k, distance.data() },
                  0,
                  after.phase);
        after.step = symbols > 1 ? (after.phase[symbols - 1] - after.phase[0]) /
                                       static_cast<double>(symbols - 1)
                                 : 0;
        std::vector<float> memory(2 * d_y.padded());
        float *turn_re = memory.data(), *turn_im = turn_re + d_y.padded();
        for (std::int64_t t = 0; t < symbols; ++t) {
            turns(after.offset * distance[t] * (2 * M_PI / d_f.fft),
                  d_f.k,
                  carriers,
                  turn_re,
                  turn_im,
                  -after.phase[t]);
            for (std::int64_t r = 0; r < d_s.rows; ++r) {
                const std::int64_t row = r * symbols + t;
                for (std::int64_t at = 0; at < d_y.padded(); at += width)
                    d_y.put(row,
                            at,
                            d_y.get(row, at) * complex_simd{ simd::load(turn_re + at),
                                                             simd::load(turn_im + at) });
                const float *a = d_y.re(row), *b = d_y.im(row);
                float* to = after.received + 2 * row * carriers;
                for (std::int64_t k = 0; k < carriers; ++k) {
                    to[2 * k] = a[k];
                    to[2 * k + 1] = b[k];
                }
            }
        }
    }

    /* Compute (weight H_0 + sum Y X^H) (weight I + sum X X^H)^-1 without the streams'
     * turns. */
    void solve(float weight, const float* least_squares)
    {
        const int rows = static_cast<int>(d_s.rows),
                  streams = static_cast<int>(d_s.streams);
        const complex_simd zero{ simd(0.0f), simd(0.0f) };
        aligned_vector<complex_simd> gram(streams * streams), cross(rows * streams);
        planes turn(streams, d_s.carriers), first(rows * streams, d_s.carriers);
        for (std::int64_t k = 0; k < d_s.carriers; ++k) {
            const std::int64_t c = d_s.trained_place[k];
            const float* from = d_s.turn + 2 * c * streams;
            for (int i = 0; i < streams; ++i) {
                turn.re(i)[k] = from[2 * i];
                turn.im(i)[k] = from[2 * i + 1];
            }
            from = least_squares + 2 * c * rows * streams;
            for (int j = 0; j < rows * streams; ++j) {
                first.re(j)[k] = from[2 * j];
                first.im(j)[k] = from[2 * j + 1];
            }
        }
        for (std::int64_t at = 0; at < d_y.padded(); at += width) {
            std::fill(gram.begin(), gram.end(), zero);
            std::fill(cross.begin(), cross.end(), zero);
            for (std::int64_t t = 0; t < d_s.symbols; ++t)
                for (int i = 0; i < streams; ++i) {
                    const complex_simd x = d_x.get(i * d_s.symbols + t, at);
                    for (int j = 0; j <= i; ++j) /* x_j conj(x_i) */
                        gram[j * streams + i] = add_conjugate(
                            gram[j * streams + i], x, d_x.get(j * d_s.symbols + t, at));
                    for (int r = 0; r < rows; ++r)
                        cross[r * streams + i] = add_conjugate(
                            cross[r * streams + i], x, d_y.get(r * d_s.symbols + t, at));
                }
            for (int i = 0; i < streams; ++i) {
                const complex_simd a = turn.get(i, at);
                const complex_simd back{ a.re, simd(0.0f) - a.im };
                for (int j = 0; j < i; ++j) {
                    complex_simd& g = gram[j * streams + i];
                    g = g * back * turn.get(j, at);
                    gram[i * streams + j] = { g.re, simd(0.0f) - g.im };
                }
                complex_simd& own = gram[i * streams + i];
                own = { own.re + simd(weight), simd(0.0f) };
                for (int r = 0; r < rows; ++r) {
                    complex_simd& c = cross[r * streams + i];
                    const complex_simd f = first.get(r * streams + i, at);
                    c = c * back +
                        complex_simd{ f.re * simd(weight), f.im * simd(weight) };
                }
            }
            invert(gram.data(), streams);
            for (int r = 0; r < rows; ++r)
                for (int i = 0; i < streams; ++i) {
                    complex_simd h = zero;
                    for (int j = 0; j < streams; ++j)
                        h = h + cross[r * streams + j] * gram[j * streams + i];
                    d_estimate.put(r * streams + i, at, h);
                }
        }
    }

    /* Draw an antenna's subcarriers that an interferer hits from their neighbours, unless
     * most are hit. A channel that is further from this line than the interferer's noise
     * explains stays: at high SNR, its residual is an error of the earlier estimate. */
    void interpolate(std::int64_t r, float limit, float* channel)
    {
        std::vector<float> hit(d_s.trained); /* noise of these subcarriers, else 0 */
        std::int64_t hits = 0;
        for (std::int64_t k = 0; k < d_s.carriers; ++k)
            if (noise(k, r) > limit) {
                hit[d_s.trained_place[k]] = noise(k, r);
                ++hits;
            }
        if (!hits || 2 * hits >= d_s.trained)
            return;
        const std::int64_t* trained_k = d_f.refined_smoother->wanted_k;
        const auto at = [&](std::int64_t c) {
            return channel + 2 * (c * d_s.rows + r) * d_s.streams;
        };
        std::vector<float> line(2 * d_s.streams);
        for (std::int64_t c = 0, below = -1; c < d_s.trained; ++c) {
            if (hit[c] == 0) {
                below = c;
                continue;
            }
            std::int64_t above = c;
            while (above < d_s.trained && hit[above] != 0)
                ++above;
            const std::int64_t low = below < 0 ? above : below;
            const std::int64_t high = above < d_s.trained ? above : below;
            const double span = static_cast<double>(trained_k[high] - trained_k[low]);
            const float share =
                span > 0 ? static_cast<float>(
                               static_cast<double>(trained_k[c] - trained_k[low]) / span)
                         : 0;
            const float *a = at(low), *b = at(high);
            float *to = at(c), distance = 0;
            for (std::int64_t i = 0; i < 2 * d_s.streams; ++i) {
                line[i] = a[i] + share * (b[i] - a[i]);
                distance += (line[i] - to[i]) * (line[i] - to[i]);
            }
            if (distance <= static_cast<float>(d_s.streams) * hit[c])
                std::copy(line.begin(), line.end(), to);
        }
    }
};

} // namespace

void refine(const wifi_format& f,
            std::int64_t rows,
            const wifi_frame& before,
            const float* points,
            wifi_frame& after)
{
    const frame_shape s{ rows,      before.symbols,  f.carriers, f.streams,
                         f.trained, f.trained_place, f.turn };
    const std::int64_t size = 2 * f.streams; /* real numbers of an antenna's channel */
    const auto scaled = [&](const float* from, float* to, auto factor) {
        for (std::int64_t i = 0; i < f.trained * rows * size; ++i)
            to[i] = from[i] * factor(i / size % rows);
    };
    const auto deviation = [&](std::int64_t r) {
        return std::sqrt(static_cast<float>(before.noise[r]));
    };
    std::vector<float> channel(f.trained * rows * size);
    scaled(before.channel, channel.data(), [&](auto r) { return 1 / deviation(r); });
    const float weight = f.num_ltf ? static_cast<float>(f.num_ltf) : 2;
    learner found(f, s, before.received, points);
    found.run(channel, before.least_squares, weight, after);

    std::vector<float> least(rows), noise;
    for (std::int64_t r = 0; r < rows; ++r)
        least[r] = std::sqrt(found.least(r));
    scaled(channel.data(), channel.data(), [&](auto r) { return 1 / least[r]; });
    std::vector<float> chosen, smoothed(channel.size());
    for (std::int64_t k = 0; k < f.refined_smoother->carriers; ++k) {
        const float* from =
            channel.data() + (f.refined_here ? f.refined_here[k] : k) * rows * size;
        chosen.insert(chosen.end(), from, from + rows * size);
    }
    const double share = 1 / (weight + static_cast<double>(before.symbols));
    double error, paths[64];
    std::int64_t done;
    smooth_channels({ f.refined_smoother,
                      1,
                      rows * f.streams,
                      chosen.data(),
                      share,
                      f.smoothing,
                      smoothed.data(),
                      &error,
                      &done,
                      paths });
    scaled((done ? smoothed : channel).data(), channel.data(), [&](auto r) {
        return least[r];
    });
    after.noise_var = 1 + error * share * static_cast<double>(f.streams);

    for (std::int64_t k = 0; k < f.carriers; ++k)
        for (std::int64_t r = 0; r < rows; ++r)
            noise.push_back(found.noise(k, r));
    whiten({ s,
             f.data,
             after.received,
             points,
             channel.data(),
             noise.data(),
             f.places,
             after.vectors,
             after.whitened });
    scaled(channel.data(), after.channel, deviation);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

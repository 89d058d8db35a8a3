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

class learner
{
public:
    explicit learner(const wifi_refinement& w)
        : d_w(w),
          d_s(w.shape),
          d_y(d_s.rows * d_s.symbols, d_s.carriers),
          d_x(d_s.streams * d_s.symbols, d_s.carriers),
          d_h(d_s.rows * d_s.streams, d_s.carriers),
          d_estimate(d_s.rows * d_s.streams, d_s.carriers),
          d_noise(d_s.rows * d_s.carriers),
          d_doubt(d_s.rows * d_y.padded()),
          d_known(2 * d_s.symbols * d_s.carriers)
    {
    }

    void run(std::int64_t frame)
    {
        d_y.fill(d_w.received + 2 * frame * d_s.rows * d_s.symbols * d_s.carriers);
        d_x.fill(d_w.points + 2 * frame * d_s.streams * d_s.symbols * d_s.carriers);
        const std::int64_t size = d_s.trained * d_s.rows * d_s.streams;
        const float* before = d_w.channel + 2 * frame * size;
        float* after = d_w.estimate + 2 * frame * size;
        turned_channel(d_s, before, d_h);
        const float wrong = residuals();
        for (std::int64_t k = 0; k < d_s.carriers; ++k)
            for (std::int64_t r = 0; r < d_s.rows; ++r)
                d_w.noise[(frame * d_s.carriers + k) * d_s.rows + r] =
                    d_noise[r * d_s.carriers + k];
        follow(frame);
        std::copy(before, before + 2 * size, after);
        const float weight = d_w.weight * (1 + wrong);
        solve(weight, d_w.least_squares + 2 * frame * size);
        for (std::int64_t e = 0; e < d_w.num_estimated; ++e) {
            const std::int64_t k = d_w.estimated[e];
            float* to = after + 2 * d_s.trained_place[k] * d_s.rows * d_s.streams;
            for (std::int64_t j = 0; j < d_s.rows * d_s.streams; ++j) {
                *to++ = d_estimate.re(j)[k];
                *to++ = d_estimate.im(j)[k];
            }
        }
        for (std::int64_t r = 0; r < d_s.rows; ++r) {
            const float* noise = d_noise.data() + r * d_s.carriers;
            const float least = *std::min_element(noise, noise + d_s.carriers);
            d_w.least[frame * d_s.rows + r] = least;
            if (d_w.interpolate)
                interpolate(r, interference * least, after);
        }
    }

private:
    const wifi_refinement& d_w;
    const wifi_shape& d_s;
    planes d_y, d_x, d_h, d_estimate;
    std::vector<float> d_noise; /* rows x carriers */
    std::vector<float> d_doubt; /* rows x padded */
    std::vector<float> d_known; /* symbols x carriers complex */

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
        const std::int64_t pilots = d_w.num_pilots;
        if (!pilots)
            return;
        std::vector<float> noise(pilots);
        for (std::int64_t p = 0; p < pilots; ++p) {
            const std::int64_t k = d_w.pilot_places[p];
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
                d_doubt[r * d_y.padded() + d_w.pilot_places[p]] =
                    smallest * (std::max(noise[p], usual) / usual);
        }
    }

    /* Track clock and phase by all subcarriers, and take their turns out of the
     * symbols. */
    void follow(std::int64_t frame)
    {
        const std::int64_t symbols = d_s.symbols, carriers = d_s.carriers;
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
                float* to = d_known.data() + 2 * (t * carriers + at);
                for (std::int64_t l = 0; l < count; ++l) {
                    to[2 * l] = re[l];
                    to[2 * l + 1] = im[l];
                }
            }
        double* phase = d_w.phase + frame * symbols;
        d_w.offset[frame] = track(
            { symbols, carriers, d_w.fft, d_known.data(), d_w.k, d_w.distance }, 0, phase);
        std::vector<float> memory(2 * d_y.padded());
        float *turn_re = memory.data(), *turn_im = turn_re + d_y.padded();
        float* out = d_w.turned + 2 * frame * d_s.rows * symbols * carriers;
        for (std::int64_t t = 0; t < symbols; ++t) {
            turns(d_w.offset[frame] * d_w.distance[t] * (2 * M_PI / d_w.fft),
                  d_w.k,
                  carriers,
                  turn_re,
                  turn_im,
                  -phase[t]);
            for (std::int64_t r = 0; r < d_s.rows; ++r) {
                const std::int64_t row = r * symbols + t;
                for (std::int64_t at = 0; at < d_y.padded(); at += width)
                    d_y.put(row,
                            at,
                            d_y.get(row, at) * complex_simd{ simd::load(turn_re + at),
                                                             simd::load(turn_im + at) });
                const float *a = d_y.re(row), *b = d_y.im(row);
                float* to = out + 2 * row * carriers;
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
     * most are hit. */
    void interpolate(std::int64_t r, float limit, float* channel)
    {
        std::vector<char> hit(d_s.trained);
        std::int64_t hits = 0;
        for (std::int64_t k = 0; k < d_s.carriers; ++k)
            if (d_noise[r * d_s.carriers + k] > limit) {
                hit[d_s.trained_place[k]] = 1;
                ++hits;
            }
        if (!hits || 2 * hits >= d_s.trained)
            return;
        const auto at = [&](std::int64_t c) {
            return channel + 2 * (c * d_s.rows + r) * d_s.streams;
        };
        for (std::int64_t c = 0, below = -1; c < d_s.trained; ++c) {
            if (!hit[c]) {
                below = c;
                continue;
            }
            std::int64_t above = c;
            while (above < d_s.trained && hit[above])
                ++above;
            const std::int64_t low = below < 0 ? above : below;
            const std::int64_t high = above < d_s.trained ? above : below;
            const double span =
                static_cast<double>(d_w.trained_k[high] - d_w.trained_k[low]);
            const float share =
                span > 0 ? static_cast<float>(static_cast<double>(d_w.trained_k[c] -
                                                                  d_w.trained_k[low]) /
                                              span)
                         : 0;
            const float *a = at(low), *b = at(high);
            float* to = at(c);
            for (std::int64_t i = 0; i < 2 * d_s.streams; ++i)
                to[i] = a[i] + share * (b[i] - a[i]);
        }
    }
};

} // namespace

void refine(const wifi_refinement& w)
{
    learner one(w);
    for (std::int64_t frame = 0; frame < w.shape.frames; ++frame)
        one.run(frame);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

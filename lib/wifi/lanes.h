/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Complex numbers, one in each lane, and inner loops that several files share. */
#pragma once
#include "common/aligned_memory.h"
#include "cpu/simd.h"
#include "wifi/plan.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

constexpr int width = simd::width;

struct complex_simd {
    simd re, im;
};

/* A complex number whose products take no care for infinities, unlike std::complex's */
struct complex {
    double re, im;
};

MP_FN complex operator*(complex a, complex b)
{
    return { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

MP_FN complex unit(double angle) { return { std::cos(angle), std::sin(angle) }; }

MP_FN complex_simd operator+(complex_simd a, complex_simd b)
{
    return { a.re + b.re, a.im + b.im };
}

MP_FN complex_simd operator-(complex_simd a, complex_simd b)
{
    return { a.re - b.re, a.im - b.im };
}

MP_FN complex_simd operator*(complex_simd a, complex_simd b)
{
    return { fnma(a.im, b.im, a.re * b.re), fma(a.re, b.im, a.im * b.re) };
}

/* Return c + conj(a) b. */
MP_FN complex_simd add_conjugate(complex_simd c, complex_simd a, complex_simd b)
{
    return { fma(a.re, b.re, fma(a.im, b.im, c.re)),
             fma(a.re, b.im, fnma(a.im, b.re, c.im)) };
}

MP_FN simd norm(complex_simd a) { return fma(a.re, a.re, a.im * a.im); }

MP_FN simd square_root(simd a)
{
    simd root(0.0f);
    for (int l = 0; l < width; ++l)
        root.v[l] = __builtin_sqrtf(a.v[l]);
    return root;
}

MP_FN float sum(simd a)
{
    float total = 0;
    for (int l = 0; l < width; ++l)
        total += a.v[l];
    return total;
}

/* Gather element `place` of items that lie `step` complex numbers apart, one item a lane.
 * Lanes beyond `count` repeat the last item. */
MP_FN complex_simd gather(const float* from,
                          std::int64_t step,
                          std::int64_t place,
                          int count)
{
    complex_simd x;
    for (int l = 0; l < width; ++l) {
        const float* p = from + 2 * (step * (l < count ? l : count - 1) + place);
        x.re.v[l] = p[0];
        x.im.v[l] = p[1];
    }
    return x;
}

/* Return what the mean of `count` squares of noise with mean 1 exceeds once in a thousand
 * cases: Wilson and Hilferty's cube root of the chi-squared distribution. */
MP_FN double seldom_exceeded(std::int64_t count)
{
    const double n = static_cast<double>(count);
    const double root = 1 - 1 / (9 * n) + 3.1 / (3 * std::sqrt(n));
    return root * root * root;
}

/* Return the median of 1 value or more. The values change their order, and NaN counts as
 * infinity. */
MP_FN float median(float* values, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i)
        values[i] = values[i] < infinity ? values[i] : infinity;
    float* middle = values + count / 2;
    std::nth_element(values, middle, values + count);
    return count % 2 ? *middle : (*std::max_element(values, middle) + *middle) / 2;
}

/* Invert a Hermitian positive definite matrix in place (Gauss and Jordan). */
MP_FN void invert(complex_simd* g, int n)
{
    const simd one(1.0f), zero(0.0f);
    for (int p = 0; p < n; ++p) {
        const simd pivot = one / g[p * n + p].re;
        for (int j = 0; j < n; ++j)
            g[p * n + j] = { g[p * n + j].re * pivot, g[p * n + j].im * pivot };
        g[p * n + p] = { pivot, zero };
        for (int i = 0; i < n; ++i) {
            if (i == p)
                continue;
            const complex_simd f = g[i * n + p];
            g[i * n + p] = { zero, zero };
            for (int j = 0; j < n; ++j)
                g[i * n + j] = g[i * n + j] - f * g[p * n + j];
        }
    }
}

/* Compute exp(i (angle k + phase)) for ascending k as products of coarse and fine
 * steps. */
MP_FN void turns(double angle,
                 const std::int64_t* k,
                 std::int64_t count,
                 float* re,
                 float* im,
                 double phase = 0)
{
    constexpr std::int64_t fine = 16;
    double fine_re[fine] = { 1 }, fine_im[fine] = { 0 };
    double step_re = std::cos(angle), step_im = std::sin(angle);
    for (int n = 1; n < fine; n *= 2) {
        for (int i = 0; i < n; ++i) {
            fine_re[n + i] = fine_re[i] * step_re - fine_im[i] * step_im;
            fine_im[n + i] = fine_re[i] * step_im + fine_im[i] * step_re;
        }
        const double next = step_re * step_re - step_im * step_im;
        step_im = 2 * step_re * step_im;
        step_re = next;
    }
    double a = 0, b = 0;
    const auto turn = [&a, &b](double c, double d) {
        const double next = a * c - b * d;
        b = a * d + b * c;
        a = next;
    };
    for (std::int64_t i = 0, length; i < count; i += length) {
        const std::int64_t gap = i ? k[i] - k[i - 1] : 0;
        if (gap > 0 && gap < fine)
            turn(fine_re[gap], fine_im[gap]);
        else {
            a = std::cos(angle * static_cast<double>(k[i]) + phase);
            b = std::sin(angle * static_cast<double>(k[i]) + phase);
        }
        length = 1;
        while (i + length < count && k[i + length] == k[i] + length)
            ++length;
        for (std::int64_t begin = 0; begin < length; begin += fine) {
            float *to_re = re + i + begin, *to_im = im + i + begin;
            const std::int64_t n = std::min(fine, length - begin);
            for (std::int64_t j = 0; j < n; ++j) {
                to_re[j] = static_cast<float>(a * fine_re[j] - b * fine_im[j]);
                to_im[j] = static_cast<float>(a * fine_im[j] + b * fine_re[j]);
            }
            if (begin + fine < length)
                turn(step_re, step_im);
            else
                turn(fine_re[n - 1], fine_im[n - 1]);
        }
    }
}

/* Set y to x times turns. Complex numbers are pairs. */
MP_FN void
turned(const float* x, const float* re, const float* im, std::int64_t count, float* y)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = a * re[i] - b * im[i];
        y[2 * i + 1] = a * im[i] + b * re[i];
    }
}

void acquire(const wifi_acquisition& a, wifi_preamble* preambles, std::int64_t count);
void headers(const wifi_headers& h, wifi_preamble* const* preambles, std::int64_t count);
void read(const wifi_signal_layout& l, wifi_signal* signals, std::int64_t count);
void round(const wifi_rounding& r);
void direct(
    const wifi_samples& from, std::int64_t rows, double cfo, int fft, float* direct);
void spectra(const wifi_spectra& s);
double condition(const wifi_channels& c);
void errors(const wifi_errors& e);
void refine(const wifi_format& f,
            std::int64_t rows,
            const wifi_frame& before,
            const float* points,
            wifi_frame& after);
void smooth_channels(const wifi_estimates& e);
void demodulate(const wifi_format& f,
                std::int64_t rows,
                wifi_frame* const* frames,
                std::int64_t count);

/* Decode blocks of rate 1/2 from state 0 to state 0. Block i has num_bits[i] bits and six
 * zeros. */
void decode_half_rate(const float* llr,
                      const std::vector<std::int64_t>& num_bits,
                      std::uint8_t* bits);

/* Known subcarriers of a frame, to be turned by sampling clock and oscillator */
struct tracking {
    std::int64_t symbols, carriers;
    int fft;                /* samples of a symbol without guard interval */
    const float* known;     /* symbols x carriers complex: received times the conjugate
                               of what is expected, over the noise */
    const std::int64_t* k;  /* carriers: their numbers, ascending */
    const double* distance; /* symbols: samples from the middle of the training */
};

/* Return the sampling offset that remains beside one to be taken out first. Set the
 * phases of the symbols in radians, unless null. */
double track(const tracking& t, double before, double* phase);

/* Return the best shift of windows for channels with paths at delays -32 ... 31: where
 * the fewest other symbols reach in. The cyclic shifts of greenfield frames move their
 * first window up to 12 samples, so shifts may exceed the guard interval by 8. */
int best_shift(const double* power, int guard);

} // namespace MIMOPACK_ISA
} // namespace mimopack

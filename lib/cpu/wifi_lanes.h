/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Complex numbers of which each lane has one, and inner loops of the other files. */
#pragma once
#include "simd.h"
#include "wifi_plan.h"
#include <algorithm>
#include <cmath>

namespace mimopack {
namespace MIMOPACK_ISA {

constexpr int width = simd::width;

struct complex_simd {
    simd re, im;
};

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

/* c + conj(a) b */
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

/* Element `place` of items that lie `step` complex numbers apart, one a lane; lanes
 * beyond `count` repeat the last item. */
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

/* What the mean of so many squares of noise exceeds once in a thousand, where 1 is expected:
 * Wilson and Hilferty's cube root of the chi-squared distribution */
MP_FN double seldom_exceeded(std::int64_t count)
{
    const double n = static_cast<double>(count);
    const double root = 1 - 1 / (9 * n) + 3.1 / (3 * std::sqrt(n));
    return root * root * root;
}

/* Of 1 value or more, which are put in another order; NaN counts as infinity */
MP_FN float median(float* values, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i)
        values[i] = values[i] < infinity ? values[i] : infinity;
    float* middle = values + count / 2;
    std::nth_element(values, middle, values + count);
    return count % 2 ? *middle : (*std::max_element(values, middle) + *middle) / 2;
}

/* Inverse of a Hermitian positive definite matrix by Gauss and Jordan, in place */
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

/* exp(i angle k) for ascending k, times first */
MP_FN void turns(double angle,
                 const std::int64_t* k,
                 std::int64_t count,
                 float* re,
                 float* im,
                 double first_re = 1,
                 double first_im = 0)
{
    const double step_re = std::cos(angle), step_im = std::sin(angle);
    double a = 1, b = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        if (i && k[i] == k[i - 1] + 1) {
            const double c = a * step_re - b * step_im;
            b = a * step_im + b * step_re;
            a = c;
        } else {
            const double start = angle * static_cast<double>(k[i]);
            const double c = std::cos(start), d = std::sin(start);
            a = c * first_re - d * first_im;
            b = c * first_im + d * first_re;
        }
        re[i] = static_cast<float>(a);
        im[i] = static_cast<float>(b);
    }
}

void acquire(const wifi_acquisition& a);
void shifts(const wifi_shifts& s);
void train(const wifi_training& t);
void combine(const wifi_combination& c);
void read(const wifi_signals& s);
void order(const wifi_order& o);
void track(const wifi_tracking& t);
void profiles(const wifi_profiles& p);
void extents(const wifi_extents& e);
void smooth(const wifi_smoothing& s);
void condition(const wifi_channels& c);
void errors(const wifi_errors& e);
void points(const wifi_points& p);
void refine(const wifi_refinement& w);
void whiten(const wifi_whitening& w);
void spectra(const wifi_spectra& s);
void smooth_channels(const wifi_estimates& e);
void demodulate(const wifi_demodulation& d);

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Complex numbers of which each lane has one, and the inner loops of wifi_channels.cc. */
#pragma once
#include "simd.h"
#include "wifi_plan.h"

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

void symbols(const wifi_symbols& s);
void order(const wifi_order& o);
void phases(const wifi_phases& p);
void profiles(const wifi_profiles& p);
void smooth(const wifi_smoothing& s);
void condition(const wifi_channels& c);
void errors(const wifi_errors& e);

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns of a carrier offset, and FFTs, one in each lane. */
#pragma once
#include "wifi/lanes.h"
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

/* Write exp(-2 pi i cfo n) for n = origin ... as products of coarse and fine steps, in
 * whole steps of 64. */
MP_FN void
rotation(double cfo, std::int64_t origin, std::int64_t length, float* re, float* im)
{
    constexpr int fine = 64;
    float fine_re[fine], fine_im[fine];
    const double angle = -2 * M_PI * cfo;
    const double step_re = std::cos(angle), step_im = std::sin(angle);
    double re_now = 1, im_now = 0;
    for (int i = 0; i < fine; ++i) {
        fine_re[i] = static_cast<float>(re_now);
        fine_im[i] = static_cast<float>(im_now);
        const double next = re_now * step_re - im_now * step_im;
        im_now = re_now * step_im + im_now * step_re;
        re_now = next;
    }
    const double coarse_re = re_now, coarse_im = im_now;
    re_now = std::cos(angle * static_cast<double>(origin));
    im_now = std::sin(angle * static_cast<double>(origin));
    for (std::int64_t at = 0; at < length; at += fine) {
        const complex_simd coarse{ simd(static_cast<float>(re_now)),
                                   simd(static_cast<float>(im_now)) };
        for (int i = 0; i < fine; i += width) {
            const complex_simd turned =
                coarse * complex_simd{ simd::load(fine_re + i), simd::load(fine_im + i) };
            turned.re.store(re + at + i);
            turned.im.store(im + at + i);
        }
        const double next = re_now * coarse_re - im_now * coarse_im;
        im_now = re_now * coarse_im + im_now * coarse_re;
        re_now = next;
    }
}

/* `width` transforms side by side by decimation in frequency, radix 4 and at last 2.
 * Outputs lie in digit-reversed order, see places(). */
class lane_fft
{
public:
    explicit lane_fft(int size) : d_size(size), d_place(size), d_turns(2 * size)
    {
        for (int i = 0; i < size; ++i) {
            d_turns[2 * i] = static_cast<float>(std::cos(-2 * M_PI * i / size));
            d_turns[2 * i + 1] = static_cast<float>(std::sin(-2 * M_PI * i / size));
        }
        for (int bin = 0; bin < size; ++bin) {
            int place = 0, rest = bin;
            for (int left = size; left > 1;) {
                const int radix = left >= 4 ? 4 : 2;
                left /= radix;
                place += rest % radix * left;
                rest /= radix;
            }
            d_place[bin] = place;
        }
    }

    /* Return where a bin's value lies. */
    int place(std::int64_t bin) const { return d_place[bin]; }

    MP_CALLED void run(complex_simd* x) const
    {
        for (int span = d_size; span > 1; span /= span >= 4 ? 4 : 2)
            for (int begin = 0; begin < d_size; begin += span)
                if (span >= 4)
                    four(x + begin, span / 4, d_size / span);
                else
                    two(x + begin);
    }

private:
    int d_size;
    std::vector<int> d_place;
    std::vector<float> d_turns;

    complex_simd turn(int i) const
    {
        return { simd(d_turns[2 * i]), simd(d_turns[2 * i + 1]) };
    }

    void four(complex_simd* x, int quarter, int step) const
    {
        for (int i = 0; i < quarter; ++i) {
            const complex_simd a = x[i], b = x[i + quarter], c = x[i + 2 * quarter],
                               d = x[i + 3 * quarter];
            const complex_simd s = a + c, t = a - c, u = b + d;
            const complex_simd v{ b.im - d.im, d.re - b.re }; /* -i (b - d) */
            x[i] = s + u;
            x[i + quarter] = (t + v) * turn(step * i);
            x[i + 2 * quarter] = (s - u) * turn(2 * step * i);
            x[i + 3 * quarter] = (t - v) * turn(3 * step * i);
        }
    }

    static void two(complex_simd* x)
    {
        const complex_simd a = x[0], b = x[1];
        x[0] = a + b;
        x[1] = a - b;
    }
};

/* Return a transform of a power of two. The thread keeps it, because making one takes
 * longer than some transforms. */
const lane_fft& fft_of(int size);

} // namespace MIMOPACK_ISA
} // namespace mimopack

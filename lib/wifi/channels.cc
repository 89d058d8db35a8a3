/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Condition of channels, and errors of vectors received through them. A frame's results
 * depend on no other frame. */
#include "wifi/lanes.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* Turn columns p and q of a matrix until they are orthogonal. */
void turn_columns(complex_simd* h, int rows, int columns, int p, int q)
{
    simd a(0.0f), b(0.0f);
    complex_simd both{ simd(0.0f), simd(0.0f) };
    for (int r = 0; r < rows; ++r) {
        const complex_simd x = h[r * columns + p], y = h[r * columns + q];
        a = a + norm(x);
        b = b + norm(y);
        both = add_conjugate(both, x, y);
    }
    const simd tiny(1e-30f);
    const simd size_of_both = square_root(norm(both));
    const simd least = max(size_of_both, tiny);
    const auto parallel = tiny < size_of_both;
    const complex_simd phase{ select(parallel, both.re / least, simd(1.0f)),
                              select(parallel, both.im / least, simd(0.0f)) };
    const simd zeta = (b - a) / (least + least);
    const simd one(1.0f), zero(0.0f);
    const simd t0 = one / (abs(zeta) + square_root(fma(zeta, zeta, one)));
    const simd t = select(parallel, select(zeta < zero, zero - t0, t0), zero);
    const simd cosine = one / square_root(fma(t, t, one));
    const simd sine = t * cosine;
    for (int r = 0; r < rows; ++r) {
        complex_simd& x = h[r * columns + p];
        complex_simd& y = h[r * columns + q];
        const complex_simd v = y * complex_simd{ phase.re, zero - phase.im };
        y = { fma(sine, x.re, cosine * v.re), fma(sine, x.im, cosine * v.im) };
        x = { fnma(sine, v.re, cosine * x.re), fnma(sine, v.im, cosine * x.im) };
    }
}

} // namespace

/* One-sided Jacobi: turn columns until they are orthogonal. Their lengths are then the
 * singular values (M. R. Hestenes, J. SIAM 6 (1), 1958). */
double condition(const wifi_channels& c)
{
    constexpr int sweeps = 6; /* enough for 8 columns; two columns need one sweep */
    if (c.columns == 1)
        return 0;
    if (c.columns > c.rows)
        return std::nan("");
    aligned_vector<complex_simd> memory(c.rows * c.columns);
    complex_simd* h = memory.data();
    const std::int64_t size = static_cast<std::int64_t>(c.rows) * c.columns;
    double mean = 0;
    for (std::int64_t first = 0; first < c.matrices; first += width) {
        const int count =
            static_cast<int>(c.matrices - first < width ? c.matrices - first : width);
        for (int r = 0; r < c.rows; ++r) {
            const simd share(static_cast<float>(1 / std::sqrt(c.noise[r])));
            for (int i = r * c.columns; i < (r + 1) * c.columns; ++i) {
                const complex_simd x = gather(c.h + 2 * first * size, size, i, count);
                h[i] = { x.re * share, x.im * share };
            }
        }
        for (int sweep = 0; sweep < (c.columns > 2 ? sweeps : 1); ++sweep)
            for (int p = 0; p < c.columns; ++p)
                for (int q = p + 1; q < c.columns; ++q)
                    turn_columns(h, c.rows, c.columns, p, q);
        simd most(0.0f), least(infinity);
        for (int p = 0; p < c.columns; ++p) {
            simd length(0.0f);
            for (int r = 0; r < c.rows; ++r)
                length = length + norm(h[r * c.columns + p]);
            most = max(most, length);
            least = min(least, length);
        }
        const simd ratio = most / max(least, simd(1e-24f));
        for (int l = 0; l < count; ++l)
            mean += 10 * std::log10(std::max(ratio.v[l], 1e-30f));
    }
    return mean / static_cast<double>(c.matrices);
}

namespace {

/* Unbiased MMSE filters of a lane of channels (rows x columns): the rows of W / diag(W H)
 * with W = (H^H H + noise I)^-1 H^H. gram: memory for columns x columns */
void set_filters(const complex_simd* h,
                 int rows,
                 int columns,
                 float least_noise,
                 complex_simd* gram,
                 complex_simd* filters)
{
    const simd one(1.0f), zero(0.0f);
    simd trace(0.0f);
    for (int i = 0; i < columns; ++i)
        for (int j = i; j < columns; ++j) {
            complex_simd g{ zero, zero };
            for (int r = 0; r < rows; ++r)
                g = add_conjugate(g, h[r * columns + i], h[r * columns + j]);
            gram[i * columns + j] = g;
            gram[j * columns + i] = { g.re, zero - g.im };
            if (i == j)
                trace = trace + g.re;
        }
    /* Rounding must not make a channel of deficient rank singular. */
    const simd noise = max(simd(least_noise), simd(1e-6f) * trace);
    for (int i = 0; i < columns; ++i)
        gram[i * columns + i].re = gram[i * columns + i].re + noise;
    invert(gram, columns);
    for (int i = 0; i < columns; ++i) {
        const simd bias = max(one - noise * gram[i * columns + i].re, simd(1e-6f));
        const simd gain = one / bias;
        for (int r = 0; r < rows; ++r) {
            complex_simd w{ zero, zero };
            for (int j = 0; j < columns; ++j)
                w = add_conjugate(w, h[r * columns + j], gram[i * columns + j]);
            filters[i * rows + r] = { w.re * gain, w.im * gain };
        }
    }
}

/* side: points of a square QAM's axis; 1 is BPSK */
complex_simd nearest_point(complex_simd x, int side)
{
    const simd one(1.0f), zero(0.0f);
    if (side == 1)
        return { select(x.re < zero, zero - one, one), zero };
    const float spacing = 2 * __builtin_sqrtf(1.5f / (side * side - 1));
    const simd unit(1 / spacing);
    simd re, im;
    slice(x.re * unit, side, re);
    slice(x.im * unit, side, im);
    return { re * simd(spacing), im * simd(spacing) };
}

/* Return at most eight of `count` vectors, evenly spread. */
std::vector<std::int64_t> chosen_vectors(std::int64_t count)
{
    const std::int64_t most = std::min<std::int64_t>(count, 8);
    std::vector<std::int64_t> chosen(most);
    for (std::int64_t i = 0; i < most; ++i)
        chosen[i] = most > 1 ? i * (count - 1) / (most - 1) : 0;
    return chosen;
}

} // namespace

void errors(const wifi_errors& e)
{
    const int rows = e.rows, columns = e.columns;
    aligned_vector<complex_simd> memory(2 * rows * columns + columns * columns);
    complex_simd* h = memory.data();
    complex_simd* filters = h + rows * columns;
    complex_simd* gram = filters + rows * columns;
    const simd zero(0.0f);
    const std::int64_t size = static_cast<std::int64_t>(rows) * columns;
    const std::int64_t step = e.vectors * rows;
    const std::vector<std::int64_t> chosen = chosen_vectors(e.vectors);
    std::fill_n(e.error, columns, 0.0f);
    for (std::int64_t first = 0; first < e.carriers; first += width) {
        const int count =
            static_cast<int>(e.carriers - first < width ? e.carriers - first : width);
        for (std::int64_t i = 0; i < size; ++i)
            h[i] = gather(e.h + 2 * first * size, size, i, count);
        set_filters(h, rows, columns, e.noise, gram, filters);
        simd error[wifi_max_columns];
        for (int i = 0; i < columns; ++i)
            error[i] = zero;
        for (const std::int64_t v : chosen) {
            for (int r = 0; r < rows; ++r)
                h[r] = gather(e.y + 2 * first * step, step, v * rows + r, count);
            for (int i = 0; i < columns; ++i) {
                complex_simd x{ zero, zero };
                for (int r = 0; r < rows; ++r)
                    x = x + filters[i * rows + r] * h[r];
                error[i] =
                    error[i] + norm(x - nearest_point(x, static_cast<int>(e.sides[i])));
            }
        }
        for (int i = 0; i < columns; ++i)
            for (int l = 0; l < count; ++l)
                e.error[i] += error[i].v[l];
    }
    const float terms =
        static_cast<float>(e.carriers) * static_cast<float>(chosen.size());
    for (int i = 0; i < columns; ++i)
        e.error[i] /= terms;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

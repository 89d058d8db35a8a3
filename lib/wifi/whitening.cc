/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Whitening of received vectors by the noise of decoded frames;
 * tests/support/wifi_oracle.py has the formulas in NumPy. A frame's results depend on no
 * other frame. */
#include "wifi/planes.h"
#include <algorithm>
#include <cmath>
#include <complex>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* Mean squares of correlations that tell an interferer, over the mean squares of
 * independent noise */
constexpr double correlated = 4;

using matrix = std::vector<std::complex<double>>;

/* Return the inverse of the Cholesky factor of a positive definite matrix, both lower.
 * Return the identity if the matrix is not finite. */
matrix inverse_factor(matrix a, std::int64_t n)
{
    matrix inverse(n * n);
    bool usable = true;
    for (const auto& x : a)
        usable = usable && std::isfinite(x.real()) && std::isfinite(x.imag());
    for (std::int64_t j = 0; j < n && usable; ++j) {
        double pivot = a[j * n + j].real();
        for (std::int64_t l = 0; l < j; ++l)
            pivot -= std::norm(a[j * n + l]);
        usable = pivot > 0;
        const double root = std::sqrt(pivot);
        a[j * n + j] = root;
        for (std::int64_t i = j + 1; i < n; ++i) {
            for (std::int64_t l = 0; l < j; ++l)
                a[i * n + j] -= a[i * n + l] * std::conj(a[j * n + l]);
            a[i * n + j] /= root;
        }
    }
    for (std::int64_t j = 0; j < n; ++j) {
        inverse[j * n + j] = usable ? 1.0 / a[j * n + j] : 1.0;
        for (std::int64_t i = j + 1; i < n && usable; ++i) {
            std::complex<double> sum = 0;
            for (std::int64_t l = j; l < i; ++l)
                sum += a[i * n + l] * inverse[l * n + j];
            inverse[i * n + j] = -sum / a[i * n + i];
        }
    }
    return inverse;
}

class whitener
{
public:
    explicit whitener(const whitening& w)
        : d_w(w),
          d_s(w.shape),
          d_y(d_s.rows * d_s.symbols, d_s.carriers),
          d_x(d_s.streams * d_s.symbols, d_s.carriers),
          d_h(d_s.rows * d_s.streams, d_s.carriers),
          d_gain(d_s.rows, d_s.carriers)
    {
    }

    void run()
    {
        const std::int64_t rows = d_s.rows, streams = d_s.streams, symbols = d_s.symbols;
        d_y.fill(d_w.received);
        turned_channel(d_s, d_w.channel, d_h);
        for (std::int64_t k = 0; k < d_s.carriers; ++k)
            for (std::int64_t r = 0; r < rows; ++r)
                d_gain.re(r)[k] = 1 / std::sqrt(d_w.noise[k * rows + r]);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t at = 0; at < d_y.padded(); at += width) {
                const simd gain = d_gain.get(r, at).re;
                for (std::int64_t i = 0; i < streams; ++i)
                    scale(d_h, r * streams + i, at, gain);
                for (std::int64_t t = 0; t < symbols; ++t)
                    scale(d_y, r * symbols + t, at, gain);
            }
        matrix white(rows * rows);
        for (std::int64_t r = 0; r < rows; ++r)
            white[r * rows + r] = 1;
        if (rows > 1) {
            d_x.fill(d_w.points);
            white = inverse_factor(correlation(), rows);
        }
        std::vector<std::complex<float>> w(white.begin(), white.end());
        float *h = d_w.whitened, *y = d_w.vectors;
        for (std::int64_t d = 0; d < d_w.data; ++d) {
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t i = 0; i < streams; ++i)
                    h = put(h, w.data() + r * rows, r, d_h, i, streams, d_w.places[d]);
            for (std::int64_t t = 0; t < symbols; ++t)
                for (std::int64_t r = 0; r < rows; ++r)
                    y = put(y, w.data() + r * rows, r, d_y, t, symbols, d_w.places[d]);
        }
    }

private:
    const whitening& d_w;
    const frame_shape& d_s;
    planes d_y, d_x, d_h, d_gain;

    static void scale(planes& x, std::int64_t row, std::int64_t at, simd gain)
    {
        const complex_simd a = x.get(row, at);
        x.put(row, at, { a.re * gain, a.im * gain });
    }

    /* Multiply row r of a lower matrix by a column of values, one of every step rows. */
    static float* put(float* to,
                      const std::complex<float>* lower,
                      std::int64_t r,
                      planes& from,
                      std::int64_t row,
                      std::int64_t step,
                      std::int64_t k)
    {
        float re = 0, im = 0;
        for (std::int64_t q = 0; q <= r; ++q) {
            const float a = from.re(q * step + row)[k], b = from.im(q * step + row)[k];
            re += lower[q].real() * a - lower[q].imag() * b;
            im += lower[q].real() * b + lower[q].imag() * a;
        }
        to[0] = re;
        to[1] = im;
        return to + 2;
    }

    /* Return the correlation of the noise between antennas, with 1 on its diagonal, from
     * what is left of the symbols. */
    matrix correlation()
    {
        const std::int64_t rows = d_s.rows;
        matrix sums(rows * rows);
        aligned_vector<complex_simd> left(rows), part(rows * rows);
        for (std::int64_t at = 0; at < d_y.padded(); at += width) {
            std::fill(part.begin(), part.end(), complex_simd{ simd(0.0f), simd(0.0f) });
            for (std::int64_t t = 0; t < d_s.symbols; ++t)
                for (std::int64_t r = 0; r < rows; ++r) {
                    left[r] = d_y.get(r * d_s.symbols + t, at) -
                              expected(d_h, d_x, d_s, r, t, at);
                    for (std::int64_t q = 0; q <= r; ++q) /* left_r conj(left_q) */
                        part[r * rows + q] =
                            add_conjugate(part[r * rows + q], left[q], left[r]);
                }
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t q = 0; q <= r; ++q)
                    sums[r * rows + q] += std::complex<double>(
                        sum(part[r * rows + q].re), sum(part[r * rows + q].im));
        }
        const double count = static_cast<double>(d_s.symbols * d_s.carriers);
        double square = 0;
        matrix found(rows * rows);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t q = 0; q < r; ++q) {
                found[r * rows + q] =
                    sums[r * rows + q] /
                    std::sqrt(std::max(sums[r * rows + r].real(), 1e-20) *
                              std::max(sums[q * rows + q].real(), 1e-20));
                square += 2 * std::norm(found[r * rows + q]);
            }
        square /= static_cast<double>(rows * (rows - 1));
        /* Less than 1, because antennas that receive the same would have a singular
         * matrix. */
        const double share = std::min(
            std::max(1 - correlated / (count * std::max(square, 1e-20)), 0.0), 0.999);
        for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t q = 0; q < r; ++q) {
                found[r * rows + q] *= share;
                found[q * rows + r] = std::conj(found[r * rows + q]);
            }
            found[r * rows + r] = 1;
        }
        return found;
    }
};

} // namespace

void whiten(const whitening& w) { whitener(w).run(); }

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/product.h"
#include "cpu/simd.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* Rows and vectors of columns whose sums are in registers */
constexpr int rows = 4, vectors = simd::width == 16 ? 2 : 1;
constexpr int columns = vectors * simd::width;

/* Compute the rows from `first_row` on, of the columns from `first_column` on. */
void tile(const product_factor& b,
          const product_rows& a,
          std::size_t first_row,
          std::size_t first_column,
          float* result)
{
    const float* from[rows];
    for (int r = 0; r < rows; ++r) {
        const std::size_t row = first_row + r;
        from[r] = a.values + 2 * a.width * (row < a.n ? row : a.n - 1);
    }
    simd re[rows][vectors], im[rows][vectors];
    MP_UNROLL
    for (int r = 0; r < rows; ++r)
        MP_UNROLL
    for (int v = 0; v < vectors; ++v)
        re[r][v] = im[r][v] = simd(0.0f);
    const float* factor = b.values + packed_place(b.depth, 0, first_column);
    for (std::size_t k = 0; k < b.depth; ++k, factor += 2 * product_columns) {
        const std::size_t source = 2 * static_cast<std::size_t>(b.sources[k]);
        simd b_re[vectors], b_im[vectors];
        MP_UNROLL
        for (int v = 0; v < vectors; ++v) {
            b_re[v] = simd::load(factor + v * simd::width);
            b_im[v] = simd::load(factor + product_columns + v * simd::width);
        }
        MP_UNROLL
        for (int r = 0; r < rows; ++r) {
            const simd a_re(from[r][source]), a_im(from[r][source + 1]);
            MP_UNROLL
            for (int v = 0; v < vectors; ++v) {
                re[r][v] = fnma(a_im, b_im[v], fma(a_re, b_re[v], re[r][v]));
                im[r][v] = fma(a_im, b_re[v], fma(a_re, b_im[v], im[r][v]));
            }
        }
    }
    for (int r = 0; r < rows && first_row + r < a.n; ++r) {
        float* const to = result + 2 * a.starts[first_row + r];
        const float *const real = reinterpret_cast<const float*>(re[r]),
                           *const imaginary = reinterpret_cast<const float*>(im[r]);
        for (int c = 0; c < columns && first_column + c < b.columns; ++c) {
            const std::ptrdiff_t place = b.places[first_column + c];
            float* const element = to + 2 * place;
            element[0] = real[c];
            element[1] = imaginary[c];
        }
    }
}

} // namespace

void multiply(const product_factor* factors,
              std::size_t count,
              const product_rows& a,
              float* result,
              int threads)
{
    const std::size_t down = (a.n + rows - 1) / rows;
#pragma omp parallel num_threads(threads) if (threads > 1)
    for (std::size_t part = 0; part < count; ++part) {
        const product_factor& b = factors[part];
        const std::size_t across = (b.columns + columns - 1) / columns;
#pragma omp for nowait
        for (std::size_t i = 0; i < down * across; ++i)
            tile(b, a, i % down * rows, i / down * columns, result);
    }
}

void gram(std::size_t n,
          std::size_t height,
          std::size_t width,
          const float* y,
          float* result,
          int threads)
{
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (std::size_t which = 0; which < n; ++which) {
        const float* const own = y + 2 * which * height * width;
        float* const to = result + 2 * which * height * height;
        for (std::size_t i = 0; i < height; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                const float* const a = own + 2 * i * width;
                const float* const b = own + 2 * j * width;
                float re = 0.0f, im = 0.0f;
#pragma omp simd reduction(+ : re, im)
                for (std::size_t k = 0; k < width; ++k) {
                    re += a[2 * k] * b[2 * k] + a[2 * k + 1] * b[2 * k + 1];
                    im += a[2 * k + 1] * b[2 * k] - a[2 * k] * b[2 * k + 1];
                }
                float* const upper = to + 2 * (j * height + i);
                upper[0] = re;
                upper[1] = -im;
                float* const lower = to + 2 * (i * height + j);
                lower[0] = re;
                lower[1] = i == j ? 0.0f : im;
            }
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

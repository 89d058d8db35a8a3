/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Products of matrices of complex numbers */
#pragma once
#include <cstddef>
#include <cstdint>

namespace mimopack {

/* A right factor, in the order in which the product reads it */
struct product_factor {
    std::size_t depth, columns;
    const float* values; /* see packed_place; zeros behind the last column */
    const std::int32_t*
        sources;                /* depth: the columns of the left factor that rows meet */
    const std::int32_t* places; /* columns: their places behind the start of a row */
};

/* Columns that are together in memory, a multiple of all lanes */
constexpr std::size_t product_columns = 32;

/* Return the place in `values` of an element's real part. The imaginary part is
 * product_columns further on. */
constexpr std::size_t packed_place(std::size_t depth, std::size_t row, std::size_t column)
{
    const std::size_t tile = column / product_columns;
    return 2 * product_columns * (tile * depth + row) + column % product_columns;
}

/* The left factor: n rows of `width` complex numbers, and where the rows of the result
 * start */
struct product_rows {
    std::size_t n, width;
    const float* values;
    const std::int64_t* starts;
};

using product_function = void (*)(const product_factor* factors,
                                  std::size_t count,
                                  const product_rows&,
                                  float* result,
                                  int threads);

/* y y^H of each of n matrices y (height, width): (n, height, height) */
using gram_function = void (*)(std::size_t n,
                               std::size_t height,
                               std::size_t width,
                               const float* y,
                               float* result,
                               int threads);

} // namespace mimopack

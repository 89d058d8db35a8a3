/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Work on complex matrices, on all threads and in orders that NumPy does not offer */
#include "bindings/common.h"
#include "cpu/builds.h"
#include "cpu/product.h"
#include <algorithm>
#include <complex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mimopack {

#define MIMOPACK_DECLARE(isa)                                                            \
    namespace isa {                                                                      \
    void multiply(const product_factor*, std::size_t, const product_rows&, float*, int); \
    void gram(std::size_t, std::size_t, std::size_t, const float*, float*, int);         \
    }
MIMOPACK_BUILDS(MIMOPACK_DECLARE)
#undef MIMOPACK_DECLARE

namespace {

using complex_array = py::array_t<std::complex<float>, py::array::c_style>;
using index_array = py::array_t<std::int32_t, py::array::c_style>;
using long_array = py::array_t<std::int64_t, py::array::c_style>;

/* The functions for this machine's instruction set */
struct product_functions {
    product_function multiply;
    gram_function gram;
};

const product_functions& best_build()
{
    static const product_functions best = [] {
        const std::string name = find_build("auto").name;
        product_functions found{};
#define MIMOPACK_CHOOSE(isa) \
    found = name == #isa ? product_functions{ isa::multiply, isa::gram } : found;
        MIMOPACK_BUILDS(MIMOPACK_CHOOSE)
#undef MIMOPACK_CHOOSE
        return found;
    }();
    return best;
}

/* Return how many threads share the work: each gets `least` floats or more. */
int team_for(std::size_t floats, std::size_t least, int threads)
{
    return static_cast<int>(std::clamp<std::size_t>(
        floats / least, 1, static_cast<std::size_t>(team_size(threads))));
}

/* Return the end of the range that indices need. */
template <class T>
std::size_t end_of(const T* indices, std::size_t count)
{
    if (std::any_of(indices, indices + count, [](T index) { return index < 0; }))
        throw std::invalid_argument("an index is negative");
    return count ? *std::max_element(indices, indices + count) + 1 : 0;
}

/* Multiplies rows by constant matrices: element sources[k] of a row meets row k of a
 * matrix, and column j of its result is places[j] elements behind the row's start. */
class matrix_product
{
public:
    using part = std::tuple<complex_array, index_array, index_array>;

    /* parts: matrix, sources and places */
    explicit matrix_product(std::vector<part> parts)
        : d_multiply(best_build().multiply),
          d_parts(std::move(parts)),
          d_values(d_parts.size())
    {
        for (std::size_t p = 0; p < d_parts.size(); ++p) {
            const auto& [matrix, sources, places] = d_parts[p];
            std::vector<float>& values = d_values[p];
            const std::size_t depth = sources.size(), columns = places.size();
            if (static_cast<std::size_t>(matrix.size()) != depth * columns)
                throw std::invalid_argument("product: inconsistent shapes");
            values.resize(packed_place(depth, 0, columns + product_columns - 1));
            for (std::size_t i = 0; i < depth * columns; ++i) {
                const std::size_t place = packed_place(depth, i / columns, i % columns);
                values[place] = matrix.data()[i].real();
                values[place + product_columns] = matrix.data()[i].imag();
            }
            d_factors.push_back(
                { depth, columns, values.data(), sources.data(), places.data() });
            d_width = std::max(d_width, end_of(sources.data(), depth));
            d_reach = std::max(d_reach, end_of(places.data(), columns));
        }
    }

    /* Multiply the rows of a (n, width). Row i of the result starts at starts[i] in
     * `out`. */
    void run(const complex_array& a,
             const long_array& starts,
             complex_array& out,
             int threads) const
    {
        const std::size_t n = starts.size(), size = out.size();
        if (a.ndim() != 2 || static_cast<std::size_t>(a.shape(0)) != n ||
            static_cast<std::size_t>(a.shape(1)) < d_width ||
            (n && end_of(starts.data(), n) + d_reach > size + 1))
            throw std::invalid_argument("product: inconsistent shapes");
        const product_rows rows{ n,
                                 static_cast<std::size_t>(a.shape(1)),
                                 reinterpret_cast<const float*>(a.data()),
                                 starts.data() };
        float* const to = reinterpret_cast<float*>(out.mutable_data());
        const int team = team_size(threads);
        const py::gil_scoped_release release;
        d_multiply(d_factors.data(), d_factors.size(), rows, to, team);
    }

private:
    const product_function d_multiply;
    const std::vector<part> d_parts;
    std::vector<std::vector<float>> d_values; /* of each part */
    std::vector<product_factor> d_factors;
    std::size_t d_width = 0, d_reach = 0;
};

/* Write to `out` (n, count, columns): column j has the values (n, width) from first[j]
 * on. */
void interleave(const complex_array& values,
                const index_array& first,
                int count,
                complex_array& out,
                int threads)
{
    const std::size_t n = values.shape(0), width = values.shape(1),
                      columns = first.size(), rows = n * count;
    const std::int32_t* const begin = first.data();
    for (std::size_t j = 0; j < columns; ++j)
        if (begin[j] < 0 || begin[j] + static_cast<std::size_t>(count) > width)
            throw std::invalid_argument("interleave: a column lies outside the values");
    if (static_cast<std::size_t>(out.size()) != rows * columns)
        throw std::invalid_argument("interleave: inconsistent shapes");
    const std::complex<float>* const from = values.data();
    std::complex<float>* const to = out.mutable_data();
    const int team = team_size(threads);
    const py::gil_scoped_release release;
#pragma omp parallel for num_threads(team) if (team > 1)
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t j = 0; j < columns; ++j)
            to[row * columns + j] = from[row / count * width + row % count + begin[j]];
}

/* Return (n, rows, places): the elements of received (n, rows, width) at the places,
 * times the sequences (n, places). */
complex_array pilots(const complex_array& received,
                     const index_array& places,
                     const complex_array& sequences,
                     int threads)
{
    const std::size_t n = received.shape(0), rows = received.shape(1),
                      width = received.shape(2), count = places.size();
    const std::int32_t* const at = places.data();
    if (static_cast<std::size_t>(sequences.size()) != n * count ||
        end_of(at, count) > width)
        throw std::invalid_argument("pilots: inconsistent shapes");
    complex_array out({ n, rows, count });
    const float* const from = reinterpret_cast<const float*>(received.data());
    const float* const factors = reinterpret_cast<const float*>(sequences.data());
    float* const to = reinterpret_cast<float*>(out.mutable_data());
    const int team = team_for(2 * out.size(), 1 << 15, threads);
    const py::gil_scoped_release release;
#pragma omp parallel for num_threads(team) if (team > 1)
    for (std::size_t row = 0; row < n * rows; ++row) {
        const float* const own = from + 2 * row * width;
        const float* const factor = factors + 2 * (row / rows) * count;
        float* const result = to + 2 * row * count;
        for (std::size_t i = 0; i < count; ++i) {
            const float re = own[2 * at[i]], im = own[2 * at[i] + 1];
            result[2 * i] = re * factor[2 * i] - im * factor[2 * i + 1];
            result[2 * i + 1] = re * factor[2 * i + 1] + im * factor[2 * i];
        }
    }
    return out;
}

/* Return y y^H (n, rows, rows) of matrices y (n, rows, columns). */
complex_array gram(const complex_array& y, int threads)
{
    const std::size_t n = y.shape(0), rows = y.shape(1), columns = y.shape(2);
    complex_array out({ n, rows, rows });
    const float* const from = reinterpret_cast<const float*>(y.data());
    float* const to = reinterpret_cast<float*>(out.mutable_data());
    const int team = team_for(rows * y.size(), 1 << 15, threads);
    const py::gil_scoped_release release;
    best_build().gram(n, rows, columns, from, to, team);
    return out;
}

/* Return (n, period): column j is the sum of the powers of values j, j + period, ... of a
 * row (n, width). */
float_array powers(const complex_array& values, std::size_t period, int threads)
{
    const std::size_t n = values.shape(0), width = 2 * values.shape(1),
                      step = 128 * period; /* floats that have a sum of their own */
    float_array out({ n, period });
    const float* const from = reinterpret_cast<const float*>(values.data());
    float* const to = out.mutable_data();
    const int team = team_for(n * width, 1 << 19, threads);
    const py::gil_scoped_release release;
#pragma omp parallel for num_threads(team) if (team > 1)
    for (std::size_t row = 0; row < n; ++row) {
        std::vector<float> memory(step);
        float* const sums = memory.data();
        for (std::size_t first = 0; first < width; first += step) {
            const float* const part = from + row * width + first;
            const std::size_t count = std::min(step, width - first);
            for (std::size_t i = 0; i < count; ++i)
                sums[i] += part[i] * part[i];
        }
        std::fill_n(to + row * period, period, 0.0f);
        for (std::size_t i = 0; i < step; ++i)
            to[row * period + i / 2 % period] += sums[i];
    }
    return out;
}

} // namespace

void bind_matrices(py::module_& m)
{
    py::class_<matrix_product>(m, "Product", py::module_local())
        .def(py::init<std::vector<matrix_product::part>>(), py::arg("parts"))
        .def("run",
             &matrix_product::run,
             py::arg("a").noconvert(),
             py::arg("starts").noconvert(),
             py::arg("out").noconvert(),
             py::kw_only(),
             py::arg("threads"));
    m.def("interleave",
          &interleave,
          py::arg("values").noconvert(),
          py::arg("first").noconvert(),
          py::arg("count"),
          py::arg("out").noconvert(),
          py::arg("threads"));
    m.def("pilots",
          &pilots,
          py::arg("received").noconvert(),
          py::arg("places").noconvert(),
          py::arg("sequences").noconvert(),
          py::arg("threads"));
    m.def("gram", &gram, py::arg("y").noconvert(), py::arg("threads"));
    m.def("powers",
          &powers,
          py::arg("values").noconvert(),
          py::arg("period"),
          py::arg("threads"));
}

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/wifi/smoother.h"
#include <tuple>

namespace mimopack {

/* Return a filter, which is made when it is first needed. It stays until the thread's
 * next call. */
wifi_filter smoother::find(const void* self, int width, int level)
{
    constexpr std::size_t most = 512; /* filters kept */
    static thread_local std::shared_ptr<const filter> held;
    smoother& own = *static_cast<smoother*>(const_cast<void*>(self));
    const std::pair key(width, level);
    std::unique_lock lock(own.d_mutex);
    const auto found = own.d_filters.find(key);
    if (found != own.d_filters.end())
        held = found->second;
    else {
        lock.unlock(); /* make() waits for Python's lock */
        held = own.make(width, level);
        lock.lock();
        if (own.d_filters.size() >= most)
            own.d_filters.clear();
        own.d_filters.emplace(key, held);
    }
    return { held->rank, held->analysis.data(), held->synthesis.data(), held->error };
}

/* Return the values of a matrix, the last axis padded; transposed: with axes exchanged.
 */
static std::vector<float> padded(const float_array& matrix, bool transposed)
{
    const std::int64_t rows = matrix.shape(transposed),
                       columns = matrix.shape(!transposed);
    std::vector<float> out(rows * wifi_padded(columns));
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
            out[i * wifi_padded(columns) + j] =
                transposed ? matrix.at(j, i) : matrix.at(i, j);
    return out;
}

/* Return the real parts of each row of a matrix, followed by its imaginary parts. */
static std::vector<float> planes(const complex_array& matrix)
{
    std::vector<float> out;
    for (py::ssize_t i = 0; i < matrix.shape(0); ++i) {
        for (py::ssize_t j = 0; j < matrix.shape(1); ++j)
            out.push_back(matrix.at(i, j).real());
        for (py::ssize_t j = 0; j < matrix.shape(1); ++j)
            out.push_back(matrix.at(i, j).imag());
    }
    return out;
}

std::shared_ptr<const smoother::filter> smoother::make(int width, int level) const
{
    const py::gil_scoped_acquire acquire;
    const auto [analysis, synthesis, error] =
        d_make(width, level).cast<std::tuple<float_array, float_array, double>>();
    return std::make_shared<const filter>(filter{
        analysis.shape(0), padded(analysis, true), padded(synthesis, true), error });
}

smoother::smoother(const py::kwargs& given)
    : d_k(keyword<long_array>(given, "k")),
      d_wanted(keyword<long_array>(given, "wanted")),
      d_place(keyword<long_array>(given, "place")),
      d_delay(keyword<double_array>(given, "delay")),
      d_weights(keyword<float_array>(given, "weights")),
      d_inner(planes(keyword<complex_array>(given, "inner"))),
      d_make(keyword<py::function>(given, "make"))
{
    const auto outer = keyword<complex_array>(given, "outer");
    d_re = padded(py::object(outer.attr("real")), false);
    d_im = padded(py::object(outer.attr("imag")), false);
    const wifi_delay_rules rules{
        keyword<double>(given, "lobe"),     keyword<double>(given, "longest"),
        keyword<double>(given, "margin"),   keyword<double>(given, "margin_per_db"),
        keyword<double>(given, "sidelobe"), keyword<double>(given, "step"),
        keyword<double>(given, "step_db")
    };
    d_plan = { d_k.size(),
               d_wanted.size(),
               d_delay.size(),
               d_k.data(),
               d_wanted.data(),
               keyword<int>(given, "density"),
               keyword<int>(given, "apart"),
               d_delay.data(),
               d_place.size(),
               outer.shape(0),
               d_place.data(),
               d_weights.data(),
               d_inner.data(),
               d_re.data(),
               d_im.data(),
               rules,
               &find,
               this };
}

py::tuple
smoother::run(const complex_array& channel, double noise, const std::string& isa) const
{
    const std::int64_t frames = channel.shape(0), rows = channel.shape(2);
    complex_array out({ frames, d_plan.wanted, rows });
    double_array error(frames), paths({ frames, std::int64_t{ 64 } });
    long_array done(frames);
    find_wifi(isa).smooth_channels({ &d_plan,
                                     frames,
                                     rows,
                                     floats(channel),
                                     noise,
                                     true,
                                     floats(out),
                                     error.mutable_data(),
                                     done.mutable_data(),
                                     paths.mutable_data() });
    return py::make_tuple(out, error, done, paths);
}

void bind_wifi_smoother(py::module_& m)
{
    py::class_<smoother, std::shared_ptr<smoother>>(m, "Smoother", py::module_local())
        .def(py::init<const py::kwargs&>())
        .def("smooth",
             &smoother::run,
             py::arg("channel").noconvert(),
             py::arg("noise"),
             py::kw_only(),
             py::arg("isa") = "auto");
}

} // namespace mimopack

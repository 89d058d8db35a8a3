/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays and memory that all bindings of the Wi-Fi receiver's inner loops share.
 *
 * The package's own Python modules call these bindings, with arrays of the shapes that
 * the comments give. pybind11 checks types and the order in memory, nothing else is
 * checked here. A long call releases Python's lock. A short call keeps it: while other
 * threads want the lock, getting it back takes longer than the call itself. */
#pragma once
#include "bindings/common.h"
#include "wifi/plan.h"
#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mimopack {

using complex_array = py::array_t<std::complex<float>, py::array::c_style>;
using double_array = py::array_t<double, py::array::c_style>;
using long_array = py::array_t<std::int64_t, py::array::c_style>;
/* Samples (rows, length), each row without gaps; the rows may lie apart. */
using row_array = py::array_t<std::complex<float>>;

/* Return the Wi-Fi loops of an instruction set; throw std::invalid_argument for an
 * unknown one. */
const wifi_build& find_wifi(const std::string& isa);

/* These are templates so that no argument is converted: a temporary array would count
 * references, which needs Python's lock. */
template <int flags>
const float* floats(const py::array_t<std::complex<float>, flags>& a)
{
    return reinterpret_cast<const float*>(a.data());
}

inline float* floats(complex_array& a)
{
    return reinterpret_cast<float*>(a.mutable_data());
}

template <int flags>
wifi_samples samples_of(const py::array_t<std::complex<float>, flags>& a)
{
    constexpr py::ssize_t size = sizeof(std::complex<float>);
    return { floats(a), a.shape(1), a.strides(0) / size };
}

/* Memory that a thread keeps from one call to the next. Fresh memory costs as much time
 * as some of the loops that use it. Objects of one type nest up to `levels` deep. */
template <typename T>
class scratch
{
public:
    explicit scratch(std::size_t size) : d_vector(vectors()[depth()])
    {
        if (d_vector.size() < size)
            d_vector.resize(size);
        ++depth();
    }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    ~scratch()
    {
        --depth();
        if (d_vector.size() * sizeof(T) > most)
            std::vector<T>().swap(d_vector);
    }

    T* data() { return d_vector.data(); }

private:
    static constexpr std::size_t most = std::size_t{ 16 } << 20; /* bytes kept */
    static constexpr int levels = 6;

    std::vector<T>& d_vector;

    static std::array<std::vector<T>, levels>& vectors()
    {
        static thread_local std::array<std::vector<T>, levels> all;
        return all;
    }

    static int& depth()
    {
        static thread_local int now = 0;
        return now;
    }
};

/* Return a power in dB. */
double decibels(double power);

void bind_wifi_headers(py::module_& m);
void bind_wifi_following(py::module_& m);
void bind_wifi_samples(py::module_& m);
void bind_wifi_channels(py::module_& m);
void bind_wifi_smoother(py::module_& m);
void bind_wifi_decoding(py::module_& m);
void bind_wifi_demodulator(py::module_& m);

} // namespace mimopack

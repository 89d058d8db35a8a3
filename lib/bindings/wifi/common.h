/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays, checks and memory that all bindings of the Wi-Fi receiver's inner loops share.
 *
 * Every binding checks the shapes and indices of its arguments, so that no call can read
 * or write outside of an array. A long call releases Python's lock. A short call keeps
 * it: while other threads want the lock, getting it back takes longer than the call
 * itself. */
#pragma once
#include "bindings/common.h"
#include "wifi/plan.h"
#include <initializer_list>
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <complex>
#include <cstdint>
#include <optional>
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

/* Throw std::invalid_argument in the name of `function` unless `holds`. */
void require(bool holds, const char* function);

bool has_shape(const py::array& a, std::initializer_list<std::int64_t> shape);

/* Return whether `places` is one-dimensional and holds numbers of 0 .. size - 1 only. */
bool within(const long_array& places, std::int64_t size);

/* Return whether `rows` antennas are few enough for the loops. */
bool can_be_rows(std::int64_t rows);

inline const float* floats(const complex_array& a)
{
    return reinterpret_cast<const float*>(a.data());
}

inline float* floats(complex_array& a)
{
    return reinterpret_cast<float*>(a.mutable_data());
}

bool in_rows(const row_array& samples);

/* Return the distance between the starts of two rows, in complex numbers. */
std::int64_t row_stride(const row_array& samples);

/* The samples of several frames, as the loops take them. `samples` must outlive the
 * object.
 */
struct frames_of {
    std::vector<const float*> data;
    std::vector<std::int64_t> length, stride;
    bool fits = true; /* every array has `rows` rows without gaps and at least a sample */

    frames_of(const std::vector<row_array>& samples, std::int64_t rows);
    /* The same samples (rows, length) for each of `frames` frames */
    frames_of(const complex_array& samples, std::int64_t frames);
    wifi_frames all() const { return { data.data(), length.data(), stride.data() }; }
};

/* How preambles are acquired, see wifi_acquisition */
struct acquisition_settings {
    int scale, turns;
    long_array bins; /* parts x wifi_legacy */
    float_array sequence;
    complex_array reference; /* parts x fft */

    std::int64_t fft() const { return std::int64_t{ 64 } * scale; }
    std::int64_t parts() const { return bins.shape(0); }
    bool fits() const;
};

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
    static constexpr int levels = 4;

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

/* An array that needs no Python lock until Python sees it. Its values are not set at first.
 */
template <typename T>
class buffer
{
public:
    explicit buffer(std::vector<py::ssize_t> shape)
        : d_shape(std::move(shape)),
          d_size(std::accumulate(d_shape.begin(),
                                 d_shape.end(),
                                 py::ssize_t{ 1 },
                                 std::multiplies<py::ssize_t>())),
          d_data(static_cast<T*>(::operator new(sizeof(T) * d_size)))
    {
    }

    const T* data() const { return d_data.get(); }
    T* mutable_data() { return d_data.get(); }
    std::int64_t size() const { return d_size; }
    std::int64_t shape(std::size_t axis) const { return d_shape[axis]; }

    /* Return an array of this memory from value `at` on. `owner` keeps this object. */
    py::array_t<T> array(std::int64_t at,
                         const std::vector<py::ssize_t>& shape,
                         const py::object& owner) const
    {
        return py::array_t<T>(shape, data() + at, owner);
    }

    /* Return row i of this memory, as the only row of a NumPy array. */
    py::array_t<T> row(std::int64_t i, const py::object& owner) const
    {
        std::vector<py::ssize_t> shape = d_shape;
        shape[0] = 1;
        return array(i * (d_size / d_shape[0]), shape, owner);
    }

    /* Free the memory. */
    void clear() { d_data.reset(); }

private:
    struct freeing {
        void operator()(T* memory) const { ::operator delete(memory); }
    };

    std::vector<py::ssize_t> d_shape;
    py::ssize_t d_size;
    std::unique_ptr<T, freeing> d_data;
};

inline float* floats(buffer<std::complex<float>>& a)
{
    return reinterpret_cast<float*>(a.mutable_data());
}

/* Return an object that keeps another one as long as arrays of its memory exist. */
template <typename T>
py::capsule owner_of(std::shared_ptr<T> kept)
{
    using pointer = std::shared_ptr<T>;
    return { new pointer(std::move(kept)),
             [](void* held) { delete static_cast<pointer*>(held); } };
}

void bind_wifi_preamble(py::module_& m);
void bind_wifi_headers(py::module_& m);
void bind_wifi_following(py::module_& m);
void bind_wifi_samples(py::module_& m);
void bind_wifi_channels(py::module_& m);
void bind_wifi_smoother(py::module_& m);
void bind_wifi_decoding(py::module_& m);
void bind_wifi_refinement(py::module_& m);
void bind_wifi_demodulator(py::module_& m);

} // namespace mimopack

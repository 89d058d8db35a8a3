/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversion of samples to the integers of a recording, in one call without Python's
 * lock, which a receiver in the same process may want. */
#include "bindings/common.h"
#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

/* The loader of the library picks the best of two builds. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define MIMOPACK_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define MIMOPACK_CLONES
#endif

namespace mimopack {

namespace {

using samples_array = py::array_t<std::complex<float>, py::array::c_style>;

/* Convert components to integers: scale, round to nearest, and clip to the type's range.
 * A component that is not a number becomes the offset. Return how many components were
 * clipped or were not numbers. */
template <typename T>
MIMOPACK_CLONES int
quantise(const float* in, T* out, int count, float factor, float offset)
{
    static_assert(sizeof(T) <= 2, "all values must be exact in a float");
    /* A float of this size has no room for a fraction. Adding it rounds, half to even
     * like rint. */
    constexpr float round = 3 << 22;
    const float low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const float least = low - offset - 1, most = high - offset + 1;
    int clipped = 0;
    for (int i = 0; i < count; ++i) {
        float x = in[i] * factor;
        x = x > least ? x : x <= least ? least : 0;
        x = x < most ? x : most;
        x = ((x + round) - round) + offset;
        clipped += !(in[i] == in[i]) | (x < low) | (x > high);
        x = x > low ? x : low;
        x = x < high ? x : high;
        out[i] = static_cast<T>(static_cast<int>(x));
    }
    return clipped;
}

/* Interleave channels: out[sample][channel][2]. */
template <typename T>
std::size_t interleave(const std::vector<const float*>& channels,
                       T* out,
                       std::size_t samples,
                       float factor,
                       float offset)
{
    constexpr std::size_t piece = 1024;
    T stored[2 * piece];
    const std::size_t width = channels.size();
    std::size_t clipped = 0;
    for (std::size_t begin = 0; begin < samples; begin += piece) {
        const std::size_t count = std::min(piece, samples - begin);
        for (std::size_t channel = 0; channel < width; ++channel) {
            const float* in = channels[channel] + 2 * begin;
            clipped += quantise(in, stored, static_cast<int>(2 * count), factor, offset);
            T* to = out + 2 * (begin * width + channel);
            for (std::size_t i = 0; i < count; ++i, to += 2 * width)
                std::memcpy(to, stored + 2 * i, 2 * sizeof(T));
        }
    }
    return clipped;
}

/* Quantise channels of n samples into a C-contiguous array (n, channels, 2). */
template <typename T>
std::size_t quantise_samples(const std::vector<samples_array>& samples,
                             py::array_t<T, py::array::c_style>& out,
                             float factor,
                             float offset)
{
    std::vector<const float*> channels;
    for (const samples_array& channel : samples) {
        if (channel.ndim() != 1 || channel.shape(0) != out.shape(0))
            throw std::invalid_argument(
                "quantise_samples: a channel must have n samples");
        channels.push_back(reinterpret_cast<const float*>(channel.data()));
    }
    const std::size_t count = out.shape(0);
    if (static_cast<std::size_t>(out.size()) != 2 * count * channels.size())
        throw std::invalid_argument("quantise_samples: out must be (n, channels, 2)");
    T* const to = out.mutable_data();
    const py::gil_scoped_release release;
    return interleave(channels, to, count, factor, offset);
}

template <typename T>
void bind(py::module_& m)
{
    m.def("quantise_samples",
          &quantise_samples<T>,
          py::arg("samples"),
          py::arg("out").noconvert(),
          py::kw_only(),
          py::arg("factor"),
          py::arg("offset"));
}

} // namespace

void bind_recording(py::module_& m)
{
    bind<std::int16_t>(m);
    bind<std::uint16_t>(m);
    bind<std::int8_t>(m);
    bind<std::uint8_t>(m);
}

} // namespace mimopack

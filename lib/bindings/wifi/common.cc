/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/wifi/common.h"
#include "cpu/builds.h"
#include <cstring>
#include <stdexcept>

namespace mimopack {

#define MIMOPACK_DECLARE(isa)     \
    namespace isa {               \
    extern const wifi_build wifi; \
    }
MIMOPACK_BUILDS(MIMOPACK_DECLARE)
#undef MIMOPACK_DECLARE
#define MIMOPACK_ADDRESS(isa) &isa::wifi,

const wifi_build& find_wifi(const std::string& isa)
{
    const char* name = find_build(isa).name;
    const wifi_build* found = nullptr;
    for (const wifi_build* build : { MIMOPACK_BUILDS(MIMOPACK_ADDRESS) })
        if (!std::strcmp(build->name, name))
            found = build;
    return *found;
}
#undef MIMOPACK_ADDRESS

void require(bool holds, const char* function)
{
    if (!holds)
        throw std::invalid_argument(std::string(function) + ": inconsistent arguments");
}

bool has_shape(const py::array& a, std::initializer_list<std::int64_t> shape)
{
    return a.ndim() == static_cast<std::int64_t>(shape.size()) &&
           std::equal(shape.begin(), shape.end(), a.shape());
}

bool within(const long_array& places, std::int64_t size)
{
    for (std::int64_t i = 0; i < places.size(); ++i)
        if (places.data()[i] < 0 || places.data()[i] >= size)
            return false;
    return places.ndim() == 1;
}

bool can_be_rows(std::int64_t rows) { return rows >= 1 && rows <= 256; }

bool in_rows(const row_array& samples)
{
    constexpr py::ssize_t size = sizeof(std::complex<float>);
    return samples.ndim() == 2 && (samples.shape(1) <= 1 || samples.strides(1) == size) &&
           !(samples.strides(0) % size);
}

std::int64_t row_stride(const row_array& samples)
{
    return samples.strides(0) / static_cast<py::ssize_t>(sizeof(std::complex<float>));
}

bool acquisition_settings::fits() const
{
    return scale >= 1 && scale <= 64 && !(scale & (scale - 1)) && turns >= 0 &&
           turns <= 8 && bins.ndim() == 2 && parts() >= 1 && parts() <= wifi_max_parts &&
           bins.shape(1) == wifi_legacy && has_shape(sequence, { wifi_legacy }) &&
           has_shape(reference, { parts(), fft() }) &&
           std::all_of(bins.data(), bins.data() + bins.size(), [&](std::int64_t one) {
               return one >= 0 && one < fft();
           });
}

frames_of::frames_of(const std::vector<row_array>& samples, std::int64_t rows)
{
    for (const row_array& one : samples) {
        fits = fits && in_rows(one) && one.shape(0) == rows && one.shape(1) >= 1;
        data.push_back(reinterpret_cast<const float*>(one.data()));
        length.push_back(fits ? one.shape(1) : 0);
        stride.push_back(fits ? row_stride(one) : 0);
    }
}

frames_of::frames_of(const complex_array& samples, std::int64_t frames)
    : data(frames, floats(samples)),
      length(frames, samples.shape(1)),
      stride(frames, samples.shape(1)),
      fits(samples.shape(0) >= 1 && samples.shape(1) >= 1)
{
}

void bind_wifi(py::module_& core)
{
    auto m = core.def_submodule("wifi", "Inner loops of gnuradio.mimopack.wifi.");
    bind_wifi_preamble(m);
    bind_wifi_smoother(m); /* before the classes that take a Smoother */
    bind_wifi_headers(m);
    bind_wifi_following(m);
    bind_wifi_samples(m);
    bind_wifi_channels(m);
    bind_wifi_decoding(m);
    bind_wifi_refinement(m);
    bind_wifi_demodulator(m);
}

} // namespace mimopack

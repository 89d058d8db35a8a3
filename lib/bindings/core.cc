/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Python bindings of the CPU detectors. Arguments are checked by the Python layer above
 * (detectors/base.py) and once more here where a mistake would read or write past an
 * array. */
#include "common.h"
#include "cpu/builds.h"
#include <omp.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace mimopack;

namespace {

using complex_array = py::array_t<std::complex<float>, py::array::c_style>;
using count_array = py::array_t<std::uint32_t, py::array::c_style>;

/* Sets the named members of detector_options; the others keep their defaults. */
detector_options read_options(const py::dict& given)
{
    detector_options options;
    const std::map<std::string, int*> integers = {
        { "num_passes", &options.num_passes },
        { "levels", &options.levels },
        { "num_paths", &options.num_paths },
        { "k", &options.k },
        { "num_iterations", &options.num_iterations },
        { "ordering", &options.ordering },
        { "method", &options.method },
        { "log_sum", &options.log_sum },
        { "radius", &options.radius },
        { "psd_stages", &options.psd_stages },
        { "psd_threads", &options.psd_threads },
    };
    const std::map<std::string, float*> numbers = {
        { "llr_clip", &options.llr_clip },
        { "smoothing", &options.smoothing },
        { "initial_variance", &options.initial_variance },
    };
    const std::map<std::string, int*> lists = {
        { "psd_levels", options.psd_levels },
        { "psd_expansions", options.psd_expansions },
    };
    for (const auto& [key, value] : given) {
        const auto name = key.cast<std::string>();
        if (integers.count(name)) {
            *integers.at(name) = value.cast<int>();
        } else if (numbers.count(name)) {
            *numbers.at(name) = value.cast<float>();
        } else if (lists.count(name)) {
            const auto values = value.cast<std::vector<int>>();
            if (values.size() > max_search_stages)
                throw std::invalid_argument("detector: too many values of " + name);
            std::copy(values.begin(), values.end(), lists.at(name));
        } else if (name == "extrinsic") {
            options.extrinsic = value.cast<bool>();
        } else {
            throw std::invalid_argument("detector: unknown option " + name);
        }
    }
    return options;
}

/* memcpy by several threads: the memory bandwidth that benchmarks compare with, and what
 * carries batches to memory that a GPU reads */
void copy(py::array& out, const py::array& source, int threads)
{
    if (out.nbytes() != source.nbytes())
        throw std::invalid_argument("copy: out and source differ in size");
    if (!(out.flags() & source.flags() & py::array::c_style))
        throw std::invalid_argument("copy: out and source must be C-contiguous");
    constexpr std::size_t line = 64;
    const int count = team_size(threads);
    const std::size_t size = source.nbytes(), share = (size / count + line) / line * line;
    char* const to = static_cast<char*>(out.mutable_data());
    const char* const from = static_cast<const char*>(source.data());
    const py::gil_scoped_release release;
#pragma omp parallel for num_threads(count)
    for (int t = 0; t < count; ++t) {
        const std::size_t first = std::min(size, t * share);
        const std::size_t last = std::min(size, first + share);
        std::memcpy(to + first, from + first, last - first);
    }
}

/* The parallel sphere detector's levels fall to 1, and its buffers have a limit. */
bool valid_search_shape(const detector_options& options, int num_tx, int width)
{
    constexpr double largest_buffer = 1 << 16, largest_round = 1 << 24;
    const int stages = options.psd_stages;
    if (stages < 1 || stages > max_search_stages || options.psd_threads < 1 ||
        options.psd_levels[stages - 1] != 1)
        return false;
    int above = 2 * num_tx + 1, parents = 1;
    for (int s = 0; s < stages; ++s) {
        const int level = options.psd_levels[s];
        if (level < 1 || level >= above)
            return false;
        const double nodes = std::ldexp(parents, width * (above - level));
        const bool last = s + 1 == stages;
        if (nodes > (last ? largest_round : largest_buffer))
            return false;
        parents = options.psd_expansions[s];
        if (!last && (parents < 1 || parents > nodes))
            return false;
        above = level;
    }
    return true;
}

class detector : public cpu_detector
{
public:
    detector(const std::string& name,
             int num_tx,
             int num_rx,
             const std::vector<std::complex<float>>& points,
             int width,
             float scale,
             const std::vector<int>& bit_source,
             const std::vector<float>& bit_sign,
             const py::dict& options,
             const std::string& isa)
        : d_plan(), d_build(find_build(isa)), d_run(nullptr)
    {
        const detector_entry* entry = d_build.detectors;
        while (entry->name && name != entry->name)
            ++entry;
        d_run = entry->run;
        constellation& c = d_plan.points;
        c.bits = static_cast<int>(bit_source.size());
        c.size = static_cast<int>(points.size());
        if (!d_run)
            throw std::invalid_argument("detector: " + name + " has no cpu backend");
        d_plan.options = read_options(options);
        if (num_tx < 1 || num_tx > entry->max_tx || num_rx < num_tx || num_rx > 256 ||
            c.bits < 1 || c.bits > max_bits_per_symbol || c.size != 1 << c.bits ||
            bit_sign.size() != bit_source.size() || (width && 2 * width != c.bits) ||
            (entry->needs_width && !width) || d_plan.options.num_passes < 1 ||
            d_plan.options.num_passes > num_tx || d_plan.options.num_iterations < 1 ||
            d_plan.options.k < 1 || d_plan.options.k > max_list)
            throw std::invalid_argument("detector: inconsistent arguments");
        const detector_options& own = d_plan.options;
        if (own.levels < 1 || own.levels > num_tx || own.levels * c.bits > 24 ||
            own.num_paths < 1 || own.num_paths > 1024)
            throw std::invalid_argument("detector: levels or num_paths out of range");
        if (name == "psd" && !valid_search_shape(d_plan.options, num_tx, width))
            throw std::invalid_argument("detector: levels and expansions do not fit");
        d_plan.num_tx = num_tx;
        d_plan.num_rx = num_rx;
        c.width = width;
        c.scale = scale;
        for (int b = 0; b < c.bits; ++b) {
            if (bit_source[b] < 0 || bit_source[b] >= c.bits)
                throw std::invalid_argument("detector: bit_source out of range");
            c.bit_source[b] = bit_source[b];
            c.bit_sign[b] = bit_sign[b];
        }
        for (int s = 0; s < c.size; ++s) {
            c.re[s] = points[s].real();
            c.im[s] = points[s].imag();
        }
    }

    std::size_t detect(const complex_array& y,
                       const complex_array& h,
                       const float_array& noise_var,
                       const py::object& prior,
                       py::array& out,
                       float int8_scale,
                       int threads,
                       const std::optional<byte_array>& hard,
                       std::optional<count_array> nodes) const
    {
        batch b{};
        b.n = y.shape(0);
        const std::size_t matrices = h.shape(0);
        const std::size_t num_llr = d_plan.num_tx * d_plan.points.bits;
        float_array prior_array;
        if (!prior.is_none()) {
            prior_array = prior.cast<float_array>();
            b.prior = prior_array.data();
        }
        if (y.ndim() != 2 || y.shape(1) != d_plan.num_rx || h.ndim() != 3 ||
            h.shape(1) != d_plan.num_rx || h.shape(2) != d_plan.num_tx ||
            (b.n ? matrices == 0 || b.n % matrices : matrices != 0) ||
            (noise_var.size() != 1 &&
             static_cast<std::size_t>(noise_var.size()) != b.n) ||
            (b.prior && static_cast<std::size_t>(prior_array.size()) != b.n * num_llr) ||
            static_cast<std::size_t>(out.size()) != b.n * num_llr ||
            !(out.flags() & py::array::c_style))
            throw std::invalid_argument("detect: array shapes do not fit");
        if (hard) {
            if (hard->ndim() != 3 || hard->shape(0) < 1 ||
                static_cast<std::size_t>(hard->shape(1)) != b.n ||
                static_cast<std::size_t>(hard->shape(2)) != num_llr)
                throw std::invalid_argument("detect: hard does not fit");
            b.hard = hard->data();
            b.num_hard = hard->shape(0);
        }
        if (nodes) {
            if (nodes->ndim() != 2 || nodes->shape(1) < d_plan.options.psd_threads ||
                static_cast<std::size_t>(nodes->shape(0)) != b.n)
                throw std::invalid_argument("detect: nodes does not fit");
            b.nodes = nodes->mutable_data();
            b.nodes_per_vector = nodes->shape(1);
        }
        if (b.n == 0)
            return 0;
        b.per_channel = b.n / matrices;
        b.y = reinterpret_cast<const float*>(y.data());
        b.h = reinterpret_cast<const float*>(h.data());
        b.noise_var = noise_var.data();
        b.noise_per_vector = noise_var.size() > 1;
        if (py::isinstance<py::array_t<float>>(out))
            b.llr = static_cast<float*>(out.mutable_data());
        else if (py::isinstance<py::array_t<std::int8_t>>(out))
            b.llr_int8 = static_cast<std::int8_t*>(out.mutable_data());
        else
            throw std::invalid_argument("detect: out must be float32 or int8");
        b.int8_scale = int8_scale;
        return run_batch(b, threads, [&](const batch& all) { return run(all); });
    }

    const plan& shape() const override { return d_plan; }
    std::size_t run(const batch& b) const override { return d_run(d_plan, b); }

    std::string isa() const { return d_build.name; }

private:
    plan d_plan;
    const isa_build& d_build;
    run_function d_run;
};

} // namespace

PYBIND11_MODULE(_core, m)
{
    m.doc() = "CPU detectors of gr-mimopack; use gnuradio.mimopack.detectors instead.";
    int usable;
    available_builds(usable);
    if (usable == 0)
        throw py::import_error(
            "this processor has none of the instruction sets that gr-mimopack was "
            "compiled "
            "for: build it on this machine, or with -DMIMOPACK_ISAS=all");
    watch_forks();
    py::class_<cpu_detector>(m, "CpuDetector");
    bind_convolutional(m);
    bind_ldpc(m);
    bind_recording(m);
    bind_turbo(m);
    bind_viterbi(m);
    bind_wifi(m);
#define MIMOPACK_NAME(isa) #isa,
    m.def("compiled_isas",
          [] { return std::vector<std::string>{ MIMOPACK_BUILDS(MIMOPACK_NAME) }; });
    m.def("available_isas", [] {
        int count;
        const isa_build* const* builds = available_builds(count);
        std::vector<std::string> names;
        for (int i = 0; i < count; ++i)
            names.push_back(builds[i]->name);
        return names;
    });
    m.def("isa", [] { return std::string(find_build("auto").name); });
    m.def("lanes", [](const std::string& isa) { return find_build(isa).lanes; });
    m.def("instructions_per_fma",
          [](const std::string& isa) { return find_build(isa).instructions_per_fma; });
    m.def(
        "issue_arithmetic",
        [](const std::string& isa, int threads, std::size_t rounds) {
            const isa_build& build = find_build(isa);
            const int count = team_size(threads);
            float value = 1.0f;
            const py::gil_scoped_release release;
            return build.issue_arithmetic(count, rounds, &value);
        },
        py::arg("isa"),
        py::arg("threads"),
        py::arg("rounds"));
    m.def("copy",
          &copy,
          py::arg("out").noconvert(),
          py::arg("source").noconvert(),
          py::arg("threads"));
    m.def("max_threads", [] { return omp_get_max_threads(); });
    py::class_<detector, cpu_detector>(m, "Detector")
        .def(py::init<const std::string&,
                      int,
                      int,
                      const std::vector<std::complex<float>>&,
                      int,
                      float,
                      const std::vector<int>&,
                      const std::vector<float>&,
                      const py::dict&,
                      const std::string&>(),
             py::arg("name"),
             py::kw_only(),
             py::arg("num_tx"),
             py::arg("num_rx"),
             py::arg("points"),
             py::arg("width"),
             py::arg("scale"),
             py::arg("bit_source"),
             py::arg("bit_sign"),
             py::arg("options") = py::dict(),
             py::arg("isa") = "auto")
        .def("detect",
             &detector::detect,
             py::arg("y").noconvert(),
             py::arg("h").noconvert(),
             py::arg("noise_var").noconvert(),
             py::arg("prior"),
             py::arg("out").noconvert(),
             py::arg("int8_scale"),
             py::arg("threads"),
             py::arg("hard") = py::none(),
             py::arg("nodes") = py::none())
        .def_property_readonly("isa", &detector::isa);
}

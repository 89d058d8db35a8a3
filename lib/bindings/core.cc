/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Python bindings of the CPU detectors. The Python layer above (detectors/base.py) checks
 * arguments. */
#include "bindings/common.h"
#include "cpu/builds.h"
#include <dlfcn.h>
#include <omp.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <algorithm>
#include <complex>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace mimopack;

namespace {

using complex_array = py::array_t<std::complex<float>, py::array::c_style>;
using count_array = py::array_t<std::uint32_t, py::array::c_style>;

/* The options of a plan, with their memory */
struct option_values {
    std::vector<std::string> names;
    std::vector<std::vector<int>> lists;
    std::vector<option> options;

    explicit option_values(const py::dict& given)
    {
        for (const auto& [key, value] : given) {
            names.push_back(key.cast<std::string>());
            lists.emplace_back();
            option o{};
            if (py::isinstance<py::list>(value))
                lists.back() = value.cast<std::vector<int>>();
            else
                o.number = value.cast<double>();
            options.push_back(o);
        }
        for (std::size_t i = 0; i < options.size(); ++i) {
            options[i].name = names[i].c_str();
            const py::handle value = given[names[i].c_str()];
            if (py::isinstance<py::list>(value)) {
                static const int none = 0;
                options[i].list = lists[i].empty() ? &none : lists[i].data();
                options[i].length = static_cast<int>(lists[i].size());
            }
        }
    }

    /* Their names and types, for messages */
    std::string listed() const
    {
        std::string text;
        for (const option& o : options)
            text += (text.empty() ? "" : ", ") + std::string(o.name) +
                    (o.list ? " (a list)" : " (a number)");
        return text;
    }
};

/* Copy memory by several threads. Benchmarks compare with the bandwidth, and batches
 * reach memory that a GPU reads this way. */
void copy(py::array& out, const py::array& source, int threads)
{
    if (out.nbytes() != source.nbytes())
        throw std::invalid_argument("copy: out and source differ in size");
    if (!(out.flags() & source.flags() & py::array::c_style))
        throw std::invalid_argument("copy: out and source must be C-contiguous");
    constexpr std::size_t line = 64;
    const int count = team_size(threads);
    const std::size_t size = source.nbytes();
    char* const to = static_cast<char*>(out.mutable_data());
    const char* const from = static_cast<const char*>(source.data());
    const py::gil_scoped_release release;
    const std::size_t share = (size / count + line) / line * line;
#pragma omp parallel for num_threads(count)
    for (int t = 0; t < count; ++t) {
        const std::size_t first = std::min(size, t * share);
        const std::size_t last = std::min(size, first + share);
        std::memcpy(to + first, from + first, last - first);
    }
}

/* Modules that were loaded, which stay for good */
std::vector<const detector_module*>& modules()
{
    static std::vector<const detector_module*> loaded;
    return loaded;
}

void load_module(const std::string& path)
{
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
        throw std::invalid_argument(dlerror());
    const auto* const found =
        static_cast<const detector_module*>(dlsym(library, "mimopack_detectors"));
    if (!found)
        throw std::invalid_argument(path + ": must contain a MIMOPACK_MODULE");
    if (found->version != module_version)
        throw std::invalid_argument(path + ": compiled with headers of version " +
                                    std::to_string(found->version) + ", must be " +
                                    std::to_string(module_version));
    modules().push_back(found);
}

run_function find_run(const detector_entry* entry, const std::string& name)
{
    while (entry->name && name != entry->name)
        ++entry;
    return entry->run;
}

class detector : public cpu_detector
{
public:
    /* given: Detector.plan() in Python */
    detector(const py::dict& given, const std::string& isa)
        : d_plan(), d_options(given["options"].cast<py::dict>())
    {
        const auto name = given["name"].cast<std::string>();
        find(name, isa);
        d_plan.num_tx = given["num_tx"].cast<int>();
        d_plan.num_rx = given["num_rx"].cast<int>();
        d_plan.extrinsic = given["extrinsic"].cast<bool>();
        d_plan.options = d_options.options.data();
        d_plan.num_options = static_cast<int>(d_options.options.size());
        set_points(given);
        check_options(name);
    }

    std::size_t detect(const complex_array& y,
                       const complex_array& h,
                       const float_array& noise_var,
                       const std::optional<float_array>& prior,
                       py::array& out,
                       float int8_scale,
                       int threads,
                       const std::optional<byte_array>& hard,
                       std::optional<count_array> nodes,
                       const std::optional<complex_array>& noise_cov)
    {
        batch b{};
        d_truncated = 0;
        b.truncated = &d_truncated;
        b.n = y.shape(0);
        if (b.n == 0)
            return 0;
        b.per_channel = b.n / h.shape(0);
        b.y = reinterpret_cast<const float*>(y.data());
        b.h = reinterpret_cast<const float*>(h.data());
        b.noise_var = noise_var.data();
        b.noise_per_vector = noise_var.size() > 1;
        if (prior)
            b.prior = prior->data();
        if (py::isinstance<py::array_t<float>>(out))
            b.llr = static_cast<float*>(out.mutable_data());
        else
            b.llr_int8 = static_cast<std::int8_t*>(out.mutable_data());
        b.int8_scale = int8_scale;
        if (hard) {
            b.hard = hard->data();
            b.num_hard = hard->shape(0);
        }
        if (nodes) {
            b.nodes = nodes->mutable_data();
            b.nodes_per_vector = nodes->shape(1);
        }
        if (noise_cov) {
            b.noise_cov = reinterpret_cast<const float*>(noise_cov->data());
            b.cov_per_matrix = noise_cov->shape(0) > 1;
        }
        return run_batch(b, threads, [&](const batch& all) { return run(all); });
    }

    /* The number of vectors of the last detect() whose search ended by max_nodes */
    std::size_t truncated() const { return d_truncated; }

    const plan& shape() const override { return d_plan; }
    std::size_t run(const batch& b) const override { return d_run(d_plan, b); }

    std::string isa() const { return d_isa; }

private:
    /* Find the C++ code of a detector, compiled for an instruction set or "auto". */
    void find(const std::string& name, const std::string& isa)
    {
        if (find_run(find_build("auto").detectors, name)) {
            const isa_build& build = find_build(isa);
            d_isa = build.name;
            d_run = find_run(build.detectors, name);
            return;
        }
        for (const detector_module* module : modules()) {
            d_run = find_run(module->detectors, name);
            if (!d_run)
                continue;
            d_isa = module->isa;
            if (isa != "auto" && isa != d_isa)
                throw std::invalid_argument(
                    "isa: got " + isa + ", allowed are auto and " + d_isa +
                    ", for which the module of " + name + " was compiled");
            return;
        }
        throw std::invalid_argument(
            "detector: got " + name + ", which has no compiled C++ code: neither " +
            "gr-mimopack nor a module given to register() has a detector of this name");
    }

    void set_points(const py::dict& given)
    {
        const auto points = given["points"].cast<std::vector<std::complex<float>>>();
        const auto bit_source = given["bit_source"].cast<std::vector<int>>();
        const auto bit_sign = given["bit_sign"].cast<std::vector<float>>();
        constellation& c = d_plan.points;
        c.bits = static_cast<int>(bit_source.size());
        c.size = static_cast<int>(points.size());
        c.width = given["width"].cast<int>();
        c.scale = given["scale"].cast<float>();
        std::copy(bit_source.begin(), bit_source.end(), c.bit_source);
        std::copy(bit_sign.begin(), bit_sign.end(), c.bit_sign);
        for (int s = 0; s < std::min(c.size, max_points); ++s) {
            c.re[s] = points[s].real();
            c.im[s] = points[s].imag();
        }
        for (const py::handle& layer : given["layers"])
            d_layers.push_back(grid_layer_of(layer.cast<py::dict>()));
        c.layers = d_layers.empty() ? nullptr : d_layers.data();
        d_plan.num_llr = d_layers.empty() ? d_plan.num_tx * c.bits : 0;
        for (const grid_layer& layer : d_layers)
            d_plan.num_llr += layer.bits;
    }

    /* given: an element of "layers" of Detector.plan() */
    static grid_layer grid_layer_of(const py::dict& given)
    {
        grid_layer layer{};
        const auto turn = given["turn"].cast<std::complex<float>>();
        const auto shift = given["shift"].cast<std::complex<float>>();
        const auto sides = given["sides"].cast<std::vector<int>>();
        const auto bit_source = given["bit_source"].cast<std::vector<int>>();
        const auto bit_sign = given["bit_sign"].cast<std::vector<float>>();
        layer.scale = given["scale"].cast<float>();
        layer.bits = static_cast<int>(bit_source.size());
        for (int axis = 0; axis < 2; ++axis) {
            layer.turn[axis] = axis ? turn.imag() : turn.real();
            layer.shift[axis] = axis ? shift.imag() : shift.real();
            layer.sides[axis] = sides[axis];
        }
        std::copy(bit_source.begin(), bit_source.end(), layer.bit_source);
        std::copy(bit_sign.begin(), bit_sign.end(), layer.bit_sign);
        return layer;
    }

    /* Check the options with an empty batch, because only the detector knows its
     * options. */
    void check_options(const std::string& name) const
    {
        const float noise_var = 1.0f;
        batch empty{};
        empty.per_channel = 1;
        empty.noise_var = &noise_var;
        empty.threads = 1;
        if (d_run(d_plan, empty) == unknown_option)
            throw std::invalid_argument("options: got " + d_options.listed() +
                                        ", which the C++ code of " + name +
                                        " does not all declare with these types");
    }

    plan d_plan;
    std::vector<grid_layer> d_layers;
    option_values d_options;
    std::string d_isa;
    run_function d_run = nullptr;
    std::size_t d_truncated = 0;
};

} // namespace

PYBIND11_MODULE(_core, m)
{
    m.doc() = "CPU detectors of gr-mimopack; use gnuradio.mimopack.detectors instead.";
    int usable;
    available_builds(usable);
    if (usable == 0)
        throw py::import_error(
            "gr-mimopack was compiled for instruction sets that this processor lacks: "
            "build it on this machine, or with -DMIMOPACK_ISAS=all");
    watch_forks();
    /* Classes are module_local: the packages mimopack and gnuradio.mimopack may be loaded
     * together, each with its own copy of this module. */
    py::class_<cpu_detector>(m, "CpuDetector", py::module_local());
    bind_codes(m);
    bind_matrices(m);
    bind_recording(m);
    bind_tasks(m); /* before the modules whose functions return tasks */
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
    m.def("copy",
          &copy,
          py::arg("out").noconvert(),
          py::arg("source").noconvert(),
          py::arg("threads"));
    m.def("max_threads", [] { return std::min(omp_get_max_threads(), most_threads()); });
    py::class_<detector, cpu_detector>(m, "Detector", py::module_local())
        .def(py::init<const py::dict&, const std::string&>(),
             py::arg("plan"),
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
             py::arg("nodes") = py::none(),
             py::arg("noise_cov") = py::none())
        .def_property_readonly("isa", &detector::isa)
        .def_property_readonly("truncated", &detector::truncated);
    m.def("load_module", &load_module, py::arg("path"));
}

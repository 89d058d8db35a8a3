/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/wifi/smoother.h"
#include <tuple>

namespace mimopack {

std::shared_ptr<const filter_bank::filter> filter_bank::find(int width, int level)
{
    const std::pair key(width, level);
    {
        const std::lock_guard guard(d_mutex);
        const auto found = d_filters.find(key);
        if (found != d_filters.end())
            return found->second;
    }
    const auto made = std::make_shared<const filter>(make(width, level));
    const std::lock_guard guard(d_mutex);
    if (d_filters.size() >= most)
        d_filters.clear();
    return d_filters.emplace(key, made).first->second;
}

filter_bank::filter filter_bank::make(int width, int level)
{
    const py::gil_scoped_acquire acquire;
    const auto [analysis, synthesis, error] =
        d_make(width, level).cast<std::tuple<float_array, float_array, double>>();
    require(analysis.ndim() == 2 && synthesis.ndim() == 2 &&
                analysis.shape(0) == synthesis.shape(1) &&
                analysis.shape(1) == d_carriers && synthesis.shape(0) == d_wanted,
            "Smoother");
    return { analysis.shape(0),
             { analysis.data(), analysis.data() + analysis.size() },
             { synthesis.data(), synthesis.data() + synthesis.size() },
             error };
}

wifi_filter filter_lease::find(const void* lease, int width, int level)
{
    filter_lease& self = *static_cast<filter_lease*>(const_cast<void*>(lease));
    self.held.push_back(self.bank.find(width, level));
    const filter_bank::filter& f = *self.held.back();
    return { f.rank, f.analysis.data(), f.synthesis.data(), f.error };
}

smoother::smoother(const long_array& k,
                   const long_array& wanted,
                   const double_array& delay,
                   const complex_array& transform,
                   const wifi_delay_rules& rules,
                   py::function make)
    : d_k(k),
      d_wanted(wanted),
      d_delay(delay),
      d_transform(transform),
      d_bank(std::make_shared<filter_bank>(std::move(make), k.size(), wanted.size()))
{
    require(k.ndim() == 1 && wanted.ndim() == 1 && delay.ndim() == 1 &&
                transform.ndim() == 2 && k.size() >= 1 && delay.size() >= 1 &&
                transform.shape(0) == k.size() && transform.shape(1) == delay.size() &&
                rules.lobe >= 0 && rules.lobe <= 1 << 20 && rules.step > 0 &&
                rules.step_db > 0,
            "Smoother");
    d_plan = { k.size(),
               wanted.size(),
               delay.size(),
               d_k.data(),
               d_wanted.data(),
               d_delay.data(),
               floats(d_transform),
               rules,
               &filter_lease::find,
               nullptr };
}

wifi_smoother smoother::plan(const filter_lease& lease) const
{
    wifi_smoother p = d_plan;
    p.bank = &lease;
    return p;
}

py::tuple
smoother::run(const complex_array& channel, double noise, const std::string& isa) const
{
    require(channel.ndim() == 3 && channel.shape(1) == carriers() &&
                channel.shape(2) >= 1 && noise > 0,
            "Smoother.smooth");
    const std::int64_t frames = channel.shape(0), rows = channel.shape(2);
    complex_array out({ frames, wanted(), rows });
    std::fill_n(floats(out), 2 * out.size(), 0.0f);
    double_array error(frames), paths({ frames, std::int64_t{ 64 } });
    long_array done(frames);
    filter_lease found = lease();
    const wifi_smoother own = plan(found);
    const wifi_estimates e = { &own,
                               frames,
                               rows,
                               floats(channel),
                               noise,
                               true,
                               floats(out),
                               error.mutable_data(),
                               done.mutable_data(),
                               paths.mutable_data() };
    const wifi_build& build = find_wifi(isa);
    build.smooth_channels(e);
    return py::make_tuple(out, error, done, paths);
}

void bind_wifi_smoother(py::module_& m)
{
    py::class_<smoother, std::shared_ptr<smoother>>(m, "Smoother", py::module_local())
        .def(py::init([](const long_array& k,
                         const long_array& wanted,
                         const double_array& delay,
                         const complex_array& transform,
                         double lobe,
                         double longest,
                         double margin,
                         double margin_per_db,
                         double sidelobe,
                         double step,
                         double step_db,
                         py::function make) {
                 const wifi_delay_rules rules = { lobe,          longest,  margin,
                                                  margin_per_db, sidelobe, step,
                                                  step_db };
                 return std::make_shared<smoother>(
                     k, wanted, delay, transform, rules, std::move(make));
             }),
             py::kw_only(),
             py::arg("k").noconvert(),
             py::arg("wanted").noconvert(),
             py::arg("delay").noconvert(),
             py::arg("transform").noconvert(),
             py::arg("lobe"),
             py::arg("longest"),
             py::arg("margin"),
             py::arg("margin_per_db"),
             py::arg("sidelobe"),
             py::arg("step"),
             py::arg("step_db"),
             py::arg("make"))
        .def("smooth",
             &smoother::run,
             py::arg("channel").noconvert(),
             py::arg("noise"),
             py::kw_only(),
             py::arg("isa") = "auto");
}

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* From the windows that a search has found to the signal fields of frames */
#include "bindings/tasks.h"
#include "bindings/wifi/headers.h"
#include "wifi/scan.h"
#include <map>

namespace mimopack {

namespace {

/* A part of a stream that was searched, see Stretch in synchroniser.py */
struct stretch {
    complex_array samples;
    std::int64_t origin, base;
    complex_array lag;
    float_array metric;
    byte_array fallen;
    std::vector<std::int64_t> hits, chain;

    std::int64_t rows() const { return samples.shape(0); }
    bool fits() const
    {
        const std::int64_t windows = metric.size();
        const auto inside = [&](std::int64_t one) {
            return one >= 0 && one < fallen.size();
        };
        return samples.ndim() == 2 && rows() >= 1 && rows() <= 256 &&
               has_shape(lag, { windows }) && has_shape(metric, { windows }) &&
               fallen.ndim() == 1 && fallen.size() <= windows &&
               std::all_of(hits.begin(), hits.end(), inside) &&
               std::all_of(chain.begin(), chain.end(), inside);
    }
};

/* A frame with a preamble and valid signal fields */
struct followed {
    std::int64_t start, window; /* positions in the stream */
    double cfo;
    std::int64_t part; /* a bit for each part of 20 MHz */
    std::uint8_t kind; /* wifi_signal_kind */
    std::array<char, signal_results::first_bits + signal_results::second_bits> fields;
    std::vector<double> noise, signal; /* rows */

    py::tuple as_tuple() const
    {
        return py::make_tuple(
            start,
            window,
            cfo,
            part,
            kind,
            py::bytes(fields.data(), fields.size()),
            double_array(static_cast<py::ssize_t>(noise.size()), noise.data()),
            double_array(static_cast<py::ssize_t>(signal.size()), signal.data()));
    }
};

struct follow_settings {
    std::int64_t block; /* samples */
    int region, searches, next;
    acquisition_settings preamble;
    long_array windows; /* from the first half of the L-LTF */

    bool fits() const
    {
        return block >= 16 && region >= 1 && searches >= 1 && next >= 1 &&
               preamble.fits() && has_shape(windows, { wifi_header_windows });
    }
};

/* Finds the preambles behind windows, and reads their signal fields. Any thread may use
 * it. */
class follower
{
public:
    /* whiten: None, or a function of (array of samples, positions of the L-LTF (n,),
     * offsets (n,), direct current (n, rows), mask of parts) that returns whitening
     * matrices (n, rows, rows) */
    follower(follow_settings settings,
             std::shared_ptr<header_reader> reader,
             py::object whiten)
        : d_settings(std::move(settings)),
          d_reader(std::move(reader)),
          d_whiten(std::move(whiten))
    {
        require(d_settings.fits() && d_reader->fft() == d_settings.preamble.fft(),
                "Follower");
    }

    /* Append the frames of a stretch in their order. Return the number of preambles. The
     * caller must not hold Python's lock. */
    std::int64_t
    run(const stretch& s, const std::string& isa, std::vector<followed>& found) const
    {
        std::int64_t preambles = 0;
        std::vector<attempt> attempts;
        for (const std::int64_t best : s.chain)
            attempts.push_back({ best, best + d_settings.next });
        while (!attempts.empty()) {
            const std::vector<bool> succeeded = tried(s, attempts, isa, found, preambles);
            std::vector<attempt> again;
            for (std::size_t i = 0; i < attempts.size(); ++i)
                if (!succeeded[i])
                    if (const auto next = next_attempt(s, attempts[i]))
                        again.push_back(*next);
            attempts = std::move(again);
        }
        std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
            return a.start < b.start;
        });
        return preambles;
    }

private:
    follow_settings d_settings;
    std::shared_ptr<header_reader> d_reader;
    py::object d_whiten;

    /* A window to try. If it fails, others before `end` are tried. */
    struct attempt {
        std::int64_t window, end;
    };

    /* Preambles that were acquired behind some windows, a value or a row for each */
    struct acquired {
        std::vector<std::int64_t> base, part, start, window;
        std::vector<double> cfo;
        std::vector<std::complex<float>> direct;
    };

    /* Headers are read together for at most so many frames. */
    static constexpr std::size_t together = 64;

    std::optional<attempt> next_attempt(const stretch& s, const attempt& failed) const
    {
        const auto hit =
            std::lower_bound(s.hits.begin(), s.hits.end(), failed.window + 3);
        if (hit == s.hits.end() || *hit >= failed.end)
            return {};
        const std::int64_t best = strongest(s.metric.data(),
                                            s.metric.size(),
                                            *hit,
                                            d_settings.region,
                                            d_settings.searches);
        if (best >= failed.end)
            return {};
        return attempt{ best, failed.end };
    }

    /* Try windows. Return which of them lead to frames. */
    std::vector<bool> tried(const stretch& s,
                            const std::vector<attempt>& attempts,
                            const std::string& isa,
                            std::vector<followed>& found,
                            std::int64_t& preambles) const
    {
        std::vector<bool> succeeded(attempts.size());
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < attempts.size(); ++i)
            if (attempts[i].window < s.fallen.size() &&
                s.fallen.data()[attempts[i].window])
                places.push_back(i);
        if (places.empty())
            return succeeded;
        const acquired a = acquire(s, attempts, places, isa);
        std::map<std::int64_t, std::vector<std::size_t>> groups;
        for (std::size_t i = 0; i < places.size(); ++i)
            if (a.part[i]) {
                ++preambles;
                groups[a.part[i]].push_back(i);
            }
        for (const auto& [part, members] : groups)
            for (std::size_t i = 0; i < members.size(); i += together) {
                const std::size_t end = std::min(i + together, members.size());
                const std::vector<std::size_t> some(members.begin() + i,
                                                    members.begin() + end);
                for (const std::size_t one : read(s, a, some, isa, found))
                    succeeded[places[one]] = true;
            }
        return succeeded;
    }

    acquired acquire(const stretch& s,
                     const std::vector<attempt>& attempts,
                     const std::vector<std::size_t>& places,
                     const std::string& isa) const
    {
        const std::size_t n = places.size();
        const std::int64_t rows = s.rows();
        const acquisition_settings& p = d_settings.preamble;
        acquired a;
        std::vector<std::complex<float>> lag;
        for (const std::size_t i : places) {
            const std::int64_t window = attempts[i].window;
            a.base.push_back((window + s.base) * d_settings.block - s.origin);
            lag.push_back(s.lag.data()[window]);
            require(a.base.back() >= 0 &&
                        a.base.back() <=
                            s.samples.shape(1) - wifi_preamble_samples(p.scale),
                    "Follower");
        }
        a.part.resize(n);
        a.start.resize(n);
        a.window.resize(n);
        a.cfo.resize(n);
        a.direct.resize(n * rows);
        find_wifi(isa).acquire({ static_cast<std::int64_t>(n),
                                 rows,
                                 s.samples.shape(1),
                                 floats(s.samples),
                                 a.base.data(),
                                 reinterpret_cast<const float*>(lag.data()),
                                 p.scale,
                                 static_cast<int>(p.parts()),
                                 p.turns,
                                 p.bins.data(),
                                 p.sequence.data(),
                                 floats(p.reference),
                                 a.part.data(),
                                 a.start.data(),
                                 a.window.data(),
                                 a.cfo.data(),
                                 reinterpret_cast<float*>(a.direct.data()) });
        return a;
    }

    /* Read the fields of some preambles in the same parts of the band. Append valid ones,
     * and return which they are. */
    std::vector<std::size_t> read(const stretch& s,
                                  const acquired& a,
                                  const std::vector<std::size_t>& some,
                                  const std::string& isa,
                                  std::vector<followed>& found) const
    {
        const std::int64_t n = static_cast<std::int64_t>(some.size()), rows = s.rows();
        const std::int64_t part = a.part[some.front()];
        std::vector<std::int64_t> bins, at, starts;
        const long_array& all_bins = d_settings.preamble.bins;
        for (std::int64_t i = 0; i < all_bins.shape(0); ++i)
            if (part >> i & 1)
                bins.insert(bins.end(),
                            all_bins.data() + i * wifi_legacy,
                            all_bins.data() + (i + 1) * wifi_legacy);
        std::vector<double> cfo, noise(n * rows), signal(n * rows);
        std::vector<std::complex<float>> direct, white;
        for (const std::size_t one : some) {
            at.push_back(a.base[one] + a.window[one]);
            for (int i = 0; i < wifi_header_windows; ++i)
                starts.push_back(at.back() + d_settings.windows.data()[i]);
            cfo.push_back(a.cfo[one]);
            direct.insert(direct.end(),
                          a.direct.begin() + one * rows,
                          a.direct.begin() + (one + 1) * rows);
        }
        if (!d_whiten.is_none())
            white = whitening(s, at, cfo, direct, part);
        const frames_of all(s.samples, n);
        const signal_results fields = d_reader->read(
            { all,
              n,
              rows,
              starts.data(),
              cfo.data(),
              reinterpret_cast<const float*>(direct.data()),
              reinterpret_cast<const float*>(white.empty() ? nullptr : white.data()),
              bins.data(),
              static_cast<std::int64_t>(bins.size()) / wifi_legacy },
            noise.data(),
            signal.data(),
            isa);
        std::vector<std::size_t> valid;
        for (std::int64_t i = 0; i < n; ++i) {
            if (!fields.kind[i])
                continue;
            const std::size_t one = some[i];
            const std::int64_t base = a.base[one] + s.origin;
            followed f{ base + a.start[one],
                        base + a.window[one],
                        a.cfo[one],
                        part,
                        fields.kind[i],
                        {},
                        { noise.begin() + i * rows, noise.begin() + (i + 1) * rows },
                        { signal.begin() + i * rows, signal.begin() + (i + 1) * rows } };
            constexpr std::int64_t first = signal_results::first_bits,
                                   second = signal_results::second_bits;
            std::copy_n(fields.first.begin() + i * first, first, f.fields.begin());
            std::copy_n(
                fields.second.begin() + i * second, second, f.fields.begin() + first);
            found.push_back(std::move(f));
            valid.push_back(one);
        }
        return valid;
    }

    std::vector<std::complex<float>>
    whitening(const stretch& s,
              const std::vector<std::int64_t>& at,
              const std::vector<double>& cfo,
              const std::vector<std::complex<float>>& direct,
              std::int64_t part) const
    {
        const py::gil_scoped_acquire lock;
        const py::ssize_t n = static_cast<py::ssize_t>(at.size()), rows = s.rows();
        complex_array levels({ n, rows });
        std::copy(direct.begin(), direct.end(), levels.mutable_data());
        const auto white = d_whiten(s.samples,
                                    long_array(n, at.data()),
                                    double_array(n, cfo.data()),
                                    levels,
                                    part)
                               .cast<complex_array>();
        require(has_shape(white, { n, rows, rows }), "Follower");
        return { white.data(), white.data() + white.size() };
    }
};

/* The work on one stretch */
class following : public task
{
public:
    /* kept: the follower, which must live until the task has run */
    following(const follower& f, stretch s, std::string isa, py::object kept)
        : d_follower(f),
          d_stretch(std::move(s)),
          d_isa(std::move(isa)),
          d_kept(std::move(kept))
    {
        require(d_stretch.fits(), "Follower.begin");
    }

protected:
    void work() override
    {
        stopwatch watch;
        d_preambles = d_follower.run(d_stretch, d_isa, d_found);
        d_seconds = watch.lap();
    }

    /* Return (list of frames, number of preambles, CPU seconds). */
    py::object result() override
    {
        py::list frames;
        for (const followed& one : d_found)
            frames.append(one.as_tuple());
        return py::make_tuple(frames, d_preambles, d_seconds);
    }

private:
    const follower& d_follower;
    stretch d_stretch;
    std::string d_isa;
    py::object d_kept;
    std::vector<followed> d_found;
    std::int64_t d_preambles = 0;
    double d_seconds = 0;
};

} // namespace

void bind_wifi_following(py::module_& m)
{
    py::class_<follower>(m, "Follower", py::module_local())
        .def(py::init([](std::shared_ptr<header_reader> reader,
                         py::object whiten,
                         std::int64_t block,
                         int region,
                         int searches,
                         int next,
                         int scale,
                         int turns,
                         long_array bins,
                         float_array sequence,
                         complex_array reference,
                         long_array windows) {
                 return std::make_unique<follower>(
                     follow_settings{ block,
                                      region,
                                      searches,
                                      next,
                                      { scale,
                                        turns,
                                        std::move(bins),
                                        std::move(sequence),
                                        std::move(reference) },
                                      std::move(windows) },
                     std::move(reader),
                     std::move(whiten));
             }),
             py::arg("reader"),
             py::arg("whiten").none(true),
             py::kw_only(),
             py::arg("block"),
             py::arg("region"),
             py::arg("searches"),
             py::arg("next"),
             py::arg("scale"),
             py::arg("turns"),
             py::arg("bins").noconvert(),
             py::arg("sequence").noconvert(),
             py::arg("reference").noconvert(),
             py::arg("windows").noconvert())
        .def(
            "begin",
            [](const py::object& self,
               complex_array samples,
               std::int64_t origin,
               std::int64_t base,
               complex_array lag,
               float_array metric,
               byte_array fallen,
               std::vector<std::int64_t> hits,
               std::vector<std::int64_t> chain,
               std::string isa) -> std::shared_ptr<task> {
                return make_task<following>(self.cast<const follower&>(),
                                            stretch{ std::move(samples),
                                                     origin,
                                                     base,
                                                     std::move(lag),
                                                     std::move(metric),
                                                     std::move(fallen),
                                                     std::move(hits),
                                                     std::move(chain) },
                                            std::move(isa),
                                            self);
            },
            py::arg("samples").noconvert(),
            py::arg("origin"),
            py::arg("base"),
            py::arg("lag").noconvert(),
            py::arg("metric").noconvert(),
            py::arg("fallen").noconvert(),
            py::arg("hits"),
            py::arg("chain"),
            py::arg("isa") = "auto");
}

} // namespace mimopack

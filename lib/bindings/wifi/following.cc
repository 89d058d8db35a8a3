/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* From the samples of a stream to the signal fields of its frames */
#include "bindings/tasks.h"
#include "bindings/wifi/headers.h"
#include "wifi/scan.h"
#include <deque>
#include <map>
#include <memory>
#include <mutex>

namespace mimopack {

namespace {

/* A part of a stream that was searched. Windows are counted from the first one that was
 * unfinished. */
struct stretch {
    complex_array samples; /* (rows, n) */
    /* Position in the stream of the first of these samples, and number of the first
     * window */
    std::int64_t origin = 0, base = 0;
    scan_result windows;

    std::int64_t rows() const { return samples.shape(0); }
    const std::complex<float>* lag() const
    {
        return reinterpret_cast<const std::complex<float>*>(windows.lag.data());
    }
    std::int64_t size() const { return static_cast<std::int64_t>(windows.metric.size()); }
};

/* A frame with a preamble and valid signal fields */
struct followed {
    /* Positions in the stream: of the window of the short field that led to it, of the
     * frame, and of the window of the long field */
    std::int64_t found, start, window;
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

    /* Append the frames of a stretch in the order of the windows that led to them. Two
     * windows may lead to the same frame, in stretches of their own. Return the number of
     * preambles. The caller must not hold Python's lock. */
    std::int64_t
    run(const stretch& s, const std::string& isa, std::vector<followed>& found) const
    {
        std::int64_t preambles = 0;
        std::vector<attempt> attempts;
        for (const std::int64_t best : s.windows.chain)
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
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
            return a.found < b.found;
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
        const std::vector<std::int64_t>& hits = s.windows.hits;
        const auto hit =
            std::lower_bound(hits.begin(), hits.end(), failed.window + 3);
        if (hit == hits.end() || *hit >= failed.end)
            return {};
        const std::int64_t best = strongest(s.windows.metric.data(),
                                            s.size(),
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
            if (attempts[i].window <
                    static_cast<std::int64_t>(s.windows.fallen.size()) &&
                s.windows.fallen[attempts[i].window])
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
            lag.push_back(s.lag()[window]);
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
            followed f{ base,
                        base + a.start[one],
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

class searching;

/* The scan of a stream in pieces. Any threads may scan them. A thread that comes to a
 * piece too early scans those before it, so that no piece waits for one that nobody
 * scans. */
class scan
{
public:
    scan(const scan_settings& s, const std::string& isa) : d_scan(s, find_wifi(isa))
    {
        require(s.rows >= 1 && s.rows <= 256 && s.block >= 16 && s.block % 16 == 0 &&
                    s.block <= 1 << 20 && s.window >= 1 && s.window <= 1 << 10 &&
                    s.region >= 1 && s.searches >= 1 && s.fall >= 0 && s.next >= 1 &&
                    s.ahead >= 1,
                "Scan");
    }

    const scan_settings& settings() const { return d_scan.settings(); }

    /* Begin a new stream at a window. Pieces of the old one can no longer be scanned. */
    void restart(std::int64_t window)
    {
        const std::lock_guard guard(d_mutex);
        d_scan.restart();
        d_window = window;
        d_pieces.clear();
    }

    /* Append a piece. */
    void add(const std::shared_ptr<searching>& piece)
    {
        const std::lock_guard guard(d_mutex);
        d_pieces.push_back({ piece.get(), piece });
    }

    /* Return the first window that the pieces scanned so far leave unfinished. */
    std::int64_t window() const
    {
        const std::lock_guard guard(d_mutex);
        return d_window;
    }

    /* Scan a piece, after those before it. The caller must not hold Python's lock. No
     * other thread may be in here for the same piece. */
    void
    take(const searching* owner, scan_piece piece, float threshold, stretch& found);

private:
    struct entry {
        const searching* owner;
        std::weak_ptr<searching> piece;
    };

    wifi_scan d_scan;
    mutable std::mutex d_mutex;
    std::deque<entry> d_pieces; /* not scanned yet, in their order */
    std::int64_t d_window = 0;  /* the first unfinished one */
};

/* The work on one piece of a stream: the scan, then the signal fields of what it has
 * found */
class searching : public task
{
public:
    /* f: none only scans. kept: the objects that must live until the task has run. The
     * samples are copied to the columns from `at` on of `array`, whose first sample has
     * the position `origin` in the stream. */
    searching(scan& over,
              const follower* f,
              row_array samples,
              complex_array array,
              std::int64_t at,
              std::int64_t origin,
              float threshold,
              std::string isa,
              py::object kept)
        : d_over(over),
          d_follower(f),
          d_samples(std::move(samples)),
          d_threshold(threshold),
          d_isa(std::move(isa)),
          d_kept(std::move(kept))
    {
        const std::int64_t rows = over.settings().rows;
        require(in_rows(d_samples) && d_samples.shape(0) == rows && array.ndim() == 2 &&
                    array.shape(0) == rows && at >= 0 &&
                    d_samples.shape(1) <= array.shape(1) - at,
                "Scan.begin");
        d_piece = { reinterpret_cast<const float*>(d_samples.data()),
                    d_samples.shape(1),
                    row_stride(d_samples),
                    floats(array),
                    array.shape(1),
                    at,
                    0 };
        d_stretch.samples = std::move(array);
        d_stretch.origin = origin;
    }

    /* Scan the samples, unless this was done. Return whether work() has more to do. An
     * exception is thrown by each call. */
    bool scan_samples()
    {
        const std::lock_guard guard(d_mutex);
        if (!d_scanned && !d_failure) {
            stopwatch watch;
            try {
                d_over.take(this, d_piece, d_threshold, d_stretch);
                d_scanned = true;
            } catch (...) {
                d_failure = std::current_exception();
            }
            d_seconds += watch.lap();
        }
        if (d_failure)
            std::rethrow_exception(d_failure);
        return !d_stretch.windows.chain.empty();
    }

    /* Return (lag, metric, fallen, hits, chain, passed) of scanned samples: the first three
     * hold one value for each window from the first unfinished one on. */
    py::tuple windows()
    {
        if (!done() || !d_scanned)
            throw std::runtime_error("the samples have not been scanned");
        const scan_result& w = d_stretch.windows;
        const auto size = static_cast<py::ssize_t>(w.metric.size());
        return py::make_tuple(
            complex_array(size, d_stretch.lag()),
            float_array(size, w.metric.data()),
            byte_array(static_cast<py::ssize_t>(w.fallen.size()), w.fallen.data()),
            w.hits,
            w.chain,
            w.passed);
    }

protected:
    void work() override
    {
        if (!scan_samples() || !d_follower)
            return;
        stopwatch watch;
        d_preambles = d_follower->run(d_stretch, d_isa, d_found);
        d_seconds += watch.lap();
    }

    /* Return (list of frames, number of preambles, first unfinished window, CPU seconds).
     */
    py::object result() override
    {
        py::list frames;
        for (const followed& one : d_found)
            frames.append(one.as_tuple());
        return py::make_tuple(frames,
                              d_preambles,
                              d_stretch.base + d_stretch.windows.passed,
                              d_seconds);
    }

private:
    scan& d_over;
    const follower* d_follower;
    row_array d_samples;
    scan_piece d_piece{};
    float d_threshold;
    std::string d_isa;
    py::object d_kept;
    std::mutex d_mutex;
    bool d_scanned = false;
    std::exception_ptr d_failure;
    stretch d_stretch;
    std::vector<followed> d_found;
    std::int64_t d_preambles = 0;
    double d_seconds = 0;
};

void scan::take(const searching* owner,
                scan_piece piece,
                float threshold,
                stretch& found)
{
    std::unique_lock lock(d_mutex);
    const auto belongs = [&](const entry& one) { return one.owner == owner; };
    while (true) {
        if (std::none_of(d_pieces.begin(), d_pieces.end(), belongs))
            throw std::runtime_error("the stream was restarted before this piece");
        if (d_pieces.front().owner == owner)
            break;
        std::shared_ptr<searching> before = d_pieces.front().piece.lock();
        if (!before)
            throw std::runtime_error("a piece of the stream was lost: restart the stream");
        lock.unlock();
        before->scan_samples();
        before.reset(); /* may wait for Python's lock, whose holder may wait for the mutex */
        lock.lock();
    }
    found.base = d_window;
    piece.begin = d_window * settings().block - found.origin;
    require(piece.begin >= 0, "Scan");
    lock.unlock(); /* threads for later pieces wait for this one in scan_samples() */
    found.windows = d_scan.take(piece, threshold);
    lock.lock();
    d_window += found.windows.passed;
    if (!d_pieces.empty() && d_pieces.front().owner == owner)
        d_pieces.pop_front();
}

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
             py::arg("windows").noconvert());
    py::class_<searching, task, std::shared_ptr<searching>>(m, "Search", py::module_local())
        .def("scan",
             &searching::scan_samples,
             py::call_guard<py::gil_scoped_release>(),
             "Scan the samples now, unless this was done. Return whether the task has more "
             "to do.")
        .def_property_readonly("windows", &searching::windows);
    py::class_<scan>(m, "Scan", py::module_local())
        .def(py::init([](std::int64_t rows,
                         std::int64_t block,
                         int window,
                         int region,
                         int searches,
                         int fall,
                         float fallen,
                         int next,
                         int ahead,
                         const std::string& isa) {
                 return std::make_unique<scan>(
                     scan_settings{
                         rows, block, window, region, searches, fall, fallen, next, ahead },
                     isa);
             }),
             py::kw_only(),
             py::arg("rows"),
             py::arg("block"),
             py::arg("window"),
             py::arg("region"),
             py::arg("searches"),
             py::arg("fall"),
             py::arg("fallen"),
             py::arg("next"),
             py::arg("ahead"),
             py::arg("isa") = "auto")
        .def_property_readonly("window", &scan::window)
        .def("restart",
             &scan::restart,
             py::arg("window"),
             py::call_guard<py::gil_scoped_release>())
        .def(
            "begin",
            [](const py::object& self,
               const py::object& follower_object,
               row_array samples,
               complex_array array,
               std::int64_t at,
               std::int64_t origin,
               float threshold,
               std::string isa) {
                auto piece = make_task<searching>(self.cast<scan&>(),
                                                  follower_object.cast<const follower*>(),
                                                  std::move(samples),
                                                  std::move(array),
                                                  at,
                                                  origin,
                                                  threshold,
                                                  std::move(isa),
                                                  py::make_tuple(self, follower_object));
                self.cast<scan&>().add(piece);
                return piece;
            },
            py::arg("follower").none(true),
            py::arg("samples").noconvert(),
            py::arg("array").noconvert(),
            py::kw_only(),
            py::arg("at"),
            py::arg("origin"),
            py::arg("threshold"),
            py::arg("isa") = "auto");
}

} // namespace mimopack

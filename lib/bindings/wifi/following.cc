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
};

/* Finds the preambles behind windows, and reads their signal fields. Any thread may use
 * it. */
class follower
{
public:
    /* whiten: None, or a function of (array of samples, positions of the L-LTF (n,),
     * offsets (n,), direct current (n, rows), mask of parts) that returns whitening
     * matrices (n, rows, rows). The others: see wifi_acquisition. */
    follower(std::shared_ptr<header_reader> reader,
             py::object whiten,
             int scale,
             int turns,
             long_array bins,
             float_array sequence,
             complex_array reference)
        : d_reader(std::move(reader)),
          d_whiten(std::move(whiten)),
          d_scale(scale),
          d_turns(turns),
          d_bins(std::move(bins)),
          d_sequence(std::move(sequence)),
          d_reference(std::move(reference))
    {
    }

    /* Append the frames of a stretch in the order of the windows that led to them, at
     * positions in the stream. Two windows may lead to the same frame, in stretches of
     * their own. Return the number of preambles. The caller must not hold Python's lock.
     */
    std::int64_t run(const scan_settings& settings,
                     const stretch& s,
                     std::vector<wifi_preamble>& found) const
    {
        std::int64_t count = 0;
        std::vector<attempt> attempts;
        for (const std::int64_t best : s.windows.chain)
            attempts.push_back({ best, best + settings.next });
        while (!attempts.empty()) {
            const std::vector<wifi_preamble> tried =
                try_windows(settings.block, s, attempts);
            std::vector<attempt> again;
            for (std::size_t i = 0; i < attempts.size(); ++i) {
                count += tried[i].part != 0;
                if (tried[i].part && tried[i].kind)
                    found.push_back(tried[i]);
                else if (const auto next = next_attempt(settings, s, attempts[i]))
                    again.push_back(*next);
            }
            attempts = std::move(again);
        }
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
            return a.place < b.place;
        });
        for (wifi_preamble& p : found) {
            p.place += s.origin;
            p.start += p.place;
            p.window += p.place;
        }
        return count;
    }

    /* Look for preambles in samples (rows, n) from places on. */
    void acquire(const complex_array& samples, std::vector<wifi_preamble>& places) const
    {
        const wifi_acquisition a{ samples.shape(0),  samples_of(samples),
                                  d_scale,           static_cast<int>(d_bins.shape(0)),
                                  d_turns,           d_bins.data(),
                                  d_sequence.data(), floats(d_reference) };
        d_reader->build.acquire(
            a, places.data(), static_cast<std::int64_t>(places.size()));
    }

private:
    std::shared_ptr<header_reader> d_reader;
    py::object d_whiten;
    int d_scale, d_turns;
    long_array d_bins; /* parts x wifi_legacy */
    float_array d_sequence;
    complex_array d_reference;

    /* A window to try. If it fails, others before `end` are tried. */
    struct attempt {
        std::int64_t window, end;
    };

    /* Headers are read together for at most so many frames. */
    static constexpr std::size_t together = 64;

    static std::optional<attempt>
    next_attempt(const scan_settings& settings, const stretch& s, const attempt& failed)
    {
        const std::vector<std::int64_t>& hits = s.windows.hits;
        const auto hit = std::lower_bound(hits.begin(), hits.end(), failed.window + 3);
        if (hit == hits.end() || *hit >= failed.end)
            return {};
        const std::int64_t best =
            strongest(s.windows.metric.data(),
                      static_cast<std::int64_t>(s.windows.metric.size()),
                      *hit,
                      settings.region,
                      settings.searches);
        if (best >= failed.end)
            return {};
        return attempt{ best, failed.end };
    }

    /* Try windows. A preamble was found if its part is not 0, and a frame if its kind is
     * not 0 either. */
    std::vector<wifi_preamble> try_windows(std::int64_t block,
                                           const stretch& s,
                                           const std::vector<attempt>& attempts) const
    {
        const scan_result& w = s.windows;
        std::vector<wifi_preamble> all(attempts.size()), places;
        std::vector<std::size_t> index;
        for (std::size_t i = 0; i < attempts.size(); ++i) {
            const std::int64_t window = attempts[i].window;
            if (window >= static_cast<std::int64_t>(w.fallen.size()) || !w.fallen[window])
                continue;
            wifi_preamble p{};
            p.place = (window + s.base) * block - s.origin;
            p.lag[0] = w.lag[2 * window];
            p.lag[1] = w.lag[2 * window + 1];
            places.push_back(p);
            index.push_back(i);
        }
        acquire(s.samples, places);
        std::map<std::int64_t, std::vector<wifi_preamble*>> groups;
        for (std::size_t i = 0; i < places.size(); ++i) {
            all[index[i]] = places[i];
            if (places[i].part)
                groups[places[i].part].push_back(&all[index[i]]);
        }
        for (const auto& [part, members] : groups)
            for (std::size_t i = 0; i < members.size(); i += together)
                read(s,
                     { members.begin() + i,
                       members.begin() + std::min(i + together, members.size()) });
        return all;
    }

    /* Read the fields of preambles in the same parts of the band. */
    void read(const stretch& s, const std::vector<wifi_preamble*>& preambles) const
    {
        std::vector<std::int64_t> bins;
        for (std::int64_t i = 0; i < d_bins.size(); ++i)
            if (preambles.front()->part >> i / wifi_legacy & 1)
                bins.push_back(d_bins.data()[i]);
        std::vector<std::complex<float>> white;
        if (!d_whiten.is_none())
            white = whitening(s, preambles);
        d_reader->read(s.rows(),
                       samples_of(s.samples),
                       bins,
                       white.empty() ? nullptr
                                     : reinterpret_cast<const float*>(white.data()),
                       preambles);
    }

    std::vector<std::complex<float>>
    whitening(const stretch& s, const std::vector<wifi_preamble*>& preambles) const
    {
        const py::gil_scoped_acquire lock;
        const py::ssize_t n = static_cast<py::ssize_t>(preambles.size()), rows = s.rows();
        long_array first(n);
        double_array cfo(n);
        complex_array direct({ n, rows });
        for (py::ssize_t i = 0; i < n; ++i) {
            const wifi_preamble& p = *preambles[i];
            first.mutable_at(i) = p.place + p.window;
            cfo.mutable_at(i) = p.cfo;
            std::copy_n(p.direct, 2 * rows, floats(direct) + 2 * i * rows);
        }
        const auto white =
            d_whiten(s.samples, first, cfo, direct, preambles.front()->part)
                .cast<complex_array>();
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
    scan(const scan_settings& s, const std::string& isa) : d_scan(s, find_wifi(isa)) {}

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
    void take(const searching* owner, scan_piece piece, float threshold, stretch& found);

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
              py::object kept)
        : d_over(over),
          d_follower(f),
          d_samples(std::move(samples)),
          d_threshold(threshold),
          d_kept(std::move(kept))
    {
        const wifi_samples from = samples_of(d_samples);
        d_piece = {
            from.data, from.length, from.stride, floats(array), array.shape(1), at, 0
        };
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

    /* Return (lag, metric, fallen, hits, chain, passed) of scanned samples: the first
     * three hold one value for each window from the first unfinished one on. */
    py::tuple windows()
    {
        if (!done() || !d_scanned)
            throw std::runtime_error("the samples have not been scanned");
        const scan_result& w = d_stretch.windows;
        const auto size = static_cast<py::ssize_t>(w.metric.size());
        return py::make_tuple(
            complex_array(size,
                          reinterpret_cast<const std::complex<float>*>(w.lag.data())),
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
        d_preambles = d_follower->run(d_over.settings(), d_stretch, d_found);
        d_seconds += watch.lap();
    }

    /* Return (list of frames, number of preambles, first unfinished window, CPU seconds).
     * A frame is (position, position of the L-LTF's first window, offset, parts, kind,
     * fields, noise (rows,), signal (rows,)), see wifi_preamble. */
    py::object result() override
    {
        py::list frames;
        for (const wifi_preamble& p : d_found)
            frames.append(py::make_tuple(
                p.start,
                p.window,
                p.cfo,
                p.part,
                p.kind,
                py::bytes(reinterpret_cast<const char*>(p.fields), wifi_field_bits),
                double_array(d_stretch.rows(), p.noise),
                double_array(d_stretch.rows(), p.signal)));
        return py::make_tuple(
            frames, d_preambles, d_stretch.base + d_stretch.windows.passed, d_seconds);
    }

private:
    scan& d_over;
    const follower* d_follower;
    row_array d_samples;
    scan_piece d_piece{};
    float d_threshold;
    py::object d_kept;
    std::mutex d_mutex;
    bool d_scanned = false;
    std::exception_ptr d_failure;
    stretch d_stretch;
    std::vector<wifi_preamble> d_found;
    std::int64_t d_preambles = 0;
    double d_seconds = 0;
};

void scan::take(const searching* owner, scan_piece piece, float threshold, stretch& found)
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
            throw std::runtime_error(
                "a piece of the stream was lost: restart the stream");
        lock.unlock();
        before->scan_samples();
        before.reset(); /* may wait for Python's lock, whose holder may wait for the mutex
                         */
        lock.lock();
    }
    found.base = d_window;
    piece.begin = d_window * settings().block - found.origin;
    lock.unlock(); /* threads for later pieces wait for this one in scan_samples() */
    found.windows = d_scan.take(piece, threshold);
    lock.lock();
    d_window += found.windows.passed;
    if (!d_pieces.empty() && d_pieces.front().owner == owner)
        d_pieces.pop_front();
}

/* Return (part, start, window, cfo, direct (rows,)) of a preamble in samples (rows, n)
 * behind each of starts. Those without a preamble have part 0. */
py::list acquire(const follower& self,
                 const complex_array& samples,
                 const std::vector<std::int64_t>& starts,
                 const std::vector<std::complex<float>>& lag)
{
    std::vector<wifi_preamble> places(starts.size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
        places[i].place = starts[i];
        places[i].lag[0] = lag[i].real();
        places[i].lag[1] = lag[i].imag();
    }
    self.acquire(samples, places);
    py::list out;
    for (const wifi_preamble& p : places)
        out.append(py::make_tuple(
            p.part,
            p.start,
            p.window,
            p.cfo,
            complex_array(samples.shape(0),
                          reinterpret_cast<const std::complex<float>*>(p.direct))));
    return out;
}

} // namespace

void bind_wifi_following(py::module_& m)
{
    m.attr("preamble_samples") = wifi_preamble_samples(1);
    py::class_<follower>(m, "Follower", py::module_local())
        .def(py::init<std::shared_ptr<header_reader>,
                      py::object,
                      int,
                      int,
                      long_array,
                      float_array,
                      complex_array>(),
             py::arg("reader"),
             py::arg("whiten").none(true),
             py::kw_only(),
             py::arg("scale"),
             py::arg("turns"),
             py::arg("bins"),
             py::arg("sequence"),
             py::arg("reference"))
        .def("acquire",
             &acquire,
             py::arg("samples").noconvert(),
             py::arg("starts"),
             py::arg("lag"));
    py::class_<searching, task, std::shared_ptr<searching>>(
        m, "Search", py::module_local())
        .def("scan",
             &searching::scan_samples,
             py::call_guard<py::gil_scoped_release>(),
             "Scan the samples now, unless this was done. Return whether the task has "
             "more "
             "to do.")
        .def_property_readonly("windows", &searching::windows);
    py::class_<scan>(m, "Scan", py::module_local())
        .def(py::init([](const py::kwargs& given) {
            return std::make_unique<scan>(
                scan_settings{ keyword<std::int64_t>(given, "rows"),
                               keyword<std::int64_t>(given, "block"),
                               keyword<int>(given, "window"),
                               keyword<int>(given, "region"),
                               keyword<int>(given, "searches"),
                               keyword<int>(given, "fall"),
                               keyword<float>(given, "fallen"),
                               keyword<int>(given, "next"),
                               keyword<int>(given, "ahead") },
                isa_of(given));
        }))
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
               float threshold) {
                auto piece = make_task<searching>(self.cast<scan&>(),
                                                  follower_object.cast<const follower*>(),
                                                  std::move(samples),
                                                  std::move(array),
                                                  at,
                                                  origin,
                                                  threshold,
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
            py::arg("threshold"));
}

} // namespace mimopack

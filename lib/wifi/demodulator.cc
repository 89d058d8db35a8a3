/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of one format from their samples to what a MIMO detector takes. A frame's
 * results depend on no other frame. */
#include "wifi/lanes.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

using point = std::complex<float>;

/* Least noise over the power of the training fields, and noise of frames without power */
constexpr double least_noise = 1e-7, silence = 1e-30;
/* Shortest guard interval, in samples at 20 MS/s */
constexpr int short_guard = 8;

point* points_of(float* x) { return reinterpret_cast<point*>(x); }
const point* points_of(const float* x) { return reinterpret_cast<const point*>(x); }

/* Return conj(a) b without std::complex's care for infinities. */
point by_conjugate(point a, point b)
{
    return { a.real() * b.real() + a.imag() * b.imag(),
             a.real() * b.imag() - a.imag() * b.real() };
}

point times(point a, point b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

class demodulator
{
public:
    explicit demodulator(const wifi_demodulation& d)
        : d_d(d),
          d_f(*d.format),
          d_halves(2 * d.rows * d_f.legacy),
          d_ones(d.rows, 1.0f),
          d_scaled(d.frames * d.rows),
          d_estimates(d.frames * d_f.trained * d.rows * d_f.streams),
          d_paths(64 * d.frames),
          d_errors(d.frames),
          d_symbols(*std::max_element(d.symbols, d.symbols + d.frames)),
          d_received(d.rows * d_symbols * d_f.carriers),
          d_pilots(d_symbols * d_f.num_pilots),
          d_shift(d_symbols),
          d_distance(d_symbols)
    {
        for (std::int64_t t = 0; t < d_symbols; ++t)
            d_distance[t] =
                (static_cast<double>(start_of(t)) + 32 - d_f.training_middle) * d_f.scale;
    }

    void run()
    {
        for (d_frame = 0; d_frame < d_d.frames; ++d_frame) {
            noise();
            least_squares(trained());
        }
        smooth_all();
        for (d_frame = 0; d_frame < d_d.frames; ++d_frame) {
            d_symbols = d_d.symbols[d_frame];
            demodulate_one();
            d_before += d_symbols;
        }
    }

private:
    const wifi_demodulation& d_d;
    const wifi_format& d_f;
    std::vector<point> d_halves;
    std::vector<float> d_ones, d_scaled;   /* rows; frames x rows */
    std::vector<point> d_estimates;        /* frames x trained x rows x streams */
    std::vector<double> d_paths, d_errors; /* frames x 64; frames */
    std::int64_t d_symbols; /* of the frame, at first of the longest one */
    std::int64_t d_before = 0; /* symbols of all frames before it */
    std::vector<point> d_fields, d_received, d_pilots;
    std::vector<std::int64_t> d_shift, d_starts;
    std::vector<double> d_distance; /* symbols: samples from the middle of the training */
    std::int64_t d_frame = 0;

    std::int64_t start_of(std::int64_t t) const { return d_f.data_start + d_f.symbol * t; }
    std::int64_t channel_size() const { return d_f.trained * d_d.rows * d_f.streams; }
    point* trained() const
    {
        return points_of(d_d.least_squares) + d_frame * channel_size();
    }
    point* estimate() { return d_estimates.data() + d_frame * channel_size(); }
    float* scaled() { return d_scaled.data() + d_frame * d_d.rows; }

    void demodulate_one()
    {
        double* paths = d_paths.data() + 64 * d_frame;
        d_d.noise_var[d_frame] =
            1 + d_errors[d_frame] * d_f.share * static_cast<double>(d_f.streams);
        d_d.delay[d_frame] = first_path(paths);
        whiten_channel();
        if (d_f.signal_b >= 0)
            signal_b();
        if (!d_symbols)
            return;
        std::int64_t shift = 0;
        if (d_f.short_gi)
            shifts({ 1, short_guard, paths, &shift });
        std::fill_n(d_shift.begin(), d_symbols, shift);
        receive();
        double& offset = d_d.offset[d_frame];
        const double none = 0;
        track(tracking(&none, &offset, nullptr));
        if (move_windows(shift, offset))
            receive();
        double more = 0;
        double* phase = d_d.phase + d_before;
        track(tracking(&offset, &more, phase));
        offset += more;
        take_turns_out(offset, phase);
        take_channel();
    }

    /* Compute spectra of windows that begin at starts, in samples at 20 MS/s from the
     * L-LTF's first window. Windows that reach beyond the samples are moved inside. */
    void spectra_at(std::vector<std::int64_t>& starts,
                    const std::int64_t* bins,
                    std::int64_t num_bins,
                    const float* scale,
                    point* out)
    {
        const std::int64_t last = d_d.from.length[d_frame] - d_f.fft;
        for (auto& start : starts)
            start = std::min(
                std::max(d_d.first[d_frame] + start * d_f.scale, std::int64_t{ 0 }),
                last);
        const std::int64_t count = static_cast<std::int64_t>(starts.size());
        spectra({ 1,
                  d_d.rows,
                  count,
                  num_bins,
                  d_f.fft,
                  { d_d.from.samples + d_frame,
                    d_d.from.length + d_frame,
                    d_d.from.stride + d_frame },
                  d_d.direct + 2 * d_frame * d_d.rows,
                  d_d.cfo + d_frame,
                  starts.data(),
                  bins,
                  d_d.white ? d_ones.data() : scale,
                  reinterpret_cast<float*>(out) });
        if (d_d.white)
            mix(d_d.white + 2 * d_frame * d_d.rows * d_d.rows,
                d_d.rows,
                count * num_bins,
                scale,
                reinterpret_cast<float*>(out));
    }

    /* Estimate the noise as half the power of the difference of the L-LTF's halves. */
    void noise()
    {
        d_starts = { 0, 64 };
        spectra_at(d_starts, d_f.legacy_bins, d_f.legacy, d_ones.data(), d_halves.data());
        for (std::int64_t r = 0; r < d_d.rows; ++r) {
            const point* first = d_halves.data() + 2 * r * d_f.legacy;
            const point* second = first + d_f.legacy;
            double difference = 0, power = 0;
            for (std::int64_t k = 0; k < d_f.legacy; ++k) {
                difference += std::norm(first[k] - second[k]);
                power += std::norm(first[k]) + std::norm(second[k]);
            }
            const double share = 0.5 / static_cast<double>(d_f.legacy);
            double& own = d_d.noise[d_frame * d_d.rows + r];
            own = difference * share;
            const double least = least_noise * power * share + silence;
            own = own > least ? own : least;
            scaled()[r] = static_cast<float>(1 / std::sqrt(own));
        }
    }

    /* Compute least squares estimates over the noise, without turns: trained x rows x
     * streams. */
    void least_squares(point* out)
    {
        const std::int64_t rows = d_d.rows, streams = d_f.streams, count = d_f.num_ltf;
        const point* untrained = points_of(d_f.untrained);
        if (!count) {
            for (std::int64_t r = 0; r < rows; ++r) {
                const point* first = d_halves.data() + 2 * r * d_f.legacy;
                for (std::int64_t k = 0; k < d_f.trained; ++k)
                    out[k * rows + r] =
                        times((first[k] + first[k + d_f.legacy]) * (0.5f * scaled()[r]),
                              untrained[k]);
            }
            return;
        }
        /* A greenfield frame sends its first field twice. */
        const std::int64_t windows = count + d_f.greenfield, size = d_f.trained;
        d_starts.assign(d_f.ltf_starts, d_f.ltf_starts + windows);
        d_fields.resize(rows * windows * size);
        spectra_at(d_starts, d_f.ltf_bins, size, scaled(), d_fields.data());
        for (std::int64_t r = 0; r < rows; ++r) {
            point* own = d_fields.data() + r * windows * size;
            if (d_f.greenfield)
                for (std::int64_t k = 0; k < size; ++k)
                    own[size + k] = (own[k] + own[size + k]) * 0.5f;
            const point* field = own + d_f.greenfield * size;
            for (std::int64_t i = 0; i < streams; ++i)
                for (std::int64_t k = 0; k < size; ++k) {
                    /* VHT's pilots train the sum of the streams. Streams get equal
                     * shares, until smoothing finds better ones. */
                    const bool shared = d_f.shared && d_f.shared[k];
                    const float* signs = d_f.mapping + (shared ? 0 : i) * count;
                    point sum = 0;
                    for (std::int64_t n = 0; n < count; ++n)
                        sum += field[n * size + k] * signs[n];
                    if (shared)
                        sum /= static_cast<float>(streams);
                    out[(k * rows + r) * streams + i] =
                        times(sum, untrained[k * streams + i]);
                }
        }
    }

    void smooth_all()
    {
        const std::int64_t rows = d_d.rows * d_f.streams;
        const float* from = d_d.least_squares;
        std::vector<point> chosen;
        if (d_f.trained_here) {
            const std::int64_t count = d_f.smoother->carriers;
            chosen.resize(d_d.frames * count * rows);
            for (std::int64_t i = 0; i < d_d.frames * count; ++i)
                std::copy_n(points_of(from) +
                                (i / count * d_f.trained + d_f.trained_here[i % count]) *
                                    rows,
                            rows,
                            chosen.data() + i * rows);
            from = reinterpret_cast<const float*>(chosen.data());
        }
        std::vector<std::int64_t> done(d_d.frames);
        smooth_channels({ d_f.smoother,
                          d_d.frames,
                          rows,
                          from,
                          d_f.share,
                          d_f.smoothing,
                          reinterpret_cast<float*>(d_estimates.data()),
                          d_errors.data(),
                          done.data(),
                          d_paths.data() });
        for (d_frame = 0; d_frame < d_d.frames; ++d_frame)
            if (!done[d_frame])
                std::copy_n(trained(), channel_size(), estimate());
    }

    static std::int64_t first_path(const double* power)
    {
        const double most = *std::max_element(power, power + 64);
        std::int64_t place = 0;
        while (place < 64 && !(power[place] > 0.3 * most))
            ++place;
        return (place < 64 ? place : 0) - 32;
    }

    /* Put the channel out as it is, and keep it over the noise with the streams'
     * turns. */
    void whiten_channel()
    {
        const point* turn = points_of(d_f.turn);
        point* channel = points_of(d_d.channel) + d_frame * channel_size();
        point* own = estimate();
        for (std::int64_t k = 0; k < d_f.trained; ++k)
            for (std::int64_t r = 0; r < d_d.rows; ++r) {
                const float deviation =
                    std::sqrt(static_cast<float>(d_d.noise[d_frame * d_d.rows + r]));
                for (std::int64_t i = 0; i < d_f.streams; ++i, ++own) {
                    *channel++ = *own * deviation;
                    *own = times(*own, turn[k * d_f.streams + i]);
                }
            }
    }

    /* Read the VHT-SIG-B through its matched filter. */
    void signal_b()
    {
        const std::int64_t rows = d_d.rows, size = d_f.trained;
        d_starts = { d_f.signal_b };
        d_fields.resize(rows * size);
        spectra_at(d_starts, d_f.ltf_bins, size, scaled(), d_fields.data());
        for (std::int64_t d = 0; d < d_f.data; ++d) {
            const std::int64_t k = d_f.trained_place[d_f.places[d]];
            float sum = 0;
            for (std::int64_t r = 0; r < rows; ++r) {
                point h = 0;
                for (std::int64_t i = 0; i < d_f.streams; ++i)
                    h += estimate()[(k * rows + r) * d_f.streams + i] *
                         d_f.signal_b_signs[i];
                sum += by_conjugate(h, d_fields[r * size + k]).real();
            }
            d_d.signal_b[d_frame * d_f.data + d] = 4 * sum;
        }
    }

    /* Compute symbols and known pilots from windows moved by d_shift, as if the windows
     * had not been moved. */
    void receive()
    {
        const std::int64_t rows = d_d.rows, symbols = d_symbols,
                           carriers = d_f.carriers;
        d_starts.resize(symbols);
        bool moved = false;
        for (std::int64_t t = 0; t < symbols; ++t) {
            d_starts[t] = start_of(t) + d_shift[t];
            moved = moved || d_shift[t];
        }
        spectra_at(d_starts, d_f.bins, carriers, scaled(), d_received.data());
        if (moved)
            turn_back();
        for (std::int64_t p = 0; p < d_f.num_pilots; ++p) {
            const std::int64_t at = d_f.pilot_places[p];
            const point* h = estimate() + d_f.trained_place[at] * rows * d_f.streams;
            for (std::int64_t t = 0; t < symbols; ++t) {
                const float* pilot =
                    d_f.pilots +
                    (t % d_f.pilot_period * d_f.num_pilots + p) * d_f.streams;
                point sum = 0;
                for (std::int64_t r = 0; r < rows; ++r) {
                    point expected = 0;
                    for (std::int64_t i = 0; i < d_f.streams; ++i)
                        expected += h[r * d_f.streams + i] * pilot[i];
                    sum += by_conjugate(expected,
                                        d_received[(r * symbols + t) * carriers + at]);
                }
                d_pilots[t * d_f.num_pilots + p] = sum;
            }
        }
    }

    void turn_back()
    {
        std::vector<float> memory(2 * d_f.carriers);
        float *re = memory.data(), *im = re + d_f.carriers;
        for (std::int64_t t = 0; t < d_symbols; ++t) {
            if (!d_shift[t])
                continue;
            turns(-2 * M_PI / d_f.fft * static_cast<double>(d_f.scale * d_shift[t]),
                  d_f.band_k,
                  d_f.carriers,
                  re,
                  im);
            for (std::int64_t r = 0; r < d_d.rows; ++r) {
                point* x = d_received.data() + (r * d_symbols + t) * d_f.carriers;
                for (std::int64_t k = 0; k < d_f.carriers; ++k)
                    x[k] = times(x[k], { re[k], im[k] });
            }
        }
    }

    wifi_tracking tracking(const double* before, double* offset, double* phase)
    {
        return { 1,
                 d_symbols,
                 d_f.num_pilots,
                 d_f.fft,
                 reinterpret_cast<const float*>(d_pilots.data()),
                 d_f.pilot_k,
                 d_distance.data(),
                 before,
                 offset,
                 phase };
    }

    /* Move windows if the clock lets symbols come too late or too early for them. Return
     * whether they moved. */
    bool move_windows(std::int64_t shift, double offset)
    {
        bool far = false;
        for (std::int64_t t = 0; t < d_symbols; ++t) {
            const double late = offset * d_distance[t] / d_f.scale;
            far = far || std::fabs(late) > 0.5;
            d_shift[t] = shift + static_cast<std::int64_t>(std::nearbyint(late));
        }
        return far;
    }

    /* Take the turns of clock and phase out of the symbols, and set the vectors of their
     * data. */
    void take_turns_out(double offset, const double* phase)
    {
        constexpr std::int64_t block = 16;
        const std::int64_t rows = d_d.rows, symbols = d_symbols,
                           carriers = d_f.carriers;
        std::vector<float> memory(2 * carriers);
        float *re = memory.data(), *im = re + carriers;
        point* out = points_of(d_d.received) + d_before * rows * carriers;
        point* vectors = points_of(d_d.vectors) + d_before * d_f.data * rows;
        for (std::int64_t begin = 0; begin < symbols; begin += block) {
            const std::int64_t end = std::min(begin + block, symbols);
            for (std::int64_t t = begin; t < end; ++t) {
                turns(offset * d_distance[t] * (2 * M_PI / d_f.fft),
                      d_f.k,
                      carriers,
                      re,
                      im,
                      -phase[t]);
                for (std::int64_t r = 0; r < rows; ++r) {
                    const std::int64_t at = (r * symbols + t) * carriers;
                    turned(reinterpret_cast<const float*>(d_received.data() + at),
                           re,
                           im,
                           carriers,
                           reinterpret_cast<float*>(out + at));
                }
            }
            for (std::int64_t d = 0; d < d_f.data; ++d) {
                point* to = vectors + (d * symbols + begin) * rows;
                const point* y = out + d_f.places[d];
                for (std::int64_t t = begin; t < end; ++t)
                    for (std::int64_t r = 0; r < rows; ++r)
                        *to++ = y[(r * symbols + t) * carriers];
            }
        }
    }

    void take_channel()
    {
        const std::int64_t size = d_d.rows * d_f.streams;
        point* to = points_of(d_d.whitened) + d_frame * d_f.data * size;
        for (std::int64_t d = 0; d < d_f.data; ++d, to += size)
            std::copy_n(estimate() + d_f.trained_place[d_f.places[d]] * size, size, to);
    }
};

} // namespace

void demodulate(const wifi_demodulation& d) { demodulator(d).run(); }

} // namespace MIMOPACK_ISA
} // namespace mimopack

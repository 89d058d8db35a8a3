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
    demodulator(const wifi_format& f,
                std::int64_t rows,
                wifi_frame* const* frames,
                std::int64_t count)
        : d_f(f),
          d_rows(rows),
          d_frames(frames),
          d_count(count),
          d_halves(2 * rows * f.legacy),
          d_scaled(count * rows),
          d_direct(2 * count * rows),
          d_estimates(count * channel_size())
    {
        std::int64_t longest = 0;
        for (std::int64_t i = 0; i < count; ++i)
            longest = std::max(longest, frames[i]->symbols);
        d_received.resize(rows * longest * f.carriers);
        d_pilots.resize(longest * f.num_pilots);
        d_turns.resize(2 * f.carriers);
        for (std::int64_t t = 0; t < longest; ++t)
            d_distance.push_back(f.distance(t));
    }

    void run()
    {
        for (std::int64_t i = 0; i < d_count; ++i) {
            take(i);
            direct(d_now->from, d_rows, d_now->cfo, d_f.legacy_fft, own_direct());
            noise();
            least_squares(points_of(d_now->least_squares));
            if (d_f.sounded_place)
                fill_gaps(points_of(d_now->least_squares));
        }
        smooth_all();
        for (std::int64_t i = 0; i < d_count; ++i) {
            take(i);
            demodulate_one();
        }
        if (d_f.signal_b >= 0)
            decode_signal_b();
    }

private:
    const wifi_format& d_f;
    const std::int64_t d_rows;
    wifi_frame* const* const d_frames;
    const std::int64_t d_count;
    std::vector<point> d_halves;
    std::vector<float> d_scaled, d_direct; /* frames x rows, the latter complex */
    std::vector<point> d_estimates;        /* frames x trained x rows x streams */
    std::vector<point> d_fields, d_received, d_pilots;
    std::vector<float> d_turns;
    std::vector<std::int64_t> d_window_shifts; /* frames */
    std::vector<std::int64_t> d_shift, d_starts;
    std::vector<double> d_distance; /* symbols: samples from the middle of the training */
    std::int64_t d_place = 0;
    wifi_frame* d_now = nullptr;
    std::int64_t d_symbols = 0; /* of this frame */

    void take(std::int64_t place)
    {
        d_place = place;
        d_now = d_frames[place];
        d_symbols = d_now->symbols;
    }

    std::int64_t start_of(std::int64_t t) const
    {
        return d_f.data_start + d_f.symbol * t + d_now->later;
    }
    std::int64_t channel_size() const { return d_f.trained * d_rows * d_f.streams; }
    point* estimate() { return d_estimates.data() + d_place * channel_size(); }
    float* scaled() { return d_scaled.data() + d_place * d_rows; }
    float* own_direct() { return d_direct.data() + 2 * d_place * d_rows; }

    void demodulate_one()
    {
        whiten_channel();
        if (d_f.signal_b >= 0)
            signal_b();
        d_now->condition = condition({ d_f.trained,
                                       static_cast<int>(d_rows),
                                       static_cast<int>(d_f.streams),
                                       d_now->channel,
                                       d_now->noise });
        d_now->offset = d_now->step = 0;
        std::fill_n(d_now->error, d_f.streams, 0.0f);
        if (!d_symbols)
            return;
        d_shift.assign(d_symbols, d_window_shifts[d_place]);
        receive();
        double offset = track(known_pilots(), 0, nullptr);
        if (move_windows(d_window_shifts[d_place], offset))
            receive();
        offset += track(known_pilots(), offset, d_now->phase);
        d_now->offset = offset;
        if (d_symbols > 1)
            d_now->step = (d_now->phase[d_symbols - 1] - d_now->phase[0]) /
                          static_cast<double>(d_symbols - 1);
        take_turns_out(offset, d_now->phase);
        take_channel();
        errors({ d_f.data,
                 d_symbols,
                 static_cast<int>(d_rows),
                 static_cast<int>(d_f.streams),
                 d_f.sides,
                 d_now->vectors,
                 d_now->whitened,
                 static_cast<float>(d_now->noise_var),
                 d_now->error });
    }

    /* Compute spectra of windows that begin at starts, in samples at 20 MS/s from the
     * L-LTF's first window. */
    void spectra_at(std::vector<std::int64_t>& starts,
                    int fft,
                    const std::int64_t* bins,
                    std::int64_t num_bins,
                    const float* scale,
                    point* out)
    {
        for (auto& start : starts)
            start = d_now->first + start * d_f.scale;
        spectra({ d_rows,
                  static_cast<std::int64_t>(starts.size()),
                  num_bins,
                  fft,
                  d_now->from,
                  own_direct(),
                  d_now->cfo,
                  starts.data(),
                  bins,
                  d_now->white,
                  scale,
                  reinterpret_cast<float*>(out) });
    }

    /* Estimate the noise as half the power of the difference of the L-LTF's halves. A
     * longer symbol collects more of it. */
    void noise()
    {
        d_starts = { 0, 64 };
        spectra_at(d_starts,
                   d_f.legacy_fft,
                   d_f.legacy_bins,
                   d_f.legacy,
                   nullptr,
                   d_halves.data());
        for (std::int64_t r = 0; r < d_rows; ++r) {
            const point* first = d_halves.data() + 2 * r * d_f.legacy;
            const point* second = first + d_f.legacy;
            double difference = 0, power = 0;
            for (std::int64_t k = 0; k < d_f.legacy; ++k) {
                difference += std::norm(first[k] - second[k]);
                power += std::norm(first[k]) + std::norm(second[k]);
            }
            const double share =
                0.5 * d_f.fft / d_f.legacy_fft / static_cast<double>(d_f.legacy);
            double& own = d_now->noise[r];
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
        const std::int64_t rows = d_rows, streams = d_f.streams, count = d_f.num_ltf;
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
        const std::int64_t windows = count + d_f.greenfield, size = d_f.sounded;
        d_starts.assign(d_f.ltf_starts, d_f.ltf_starts + windows);
        for (auto& start : d_starts)
            start += d_now->later;
        d_fields.resize(rows * windows * size);
        spectra_at(d_starts, d_f.ltf_fft, d_f.ltf_bins, size, scaled(), d_fields.data());
        for (std::int64_t r = 0; r < rows; ++r) {
            point* own = d_fields.data() + r * windows * size;
            if (d_f.greenfield)
                for (std::int64_t k = 0; k < size; ++k)
                    own[size + k] = (own[k] + own[size + k]) * 0.5f;
            const point* field = own + d_f.greenfield * size;
            for (std::int64_t i = 0; i < streams; ++i)
                for (std::int64_t k = 0; k < size; ++k) {
                    const std::int64_t c = d_f.sounded_place ? d_f.sounded_place[k] : k;
                    /* VHT's pilots train the sum of the streams. Streams get equal
                     * shares, until smoothing finds better ones. */
                    const bool shared = d_f.shared && d_f.shared[c];
                    point sum = 0;
                    if (shared) {
                        for (std::int64_t n = 0; n < count; ++n)
                            sum += field[n * size + k] * d_f.shared_mapping[n];
                        sum /= static_cast<float>(streams);
                    } else {
                        const point* factors = points_of(d_f.mapping) + i * count;
                        for (std::int64_t n = 0; n < count; ++n)
                            sum += times(field[n * size + k], factors[n]);
                    }
                    out[(c * rows + r) * streams + i] =
                        times(sum, untrained[c * streams + i]);
                }
        }
    }

    /* Return the mean turn of channels from one of some subcarriers to the next one, in
     * radians for each subcarrier between them: what a delay does. */
    float turn_of_delay(const point* channel,
                        const std::vector<std::int64_t>& trained) const
    {
        const std::int64_t size = d_rows * d_f.streams;
        const std::int64_t* k = d_f.smoother->wanted_k;
        const std::int64_t apart = trained.size() > 1 ? k[trained[1]] - k[trained[0]] : 1;
        point sum = 0;
        for (std::size_t i = 1; i < trained.size(); ++i)
            if (k[trained[i]] - k[trained[i - 1]] == apart)
                for (std::int64_t j = 0; j < size; ++j)
                    sum += times(channel[trained[i] * size + j],
                                 std::conj(channel[trained[i - 1] * size + j]));
        return std::arg(sum) / static_cast<float>(apart);
    }

    /* Draw the channel of subcarriers without training from those on both sides that
     * train each stream, apart from the mean delay. */
    void fill_gaps(point* channel) const
    {
        const std::int64_t size = d_rows * d_f.streams;
        const std::int64_t* k = d_f.smoother->wanted_k;
        std::vector<std::int64_t> trained;
        std::vector<bool> sounded(d_f.trained);
        for (std::int64_t i = 0; i < d_f.sounded; ++i) {
            const std::int64_t c = d_f.sounded_place[i];
            sounded[c] = true;
            if (!d_f.shared || !d_f.shared[c])
                trained.push_back(c);
        }
        const float turn = turn_of_delay(channel, trained);
        std::size_t next = 0;
        for (std::int64_t c = 0; c < d_f.trained; ++c) {
            while (next < trained.size() && trained[next] < c)
                ++next;
            if (sounded[c])
                continue;
            const std::int64_t low = trained[next ? next - 1 : 0],
                               high = trained[next < trained.size() ? next : next - 1];
            const float share = high == low ? 0
                                            : static_cast<float>(k[c] - k[low]) /
                                                  static_cast<float>(k[high] - k[low]);
            const auto turned = [&](std::int64_t from) {
                return std::polar(1.0f, turn * static_cast<float>(k[c] - k[from]));
            };
            const point of_low = (1 - share) * turned(low),
                        of_high = share * turned(high);
            for (std::int64_t j = 0; j < size; ++j)
                channel[c * size + j] = times(channel[low * size + j], of_low) +
                                        times(channel[high * size + j], of_high);
        }
    }

    /* Smooth the channels, and set what follows from their paths. */
    void smooth_all()
    {
        const std::int64_t rows = d_rows * d_f.streams, count = d_f.smoother->carriers;
        std::vector<point> chosen(d_count * count * rows);
        point* to = chosen.data();
        for (std::int64_t i = 0; i < d_count; ++i)
            for (std::int64_t k = 0; k < count; ++k, to += rows)
                std::copy_n(points_of(d_frames[i]->least_squares) +
                                (d_f.trained_here ? d_f.trained_here[k] : k) * rows,
                            rows,
                            to);
        std::vector<std::int64_t> done(d_count);
        std::vector<double> error(d_count), paths(64 * d_count);
        smooth_channels({ d_f.smoother,
                          d_count,
                          rows,
                          reinterpret_cast<const float*>(chosen.data()),
                          d_f.share,
                          d_f.smoothing,
                          reinterpret_cast<float*>(d_estimates.data()),
                          error.data(),
                          done.data(),
                          paths.data() });
        for (std::int64_t i = 0; i < d_count; ++i) {
            take(i);
            if (!done[i])
                std::copy_n(points_of(d_now->least_squares), channel_size(), estimate());
            else if (d_f.sounded_place)
                keep_in_gaps(points_of(d_now->least_squares));
            d_now->noise_var =
                1 + error[i] * d_f.share * static_cast<double>(d_f.streams);
            d_now->delay = first_path(paths.data() + 64 * i);
            d_window_shifts.push_back(
                d_f.short_gi ? best_shift(paths.data() + 64 * i, short_guard) : 0);
        }
    }

    /* Let smoothed channels stand for those of subcarriers without training. */
    void keep_in_gaps(point* channel)
    {
        const std::int64_t size = d_rows * d_f.streams;
        const std::int64_t *place = d_f.sounded_place, *end = place + d_f.sounded;
        for (std::int64_t c = 0; c < d_f.trained; ++c)
            if (place < end && *place == c)
                ++place;
            else
                std::copy_n(estimate() + c * size, size, channel + c * size);
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
        point* channel = points_of(d_now->channel);
        point* own = estimate();
        for (std::int64_t k = 0; k < d_f.trained; ++k)
            for (std::int64_t r = 0; r < d_rows; ++r) {
                const float deviation = std::sqrt(static_cast<float>(d_now->noise[r]));
                for (std::int64_t i = 0; i < d_f.streams; ++i, ++own) {
                    *channel++ = *own * deviation;
                    *own = times(*own, turn[k * d_f.streams + i]);
                }
            }
    }

    /* Read the VHT-SIG-B through its matched filter. */
    void signal_b()
    {
        const std::int64_t rows = d_rows, size = d_f.trained;
        d_starts = { d_f.signal_b };
        d_fields.resize(rows * size);
        spectra_at(d_starts, d_f.ltf_fft, d_f.ltf_bins, size, scaled(), d_fields.data());
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
            d_now->signal_b[d] = 4 * sum;
        }
    }

    /* Decode the VHT-SIG-Bs of all frames. */
    void decode_signal_b()
    {
        const std::int64_t size = d_f.signal_b_bits(), coded = d_f.signal_b_coded;
        std::vector<float> llr(d_count * coded);
        std::vector<std::uint8_t> bits(d_count * size);
        for (std::int64_t f = 0; f < d_count; ++f)
            for (std::int64_t i = 0; i < coded * d_f.signal_b_copies; ++i)
                llr[f * coded + i % coded] +=
                    d_frames[f]->signal_b[d_f.signal_b_order[i]];
        decode_half_rate(
            llr.data(), std::vector<std::int64_t>(d_count, size), bits.data());
        for (std::int64_t f = 0; f < d_count; ++f)
            std::copy_n(bits.data() + f * size, size, d_frames[f]->signal_b_bits);
    }

    /* Compute symbols and known pilots from windows moved by d_shift, as if the windows
     * had not been moved. */
    void receive()
    {
        const std::int64_t rows = d_rows, symbols = d_symbols, carriers = d_f.carriers;
        d_starts.resize(symbols);
        bool moved = false;
        for (std::int64_t t = 0; t < symbols; ++t) {
            d_starts[t] = start_of(t) + d_shift[t];
            moved = moved || d_shift[t];
        }
        spectra_at(d_starts, d_f.fft, d_f.bins, carriers, scaled(), d_received.data());
        if (moved)
            turn_back();
        for (std::int64_t p = 0; p < d_f.num_pilots; ++p) {
            const std::int64_t at = d_f.pilot_places[p];
            const point* h = estimate() + d_f.trained_place[at] * rows * d_f.streams;
            for (std::int64_t t = 0; t < symbols; ++t) {
                const std::int64_t number = (d_now->first_symbol + t) % d_f.pilot_period;
                const float* pilot =
                    d_f.pilots + (number * d_f.num_pilots + p) * d_f.streams;
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
        float *re = d_turns.data(), *im = re + d_f.carriers;
        for (std::int64_t t = 0; t < d_symbols; ++t) {
            if (!d_shift[t])
                continue;
            turns(-2 * M_PI / d_f.fft * static_cast<double>(d_f.scale * d_shift[t]),
                  d_f.band_k,
                  d_f.carriers,
                  re,
                  im);
            for (std::int64_t r = 0; r < d_rows; ++r) {
                point* x = d_received.data() + (r * d_symbols + t) * d_f.carriers;
                for (std::int64_t k = 0; k < d_f.carriers; ++k)
                    x[k] = times(x[k], { re[k], im[k] });
            }
        }
    }

    tracking known_pilots() const
    {
        return { d_symbols,   d_f.num_pilots,
                 d_f.fft,     reinterpret_cast<const float*>(d_pilots.data()),
                 d_f.pilot_k, d_distance.data() };
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
        const std::int64_t rows = d_rows, symbols = d_symbols, carriers = d_f.carriers;
        float *re = d_turns.data(), *im = re + carriers;
        point* out = points_of(d_now->received);
        point* vectors = points_of(d_now->vectors);
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
        const std::int64_t size = d_rows * d_f.streams;
        point* to = points_of(d_now->whitened);
        for (std::int64_t d = 0; d < d_f.data; ++d, to += size)
            std::copy_n(estimate() + d_f.trained_place[d_f.places[d]] * size, size, to);
    }
};

} // namespace

void demodulate(const wifi_format& f,
                std::int64_t rows,
                wifi_frame* const* frames,
                std::int64_t count)
{
    demodulator(f, rows, frames, count).run();
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

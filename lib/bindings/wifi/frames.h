/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The demodulator's input and output, as Python sees them */
#pragma once
#include "bindings/wifi/channels.h"
#include "bindings/wifi/decoding.h"

namespace mimopack {

/* Frames as they were received: their samples, and what the synchroniser found */
struct received_frames {
    std::vector<row_array> samples; /* arrays (rows, length) */
    std::int64_t rows;
    long_array first;                    /* (frames,) */
    double_array cfo;                    /* (frames,) */
    std::optional<complex_array> direct; /* (frames, rows) */
    std::optional<complex_array> white;  /* (frames, rows, rows) */

    std::int64_t frames() const { return static_cast<std::int64_t>(samples.size()); }
    bool fit(const frames_of& all, int fft) const
    {
        constexpr std::int64_t far = std::int64_t{ 1 } << 40;
        const std::int64_t n = frames();
        bool fits = all.fits && has_shape(first, { n }) && has_shape(cfo, { n }) &&
                    (!direct || has_shape(*direct, { n, rows })) &&
                    (!white || has_shape(*white, { n, rows, rows }));
        for (std::int64_t i = 0; fits && i < n; ++i)
            fits =
                all.length[i] >= fft && first.data()[i] > -far && first.data()[i] < far;
        return fits;
    }
};

/* What the demodulator puts out for each frame */
struct demodulated {
    buffer<std::complex<float>> vectors, whitened, channel, least_squares, received;
    buffer<double> noise_var, noise, offset, phase, step;
    buffer<std::int64_t> delay;
    buffer<float> signal_b;
    buffer<std::uint8_t> signal_b_bits;
    /* of its own, because reports keep it longer than the rest */
    std::shared_ptr<channel_states> states;

    demodulated(const wifi_format& f,
                std::int64_t frames,
                std::int64_t rows,
                std::int64_t bits_of_signal_b)
        : vectors({ frames, f.data, f.symbols, rows }),
          whitened({ frames, f.symbols ? f.data : 0, rows, f.streams }),
          channel({ frames, f.trained, rows, f.streams }),
          least_squares({ frames, f.trained, rows, f.streams }),
          received({ frames, rows, f.symbols, f.carriers }),
          noise_var({ frames }),
          noise({ frames, rows }),
          offset({ frames }),
          phase({ frames, f.symbols }),
          step({ frames }),
          delay({ frames }),
          signal_b({ frames, f.signal_b < 0 ? 0 : f.data }),
          signal_b_bits({ frames, bits_of_signal_b }),
          states(std::make_shared<channel_states>(frames, f.trained, rows, f.streams))
    {
        std::fill_n(offset.mutable_data(), frames, 0.0);
    }

    /* `direct`: direct current, complex (frames, rows) */
    wifi_demodulation plan(const wifi_format& format,
                           const received_frames& from,
                           const frames_of& all,
                           const float* direct)
    {
        return { &format,
                 from.frames(),
                 from.rows,
                 all.all(),
                 from.first.data(),
                 from.cfo.data(),
                 direct,
                 from.white ? floats(*from.white) : nullptr,
                 floats(vectors),
                 floats(whitened),
                 noise_var.mutable_data(),
                 floats(channel),
                 noise.mutable_data(),
                 offset.mutable_data(),
                 phase.mutable_data(),
                 delay.mutable_data(),
                 signal_b.mutable_data(),
                 floats(received),
                 floats(least_squares) };
    }

    /* Put in what reports need. `owner` keeps this object. */
    void report_into(py::dict& out, const py::object& owner) const
    {
        out["sampling_offset"] = list_of(offset);
        out["phase_step"] = list_of(step);
        out["delay"] = list_of(delay);
        out["sig_b_bits"] = signal_b_bits.array(owner);
        out["states"] = states->as_tuple(owner_of(states));
    }

    /* Put everything in. `owner` keeps this object. */
    void put_into(py::dict& out, const py::object& owner) const
    {
        out["y"] = vectors.array(owner);
        out["h"] = whitened.array(owner);
        out["noise_var"] = noise_var.array(owner);
        out["channel"] = channel.array(owner);
        out["noise"] = noise.array(owner);
        out["sampling_offset"] = offset.array(owner);
        out["phase"] = phase.array(owner);
        out["phase_step"] = step.array(owner);
        out["delay"] = delay.array(owner);
        out["sig_b"] = signal_b.array(owner);
        out["sig_b_bits"] = signal_b_bits.array(owner);
        out["received"] = received.array(owner);
        out["least_squares"] = least_squares.array(owner);
        out["states"] = states->as_tuple(owner_of(states));
    }

private:
    template <typename T>
    static std::vector<T> list_of(const buffer<T>& values)
    {
        return { values.data(), values.data() + values.size() };
    }
};

/* CPU seconds of the stages: demodulator, detector, decoder */
using stage_seconds = std::array<double, 3>;

/* What the decoding chain puts out for each frame */
struct decoded {
    buffer<std::uint8_t> scrambled;
    std::vector<std::uint8_t> psdus; /* frames x length */
    std::int64_t length;
    buffer<float> error;
    std::vector<mpdu_places> mpdus;

    decoded(const descrambler& last, std::int64_t frames, std::int64_t streams)
        : scrambled({ frames, last.size() }),
          psdus(frames * last.length()),
          length(last.length()),
          error({ frames, streams })
    {
    }

    /* `owner` keeps this object. */
    void put_into(py::dict& out, const py::object& owner) const
    {
        out["scrambled"] = scrambled.array(owner);
        out["payloads"] = payload_list(psdus.data(), length, mpdus);
        out["evm"] = decibels_of(error.data(), error.shape(0), error.shape(1));
    }
};

} // namespace mimopack

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
    complex_array vectors, whitened, channel, least_squares, received;
    double_array noise_var, noise, offset, phase, step;
    long_array delay;
    float_array signal_b;
    byte_array signal_b_bits;
    channel_states states;

    demodulated(const wifi_format& f,
                std::int64_t frames,
                std::int64_t rows,
                std::int64_t bits_of_signal_b)
        : vectors({ frames, f.data, f.symbols, rows }),
          whitened({ frames, f.symbols ? f.data : 0, rows, f.streams }),
          channel({ frames, f.trained, rows, f.streams }),
          least_squares({ frames, f.trained, rows, f.streams }),
          received({ frames, rows, f.symbols, f.carriers }),
          noise_var(frames),
          noise({ frames, rows }),
          offset(frames),
          phase({ frames, f.symbols }),
          step(frames),
          delay(frames),
          signal_b({ frames, f.signal_b < 0 ? 0 : f.data }),
          signal_b_bits({ frames, bits_of_signal_b }),
          states(frames, f.trained, rows, f.streams)
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

    void put_into(py::dict& out) const
    {
        out["y"] = vectors;
        out["h"] = whitened;
        out["noise_var"] = noise_var;
        out["channel"] = channel;
        out["noise"] = noise;
        out["sampling_offset"] = offset;
        out["phase"] = phase;
        out["phase_step"] = step;
        out["delay"] = delay;
        out["sig_b"] = signal_b;
        out["sig_b_bits"] = signal_b_bits;
        out["received"] = received;
        out["least_squares"] = least_squares;
        out["states"] = states.as_tuple();
    }
};

/* CPU seconds of the stages: demodulator, detector, decoder */
using stage_seconds = std::array<double, 3>;

/* What the decoding chain puts out for each frame */
struct decoded {
    byte_array scrambled;
    std::vector<std::uint8_t> psdus; /* frames x length */
    std::int64_t length;
    float_array error;
    std::vector<mpdu_places> mpdus;

    decoded(const descrambler& last, std::int64_t frames, std::int64_t streams)
        : scrambled({ frames, last.size() }),
          psdus(frames * last.length()),
          length(last.length()),
          error({ frames, streams })
    {
    }

    void put_into(py::dict& out) const
    {
        out["scrambled"] = scrambled;
        out["payloads"] = payload_list(psdus.data(), length, mpdus);
        out["evm"] = decibels_of(error);
    }
};

} // namespace mimopack

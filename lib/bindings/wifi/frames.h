/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The demodulator's input and output, as Python sees them */
#pragma once
#include "bindings/wifi/channels.h"
#include "bindings/wifi/decoding.h"

namespace mimopack {

/* Numbers of data symbols and bits of a frame */
struct frame_size {
    std::int64_t symbols;
    std::int64_t tail; /* first bit of the convolutional code's tail */
    payload_layout payload;
};

/* Frames as they were received, in the order of their numbers of symbols */
struct received_frames {
    std::vector<row_array> samples; /* arrays (rows, length), which the others point into */
    std::int64_t rows = 0;
    std::vector<std::size_t> place; /* of each frame in the order of the caller */
    std::vector<const float*> data;
    std::vector<std::int64_t> length, stride, first;
    std::vector<double> cfo;
    std::vector<frame_size> size;
    std::vector<std::complex<float>> white; /* frames x rows x rows, or empty */

    std::int64_t frames() const { return static_cast<std::int64_t>(place.size()); }

    wifi_frames from(std::int64_t i) const
    {
        return { data.data() + i, length.data() + i, stride.data() + i };
    }
};

/* Demodulated frames with the same number of symbols */
struct demodulated {
    std::int64_t begin, frames; /* of the received frames */
    buffer<std::complex<float>> vectors, whitened, channel, least_squares, received;
    buffer<double> noise_var, noise, offset, phase, step;
    buffer<std::int64_t> delay;
    buffer<float> signal_b;
    buffer<std::uint8_t> signal_b_bits;
    buffer<float> error;
    channel_states states;

    demodulated(const wifi_format& f,
                const received_frames& from,
                std::int64_t first,
                std::int64_t count,
                std::int64_t bits_of_signal_b)
        : begin(first),
          frames(count),
          vectors({ frames, f.data, from.size[first].symbols, from.rows }),
          whitened(
              { frames, from.size[first].symbols ? f.data : 0, from.rows, f.streams }),
          channel({ frames, f.trained, from.rows, f.streams }),
          least_squares({ frames, f.trained, from.rows, f.streams }),
          received({ frames, from.rows, from.size[first].symbols, f.carriers }),
          noise_var({ frames }),
          noise({ frames, from.rows }),
          offset({ frames }),
          phase({ frames, from.size[first].symbols }),
          step({ frames }),
          delay({ frames }),
          signal_b({ frames, f.signal_b < 0 ? 0 : f.data }),
          signal_b_bits({ frames, bits_of_signal_b }),
          error({ frames, f.streams }),
          states(frames, f.trained, from.rows, f.streams)
    {
        std::fill_n(offset.mutable_data(), frames, 0.0);
    }

    std::int64_t symbols() const { return phase.shape(1); }

    /* `direct`: direct current, complex (frames, rows) */
    wifi_demodulation
    plan(const wifi_format& format, const received_frames& from, const float* direct)
    {
        return { &format,
                 frames,
                 from.rows,
                 symbols(),
                 from.from(begin),
                 from.first.data() + begin,
                 from.cfo.data() + begin,
                 direct,
                 from.white.empty()
                     ? nullptr
                     : reinterpret_cast<const float*>(from.white.data() +
                                                      begin * from.rows * from.rows),
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

    /* Free what only further passes need. */
    void forget()
    {
        for (auto* one : { &vectors, &whitened, &channel, &least_squares, &received })
            one->clear();
    }

    /* Return a dictionary of the arrays of a frame, as the only frame. `owner` keeps this
     * object. */
    py::dict arrays(std::int64_t i, const py::object& owner) const
    {
        py::dict out;
        out["y"] = vectors.row(i, owner);
        out["h"] = whitened.row(i, owner);
        out["noise_var"] = noise_var.row(i, owner);
        out["channel"] = channel.row(i, owner);
        out["noise"] = noise.row(i, owner);
        out["sampling_offset"] = offset.row(i, owner);
        out["phase"] = phase.row(i, owner);
        out["phase_step"] = step.row(i, owner);
        out["delay"] = delay.row(i, owner);
        out["sig_b"] = signal_b.row(i, owner);
        out["sig_b_bits"] = signal_b_bits.row(i, owner);
        out["received"] = received.row(i, owner);
        out["least_squares"] = least_squares.row(i, owner);
        return out;
    }
};

/* CPU seconds of the stages: demodulator, detector, decoder */
using stage_seconds = std::array<double, 3>;

/* What the decoding chain puts out for a frame */
struct decoded {
    std::vector<std::uint8_t> scrambled; /* bits */
    std::vector<std::uint8_t> psdu;      /* bytes */
    mpdu_places mpdus;
};

} // namespace mimopack

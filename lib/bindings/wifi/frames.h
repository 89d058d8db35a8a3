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

    wifi_frames all() const { return { data.data(), length.data(), stride.data() }; }
};

/* Demodulated frames, in the order of received_frames */
struct demodulated {
    const wifi_format& format;
    std::int64_t frames, rows;
    std::vector<std::int64_t> symbols; /* of each frame */
    std::vector<std::int64_t> before;  /* symbols of all frames before each, and in all */
    buffer<std::complex<float>> vectors, whitened, channel, least_squares, received;
    buffer<double> noise_var, noise, offset, phase, step;
    buffer<std::int64_t> delay;
    buffer<float> signal_b;
    buffer<std::uint8_t> signal_b_bits;
    buffer<float> error;
    channel_states states;

    demodulated(const wifi_format& f,
                const received_frames& from,
                std::int64_t bits_of_signal_b)
        : format(f),
          frames(from.frames()),
          rows(from.rows),
          symbols(symbols_of(from)),
          before(sums_of(symbols)),
          vectors({ before.back(), f.data, rows }),
          whitened({ frames, before.back() ? f.data : 0, rows, f.streams }),
          channel({ frames, f.trained, rows, f.streams }),
          least_squares({ frames, f.trained, rows, f.streams }),
          received({ before.back(), rows, f.carriers }),
          noise_var({ frames }),
          noise({ frames, rows }),
          offset({ frames }),
          phase({ before.back() }),
          step({ frames }),
          delay({ frames }),
          signal_b({ frames, f.signal_b < 0 ? 0 : f.data }),
          signal_b_bits({ frames, bits_of_signal_b }),
          error({ frames, f.streams }),
          states(frames, f.trained, rows, f.streams)
    {
        std::fill_n(offset.mutable_data(), frames, 0.0);
    }

    /* Return the first vector of frame i. */
    const std::complex<float>* vectors_of(std::int64_t i) const
    {
        return vectors.data() + before[i] * format.data * rows;
    }

    /* Return the first matrix of frame i. */
    const std::complex<float>* matrices_of(std::int64_t i) const
    {
        return whitened.data() + i * format.data * rows * format.streams;
    }

    /* Return how many frames from number i on, up to `most`, have the same number of
     * symbols. */
    std::int64_t equal(std::int64_t i, std::int64_t most) const
    {
        std::int64_t j = i + 1;
        while (j < std::min(frames, i + most) && symbols[j] == symbols[i])
            ++j;
        return j - i;
    }

    /* `direct`: direct current, complex (frames, rows) */
    wifi_demodulation
    plan(const wifi_format& own, const received_frames& from, const float* direct)
    {
        return { &own,
                 frames,
                 rows,
                 symbols.data(),
                 from.all(),
                 from.first.data(),
                 from.cfo.data(),
                 direct,
                 from.white.empty() ? nullptr
                                    : reinterpret_cast<const float*>(from.white.data()),
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

    /* Return a dictionary of the arrays of frame i, as the only frame. `owner` keeps this
     * object. */
    py::dict arrays(std::int64_t i, const py::object& owner) const
    {
        const std::int64_t own = symbols[i], at = before[i];
        py::dict out;
        out["y"] = vectors.array(
            at * format.data * rows, { 1, format.data, own, rows }, owner);
        out["h"] = whitened.row(i, owner);
        out["noise_var"] = noise_var.row(i, owner);
        out["channel"] = channel.row(i, owner);
        out["noise"] = noise.row(i, owner);
        out["sampling_offset"] = offset.row(i, owner);
        out["phase"] = phase.array(at, { 1, own }, owner);
        out["phase_step"] = step.row(i, owner);
        out["delay"] = delay.row(i, owner);
        out["sig_b"] = signal_b.row(i, owner);
        out["sig_b_bits"] = signal_b_bits.row(i, owner);
        out["received"] = received.array(
            at * rows * format.carriers, { 1, rows, own, format.carriers }, owner);
        out["least_squares"] = least_squares.row(i, owner);
        return out;
    }

private:
    static std::vector<std::int64_t> symbols_of(const received_frames& from)
    {
        std::vector<std::int64_t> out;
        for (const frame_size& one : from.size)
            out.push_back(one.symbols);
        return out;
    }

    static std::vector<std::int64_t> sums_of(const std::vector<std::int64_t>& counts)
    {
        std::vector<std::int64_t> out{ 0 };
        for (const std::int64_t count : counts)
            out.push_back(out.back() + count);
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

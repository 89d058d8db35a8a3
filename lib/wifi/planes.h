/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames as rows of complex numbers, for the loops over decoded frames */
#pragma once
#include "wifi/lanes.h"
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

/* Rows of complex numbers, with real and imaginary parts apart, each row padded with
 * zeros to whole vectors */
class planes
{
public:
    planes(std::int64_t rows, std::int64_t size)
        : d_padded((size + width - 1) / width * width),
          d_size(size),
          d_re(rows * d_padded),
          d_im(rows * d_padded)
    {
    }

    std::int64_t padded() const { return d_padded; }
    float* re(std::int64_t row) { return d_re.data() + row * d_padded; }
    float* im(std::int64_t row) { return d_im.data() + row * d_padded; }

    complex_simd get(std::int64_t row, std::int64_t place) const
    {
        const std::int64_t at = row * d_padded + place;
        return { simd::load(d_re.data() + at), simd::load(d_im.data() + at) };
    }

    void put(std::int64_t row, std::int64_t place, complex_simd x)
    {
        const std::int64_t at = row * d_padded + place;
        x.re.store(d_re.data() + at);
        x.im.store(d_im.data() + at);
    }

    /* Fill rows x size values from pairs. */
    void fill(const float* from)
    {
        const std::int64_t rows = static_cast<std::int64_t>(d_re.size()) / d_padded;
        for (std::int64_t row = 0; row < rows; ++row) {
            float *a = re(row), *b = im(row);
            for (std::int64_t i = 0; i < d_size; ++i, from += 2) {
                a[i] = from[0];
                b[i] = from[1];
            }
        }
    }

private:
    std::int64_t d_padded, d_size;
    std::vector<float> d_re, d_im;
};

/* A frame behind its first pass. `trained` subcarriers have a channel, without the
 * streams' turns. `carriers` of them hold data or pilots. */
struct frame_shape {
    std::int64_t rows, symbols, carriers, streams, trained;
    const std::int64_t* trained_place; /* carriers: their places among the trained ones */
    const float* turn;                 /* trained x streams complex */
};

/* Inputs of a detector: the noise has variance 1 on each subcarrier and no correlation
 * between antennas. The noise is what remains of the symbols. */
struct whitening {
    frame_shape shape;
    std::int64_t data;
    const float* received;      /* rows x symbols x carriers complex */
    const float* points;        /* streams x symbols x carriers complex */
    const float* channel;       /* trained x rows x streams complex */
    const float* noise;         /* carriers x rows */
    const std::int64_t* places; /* data of the carriers */
    float* vectors;             /* data x symbols x rows complex */
    float* whitened;            /* data x rows x streams complex */
};

void whiten(const whitening& w);

/* Set h to the channel with the streams' turns, a row for each antenna and stream. */
inline void turned_channel(const frame_shape& s, const float* channel, planes& h)
{
    for (std::int64_t k = 0; k < s.carriers; ++k) {
        const std::int64_t c = s.trained_place[k];
        const float* turn = s.turn + 2 * c * s.streams;
        const float* from = channel + 2 * c * s.rows * s.streams;
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t i = 0; i < s.streams; ++i, from += 2) {
                const float a = turn[2 * i], b = turn[2 * i + 1];
                h.re(r * s.streams + i)[k] = from[0] * a - from[1] * b;
                h.im(r * s.streams + i)[k] = from[0] * b + from[1] * a;
            }
    }
}

/* Return H x of an antenna, for the vector of subcarriers at `place`. */
MP_FN complex_simd expected(const planes& h,
                            const planes& x,
                            const frame_shape& s,
                            std::int64_t r,
                            std::int64_t t,
                            std::int64_t place)
{
    complex_simd e = h.get(r * s.streams, place) * x.get(t, place);
    for (std::int64_t i = 1; i < s.streams; ++i)
        e = e + h.get(r * s.streams + i, place) * x.get(i * s.symbols + t, place);
    return e;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

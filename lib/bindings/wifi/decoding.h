/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* From LLRs to the bytes of PSDUs */
#pragma once
#include "bindings/wifi/common.h"
#include "codes/decoders.h"
#include "wifi/mac.h"

namespace mimopack {

/* Decodes the convolutional code of frames. The output holds the encoders' bits in turns,
 * without their tails. */
class frame_decoder
{
public:
    /* source: for each coded bit, the place of its LLR in a symbol; rate: of the code */
    frame_decoder(const long_array& source,
                  const std::string& rate,
                  std::int64_t encoders,
                  float largest_mean,
                  const std::string& isa);

    std::int64_t encoders() const { return d_encoders; }

    /* Return the bits of a frame whose encoders take `count` bits each. */
    std::int64_t decoded(std::int64_t count) const { return d_encoders * count; }

    /* Return the number of integers of a frame that are decoded. */
    std::int64_t integers(std::int64_t count) const { return d_encoders * used(count); }

    /* Return the number of integers that round() writes for a frame. */
    std::int64_t written(std::int64_t symbols) const { return symbols * d_source.size(); }

    /* LLRs of a frame: carriers x symbols x bits */
    struct frame_llrs {
        const float* llr;
        std::int64_t carriers, symbols, bits;
    };

    /* Round the LLRs of a frame to integers. More than integers(count) are written. */
    void round(const frame_llrs& from, std::int64_t count, std::int8_t* to) const;

    /* Decode the integers of frames, one after another. counts: of each frame. Return 0
     * or out_of_memory. */
    std::size_t run(const std::int8_t* integers,
                    const std::vector<std::int64_t>& counts,
                    std::uint8_t* out,
                    viterbi_batch& b) const;

    /* Return the bits (frames, decoded(count)) of llr (frames, carriers, symbols, bits).
     */
    byte_array decode(const float_array& llr, std::int64_t count, int threads) const;

private:
    long_array d_source;
    std::int64_t d_encoders;
    float d_mean;
    int d_rate = 0;
    const wifi_build& d_build;
    const viterbi_build& d_decoder;

    std::int64_t used(std::int64_t count) const;
};

/* A payload's bits and bytes */
struct payload_sizes {
    std::int64_t size;   /* scrambled bits, with the padding */
    std::int64_t end;    /* from this bit on, the descrambled bits are 0 */
    std::int64_t length; /* bytes of the PSDU */
    bool aggregated;     /* the PSDU is an A-MPDU */
};

/* What a frame's decoded bits say */
struct payload {
    std::vector<std::uint8_t> scrambled; /* bits */
    std::vector<std::uint8_t> psdu;      /* bytes */
    mpdu_places mpdus;

    /* Return (PSDU, list of (offset, length, whether the FCS fits), whether these are all
     * MPDUs, scrambled bits of the SERVICE field). */
    py::tuple as_tuple() const;
    /* Return the scrambled bits (1, size). */
    byte_array bits() const;
};

/* Descramble a frame of `given` <= size bits into a PSDU, and find its MPDUs. Zeros fill
 * the gap up to the end. */
payload descramble(const std::uint8_t* from, std::int64_t given, const payload_sizes& p);

} // namespace mimopack

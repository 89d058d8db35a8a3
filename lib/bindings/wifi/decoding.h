/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* From LLRs to the bytes of PSDUs */
#pragma once
#include "bindings/wifi/common.h"
#include "codes/viterbi/builds.h"
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

    /* Return the bits of each encoder, without its tail, of a frame whose tails begin at
     * bit `tail`. */
    std::int64_t count(std::int64_t tail) const
    {
        return (tail + viterbi_tail * d_encoders) / d_encoders - viterbi_tail;
    }

    /* Return whether frames with this number of LLRs in a symbol, and of symbols, hold
     * all coded bits. */
    bool takes(std::int64_t llrs_of_symbol,
               std::int64_t symbols,
               std::int64_t count) const;

    /* Return the number of integers of a frame that are decoded. */
    std::int64_t integers(std::int64_t count) const
    {
        return d_encoders * used(count);
    }

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
    std::int64_t d_encoders, d_sources; /* LLRs of a symbol that are used */
    float d_mean;
    int d_rate = 0;
    const wifi_build& d_build;
    const viterbi_build& d_decoder;

    std::int64_t used(std::int64_t count) const;
};

/* Where a frame's bits lie */
struct payload_layout {
    std::int64_t size;   /* scrambled bits, with the padding */
    std::int64_t end;    /* from this bit on, the descrambled bits are 0 */
    std::int64_t length; /* bytes of the PSDU */
    bool aggregated;     /* the PSDU is an A-MPDU */
};

/* Descrambles decoded bits into PSDUs and finds their MPDUs. */
class descrambler
{
public:
    /* sequences (128, 127): scrambling sequences by the first seven bits. The PSDU begins
     * behind `service` bits. */
    descrambler(const byte_array& sequences, std::int64_t service);

    bool fits(const payload_layout& p) const;

    /* Descramble a frame of `given` <= size bits. Zeros fill the gap up to the end. `to`
     * gets the scrambled bits (size), `bytes` the PSDU (length). */
    mpdu_places run(const std::uint8_t* from,
                    std::int64_t given,
                    const payload_layout& p,
                    std::uint8_t* to,
                    std::uint8_t* bytes) const;

    /* Return (bits (frames, size), list of payloads) of bits (frames, at most size). */
    py::tuple descramble(const byte_array& bits, const payload_layout& p) const;

private:
    static constexpr std::int64_t period = 127, seed_bits = 7;

    byte_array d_sequences;
    std::int64_t d_service;
};

/* Return the list of (offset, length, whether the FCS fits) of MPDUs. */
py::list mpdu_list(const mpdu_places& found);

} // namespace mimopack

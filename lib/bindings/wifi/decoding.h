/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* From LLRs to the bytes of PSDUs */
#pragma once
#include "bindings/wifi/common.h"
#include "codes/viterbi/plan.h"
#include "wifi/mac.h"

namespace mimopack {

/* Decodes the convolutional code of frames. The output holds the encoders' bits in turns,
 * without their tails. */
class frame_decoder
{
public:
    /* source: for each coded bit, the place of its LLR in a symbol; rate: of the code;
     * count: bits of an encoder without tail */
    frame_decoder(const long_array& source,
                  const std::string& rate,
                  std::int64_t encoders,
                  std::int64_t count,
                  float largest_mean,
                  const std::string& isa);

    /* Bits of a decoded frame */
    std::int64_t decoded() const { return d_encoders * d_count; }

    /* Return whether frames with this number of LLRs in a symbol, and of symbols, hold
     * all coded bits. */
    bool takes(std::int64_t llrs_of_symbol, std::int64_t symbols) const;

    /* Return the bytes of memory that round() needs for all frames. */
    std::size_t size(std::int64_t frames, std::int64_t symbols) const;

    /* LLRs of a frame: carriers x symbols x bits */
    struct frame_llrs {
        const float* llr;
        std::int64_t carriers, symbols, bits;
    };

    /* Round the LLRs of frame number f to integers, behind the integers of the frames
     * before it. Frames must come in order. */
    void round(const frame_llrs& from, std::int64_t f, std::int8_t* memory) const;

    /* Decode the integers of frames. Return 0 or out_of_memory. */
    std::size_t run(const std::int8_t* integers,
                    std::int64_t frames,
                    std::uint8_t* out,
                    viterbi_batch& b) const;

    /* Return the bits (frames, decoded()) of llr (frames, carriers, symbols, bits). */
    byte_array decode(const float_array& llr, int threads) const;

private:
    long_array d_source;
    std::int64_t d_encoders, d_count, d_used = 0;
    float d_mean;
    int d_rate = 0;
    const wifi_build& d_build;
    const viterbi_build& d_decoder;
};

/* Descrambles decoded bits into PSDUs and finds their MPDUs. */
class descrambler
{
public:
    /* sequences (128, 127): scrambling sequences by the first seven bits. Of `size` bits,
     * the bits from `end` on become a descrambled 0. The PSDU of `length` bytes begins
     * behind `service` bits. aggregated: the PSDU is an A-MPDU. */
    descrambler(const byte_array& sequences,
                std::int64_t size,
                std::int64_t end,
                std::int64_t service,
                std::int64_t length,
                bool aggregated);

    std::int64_t size() const { return d_size; }
    std::int64_t length() const { return d_length; }

    /* Descramble frames of `given` <= size() bits each. Zeros fill the gap up to the end.
     * `to` gets the scrambled bits (frames x size()), `bytes` the PSDUs (frames x
     * length()). */
    std::vector<mpdu_places> run(const std::uint8_t* from,
                                 std::int64_t frames,
                                 std::int64_t given,
                                 std::uint8_t* to,
                                 std::uint8_t* bytes) const;

    /* Return (bits (frames, size), payload_list()) of bits (frames, at most size). */
    py::tuple descramble(const byte_array& bits) const;

private:
    static constexpr std::int64_t period = 127, seed_bits = 7;

    byte_array d_sequences;
    std::int64_t d_size, d_end, d_service, d_length;
    bool d_aggregated;

    void descramble_frame(const std::uint8_t* from,
                          std::int64_t given,
                          std::vector<std::uint8_t>& sequence,
                          std::uint8_t* to,
                          std::uint8_t* bytes) const;
};

/* Return (PSDU as bytes, list of (offset, length, whether the FCS fits) of its MPDUs,
 * whether the list is complete) for each frame. `psdus` holds `length` bytes of each. */
py::list payload_list(const std::uint8_t* psdus,
                      std::int64_t length,
                      const std::vector<mpdu_places>& found);

} // namespace mimopack

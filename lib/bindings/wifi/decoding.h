/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* From LLRs to the bytes of PSDUs */
#pragma once
#include "bindings/wifi/common.h"
#include "codes/decoders.h"
#include "wifi/mac.h"
#include <map>

namespace mimopack {

/* LLRs of a frame: carriers x symbols x bits. last: coded bits of each of the last
 * symbols, see wifi_rounding */
struct frame_llrs {
    const float* llr;
    std::int64_t carriers, symbols, bits, last;
};

/* Decodes the convolutional code of frames. The output holds the encoders' bits in turns,
 * without their tails. */
class frame_decoder
{
public:
    /* given: source: for each coded bit, the place of its LLR in a symbol; rate: of the
     * code; encoders; sent, block: see wifi_rounding; largest_mean */
    explicit frame_decoder(const py::kwargs& given);

    std::int64_t encoders() const { return d_encoders; }

    /* Return the bits of a frame whose encoders take `count` bits each. */
    std::int64_t decoded(std::int64_t count) const { return d_encoders * count; }

    /* Return the number of integers of a frame that are decoded. */
    std::int64_t integers(std::int64_t count) const { return d_encoders * used(count); }

    /* Return the number of integers that round() writes for a frame. */
    std::int64_t written(std::int64_t symbols) const { return symbols * d_source.size(); }

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
    byte_array decode(const float_array& llr,
                      std::int64_t count,
                      std::int64_t last,
                      int threads) const;

private:
    long_array d_source;
    std::int64_t d_encoders, d_sent, d_block;
    float d_mean;
    int d_rate = 0;
    const wifi_build& d_build;
    const viterbi_build& d_decoder;

    std::int64_t used(std::int64_t count) const;
};

/* A frame's LDPC codewords: bits of each, their number, and how many of all bits are
 * shortened, punctured and repeated, see coding/ldpc/wifi_rate_matching.py */
struct frame_codewords {
    std::int64_t length, count, shortened, punctured, repeated;
};

/* Decodes the LDPC codes of frames */
class ldpc_frame_decoder
{
public:
    /* A code's checks, see ldpc_plan, and its information bits */
    struct code {
        int num_info;
        std::vector<int> first, columns;
    };

    /* given: source, sent, block: as of frame_decoder; bits: of a subcarrier; codes: by
     * bits of a codeword; iterations; factor */
    explicit ldpc_frame_decoder(const py::kwargs& given);

    /* Set `words` (count x length) to the LLRs of a frame's codewords. */
    void recover(const frame_llrs& from, const frame_codewords& c, float* words) const;

    /* Decode n codewords of a length in place. Return 0 or out_of_memory. */
    std::size_t
    run(std::int64_t length, std::size_t n, float* words, const viterbi_batch& b) const;

    /* Write the payload's bits of a frame's decoded codewords. */
    void decide(const frame_codewords& c, const float* words, std::uint8_t* bits) const;

private:
    /* Where each coded bit of a symbol lies: the first bit of its subcarrier, and its
     * place after that */
    std::vector<std::int32_t> d_carrier, d_bit;
    std::int64_t d_sent, d_block;
    std::map<int, code> d_codes;
    int d_iterations;
    float d_factor;
    std::size_t (*d_run)(const ldpc_plan&, const codeword_batch&);
};

/* How a detector's vectors and LLRs follow from those of a frame's subcarriers */
struct arrangement {
    std::int64_t streams;  /* of data */
    std::int64_t bits;     /* of a point; of streams that differ, of all streams */
    std::int64_t stbc;     /* space-time coded streams, the first ones */
    std::int64_t segments; /* parts of the band that have copies of their own */
    long_array place;      /* bits of all streams: see dual_carriers in interleaving.py */
    float_array sign; /* points x bits of all streams; empty: points have no copies */

    bool plain() const { return !stbc && !sign.size(); }
    /* Vectors of a space-time block code: (y_0, y_1*) of pairs of symbols */
    void pair(const float* y,
              std::int64_t carriers,
              std::int64_t symbols,
              std::int64_t rows,
              float* to) const;
    /* Matrices for such vectors */
    void pair_channel(const float* h,
                      std::int64_t carriers,
                      std::int64_t rows,
                      float* to) const;
    /* LLRs of pairs (carriers x pairs x bits of a pair) as those of symbols */
    void
    unpair(const float* llr, std::int64_t carriers, std::int64_t pairs, float* to) const;
    /* Combine the LLRs of copies (carriers x symbols x bits): add them; of 16-QAM, find
     * the joint max-log LLRs. `to` may be `llr`. Return the number of points. */
    std::int64_t combine_copies(const float* llr,
                                std::int64_t carriers,
                                std::int64_t symbols,
                                float* to) const;
};

/* A payload's bits and bytes */
struct payload_sizes {
    std::int64_t size;   /* scrambled bits, with the padding */
    std::int64_t end;    /* from this bit on, the descrambled bits are 0 */
    std::int64_t length; /* bytes of the PSDU */
    bool aggregated;     /* the PSDU is an A-MPDU */
    int scrambler;       /* bits of the scrambler's state: 7, or 11 in EHT frames */
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

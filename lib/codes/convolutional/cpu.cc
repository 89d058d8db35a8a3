/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "codes/codewords.h"
#include "codes/convolutional/kernel.h"
#include "cpu/run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Normalised metrics differ by 18 * 255 = 4590, and a path through an impossible state is
 * worse by more. Eight steps later, two metrics and a branch reach at most 2 * (4590 + 8
 * * 765) + 765, and 2 * (8192 + 8 * 765) + 765 where a block begins and ends. */
template <>
struct convolutional_limits<simd16> {
    static constexpr float llr = 255;
    static constexpr float unreachable = 8192;
    static constexpr int steps = 8;
};

namespace {

/* Return how a vector of codewords ended; llr: a-posteriori LLRs. */
MP_FN decoded end_of(const convolutional_plan& p, const simd* llr, simd::mask usable)
{
    simd least(infinity);
    for (int i = 0; i < p.num_info; ++i)
        least = min(least, abs(llr[i]));
    const simd zero(0.0f), one(1.0f);
    return { select(usable & (simd(p.margin) < least), one, zero),
             select(usable, one, zero) };
}

std::size_t decode_float(const convolutional_plan& p, const codeword_batch& b)
{
    using decoder = convolutional_decoder<simd>;
    return drive_codewords<1>(
        b,
        p.num_bits,
        0,
        [&](arena<simd>& space) {
            return decoder(space, p.num_info, p.num_bits, p.place);
        },
        [&](decoder& d, const simd::mask* usable, float*, decoded* end) {
            for (int i = 0; i < p.num_bits; ++i)
                d.llr[i] = clamp(d.llr[i], simd(decoder::limits::llr));
            d.decode();
            *end = end_of(p, d.llr, *usable);
        });
}

std::size_t decode_int16(const convolutional_plan& p, const codeword_batch& b)
{
    using group = int16_group<convolutional_decoder<simd16>>;
    return drive_codewords<2>(
        b,
        p.num_bits,
        0,
        [&](arena<simd>& space) {
            return group(space, p.num_bits, p.num_info, p.num_bits, p.place);
        },
        [&](group& g, const simd::mask* usable, float*, decoded* ends) {
            g.round(convolutional_limits<simd>::llr, convolutional_limits<simd16>::llr);
            g.decoder.decode();
            g.finish(g.decoder.llr, usable);
            for (int part = 0; part < 2; ++part)
                ends[part] = end_of(p, g.posterior + part * p.num_bits, usable[part]);
        });
}

} // namespace

std::size_t decode_convolutional(const convolutional_plan& p, const codeword_batch& b)
{
    return p.int16 ? decode_int16(p, b) : decode_float(p, b);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

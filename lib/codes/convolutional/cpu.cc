/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "codes/codewords.h"
#include "codes/convolutional/kernel.h"
#include "codes/viterbi/builds.h"
#include "cpu/simd16.h"

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

struct float_decoder {
    convolutional_decoder<simd> decoder;
    simd* const posterior;

    float_decoder(arena<simd>& space, const convolutional_plan& p)
        : decoder(space, p.num_info, p.num_bits, p.place), posterior(decoder.llr)
    {
    }
};

std::size_t decode_float(const convolutional_plan& p, const codeword_batch& b)
{
    return drive_codewords<1>(
        b,
        p.num_bits,
        0,
        [&](arena<simd>& space) { return float_decoder(space, p); },
        [](const float_decoder& d) { return d.posterior; },
        [&](float_decoder& d, const simd::mask* usable, float*, decoded* end) {
            simd* const llr = d.posterior;
            for (int i = 0; i < p.num_bits; ++i)
                llr[i] = clamp(llr[i], simd(convolutional_limits<simd>::llr));
            d.decoder.decode();
            *end = end_of(p, llr, *usable);
        });
}

/* Float memory for a decoder of integers: two vectors of floats for each vector of
 * integers */
struct int16_decoder {
    simd* const posterior; /* two vectors of codewords, one after the other */
    arena<simd16> space;
    convolutional_decoder<simd16> decoder;
    simd16* const given;

    int16_decoder(arena<simd>& floats, const convolutional_plan& p)
        : posterior(floats.take(2 * p.num_bits)),
          /* take(0) would put the element behind a piece before this one */
          space{ floats.memory ? reinterpret_cast<simd16*>(floats.memory + floats.used)
                               : nullptr,
                 0 },
          decoder(space, p.num_info, p.num_bits, p.place),
          given(space.take(p.num_bits))
    {
        floats.take(space.used);
    }
};

std::size_t decode_int16(const convolutional_plan& p, const codeword_batch& b)
{
    return drive_codewords<2>(
        b,
        p.num_bits,
        0,
        [&](arena<simd>& space) { return int16_decoder(space, p); },
        [](const int16_decoder& d) { return d.posterior; },
        [&](int16_decoder& d, const simd::mask* usable, float*, decoded* ends) {
            simd* const halves[2] = { d.posterior, d.posterior + p.num_bits };
            simd steps[2];
            for (int part = 0; part < 2; ++part)
                steps[part] = steps_per_llr(
                    halves[part], p.num_bits, convolutional_limits<simd>::llr);
            const simd largest(convolutional_limits<simd16>::llr);
            for (int i = 0; i < p.num_bits; ++i)
                d.decoder.llr[i] = d.given[i] =
                    simd16(clamp(halves[0][i] * steps[0], largest),
                           clamp(halves[1][i] * steps[1], largest));
            d.decoder.decode();
            for (int part = 0; part < 2; ++part) {
                const simd step =
                    select(usable[part], simd(1.0f) / steps[part], simd(0.0f));
                simd* const llr = halves[part];
                for (int i = 0; i < p.num_bits; ++i)
                    llr[i] =
                        fma((d.decoder.llr[i] - d.given[i]).floats(part), step, llr[i]);
                ends[part] = end_of(p, llr, usable[part]);
            }
        });
}

} // namespace

std::size_t decode_convolutional(const convolutional_plan& p, const codeword_batch& b)
{
    return p.int16 ? decode_int16(p, b) : decode_float(p, b);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "codes/codewords.h"
#include "codes/turbo/kernel.h"
#include "cpu/run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Branches are at most 255 + 511 + 255. After 8 steps two metrics of 3 + 8 branches each
 * must fit. */
template <>
struct turbo_limits<simd16> {
    static constexpr float llr = 255, extrinsic = 511;
    static constexpr float unreachable = 4096;
    static constexpr int steps = 8;
};

#if defined(__FMA__)
/* AMD's Zen has units for multiply-adds beside its adders, which also compute maxima.
 * Intel's units do either in the same time. */
MP_FN simd sum(simd a, simd b)
{
#if defined(__AVX512F__)
    return fma(a, simd(1.0f), b);
#else
    /* The compiler turns a vector type's 1 * a + b into an addition. */
    return _mm256_fmadd_ps(a.v, _mm256_set1_ps(1.0f), b.v);
#endif
}
#endif

namespace {

template <class F>
struct outcome {
    typename turbo_decoder<F>::mask found;
    F took; /* iterations of each lane */
};

/* Decode. Lanes outside `wanted` must have LLRs of 0. */
template <class F>
MP_FN outcome<F>
decode(const turbo_plan& p, turbo_decoder<F>& d, typename turbo_decoder<F>::mask wanted)
{
    const F zero(0.0f);
    if (!p.early_stop) {
        for (int i = 1; i < p.iterations; ++i)
            d.template iterate<true, false>(wanted);
        const auto found = d.template iterate<true, true>(wanted);
        return { found, select(wanted, F(static_cast<float>(p.iterations)), zero) };
    }
    auto found = d.template iterate<true, true>(wanted);
    auto active = wanted & ~found;
    F took = select(wanted, F(1.0f), zero);
    for (int i = 1; i < p.iterations && any(active); ++i) {
        took = select(active, F(static_cast<float>(i + 1)), took);
        const auto now = d.template iterate<false, true>(active);
        found = found | now;
        active = active & ~now;
    }
    return { found, took };
}

std::size_t decode_float(const turbo_plan& p, const codeword_batch& b)
{
    using decoder = turbo_decoder<simd>;
    const int num_bits = 3 * p.size + 12;
    return drive_codewords<1>(
        b,
        num_bits,
        p.size,
        [&](arena<simd>& space) {
            return decoder(space, p.size, p.interleaver, p.scale);
        },
        [&](decoder& d, const simd::mask* usable, float* messages, decoded* end) {
            const simd zero(0.0f);
            for (int i = 0; i < num_bits; ++i)
                d.llr[i] = clamp(d.llr[i], simd(decoder::limits::llr));
            for (int i = 0; i < p.size; ++i)
                d.extrinsic[i] =
                    messages
                        ? select(*usable, simd::load(messages + i * simd::width), zero)
                        : zero;
            const auto ended = decode(p, d, *usable);
            for (int i = 0; messages && i < p.size; ++i)
                d.extrinsic[i].store(messages + i * simd::width);
            *end = { select(ended.found, simd(1.0f), zero), ended.took };
        });
}

std::size_t decode_int16(const turbo_plan& p, const codeword_batch& b)
{
    using limits = turbo_limits<simd16>;
    using group = int16_group<turbo_decoder<simd16>>;
    const int num_bits = 3 * p.size + 12;
    return drive_codewords<2>(
        b,
        num_bits,
        p.size,
        [&](arena<simd>& space) {
            return group(space, num_bits, p.size, p.interleaver, p.scale);
        },
        [&](group& g, const simd::mask* usable, float* messages, decoded* ends) {
            turbo_decoder<simd16>& own = g.decoder;
            g.round(turbo_limits<simd>::llr, limits::llr);
            const simd16::mask wanted = simd16::both(usable[0], usable[1]);
            for (int i = 0; i < p.size; ++i) {
                simd kept[2] = { simd(0.0f), simd(0.0f) };
                for (int part = 0; messages && part < 2; ++part)
                    kept[part] =
                        clamp(simd::load(messages + (2 * i + part) * simd::width) *
                                  g.steps[part],
                              simd(limits::extrinsic));
                own.extrinsic[i] = select(wanted, simd16(kept[0], kept[1]), simd16(0.0f));
            }
            const auto ended = decode(p, own, wanted);
            g.finish(own.posterior, usable);
            const simd16 found = select(ended.found, simd16(1.0f), simd16(0.0f));
            for (int part = 0; part < 2; ++part) {
                for (int i = 0; messages && i < p.size; ++i)
                    (own.extrinsic[i].floats(part) * g.units[part])
                        .store(messages + (2 * i + part) * simd::width);
                ends[part] = { found.floats(part), ended.took.floats(part) };
            }
        });
}

} // namespace

std::size_t decode_turbo(const turbo_plan& p, const codeword_batch& b)
{
    return p.int16 ? decode_int16(p, b) : decode_float(p, b);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "codes/ldpc/kernel.h"
#include "codes/codewords.h"
#include "cpu/run.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

using decoder = layered_min_sum<simd>;
using mask = decoder::mask;

MP_FN decoded decode(const ldpc_plan& p, decoder& d, mask usable)
{
    const simd one(1.0f), zero(0.0f);
    if (!p.early_stop) {
        for (int i = 0; i < p.iterations; ++i)
            d.iterate<true>(usable);
        return { select(d.is_codeword(usable), one, zero),
                 select(usable, simd(static_cast<float>(p.iterations)), zero) };
    }
    simd took(0.0f);
    mask found = d.is_codeword(usable);
    mask active = usable & ~found;
    for (int i = 0; i < p.iterations && any(active); ++i) {
        d.iterate<false>(active);
        took = select(active, simd(static_cast<float>(i + 1)), took);
        const mask now = d.is_codeword(active);
        found = found | now;
        active = active & ~now;
    }
    return { select(found, one, zero), took };
}

} // namespace

std::size_t decode_ldpc(const ldpc_plan& p, const codeword_batch& b)
{
    const parity_checks h{ p.num_bits, p.num_checks, p.first, p.columns };
    const int edges = h.edges();
    return drive_codewords<1>(
        b,
        p.num_bits,
        edges,
        [&](arena<simd>& space) {
            return decoder(space, h, { p.factor, p.offset });
        },
        [&](decoder& d, const mask* usable, float* messages, decoded* end) {
            for (int e = 0; e < edges; ++e) {
                const simd r =
                    messages ? simd::load(messages + e * simd::width) : simd(0.0f);
                d.message[e] = r;
                if (messages)
                    d.posterior[h.columns[e]] =
                        d.posterior[h.columns[e]] + select(*usable, r, simd(0.0f));
            }
            *end = decode(p, d, *usable);
            for (int e = 0; messages && e < edges; ++e)
                d.message[e].store(messages + e * simd::width);
        });
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

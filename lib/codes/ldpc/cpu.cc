/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "codes/codewords.h"
#include "codes/ldpc/kernel.h"
#include "codes/ldpc/quasi_cyclic.h"
#include "cpu/run.h"
#include <algorithm>

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
            return decoder(space, h, { p.factor, p.offset, p.min_star });
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

std::size_t decode_quasi_cyclic(const quasi_cyclic_plan& p, const codeword_batch& b)
{
    const std::size_t num_bits = static_cast<std::size_t>(p.columns) * p.size;
    const int threads = static_cast<int>(std::min<std::size_t>(b.threads, b.n));
    std::size_t erased = 0;
#pragma omp parallel num_threads(threads) reduction(+ : erased) if (threads > 1)
    {
        quasi_cyclic_decoder d(p);
#pragma omp for schedule(dynamic, 1)
        for (std::size_t i = 0; i < b.n; ++i) {
            if (b.stop(b.stop_context))
                continue; /* OpenMP needs every thread at the end of the loop */
            bool found;
            int iterations;
            const float* const llr = b.llr + i * num_bits;
            erased += !d.decode(llr, found, iterations);
            if (b.posterior)
                d.store(llr, b.posterior + i * num_bits);
            else
                d.decide(llr, b.bits + i * num_bits);
            b.found[i] = found;
            b.iterations[i] = iterations;
        }
    }
    return erased;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

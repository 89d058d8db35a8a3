/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../kernels/ldpc.h"
#include "driver.h"
#include "run.h"
#include <stdlib.h>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

using decoder = layered_min_sum<simd>;
using mask = decoder::mask;

/* A group's codewords, one for each lane; those past the end repeat the last. */
struct codewords {
    std::size_t first;
    int count;

    MP_FN codewords(std::size_t n, std::size_t group)
        : first(group * simd::width), count(simd::width)
    {
        if (n - first < simd::width)
            count = static_cast<int>(n - first);
    }
    MP_FN std::size_t operator()(int lane) const
    {
        return first + (lane < count ? lane : count - 1);
    }
};

/* Whether all LLRs are numbers and some say anything; those of other lanes become 0. */
MP_FN mask make_usable(simd* llr, int length)
{
    simd largest(0.0f), sum(0.0f);
    for (int i = 0; i < length; ++i) {
        largest = max(largest, abs(llr[i]));
        sum = fma(llr[i], simd(0.0f), sum); /* NaN from NaN and Inf */
    }
    const mask usable = (simd(0.0f) < largest) & (sum < simd(1.0f));
    if (any(~usable))
        for (int i = 0; i < length; ++i)
            llr[i] = select(usable, llr[i], simd(0.0f));
    return usable;
}

/* took: the iterations of each lane; returns where there is a codeword. */
MP_FN mask decode(const ldpc_plan& p, decoder& d, mask usable, simd& took)
{
    took = simd(0.0f);
    if (!p.early_stop) {
        for (int i = 0; i < p.iterations; ++i)
            d.iterate<true>(usable);
        took = select(usable, simd(static_cast<float>(p.iterations)), took);
        return d.is_codeword(usable);
    }
    mask found = d.is_codeword(usable);
    mask active = usable & ~found;
    for (int i = 0; i < p.iterations && any(active); ++i) {
        d.iterate<false>(active);
        took = select(active, simd(static_cast<float>(i + 1)), took);
        const mask now = d.is_codeword(active);
        found = found | now;
        active = active & ~now;
    }
    return found;
}

} // namespace

std::size_t decode_ldpc(const ldpc_plan& p, const ldpc_batch& b)
{
    const parity_checks h{ p.num_bits, p.num_checks, p.first, p.columns };
    const std::size_t groups = (b.n + simd::width - 1) / simd::width;
    const int threads =
        groups < static_cast<std::size_t>(b.threads) ? (groups ? groups : 1) : b.threads;
    const std::size_t edges = h.edges();
    std::size_t erased = 0;
    int failed = 0;
#pragma omp parallel num_threads(threads) reduction(+ : erased, failed) if (threads > 1)
    {
        arena<simd> space;
        decoder(space, h, { p.factor, p.offset });
        void* memory = nullptr;
        if (posix_memalign(&memory, 64, (space.used + p.num_bits) * sizeof(simd))) {
            failed = 1;
            memory = nullptr;
        }
        space = arena<simd>{ static_cast<simd*>(memory), 0 };
        float* const scratch = reinterpret_cast<float*>(space.take(p.num_bits));
        decoder d(space, h, { p.factor, p.offset });

#pragma omp for schedule(dynamic, 1)
        for (std::size_t g = 0; g < groups; ++g) {
            if (!memory || b.stop(b.stop_context))
                continue; /* every thread has to come to the loop's end */
            const codewords at(b.n, g);
            load_lanes(
                b.llr, at.count == simd::width, at, p.num_bits, scratch, d.posterior);
            const mask usable = make_usable(d.posterior, p.num_bits);
            simd* const kept =
                b.messages ? reinterpret_cast<simd*>(b.messages) + g * edges : nullptr;
            for (std::size_t e = 0; e < edges; ++e) {
                const simd r =
                    kept ? simd::load(reinterpret_cast<float*>(kept + e)) : simd(0.0f);
                d.message[e] = r;
                if (kept)
                    d.posterior[h.columns[e]] =
                        d.posterior[h.columns[e]] + select(usable, r, simd(0.0f));
            }
            simd took;
            const mask found = decode(p, d, usable, took);
            for (std::size_t e = 0; kept && e < edges; ++e)
                d.message[e].store(reinterpret_cast<float*>(kept + e));
            store_lanes(b.posterior, at.count, at, p.num_bits, scratch, d.posterior);
            float iterations[simd::width];
            took.store(iterations);
            for (int l = 0; l < at.count; ++l) {
                b.found[at.first + l] = found[l];
                b.iterations[at.first + l] = static_cast<std::int32_t>(iterations[l]);
            }
            erased += at.count - usable.count(at.count);
        }
        free(memory);
    }
    return failed ? out_of_memory : erased;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

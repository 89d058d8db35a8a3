/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Run a batch of codewords through a decoder: a lane takes a codeword, a thread takes
 * groups of lanes. */
#pragma once
#include "common/aligned_memory.h"
#include "cpu/driver.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The codewords of a group's lanes. Lanes past the end repeat the last codeword. */
struct codewords {
    std::size_t first, last;
    int count;

    MP_FN codewords(std::size_t n, std::size_t first_)
        : first(first_), last(n - 1), count(0)
    {
        if (first < n)
            count = n - first < simd::width ? static_cast<int>(n - first) : simd::width;
    }
    MP_FN std::size_t operator()(int lane) const
    {
        return first + lane < last ? first + lane : last;
    }
};

/* Return where all LLRs are numbers and some of them differ from 0. LLRs of other lanes
 * become 0. */
MP_FN simd::mask make_usable(simd* llr, int length)
{
    simd largest(0.0f), sum(0.0f);
    for (int i = 0; i < length; ++i) {
        largest = max(largest, abs(llr[i]));
        sum = fma(llr[i], simd(0.0f), sum); /* NaN from NaN and Inf */
    }
    const simd::mask usable = (simd(0.0f) < largest) & (sum < simd(1.0f));
    if (any(~usable))
        for (int i = 0; i < length; ++i)
            llr[i] = select(usable, llr[i], simd(0.0f));
    return usable;
}

/* Return one over the unit in which a codeword's LLRs are integers of 16 bits. The mean
 * magnitude of the LLRs other than 0 becomes 32. */
MP_FN simd steps_per_llr(const simd* llr, int length, float largest)
{
    simd sum(0.0f), count(0.0f);
    for (int i = 0; i < length; ++i) {
        const simd size = min(abs(llr[i]), simd(largest));
        sum = sum + size;
        count = count + select(simd(0.0f) < size, simd(1.0f), simd(0.0f));
    }
    return simd(32.0f) * count / max(sum, simd(1e-30f));
}

/* How the codeword of a lane ended; `found` is 1 or 0 */
struct decoded {
    simd found, iterations;
};

/* Run decode(decoder, usable, messages, ends) for every group of PARTS vectors of lanes.
 * decode sets ends. Return how many codewords were erased.
 *
 * make(arena) constructs the decoder. The LLRs of a part are at llr(decoder) + part *
 * num_bits, and the results at decoder.posterior + part * num_bits. A group has
 * num_messages messages for each lane, or null. */
template <int PARTS, class Make, class Llr, class Decode>
std::size_t drive_codewords(const codeword_batch& b,
                            int num_bits,
                            std::size_t num_messages,
                            Make make,
                            Llr llr,
                            Decode decode)
{
    constexpr std::size_t lanes = PARTS * simd::width;
    const std::size_t groups = (b.n + lanes - 1) / lanes;
    const int threads =
        groups < static_cast<std::size_t>(b.threads) ? (groups ? groups : 1) : b.threads;
    std::size_t erased = 0;
    int failed = 0;
#pragma omp parallel num_threads(threads) reduction(+ : erased, failed) if (threads > 1)
    {
        arena<simd> space;
        space.take(num_bits);
        make(space);
        const aligned_memory memory(space.used * sizeof(simd));
        failed = !memory.get();
        space = arena<simd>{ static_cast<simd*>(memory.get()), 0 };
        float* const scratch = reinterpret_cast<float*>(space.take(num_bits));
        auto d = make(space);

#pragma omp for schedule(dynamic, 1)
        for (std::size_t g = 0; g < groups; ++g) {
            if (failed || b.stop(b.stop_context))
                continue; /* OpenMP needs every thread at the end of the loop */
            simd::mask usable[PARTS];
            for (int part = 0; part < PARTS; ++part) {
                const codewords at(b.n, g * lanes + part * simd::width);
                simd* const words = llr(d) + part * num_bits;
                load_lanes(b.llr, at.count == simd::width, at, num_bits, scratch, words);
                usable[part] = make_usable(words, num_bits);
                erased += at.count - usable[part].count(at.count);
            }
            decoded ends[PARTS];
            decode(d,
                   usable,
                   b.messages ? b.messages + g * num_messages * lanes : nullptr,
                   ends);
            for (int part = 0; part < PARTS; ++part) {
                const codewords at(b.n, g * lanes + part * simd::width);
                store_lanes(b.posterior,
                            at.count,
                            at,
                            num_bits,
                            scratch,
                            d.posterior + part * num_bits);
                float found[simd::width], iterations[simd::width];
                ends[part].found.store(found);
                ends[part].iterations.store(iterations);
                for (int l = 0; l < at.count; ++l) {
                    b.found[at.first + l] = found[l] != 0;
                    b.iterations[at.first + l] = static_cast<std::int32_t>(iterations[l]);
                }
            }
        }
    }
    return failed ? out_of_memory : erased;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

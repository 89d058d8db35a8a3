/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Run a batch of codewords through a decoder: a lane takes a codeword, a thread takes
 * groups of lanes. */
#pragma once
#include "codes/decoders.h"
#include "common/aligned_memory.h"
#include "cpu/driver.h"
#include "cpu/simd16.h"

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

/* A group of a decoder D that works with integers of 16 bits: two vectors of codewords,
 * one after the other. D takes its memory from an arena of floats. */
template <class D>
struct int16_group {
    simd* const llr;
    simd* const posterior; /* the same memory: a-posteriori LLRs replace the LLRs */
    arena<simd16> space;
    simd16* const given; /* the LLRs as integers */
    D decoder;
    const int num_bits;
    simd steps[2]; /* one over the unit of the integers */
    simd units[2]; /* set by finish; 0 where the LLRs are not usable */

    template <class... Arguments>
    int16_group(arena<simd>& floats, int num_bits_, Arguments... arguments)
        : llr(floats.take(2 * num_bits_)),
          posterior(llr),
          /* take(0) would put the element behind a piece before this one */
          space{ floats.memory ? reinterpret_cast<simd16*>(floats.memory + floats.used)
                               : nullptr,
                 0 },
          given(space.take(num_bits_)),
          decoder(space, arguments...),
          num_bits(num_bits_)
    {
        floats.take(space.used);
    }

    /* Round the LLRs to integers of at most `largest`, after they are limited to `most`.
     */
    MP_FN void round(float most, float largest)
    {
        const simd* const high = llr + num_bits;
        steps[0] = steps_per_llr(llr, num_bits, most);
        steps[1] = steps_per_llr(high, num_bits, most);
        for (int i = 0; i < num_bits; ++i)
            decoder.llr[i] = given[i] = simd16(clamp(llr[i] * steps[0], simd(largest)),
                                               clamp(high[i] * steps[1], simd(largest)));
    }

    /* Add the difference of the decoder's a-posteriori LLRs and the given LLRs. */
    MP_FN void finish(const simd16* decided, const simd::mask* usable)
    {
        for (int part = 0; part < 2; ++part) {
            units[part] = select(usable[part], simd(1.0f) / steps[part], simd(0.0f));
            simd* const own = posterior + part * num_bits;
            for (int i = 0; i < num_bits; ++i)
                own[i] = fma((decided[i] - given[i]).floats(part), units[part], own[i]);
        }
    }
};

/* How the codeword of a lane ended; `found` is 1 or 0 */
struct decoded {
    simd found, iterations;
};

/* Run decode(decoder, usable, messages, ends) for every group of PARTS vectors of lanes.
 * decode sets ends. Return how many codewords were erased.
 *
 * make(arena) constructs the decoder. The LLRs of a part are at decoder.llr + part *
 * num_bits, and the results at decoder.posterior + part * num_bits. A group has
 * num_messages messages for each lane, or null. */
template <int PARTS, class Make, class Decode>
std::size_t drive_codewords(const codeword_batch& b,
                            int num_bits,
                            std::size_t num_messages,
                            Make make,
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
                simd* const words = d.llr + part * num_bits;
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

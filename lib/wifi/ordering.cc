/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* LLRs of frames in the order of a code. A frame's results depend on no other frame. */
#include "codes/decoders.h"
#include "cpu/quantise.h"
#include "wifi/plan.h"
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* Move words one by one: processors gather slower than they load. */
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-tree-vectorize")))
#endif
void pick(const std::int8_t* from,
     const std::int32_t* place,
     std::int64_t count,
     std::int8_t* to)
{
    for (std::int64_t j = 0; j < count; ++j)
        to[j] = from[place[j]];
}

/* Return where the values that a symbol sends lie, counted from the symbol's first
 * value. */
std::vector<std::int32_t> places_of(const std::int64_t* source,
                                    std::int64_t coded,
                                    std::int64_t symbols,
                                    std::int64_t bits)
{
    std::vector<std::int32_t> places(coded);
    for (std::int64_t j = 0; j < coded; ++j)
        places[j] = static_cast<std::int32_t>(source[j] / bits * symbols * bits +
                                              source[j] % bits);
    return places;
}

template <int LIMIT>
void quantise(const float* llr, std::int64_t n, float scale, std::int8_t* to)
{
    const quantiser<LIMIT> to_integers(scale);
    by_groups<quantised_at_once>(llr, n, [&](const float* from, std::ptrdiff_t i) {
        float finite[quantised_at_once];
        for (int j = 0; j < quantised_at_once; ++j)
            finite[j] = __builtin_fabsf(from[j]) < infinity ? from[j] : 0;
        to_integers(finite, to + i);
    });
}

} // namespace

/* Round first: bytes are put in order faster than words, and need less memory. */
void round(const wifi_rounding& r)
{
    using function = void (*)(const float*, std::int64_t, float, std::int8_t*);
    constexpr function functions[] = { quantise<viterbi_rates[0].largest>,
                                       quantise<viterbi_rates[1].largest>,
                                       quantise<viterbi_rates[2].largest>,
                                       quantise<viterbi_rates[3].largest> };
    const std::int64_t size = r.carriers * r.symbols * r.bits,
                       share = r.coded / r.encoders, full = r.sent / r.encoders,
                       last = r.last / r.encoders;
    const float mean = mean_magnitude(r.llr, size);
    functions[r.rate](r.llr,
                      size,
                      viterbi_scale(viterbi_rates[r.rate], mean, r.largest_mean),
                      r.scratch);
    const auto places = places_of(r.source, r.coded, r.symbols, r.bits);
    /* Each encoder overwrites what the one before left behind its last used bit. */
    for (std::int64_t e = 0; e < r.encoders; ++e) {
        std::int8_t* to = r.out + e * r.used;
        const std::int8_t* const end = to + r.used;
        for (std::int64_t t = 0; t < r.symbols && to < end; ++t) {
            const std::int64_t count = t < r.symbols - r.block ? full : last;
            pick(r.scratch + t * r.bits, places.data() + e * share, count, to);
            to += count;
        }
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/run.h"
#include "cpu/simd.h"
#include <algorithm>
#include <cstring>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* Return the LLRs of bits with these sources. */
MP_FN simd given(const float* llr, const std::int32_t* source)
{
    simd::word from;
    std::memcpy(&from, source, sizeof from);
    const simd value = (simd::get(llr, from >> 2).as_word() ^ from << 31).as_float();
    return select(from.bit(1), simd(0.0f), value);
}

void recover_block(const recovery_plan& p, std::size_t block, const float* llr, float* to)
{
    const simd zero(0.0f);
    simd::mask counts = zero < zero;
    for (std::size_t i = 0; i < p.size; i += simd::width) {
        simd sum = given(llr, p.sources + block * p.stride + i);
        for (std::size_t time = 1; time < p.times; ++time)
            sum = sum + given(llr, p.sources + (time * p.blocks + block) * p.stride + i);
        counts = counts | (sum < zero) | (zero < sum);
        if (i + simd::width <= p.size)
            sum.store(to + i);
        else
            std::memcpy(to + i, &sum, (p.size - i) * sizeof(float));
    }
    if (any(counts))
        std::fill(to + p.begin, to + p.end, p.known);
}

} // namespace

void recover(
    const recovery_plan& p, std::size_t n, const float* llr, float* out, int threads)
{
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (std::size_t i = 0; i < n * p.blocks; ++i)
        recover_block(p, i % p.blocks, llr + i / p.blocks * p.sent, out + i * p.size);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The rate at which an instruction set issues arithmetic, for benchmarks to compare
 * with. */
#include "cpu/run.h"
#include "cpu/simd.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Multiply-adds and additions in turns, because some machines have adders beside their
 * multipliers. This many chains hide the latency, and with two constants they fit into 16
 * registers. */
constexpr int chains = 7;

std::size_t issue_arithmetic(int threads, std::size_t rounds, float* value)
{
    std::size_t issued = 0;
    float sum = 0.0f;
    const float start = *value;
#pragma omp parallel num_threads(threads) reduction(+ : issued, sum) if (threads > 1)
    {
        const simd a(0.5f * start), b(start);
        simd product[chains], total[chains];
        MP_UNROLL
        for (int c = 0; c < chains; ++c)
            product[c] = total[c] = simd(start + c);
        for (std::size_t i = 0; i < rounds; ++i) {
            MP_UNROLL
            for (int c = 0; c < chains; ++c) {
                product[c] = fma(product[c], a, b);
                total[c] = total[c] + b;
            }
        }
        float values[simd::width];
        MP_UNROLL
        for (int c = 0; c < chains; ++c) {
            (product[c] + total[c]).store(values);
            for (int l = 0; l < simd::width; ++l)
                sum += values[l];
        }
        issued += rounds * chains * (instructions_per_fma + 1);
    }
    *value = sum; /* without a result the compiler would drop the work */
    return issued;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

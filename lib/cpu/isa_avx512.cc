/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define MIMOPACK_ISA avx512
#include "driver.h"

namespace mimopack {

extern const isa_build isa_avx512 = { "avx512", avx512::simd::width, [] { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"); }, avx512::run };

} // namespace mimopack

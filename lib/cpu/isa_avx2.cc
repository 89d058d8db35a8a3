/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define MIMOPACK_ISA avx2
#include "driver.h"

namespace mimopack {

extern const isa_build isa_avx2 = { "avx2", avx2::simd::width, [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }, avx2::run };

} // namespace mimopack

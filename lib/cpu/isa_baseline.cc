/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define MIMOPACK_ISA baseline
#include "driver.h"

namespace mimopack {

extern const isa_build isa_baseline = { "baseline", baseline::simd::width, [] { return true; }, baseline::run };

} // namespace mimopack

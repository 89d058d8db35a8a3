/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cpu/plan.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* MLA of square QAM, which SoftSphere uses for small searches too. LLRs are limited to +-
 * clip from the prior. */
std::size_t run_sliced(const plan&, const batch&, float clip);

} // namespace MIMOPACK_ISA
} // namespace mimopack

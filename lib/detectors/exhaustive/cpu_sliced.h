/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "cpu/plan.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Run MLA of square QAM, with LLRs limited to +- clip from the prior. SoftSphere, which
 * needs full rank, also uses it for small searches. */
std::size_t run_sliced(const plan&, const batch&, float clip, bool any_rank);

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that the translation units of one instruction set offer to isa.cc */
#pragma once
#include "codes/decoders.h"
#include "cpu/plan.h"

namespace mimopack {
namespace MIMOPACK_ISA {

#define DETECTOR(name) std::size_t run_##name(const plan&, const batch&);
#include "detectors/detectors.def"
#undef DETECTOR

std::size_t decode_ldpc(const ldpc_plan&, const codeword_batch&);
std::size_t decode_quasi_cyclic(const quasi_cyclic_plan&, const codeword_batch&);
std::size_t decode_turbo(const turbo_plan&, const codeword_batch&);
std::size_t decode_convolutional(const convolutional_plan&, const codeword_batch&);
extern const viterbi_build viterbi;
void recover(const recovery_plan&, std::size_t, const float*, float*, int);

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The build of one instruction set: its detectors, and whether the machine has the
 * instructions. */
#include "cpu/run.h"
#include "cpu/simd.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

bool available()
{
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

const detector_entry detectors[] = {
#define DETECTOR(name) { #name, run_##name },
#include "detectors/detectors.def"
#undef DETECTOR
    { nullptr, nullptr },
};

const code_decoders decoders = { decode_ldpc,  decode_quasi_cyclic,
                                 decode_turbo, decode_convolutional,
                                 viterbi,      recover };

} // namespace

#define MIMOPACK_STRING(x) MIMOPACK_STRING_(x)
#define MIMOPACK_STRING_(x) #x

extern const isa_build build = {
    MIMOPACK_STRING(MIMOPACK_ISA), simd::width, available, detectors, decoders
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

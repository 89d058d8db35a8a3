/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* This instruction set's build: which detectors there are, and whether the machine has
 * it. */
#include "run.h"
#include "simd.h"

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
    { "asd", run_asd, 16, true },
    { "bitflip", run_bitflip, 16, true },
    { "ep", run_ep, 64, true },
    { "fpfsd", run_fpfsd, 16, true },
    { "hfsd", run_hfsd, 16, true },
    { "kbest", run_kbest, 16, false },
    { "mla", run_mla, 16, false },
    { "mmse", run_mmse, 64, false },
    { "mmsepic", run_mmsepic, 64, false },
    { "nway", run_nway, 16, true },
    { "omap", run_omap, 16, false },
    { "psd", run_psd, 16, true },
    { "sd", run_sd, 16, true },
    { "sfsd", run_sfsd, 16, true },
    { "softsphere", run_softsphere, 16, true },
    { "trellis", run_trellis, 16, false },
    { "zf", run_zf, 64, false },
    { "zfsic", run_zfsic, 16, true },
    { nullptr, nullptr, 0, false },
};

} // namespace

#define MIMOPACK_STRING(x) MIMOPACK_STRING_(x)
#define MIMOPACK_STRING_(x) #x

extern const isa_build build = { MIMOPACK_STRING(MIMOPACK_ISA),
                                 simd::width,
                                 instructions_per_fma,
                                 available,
                                 detectors,
                                 issue_arithmetic,
                                 decode_ldpc,
                                 decode_turbo };

} // namespace MIMOPACK_ISA
} // namespace mimopack

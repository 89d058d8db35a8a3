/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What a detector is asked to do, and the table of builds that can do it. */
#pragma once
#include "../kernels/config.h"
#include <cstddef>
#include <cstdint>

namespace mimopack {

enum class detector_kind { omap, mla, zf, mmse, nway };

struct plan {
    detector_kind kind;
    int num_tx;
    int num_rx;
    constellation points;
    int passes;     /* nway */
    float llr_clip; /* nway; infinity where not clipped */
    bool extrinsic; /* subtract the prior from the result */
};

/* n vectors in the contract's layout; each matrix holds for per_channel of them. */
struct batch {
    std::size_t n;
    std::size_t per_channel;
    const float* y;         /* n x nr complex */
    const float* h;         /* n/per_channel x nr x nt complex */
    const float* noise_var; /* n */
    const float* prior;     /* n x nt*bits, or null */
    float* llr;             /* n x nt*bits; this or the next is null */
    std::int8_t* llr_int8;
    float int8_scale; /* int8 = saturate(round(scale * llr)) */
    int threads;
};

/* Each build runs a batch and returns how many vectors it erased. */
struct isa_build {
    const char* name;
    int lanes;
    bool (*available)();
    std::size_t (*run)(const plan&, const batch&);
};

extern const isa_build isa_baseline, isa_avx2, isa_avx512;

/* The best available first. */
const isa_build* const* available_builds(int& count);

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The entry points of a detector's program. Before this file a program has namespace
 * asked (see cuda/asked.h), the detector's cuda.h and MIMOPACK_MAKE: the name of the
 * function make_NAME(arena) that chooses the detector's form and constructs it. */
#pragma once
#include "cuda/in_rounds.h"
#include "cuda/in_steps.h"
#ifndef MIMOPACK_ASKED /* an example */
#include "detectors/linear/cuda.h"
#define MIMOPACK_MAKE make_zf
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

using asked_kernel = decltype(MIMOPACK_MAKE(*static_cast<arena<lane>*>(nullptr)));

/* Detects the batch; returns how many of this thread's vectors were erased. */
MP_FN unsigned detect_all(asked_kernel& kernel, const batch& all, vector_arrays& arrays)
{
    if constexpr (asked::dynamic && comes_in_steps<asked_kernel>(0))
        return detect_in_steps(kernel, all, arrays);
    else
        return detect_in_rounds(kernel, all, arrays);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

#ifdef MIMOPACK_SIZE_ONLY

/* sizes: the floats that the kernel and the driver take from the arena; whether a warp
 * should have one vector only, where vectors are few */
extern "C" __global__ void arena_size(unsigned long long* sizes)
{
    using namespace mimopack::MIMOPACK_ISA;
    arena<lane> counting;
    const vector_arrays arrays(counting);
    MIMOPACK_MAKE(counting);
    sizes[0] = counting.used;
    sizes[1] = team_blocks<asked_kernel>(0) > 0;
}

#else

/* A batch (see batch.h) whose arrays are on the device. scratch: the arenas of all
 * threads, where one is too large for local memory. counters: zeros, to which the number
 * of erased vectors is added, and the number of chunks that were taken after the first
 * round. */
extern "C" __global__ void __launch_bounds__(
    MIMOPACK_THREADS,
    mimopack::MIMOPACK_ISA::least_blocks<mimopack::MIMOPACK_ISA::asked_kernel>(0))
    detect(unsigned long long n,
           unsigned long long chunks,
           unsigned chunk,
           unsigned per_matrix,
           const float* __restrict__ y,
           const float* __restrict__ h,
           const float* __restrict__ noise_var,
           float common_noise_var,
           const float* __restrict__ prior,
           void* __restrict__ llr,
           float int8_scale,
           const unsigned char* __restrict__ hard,
           unsigned* __restrict__ nodes,
           unsigned nodes_per_vector,
           float* scratch,
           unsigned long long* counters)
{
    using namespace mimopack::MIMOPACK_ISA;
    const batch all{
        n,         chunks,           chunk,       per_matrix, y,          h,
        noise_var, common_noise_var, prior,       llr,        int8_scale, hard,
        nodes,     nodes_per_vector, counters + 1
    };
    const unsigned long long thread =
        blockIdx.x * static_cast<unsigned long long>(MIMOPACK_THREADS) + threadIdx.x;
    constexpr bool local = MIMOPACK_ARENA <= MIMOPACK_LARGEST_LOCAL_ARENA;
    lane memory[local && MIMOPACK_ARENA > 0 ? MIMOPACK_ARENA : 1];
    arena<lane> space{ local ? memory
                             : reinterpret_cast<lane*>(scratch) + thread * MIMOPACK_ARENA,
                       0 };
    vector_arrays arrays(space);
    auto kernel = MIMOPACK_MAKE(space);
    if (const unsigned erased = detect_all(kernel, all, arrays))
        atomicAdd(counters, static_cast<unsigned long long>(erased));
}

#endif

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The entry points of a detector's program. Before this file a program has namespace
 * asked (see cuda/asked.h), the detector's cuda.h and MIMOPACK_MAKE: the name of the
 * function make_NAME(arena) that chooses the detector's form and constructs it. */
#pragma once
#include "cuda/by_teams.h"
#include "cuda/in_rounds.h"
#include "cuda/in_steps.h"
#ifndef MIMOPACK_ASKED /* an example */
#include "detectors/linear/cuda.h"
#define MIMOPACK_MAKE make_zf
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

using asked_kernel = decltype(MIMOPACK_MAKE(*static_cast<arena<lane>*>(nullptr)));

/* Makes the form whose arrays are in the arena. */
template <class Kernel>
MP_FN auto make_form(arena<lane>& a)
{
    if constexpr (team_threads<Kernel>(0) > 0)
        return Kernel::make_serial(a);
    else
        return MIMOPACK_MAKE(a);
}

#ifndef MIMOPACK_SIZE_ONLY

/* Detects the batch; returns how many of this thread's vectors were erased. scratch: the
 * arenas of all threads, where one is too large for local memory or a team's */
template <class Kernel>
MP_FN unsigned detect_batch(const batch& all, float* scratch)
{
    const unsigned long long thread =
        blockIdx.x * static_cast<unsigned long long>(MIMOPACK_THREADS) + threadIdx.x;
    lane* const global = reinterpret_cast<lane*>(scratch);
    if constexpr (team_threads<Kernel>(0) > 0) {
        constexpr int team = team_threads<Kernel>(0);
        return Kernel::teams::detect(all, global + thread / team * team * MIMOPACK_ARENA);
    } else {
        constexpr bool local = MIMOPACK_ARENA <= MIMOPACK_LARGEST_LOCAL_ARENA;
        lane memory[local && MIMOPACK_ARENA > 0 ? MIMOPACK_ARENA : 1];
        arena<lane> space{ local ? memory : global + thread * MIMOPACK_ARENA, 0 };
        vector_arrays arrays(space);
        auto kernel = make_form<Kernel>(space);
        if constexpr (asked::dynamic && comes_in_steps<Kernel>(0))
            return detect_in_steps(kernel, all, arrays);
        else
            return detect_in_rounds(kernel, all, arrays);
    }
}

#endif

} // namespace MIMOPACK_ISA
} // namespace mimopack

#ifdef MIMOPACK_SIZE_ONLY

/* sizes: the floats of the arena that the kernel and the driver take for each thread; the
 * threads that should have one vector only, where vectors are few; the threads that take
 * a matrix and an arena together */
extern "C" __global__ void arena_size(unsigned long long* sizes)
{
    using namespace mimopack::MIMOPACK_ISA;
    arena<lane> counting;
    const vector_arrays arrays(counting);
    constexpr int team = team_threads<asked_kernel>(0);
    make_form<asked_kernel>(counting);
    sizes[0] = team ? (counting.used + team - 1) / team : counting.used;
    sizes[1] = team ? team : team_blocks<asked_kernel>(0) > 0 ? 32 : 1;
    sizes[2] = team ? team : 1;
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
    const unsigned erased = detect_batch<asked_kernel>(all, scratch);
    if (erased)
        atomicAdd(counters, static_cast<unsigned long long>(erased));
}

#endif

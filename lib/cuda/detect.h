/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The entry points of a detector's program. A program includes this file after namespace
 * program (see cuda/program.h) and the detector's cuda.h. MIMOPACK_MAKE is the name of
 * the function make_NAME(arena) that chooses the detector's form and constructs it. */
#pragma once
#include "cuda/by_teams.h"
#include "cuda/lockstep.h"
#ifndef MIMOPACK_PROGRAM /* an example */
#include "detectors/linear/cuda.h"
#define MIMOPACK_MAKE make_zf
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

using program_kernel = decltype(MIMOPACK_MAKE(*static_cast<arena<lane>*>(nullptr)));

/* Make the form whose arrays are in the arena. */
template <class Kernel>
MP_FN auto make_form(arena<lane>& a)
{
    if constexpr (team_threads<Kernel>(0) > 0)
        return Kernel::make_serial(a);
    else
        return MIMOPACK_MAKE(a);
}

/* The number of floats per thread in the arena of kernel and driver */
template <class Kernel>
MP_FN unsigned long arena_floats()
{
    if constexpr (has_arena<Kernel>(0)) {
        arena<lane> counting;
        const vector_arrays arrays(counting);
        make_form<Kernel>(counting);
        constexpr int team = team_threads<Kernel>(0);
        return team ? (counting.used + team - 1) / team : counting.used;
    } else {
        return 0;
    }
}

/* Set the bytes that the second launch needs for a call, and for each of its warps; 0
 * without such a launch. */
template <class Kernel, class Bytes>
MP_FN void second_launch_bytes(Bytes* to)
{
    to[0] = to[1] = 0;
    if constexpr (has_second<Kernel>(0)) {
        to[0] = Kernel::second::call_bytes;
        to[1] = Kernel::second::warp_bytes;
    }
}

#ifndef MIMOPACK_SIZE_ONLY

/* Detect the batch; return the number of this thread's vectors that were erased. scratch:
 * the arenas of all threads, if they are too large for local memory or belong to teams */
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
        return detect_lockstep(kernel, all, arrays);
    }
}

template <class Kernel>
MP_FN void detect_later(const batch& all)
{
    if constexpr (has_second<Kernel>(0))
        Kernel::second::detect(all);
}

#endif

} // namespace MIMOPACK_ISA
} // namespace mimopack

#ifdef MIMOPACK_SIZE_ONLY

/* Set sizes to the number of floats per thread in the arena of kernel and driver, the
 * number of threads that take a vector if vectors are few, the number of threads that
 * always take a matrix and an arena together, and the bytes of the second launch. */
extern "C" __global__ void arena_size(unsigned long long* sizes)
{
    using namespace mimopack::MIMOPACK_ISA;
    constexpr int team = team_threads<program_kernel>(0);
    sizes[0] = arena_floats<program_kernel>();
    sizes[1] = team ? team : team_blocks<program_kernel>(0) > 0 ? 32 : 1;
    sizes[2] = team ? team : 1;
    second_launch_bytes<program_kernel>(sizes + 3);
}

#else

/* Detect a batch (see batch.h) whose arrays are on the device. scratch: the arenas of all
 * threads, if they are not in local memory. The number of erased vectors is added to
 * erasures, that of vectors whose search ended by max_nodes to truncated. If there is a
 * second launch, it has the same arguments. */
#define MP_KERNEL(NAME)                                                                  \
    extern "C" __global__ void __launch_bounds__(                                        \
        MIMOPACK_THREADS,                                                                \
        mimopack::MIMOPACK_ISA::least_blocks<mimopack::MIMOPACK_ISA::program_kernel>(0)) \
        NAME(unsigned long long n,                                                       \
             unsigned long long chunks,                                                  \
             unsigned chunk,                                                             \
             unsigned per_matrix,                                                        \
             const float* __restrict__ y,                                                \
             const float* __restrict__ h,                                                \
             const float* __restrict__ noise_var,                                        \
             float common_noise_var,                                                     \
             const float* __restrict__ noise_cov,                                        \
             const float* __restrict__ prior,                                            \
             void* __restrict__ llr,                                                     \
             float int8_scale,                                                           \
             const unsigned char* __restrict__ hard,                                     \
             float* scratch,                                                             \
             unsigned long long* erasures,                                               \
             unsigned long long* truncated,                                              \
             mimopack::MIMOPACK_ISA::long_searches* later)

#define MP_BATCH                                                                    \
    {                                                                               \
        n, chunks, chunk, per_matrix, y, h, noise_var, common_noise_var, noise_cov, \
            prior, llr, int8_scale, hard, truncated, later                          \
    }

MP_KERNEL(detect)
{
    using namespace mimopack::MIMOPACK_ISA;
    const batch all MP_BATCH;
    const unsigned erased = detect_batch<program_kernel>(all, scratch);
    if (erased)
        atomicAdd(erasures, static_cast<unsigned long long>(erased));
}

MP_KERNEL(detect_second)
{
    using namespace mimopack::MIMOPACK_ISA;
    const batch all MP_BATCH;
    detect_later<program_kernel>(all);
}

#endif

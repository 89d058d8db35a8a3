/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The entry points: a batch through a kernel, a vector per thread. What comes before this
 * file in a program is in python/mimopack/cuda/source.py: namespace asked, which says
 * what is wanted, and MIMOPACK_MAKE(arena), which constructs the kernel. */
#pragma once
#include "../kernels/bit_order.h"
#include "../kernels/storage.h"
#include "lane.h"
#include "sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* COUNT complex numbers, 16 bytes at a time where rows are so many that each begins at a
 * multiple of them */
template <int COUNT>
MP_FN void load_row(const float* from, lane* to)
{
    if constexpr (!asked::fixed_tx) {
        for (int i = 0; i < any_size(2 * COUNT); ++i)
            to[i].v = from[i];
    } else if constexpr (COUNT % 2 == 0) {
        MP_UNROLL
        for (int i = 0; i < COUNT / 2; ++i) {
            const float4 part = reinterpret_cast<const float4*>(from)[i];
            to[4 * i].v = part.x;
            to[4 * i + 1].v = part.y;
            to[4 * i + 2].v = part.z;
            to[4 * i + 3].v = part.w;
        }
    } else {
        MP_UNROLL
        for (int i = 0; i < COUNT; ++i) {
            const float2 part = reinterpret_cast<const float2*>(from)[i];
            to[2 * i].v = part.x;
            to[2 * i + 1].v = part.y;
        }
    }
}

template <int COUNT>
MP_FN void store_llr(const lane* from, float* to)
{
    if constexpr (!asked::fixed_tx) {
        for (int i = 0; i < any_size(COUNT); ++i)
            to[i] = from[i].v;
    } else if constexpr (COUNT % 4 == 0) {
        MP_UNROLL
        for (int i = 0; i < COUNT / 4; ++i)
            reinterpret_cast<float4*>(to)[i] = make_float4(
                from[4 * i].v, from[4 * i + 1].v, from[4 * i + 2].v, from[4 * i + 3].v);
    } else {
        MP_UNROLL
        for (int i = 0; i < COUNT; ++i)
            to[i] = from[i].v;
    }
}

/* As saturated integers, 16 or 4 at a time where rows allow */
template <int COUNT>
MP_FN void store_int8(const lane* from, float scale, signed char* to)
{
    const auto quantised = [=](int i) {
        return __float2int_rn(fmaxf(fminf(from[i].v * scale, 127.0f), -127.0f));
    };
    const auto four = [=](int i) {
        return (quantised(i) & 255) | (quantised(i + 1) & 255) << 8 |
               (quantised(i + 2) & 255) << 16 | quantised(i + 3) << 24;
    };
    if constexpr (!asked::fixed_tx) {
        for (int i = 0; i < any_size(COUNT); ++i)
            to[i] = static_cast<signed char>(quantised(i));
    } else if constexpr (COUNT % 16 == 0) {
        MP_UNROLL
        for (int i = 0; i < COUNT; i += 16)
            *reinterpret_cast<int4*>(to + i) =
                make_int4(four(i), four(i + 4), four(i + 8), four(i + 12));
    } else if constexpr (COUNT % 4 == 0) {
        MP_UNROLL
        for (int i = 0; i < COUNT; i += 4)
            *reinterpret_cast<int*>(to + i) = four(i);
    } else {
        MP_UNROLL
        for (int i = 0; i < COUNT; ++i)
            to[i] = static_cast<signed char>(quantised(i));
    }
}

/* 16 bytes from global to shared memory, where the GPU can without waiting for them */
MP_FN void copy_part(const float4* from, float4* shared)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(shared))),
                 "l"(from));
#else
    *shared = *from;
#endif
}

MP_FN void rows_are_under_way()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
}

/* All but those that got under way last */
MP_FN void wait_for_rows()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;");
#endif
    __syncwarp();
}

/* 32 rows of so many floats, a row for each thread of a warp, on their way between global
 * memory, where consecutive threads move consecutive 16 bytes, and each thread's own
 * registers. In shared memory rows are an odd number of 16 bytes apart, so that neither
 * access meets a bank twice. */
template <int FLOATS>
struct warp_rows {
    static constexpr bool possible = asked::fixed_tx && FLOATS % 4 == 0 && FLOATS <= 256;
    static constexpr int parts = FLOATS / 4, stride = parts | 1;
    static constexpr int size = possible ? 32 * stride : 0; /* of float4 */

    /* Begins to copy; wait_for_rows() says when it is done. */
    MP_FN static void load(const float* from, int rows, float4* shared)
    {
        MP_UNROLL
        for (int i = 0; i < parts; ++i) {
            const int part = 32 * i + threadIdx.x % 32;
            if (part < rows * parts)
                copy_part(reinterpret_cast<const float4*>(from) + part,
                          shared + part / parts * stride + part % parts);
        }
    }

    MP_FN static void store(const float4* shared, int rows, float* to)
    {
        MP_UNROLL
        for (int i = 0; i < parts; ++i) {
            const int part = 32 * i + threadIdx.x % 32;
            if (part < rows * parts)
                reinterpret_cast<float4*>(to)[part] =
                    shared[part / parts * stride + part % parts];
        }
    }

    MP_FN static float* own(float4* shared)
    {
        return reinterpret_cast<float*>(shared + threadIdx.x % 32 * stride);
    }
};

/* a / b, rounded up */
MP_FN unsigned long long divided(unsigned long long a, unsigned long long b)
{
    return (a + b - 1) / b;
}

/* What a detector has beyond vectors in and LLRs out */
struct extras {
    unsigned long long n;
    const unsigned char* hard; /* num_hard x n x nt*bits, or null */
    unsigned* nodes;           /* n x nodes_per_vector, or null */
    unsigned nodes_per_vector;
    int rows; /* vectors of the warp */
};

/* For a kernel that starts from hard solutions: their words */
template <class Kernel>
MP_FN auto begin(Kernel& kernel, const extras& e, unsigned long long vector, int)
    -> decltype(kernel.starts(), void())
{
    constexpr int nt = asked::num_tx, bits = asked::bits;
    for (int start = 0; e.hard && start < asked::num_hard; ++start)
        for (int i = 0; i < nt; ++i)
            kernel.starts()[start * nt + i].v = hard_symbol(
                asked::points, e.hard + ((start * e.n + vector) * nt + i) * bits);
}

/* For a kernel that counts nodes: where to */
template <class Kernel>
MP_FN auto begin(Kernel& kernel, const extras& e, unsigned long long vector, int)
    -> decltype(kernel.use_lanes(1, nullptr), void())
{
    unsigned* rows[1] = { e.nodes ? e.nodes + vector * e.nodes_per_vector : nullptr };
    kernel.use_lanes(1, e.nodes ? rows : nullptr);
}

/* For a kernel whose threads work together: how many of a warp's vectors there are */
template <class Kernel>
MP_FN auto begin(Kernel& kernel, const extras& e, unsigned long long, int)
    -> decltype(kernel.use_rows(1), void())
{
    kernel.use_rows(e.rows);
}

template <class Kernel>
MP_FN void begin(Kernel&, const extras&, unsigned long long, long)
{
}

/* The shared memory that a kernel has of its own */
template <class Kernel>
constexpr auto shared_bytes(int) -> decltype(Kernel::shared_bytes)
{
    return Kernel::shared_bytes;
}

template <class Kernel>
constexpr int shared_bytes(long)
{
    return 0;
}

/* For a kernel whose threads work together, long for each vector: so many blocks of a
 * multiprocessor at least, which rows in shared memory would not leave room for; 0 for
 * any other */
template <class Kernel>
constexpr auto team_blocks(int) -> decltype(Kernel::team_blocks)
{
    return Kernel::team_blocks;
}

template <class Kernel>
constexpr int team_blocks(long)
{
    return 0;
}

/* What belongs to a matrix, and to a vector */
struct vector_arrays {
    static constexpr int nt = asked::fixed_tx, nr = asked::fixed_rx;
    static constexpr int num_llr = nt * asked::bits;
    buffer<lane, 2 * nr * nt> matrix;
    buffer<lane, 2 * nr> received;
    buffer<lane, num_llr> known, canonical, found, ordered;

    MP_FN vector_arrays(arena<lane>& a)
        : matrix(a, 2 * asked::num_rx * asked::num_tx),
          received(a, 2 * asked::num_rx),
          known(a, asked::num_tx * asked::bits),
          canonical(a, asked::num_tx * asked::bits),
          found(a, asked::num_tx * asked::bits),
          ordered(a, asked::num_tx * asked::bits)
    {
    }
};

using asked_kernel = decltype(MIMOPACK_MAKE(*static_cast<arena<lane>*>(nullptr)));

} // namespace MIMOPACK_ISA
} // namespace mimopack

#ifdef MIMOPACK_SIZE_ONLY

/* What the kernel and the driver take from the arena, in floats; whether a warp should
 * have a vector only, where there are few */
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

/* n vectors in the contract's layout, in chunks that share a matrix, of which per_matrix
 * have the same one; each thread takes a chunk, and then one of the next round. Arrays
 * are on the device; noise_var is null where one number holds for all. scratch: the arena
 * of each thread, where local memory is too small for it. Adds to *erased. */
extern "C" __global__ void __launch_bounds__(
    MIMOPACK_THREADS,
    mimopack::MIMOPACK_ISA::team_blocks<mimopack::MIMOPACK_ISA::asked_kernel>(0)
        ? mimopack::MIMOPACK_ISA::team_blocks<mimopack::MIMOPACK_ISA::asked_kernel>(0)
        : MIMOPACK_BLOCKS) detect(unsigned long long n,
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
                                  unsigned long long* erased)
{
    using namespace mimopack;
    using namespace mimopack::MIMOPACK_ISA;
    constexpr int nt = asked::num_tx, nr = asked::num_rx, bits = asked::bits;
    constexpr int num_llr = nt * bits;
    using matrix_rows = warp_rows<2 * nr * nt>;
    using y_rows = warp_rows<2 * nr>;
    using llr_rows = warp_rows<num_llr>;
    /* With a matrix for each vector, all rows go through shared memory where it has room:
     * the next ones come while the present ones are worked on, whose place LLRs take. */
    constexpr int read = matrix_rows::size + y_rows::size +
                         (asked::has_prior ? llr_rows::size : 0),
                  room = read > llr_rows::size ? read : llr_rows::size;
    constexpr bool teams = team_blocks<asked_kernel>(0) > 0;
    constexpr bool staged = asked::matrix_each && matrix_rows::possible &&
                            y_rows::possible && llr_rows::possible && !teams &&
                            2 * room * (MIMOPACK_THREADS / 32) * 16 <=
                                48 * 1024 - shared_bytes<asked_kernel>(0);
    __shared__ float4 tiles[staged ? MIMOPACK_THREADS / 32 : 1][2][staged ? room : 1];
    /* a warp has a row for each thread, where teams work on them as few as are enough */
    const unsigned long long warps =
        gridDim.x * static_cast<unsigned long long>(MIMOPACK_THREADS / 32);
    const int per_warp =
        teams ? static_cast<int>(divided(chunks, divided(chunks, 32 * warps) * warps))
              : 32;
    const auto rows_from = [=](unsigned long long first) {
        return chunks - first < per_warp ? static_cast<int>(chunks - first) : per_warp;
    };
    const auto bring = [=](unsigned long long first, float4* tile) {
        if (staged && first < chunks) {
            const int rows = rows_from(first);
            matrix_rows::load(h + first * (2 * nr * nt), rows, tile);
            y_rows::load(y + first * (2 * nr), rows, tile + matrix_rows::size);
            if (asked::has_prior)
                llr_rows::load(prior + first * num_llr,
                               rows,
                               tile + matrix_rows::size + y_rows::size);
        }
        if (staged)
            rows_are_under_way();
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
    lane noise(common_noise_var);
    unsigned lost = 0;
    /* a warp's threads go on together; those past the end repeat the last chunk */
    const unsigned long long step = warps * per_warp;
    unsigned long long first = thread / 32 * per_warp;
    bring(first, tiles[staged ? threadIdx.x / 32 : 0][0]);
    for (int turn = 0; first < chunks; first += step, turn ^= 1) {
        float4* const tile = tiles[staged ? threadIdx.x / 32 : 0][turn];
        float4* const y_tile = tile + matrix_rows::size;
        float4* const prior_tile = y_tile + y_rows::size;
        const int rows = rows_from(first);
        const bool exists = threadIdx.x % 32 < rows;
        const unsigned long long at = first + (exists ? threadIdx.x % 32 : rows - 1);
        if constexpr (staged) {
            __syncwarp(); /* of the last turn, whose place is the next one's */
            bring(first + step, tiles[threadIdx.x / 32][turn ^ 1]);
            wait_for_rows();
            load_row<nr * nt>(exists ? matrix_rows::own(tile)
                                     : reinterpret_cast<float*>(tile),
                              &arrays.matrix[0]);
        } else {
            /* a division of 64 bits takes as long as a decomposition */
            const unsigned long long place = per_matrix == 1 ? at : at / per_matrix;
            load_row<nr * nt>(h + place * (2 * nr * nt), &arrays.matrix[0]);
        }
        kernel.prepare(&arrays.matrix[0]);
        for (unsigned t = 0; t < (asked::matrix_each ? 1 : chunk); ++t) {
            const unsigned long long vector = asked::matrix_each ? at : at * chunk + t;
            if (staged)
                load_row<nr>(exists ? y_rows::own(y_tile)
                                    : reinterpret_cast<float*>(y_tile),
                             &arrays.received[0]);
            else
                load_row<nr>(y + vector * (2 * nr), &arrays.received[0]);
            if (noise_var)
                noise.v = noise_var[vector];
            auto usable = (lane(1e-37f) < noise) & (noise < lane(1e37f));
            if constexpr (asked::has_prior) {
                const float* const own =
                    staged ? exists ? llr_rows::own(prior_tile)
                                    : reinterpret_cast<float*>(prior_tile)
                           : prior + vector * num_llr;
                for (int b = 0; b < num_llr; ++b)
                    arrays.known[b].v = own[b];
                usable = usable &
                         order_prior(
                             asked::points, nt, &arrays.known[0], &arrays.canonical[0]);
            }
            begin(kernel,
                  extras{ n, hard, exists ? nodes : nullptr, nodes_per_vector, rows },
                  vector,
                  0);
            usable =
                usable & kernel.detect(&arrays.received[0],
                                       noise,
                                       asked::has_prior ? &arrays.canonical[0] : nullptr,
                                       &arrays.found[0]);
            order_llr(asked::points,
                      layers(),
                      usable,
                      &arrays.found[0],
                      asked::has_prior && asked::options().extrinsic ? &arrays.known[0]
                                                                     : nullptr,
                      &arrays.ordered[0]);
            lost += exists && !usable.m;
            if constexpr (asked::as_int8) {
                if (exists)
                    store_int8<num_llr>(&arrays.ordered[0],
                                        int8_scale,
                                        static_cast<signed char*>(llr) +
                                            vector * num_llr);
            } else if constexpr (staged) {
                __syncwarp();
                store_llr<num_llr>(&arrays.ordered[0], llr_rows::own(tile));
                __syncwarp();
                llr_rows::store(tile, rows, static_cast<float*>(llr) + first * num_llr);
            } else if (exists) {
                store_llr<num_llr>(&arrays.ordered[0],
                                   static_cast<float*>(llr) + vector * num_llr);
            }
        }
    }
    if (lost)
        atomicAdd(erased, static_cast<unsigned long long>(lost));
}

#endif

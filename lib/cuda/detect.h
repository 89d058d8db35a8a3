/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The entry points: a batch through a kernel, a vector per thread. What comes before this
 * file in a program is in python/mimopack/cuda/source.py: namespace asked, which says
 * what is wanted, and make(arena), which constructs the kernel. */
#pragma once
#include "../kernels/bit_order.h"
#include "../kernels/storage.h"
#include "lane.h"
#include "sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* `count` complex numbers, 16 bytes at a time where every row begins at a multiple of
 * them
 */
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

/* As saturated integers, four in a word where rows allow */
template <int COUNT>
MP_FN void store_int8(const lane* from, float scale, signed char* to)
{
    const auto quantised = [=](int i) {
        return __float2int_rn(fmaxf(fminf(from[i].v * scale, 127.0f), -127.0f));
    };
    if constexpr (!asked::fixed_tx) {
        for (int i = 0; i < any_size(COUNT); ++i)
            to[i] = static_cast<signed char>(quantised(i));
    } else if constexpr (COUNT % 4 == 0) {
        MP_UNROLL
        for (int i = 0; i < COUNT / 4; ++i)
            reinterpret_cast<char4*>(to)[i] = make_char4(quantised(4 * i),
                                                         quantised(4 * i + 1),
                                                         quantised(4 * i + 2),
                                                         quantised(4 * i + 3));
    } else {
        MP_UNROLL
        for (int i = 0; i < COUNT; ++i)
            to[i] = static_cast<signed char>(quantised(i));
    }
}

/* What a detector has beyond vectors in and LLRs out */
struct extras {
    unsigned long long n;
    const unsigned char* hard; /* num_hard x n x nt*bits, or null */
    unsigned* nodes;           /* n x nodes_per_vector, or null */
    unsigned nodes_per_vector;
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

template <class Kernel>
MP_FN void begin(Kernel&, const extras&, unsigned long long, long)
{
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

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* What make() and the driver take from the arena, in floats */
extern "C" __global__ void arena_size(unsigned long long* floats)
{
    using namespace mimopack::MIMOPACK_ISA;
    arena<lane> counting;
    const vector_arrays arrays(counting);
    make(counting);
    *floats = counting.used;
}

/* n vectors in the contract's layout, in chunks that share a matrix, of which per_matrix
 * have the same one; each thread takes a chunk, and then one of the next round. Arrays
 * are on the device. scratch: the arena of each thread, where local memory is too small
 * for it. Adds to *erased. */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS, MIMOPACK_BLOCKS)
    detect(unsigned long long n,
           unsigned long long chunks,
           unsigned chunk,
           unsigned per_matrix,
           const float* __restrict__ y,
           const float* __restrict__ h,
           const float* __restrict__ noise_var,
           int noise_per_vector,
           const float* __restrict__ prior,
           float* __restrict__ llr,
           signed char* __restrict__ llr_int8,
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
    const unsigned long long thread =
        blockIdx.x * static_cast<unsigned long long>(MIMOPACK_THREADS) + threadIdx.x;
    constexpr bool local = MIMOPACK_ARENA <= MIMOPACK_LARGEST_LOCAL_ARENA;
    lane memory[local && MIMOPACK_ARENA > 0 ? MIMOPACK_ARENA : 1];
    arena<lane> space{ local ? memory
                             : reinterpret_cast<lane*>(scratch) + thread * MIMOPACK_ARENA,
                       0 };
    vector_arrays arrays(space);
    auto kernel = make(space);
    lane noise(noise_var[0]);
    unsigned lost = 0;
    for (unsigned long long at = thread; at < chunks;
         at += static_cast<unsigned long long>(gridDim.x) * MIMOPACK_THREADS) {
        /* a division of 64 bits takes as long as a decomposition */
        const unsigned long long place = per_matrix == 1 ? at : at / per_matrix;
        load_row<nr * nt>(h + place * (2 * nr * nt), &arrays.matrix[0]);
        kernel.prepare(&arrays.matrix[0]);
        for (unsigned t = 0; t < chunk; ++t) {
            const unsigned long long vector = at * chunk + t;
            load_row<nr>(y + vector * (2 * nr), &arrays.received[0]);
            if (noise_per_vector)
                noise.v = noise_var[vector];
            auto usable = (lane(1e-37f) < noise) & (noise < lane(1e37f));
            if constexpr (asked::has_prior) {
                for (int b = 0; b < num_llr; ++b)
                    arrays.known[b].v = prior[vector * num_llr + b];
                usable = usable &
                         order_prior(
                             asked::points, nt, &arrays.known[0], &arrays.canonical[0]);
            }
            begin(kernel, extras{ n, hard, nodes, nodes_per_vector }, vector, 0);
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
            lost += !usable.m;
            if (llr)
                store_llr<num_llr>(&arrays.ordered[0], llr + vector * num_llr);
            else
                store_int8<num_llr>(
                    &arrays.ordered[0], int8_scale, llr_int8 + vector * num_llr);
        }
    }
    if (lost)
        atomicAdd(erased, static_cast<unsigned long long>(lost));
}

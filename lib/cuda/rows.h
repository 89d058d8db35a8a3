/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Move rows of arrays to the registers of threads and back, 16 bytes at a time. Each
 * thread moves its own row, or a warp moves its rows together through shared memory. */
#pragma once
#include "cuda/lane.h"
#include "cuda/sizes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A row of COUNT complex numbers, 16 bytes at a time where each row begins at a multiple
 * of 16 bytes */
template <int COUNT>
MP_FN void load_row(const float* from, lane* to)
{
    if constexpr (!program::fixed_tx) {
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
    if constexpr (!program::fixed_tx) {
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

/* A saturated integer */
MP_FN int quantised(lane x, float scale)
{
    return __float2int_rn(fmaxf(fminf(x.v * scale, 127.0f), -127.0f));
}

/* Store saturated integers, 16 or 4 at a time where rows allow. */
template <int COUNT>
MP_FN void store_int8(const lane* from, float scale, signed char* to)
{
    const auto four = [=](int i) {
        return (quantised(from[i], scale) & 255) |
               (quantised(from[i + 1], scale) & 255) << 8 |
               (quantised(from[i + 2], scale) & 255) << 16 |
               quantised(from[i + 3], scale) << 24;
    };
    if constexpr (!program::fixed_tx) {
        for (int i = 0; i < any_size(COUNT); ++i)
            to[i] = static_cast<signed char>(quantised(from[i], scale));
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
            to[i] = static_cast<signed char>(quantised(from[i], scale));
    }
}

/* Copy 16 bytes from global to shared memory, without waiting where the GPU can. */
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

/* Wait for all rows except those begun last. */
MP_FN void wait_for_rows()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;");
#endif
    __syncwarp();
}

/* 32 rows of FLOATS floats in shared memory, one for each thread of a warp. Consecutive
 * threads copy consecutive 16 bytes of global memory; then each thread reads its own row.
 * Rows are an odd number of 16 bytes apart, so that neither access meets a bank twice. */
template <int FLOATS>
struct warp_rows {
    static constexpr bool possible =
        program::fixed_tx && FLOATS % 4 == 0 && FLOATS <= 256;
    static constexpr int parts = FLOATS / 4, stride = parts | 1;
    static constexpr int size = possible ? 32 * stride : 0; /* of float4 */

    /* Begin to copy; wait_for_rows() says when it is done. */
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

} // namespace MIMOPACK_ISA
} // namespace mimopack

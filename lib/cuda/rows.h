/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Move rows of arrays to the registers of threads and back, 16 bytes at a time */
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

} // namespace MIMOPACK_ISA
} // namespace mimopack

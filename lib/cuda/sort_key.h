/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys that sorting networks sort, as unsigned integers */
#pragma once
#include "common/sorting.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A key to be sorted. Its min and max are opaque to the compiler's first stage, which
 * would take minutes to see through long chains of them. */
struct sort_key {
    unsigned v;
    MP_FN friend sort_key min(sort_key a, sort_key b)
    {
#ifdef __CUDA_ARCH__
        asm("min.u32 %0, %0, %1;" : "+r"(a.v) : "r"(b.v));
        return a;
#else
        return a.v < b.v ? a : b;
#endif
    }
    MP_FN friend sort_key max(sort_key a, sort_key b)
    {
#ifdef __CUDA_ARCH__
        asm("max.u32 %0, %0, %1;" : "+r"(a.v) : "r"(b.v));
        return a;
#else
        return a.v < b.v ? b : a;
#endif
    }
};

/* The number of bits of the numbers below count */
constexpr int bits_for(int count)
{
    return count > 1 ? 1 + bits_for((count + 1) / 2) : 0;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

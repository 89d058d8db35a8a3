/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A lane type's functions for plain floats, so that steps written for lanes (see
 * cpu/simd.h, cuda/lane.h) also accept the floats of CUDA code that keeps its numbers in
 * registers. */
#pragma once
#include "common/config.h"
#ifndef __CUDACC__
#include <math.h>
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN float fma(float a, float b, float c) { return fmaf(a, b, c); }
MP_FN float fnma(float a, float b, float c) { return fmaf(-a, b, c); }
MP_FN float abs(float a) { return fabsf(a); }
MP_FN float min(float a, float b) { return fminf(a, b); }
MP_FN float max(float a, float b) { return fmaxf(a, b); }
MP_FN float minus(float a) { return -a; }
MP_FN float select(bool m, float a, float b) { return m ? a : b; }

/* -a, of lanes; they have no operator for it. */
template <class F>
MP_FN F minus(F a)
{
    return F(0.0f) - a;
}

/* On a GPU the relative error is below 2^-22, as on the CPU; a result below the least
 * normal number is 0. */
MP_FN float reciprocal(float a)
{
#ifdef __CUDA_ARCH__
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(a));
    return a;
#else
    return 1.0f / a;
#endif
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

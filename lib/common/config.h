/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What lets g++ and NVRTC compile the same kernels.
 *
 * Every kernel lives in mimopack::MIMOPACK_ISA, a namespace of its own for each
 * instruction set, so that the linker can never merge an inline function compiled for
 * AVX-512 with one for plain x86-64. */
#pragma once

/* MP_UNROLL_DEVICE: only there, where arrays in registers want indices that are known.
 * MP_FN: part of its caller. MP_CALLED: large, and called seldom or from many places.
 * MP_STEP: part of its caller on a GPU; a function of its own on the CPU, whose compiler
 * takes far more than twice as long for a function that is twice as long. */
#ifdef __CUDACC__
#define MP_FN __device__ __forceinline__
#define MP_CALLED __device__ __noinline__
#define MP_STEP MP_FN
#define MP_UNROLL _Pragma("unroll")
#define MP_UNROLL_DEVICE _Pragma("unroll")
#else
#define MP_FN inline __attribute__((always_inline))
#define MP_CALLED __attribute__((noinline))
#define MP_STEP MP_CALLED
#define MP_UNROLL _Pragma("GCC unroll 16")
#define MP_UNROLL_DEVICE
#endif

#ifndef MIMOPACK_ISA
#define MIMOPACK_ISA device
#endif

namespace mimopack {

/* The place of the lowest one */
MP_FN int lowest_bit(unsigned bits)
{
#ifdef __CUDACC__
    return __ffs(static_cast<int>(bits)) - 1;
#else
    return __builtin_ctz(bits);
#endif
}

constexpr float infinity = __builtin_bit_cast(float, 0x7f800000);
constexpr float no_metric = 1e30f;     /* of a hypothesis without candidates so far */
constexpr float largest_prior = 1e30f; /* of the sum of |LLR| of a vector */
constexpr float rounding_offset = 12582912.0f; /* 1.5 * 2^23: a sum is rounded */
constexpr int max_list_option = 32;            /* entries of an option that is a list */
constexpr int max_bits_per_symbol = 10;
constexpr int max_points = 1 << max_bits_per_symbol;

/* A constellation as kernels see it: points[label]. For square QAM with Gray labels per
 * axis a point is scale * ((2 k_re - (side-1)) + 1j (2 k_im - (side-1))); such detectors
 * compute their LLRs in the canonical order (real axis first, Gray bits from the most
 * significant), and bit_source[b], bit_sign[b] say from which canonical bit, with which
 * sign, label bit b comes. */
struct constellation {
    int size;
    int bits;
    int width; /* Gray bits per axis; 0 where it is no such QAM */
    float scale;
    int bit_source[max_bits_per_symbol];
    float bit_sign[max_bits_per_symbol];
    float re[max_points];
    float im[max_points];
};

} // namespace mimopack

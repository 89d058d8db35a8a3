/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Macros and constants with which g++ and NVRTC compile the same kernels.
 *
 * Every kernel lives in mimopack::MIMOPACK_ISA. Each instruction set has a namespace of
 * its own, so that the linker never merges an inline function compiled for AVX-512 with
 * one for plain x86-64. */
#pragma once

/* MP_FN: part of its caller.
 * MP_CALLED: a large function that is called seldom or from many places.
 * MP_STEP: part of its caller on a GPU, a function of its own on the CPU. The CPU's
 * compiler takes far more than twice as long for a function of twice the length.
 * MP_UNROLL_DEVICE: unroll on a GPU only, where an array stays in registers if its
 * indices are known.
 * MP_UNROLL_BY(n): unroll by n on a GPU, where a loop over all points of a large
 * constellation takes minutes to compile; MP_UNROLL on the CPU.
 * MP_ROLLED: do not unroll on a GPU, where compiling takes long. */
#define MP_PRAGMA(text) _Pragma(#text)
#ifdef __CUDACC__
#define MP_FN __device__ __forceinline__
#define MP_CALLED __device__ __noinline__
#define MP_STEP MP_FN
#define MP_UNROLL _Pragma("unroll")
#define MP_UNROLL_DEVICE _Pragma("unroll")
#define MP_UNROLL_BY(n) MP_PRAGMA(unroll(n))
#define MP_ROLLED _Pragma("unroll 1")
#else
#ifdef __SANITIZE_ADDRESS__
#define MP_FN inline /* g++ takes five times as long to instrument every copy */
#else
#define MP_FN inline __attribute__((always_inline))
#endif
#define MP_CALLED __attribute__((noinline))
#define MP_STEP MP_CALLED
#ifdef __clang__ /* unroll(16) would do more than g++ does, in five times the time */
#define MP_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MP_UNROLL _Pragma("GCC unroll 16")
#endif
#define MP_UNROLL_DEVICE
#define MP_UNROLL_BY(n) MP_UNROLL
#define MP_ROLLED
#endif

#ifndef MIMOPACK_ISA
#define MIMOPACK_ISA device
#endif

namespace mimopack {

/* Return the place of the lowest bit that is set. */
MP_FN int lowest_bit(unsigned bits)
{
#ifdef __CUDACC__
    return __ffs(static_cast<int>(bits)) - 1;
#else
    return __builtin_ctz(bits);
#endif
}

constexpr float infinity = __builtin_bit_cast(float, 0x7f800000);
constexpr float not_a_number = __builtin_bit_cast(float, 0x7fc00000);
constexpr float no_metric = 1e30f;     /* a hypothesis without candidates */
constexpr float largest_prior = 1e30f; /* limit of a vector's sum of |LLR| */
/* Limits of |y|^2 and of a column's |h|^2. The metric of any candidate for up to 60
 * points of magnitude 1.6 stays below no_metric. */
constexpr float largest_energy = 1e26f;
constexpr float least_energy = 1e-37f;
/* noise_var is from 1e-37 to 1e37. Both ends are allowed, but lanes can compare only by
 * <. */
constexpr float least_noise = 0.9999e-37f;
constexpr float largest_noise = 1.0001e37f;
/* A pivot of a covariance, nr x nr, must be more than this times nr times the diagonal
 * entry; a smaller one is only rounding. */
constexpr float least_pivot = 1e-7f;
constexpr float rounding_offset = 12582912.0f; /* 1.5 * 2^23: rounds a sum */
constexpr int max_list_option = 32;            /* entries of an option's list */
constexpr int max_bits_per_symbol = 12;
constexpr int max_points = 1024; /* of constellations that kernels know point by point */

/* Describe a constellation to kernels. points[label] has the first max_points points. A
 * point of square QAM with Gray labels per axis is
 * scale * ((2 k_re - (side-1)) + 1j (2 k_im - (side-1))). Detectors for square QAM
 * compute LLRs in the canonical order: real axis first, Gray bits from the most
 * significant. Label bit b is canonical bit bit_source[b] with the sign bit_sign[b]. */
struct grid_layer;
struct constellation {
    int size;
    int bits;
    int width; /* Gray bits per axis; 0 for any other constellation */
    float scale;
    int bit_source[max_bits_per_symbol];
    float bit_sign[max_bits_per_symbol];
    float re[max_points];
    float im[max_points];
    const grid_layer* layers; /* a constellation for each layer, or null if all have
                               * this one */
};

/* A layer whose own constellation has fewer levels than the kernel's square QAM, on one
 * axis (BPSK) or on both (layers that differ). It has the lowest levels of each axis, so
 * that the first Gray bits are 0. The kernel gets a-priori LLRs by which these bits are
 * known. A symbol x of the layer is turn * (x' + shift), where x' is the kernel's
 * symbol. The drivers multiply the layer's column of H by turn, and subtract the columns
 * times shift from y. */
struct grid_layer {
    float turn[2], shift[2];
    float scale;  /* half the distance between the layer's own levels */
    int sides[2]; /* its levels of each axis */
    int bits;     /* its label bits, from which bit_source and bit_sign lead as above */
    int bit_source[max_bits_per_symbol];
    float bit_sign[max_bits_per_symbol];
};

/* The a-priori LLR of a known bit. A bit whose LLR is below known_bit is known. */
constexpr float llr_of_known_bit = -1e27f;
constexpr float known_bit = -1e26f;

} // namespace mimopack

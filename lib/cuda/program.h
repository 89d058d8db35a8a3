/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The constants of a CUDA program: namespace program, and macros. The program for one
 * detector and one kind of call begins with its own constants, which
 * python/mimopack/cuda/source.py writes, and defines MIMOPACK_PROGRAM. Otherwise this
 * file defines an example, 4x4 QPSK with default options, so that an editor or a compiler
 * can parse each header by itself:
 *
 *     g++ -std=c++17 -fsyntax-only -Ilib -include tests/support/without_gpu.h \
 *         -x c++ lib/cuda/detect.h */
#pragma once
#include "common/config.h"

#ifndef MIMOPACK_PROGRAM

#define MIMOPACK_THREADS 64 /* threads per block */
#define MIMOPACK_BLOCKS 1   /* least blocks per multiprocessor, which limits registers */
#define MIMOPACK_ARENA 0    /* floats per thread; MIMOPACK_SIZE_ONLY: not known yet */
#define MIMOPACK_LARGEST_LOCAL_ARENA 2048 /* a larger arena is in global memory */
/* MIMOPACK_MAKE: the detector's function make_NAME() (see detect.h) */

namespace mimopack {
namespace MIMOPACK_ISA {
namespace program {

/* The size of H; fixed_tx and fixed_rx are 0 if it is too large to unroll loops. */
constexpr int num_tx = 4, num_rx = 4;
constexpr int fixed_tx = 4, fixed_rx = 4;
/* Bits per symbol; Gray bits per axis, 0 for a constellation that is not square QAM */
constexpr int bits = 2, width = 1;
/* LLRs per vector */
constexpr int num_llr = 8;
/* Number of hard solutions in a call */
constexpr int num_hard = 0;
/* prior_given: the call has a-priori LLRs. has_layers: layers have known bits (see
 * grid_layer). has_prior: the kernel gets a-priori LLRs. matrix_each: each vector has its
 * own matrix. as_int8: LLRs have 8 bits. */
constexpr bool prior_given = false, has_layers = false;
constexpr bool has_prior = prior_given || has_layers, matrix_each = true;
constexpr bool as_int8 = false;
/* Covariance of the noise: 0 none, 1 one for all vectors, 2 one for each matrix */
constexpr int covariance = 0;
/* Whether the a-priori LLRs are subtracted from the result */
constexpr bool extrinsic = false;

/* The detector's options; in this example those of any family, with default values */
struct default_options {
    template <class Options>
    constexpr operator Options() const
    {
        return {};
    }
};
constexpr default_options options() { return {}; }

__device__ constexpr constellation points = { 4,
                                              2,
                                              1,
                                              0.70710678f,
                                              { 0, 1 },
                                              { 1.0f, 1.0f },
                                              { -0.7f, -0.7f, 0.7f, 0.7f },
                                              { -0.7f, 0.7f, -0.7f, 0.7f },
                                              nullptr };

} // namespace program
} // namespace MIMOPACK_ISA
} // namespace mimopack

#endif

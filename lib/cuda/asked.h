/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program asks of the headers: namespace asked, and macros. A program for one
 * detector and one kind of call begins with its own, written by
 * python/mimopack/cuda/source.py, and defines MIMOPACK_ASKED. Without it this file stands
 * in, with 4x4 QPSK and default options, so that an editor or a compiler can parse each
 * header by itself:
 *
 *     g++ -std=c++17 -fsyntax-only -Ilib -include tests/support/without_gpu.h \
 *         -x c++ lib/cuda/detect.h */
#pragma once
#include "common/config.h"

#ifndef MIMOPACK_ASKED

#define MIMOPACK_THREADS 64 /* of a block */
#define MIMOPACK_BLOCKS 1   /* of a multiprocessor at least, which limits registers */
#define MIMOPACK_ARENA 0 /* of a thread, in floats; MIMOPACK_SIZE_ONLY: still unknown */
#define MIMOPACK_LARGEST_LOCAL_ARENA 2048 /* that is in local memory */
/* MIMOPACK_MAKE: the detector's make_NAME() (see detect.h) */

namespace mimopack {
namespace MIMOPACK_ISA {
namespace asked {

/* The size of H; fixed_tx and fixed_rx are 0 where it is too large for loops to be
 * unrolled. */
constexpr int num_tx = 4, num_rx = 4;
constexpr int fixed_tx = 4, fixed_rx = 4;
/* Bits of a symbol; Gray bits of an axis, 0 for other constellations than square QAM */
constexpr int bits = 2, width = 1;
/* LLRs of a vector */
constexpr int num_llr = 8;
/* Hard solutions that a call gives */
constexpr int num_hard = 0;
/* Whether a call gives a-priori LLRs; whether layers have known bits (see grid_layer);
 * whether the kernel gets a-priori LLRs; whether a call gives a matrix for each vector;
 * whether it wants 8-bit LLRs, and the number of nodes. */
constexpr bool prior_given = false, has_layers = false;
constexpr bool has_prior = prior_given || has_layers, matrix_each = true;
constexpr bool as_int8 = false, counts = false;
/* Whether vectors take unequal time, so that threads take the next one when they are
 * done; whether LLRs are without the a-priori LLRs. */
constexpr bool dynamic = false, extrinsic = false;
/* Threads of a warp that wait before they take the next vectors */
constexpr int idle = 16;

/* An option that is a list, as an array that threads can index */
__device__ constexpr int levels[] = { 1 }, expansions[] = { 1 };

/* The detector's options; here those of any family, with default values */
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

} // namespace asked
} // namespace MIMOPACK_ISA
} // namespace mimopack

#endif

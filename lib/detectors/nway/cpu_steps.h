/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The large steps of the greedy search for any number of antennas, shared by N-way and
 * the soft sphere decoder. nway/cpu.cc compiles them (PREFIX empty), and the other file
 * declares them (PREFIX extern). */
#pragma once
#include "cpu/simd.h"
#include "detectors/nway/greedy_search.h"

#define MP_GREEDY_STEPS_OF_WIDTH(PREFIX, WIDTH)                                \
    PREFIX template void greedy_search<simd, 0, 0, WIDTH>::search<true>(int);  \
    PREFIX template void greedy_search<simd, 0, 0, WIDTH>::search<false>(int); \
    PREFIX template void greedy_search<simd, 0, 0, WIDTH>::collect(int);       \
    PREFIX template void candidate_sums<simd, 0, WIDTH>::add(                  \
        int, const simd*, const simd*, simd);

#define MP_GREEDY_STEPS(PREFIX)         \
    MP_GREEDY_STEPS_OF_WIDTH(PREFIX, 1) \
    MP_GREEDY_STEPS_OF_WIDTH(PREFIX, 2) \
    MP_GREEDY_STEPS_OF_WIDTH(PREFIX, 3) \
    MP_GREEDY_STEPS_OF_WIDTH(PREFIX, 4) \
    MP_GREEDY_STEPS_OF_WIDTH(PREFIX, 5) \
    MP_GREEDY_STEPS_OF_WIDTH(PREFIX, 6)

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What a detector is asked to do, and the table of builds that can do it. */
#pragma once
#include "../kernels/config.h"
#include <cstddef>
#include <cstdint>

namespace mimopack {

constexpr int max_list = 256; /* of k */

/* The detectors' own parameters, by the names that Python uses; detectors/ checks their
 * values and says what they mean. */
struct detector_options {
    int num_passes = 1;
    float llr_clip = __builtin_inff();
    bool extrinsic = false; /* subtract the prior from the result */
    int levels = 1;
    int num_paths = 1;
    int k = 1;
    int num_iterations = 1;
    float smoothing = 0.0f;
    float initial_variance = 0.5f;
    int ordering =
        0; /* the position of the name among the parameter's choices, as below */
    int method = 0;
    int radius = 0;
    int psd_stages = 1; /* lvl_1 ... lvl_nr and exp_1 ... of 004, and its tt */
    int psd_levels[max_search_stages] = { 1 };
    int psd_expansions[max_search_stages] = { 1 };
    int psd_threads = 1;
};

struct plan {
    int num_tx;
    int num_rx;
    constellation points;
    detector_options options;
};

/* n vectors in the contract's layout; each matrix holds for per_channel of them. */
struct batch {
    std::size_t n;
    std::size_t per_channel;
    const float* y;         /* n x nr complex */
    const float* h;         /* n/per_channel x nr x nt complex */
    const float* noise_var; /* n, or one for all */
    bool noise_per_vector;
    const float* prior; /* n x nt*bits, or null */
    float* llr;         /* n x nt*bits; this or the next is null */
    std::int8_t* llr_int8;
    float int8_scale;         /* int8 = saturate(round(scale * llr)) */
    const std::uint8_t* hard; /* num_hard x n x nt*bits hard solutions, or null */
    std::size_t num_hard;
    std::uint32_t* nodes; /* n x nodes_per_vector visited nodes to be counted, or null */
    std::size_t nodes_per_vector;
    int threads;
    /* All threads ask now and then whether to end the call early. */
    bool (*stop)(void* context);
    void* stop_context;
};

/* Runs a batch and returns how many vectors it erased, or out_of_memory. */
using run_function = std::size_t (*)(const plan&, const batch&);
constexpr std::size_t out_of_memory = ~std::size_t(0);

struct detector_entry {
    const char* name;
    run_function run;
    int max_tx;
    bool needs_width; /* square QAM with Gray labels per axis only */
};

struct isa_build {
    const char* name;
    int lanes;
    int instructions_per_fma;
    bool (*available)();
    const detector_entry* detectors; /* ends with a null name */
    /* Keeps the arithmetic units of so many threads busy, from the number in value; says
     * how many SIMD instructions that took. */
    std::size_t (*issue_arithmetic)(int threads, std::size_t rounds, float* value);
};

/* The best available first. */
const isa_build* const* available_builds(int& count);

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans and batches of detectors, and the table of builds that run them. */
#pragma once
#include "common/config.h"
#include <cstddef>
#include <cstdint>

namespace mimopack {

/* The value of a detector's own parameter: a number, or a list of integers */
struct option {
    const char* name;
    double number;
    const int* list; /* null for a number */
    int length;
};

struct plan {
    int num_tx;
    int num_rx;
    constellation points;
    int num_llr;    /* bits of a vector */
    bool extrinsic; /* subtract the prior from the result */
    const option* options;
    int num_options;
};

/* n vectors in the contract's layout. per_channel consecutive vectors share a matrix. */
struct batch {
    std::size_t n;
    std::size_t per_channel;
    const float* y;         /* n x nr complex */
    const float* h;         /* n/per_channel x nr x nt complex */
    const float* noise_var; /* n values, or one for all vectors */
    bool noise_per_vector;
    const float* noise_cov; /* nr x nr complex for each matrix or for all, or null */
    bool cov_per_matrix;
    const float* prior; /* n x nt*bits, or null */
    float* llr;         /* n x nt*bits; either llr or llr_int8 is null */
    std::int8_t* llr_int8;
    float int8_scale;         /* int8 = saturate(round(scale * llr)) */
    const std::uint8_t* hard; /* num_hard x n x nt*bits hard solutions, or null */
    std::size_t num_hard;
    std::uint32_t* nodes; /* n x nodes_per_vector visited nodes to be counted, or null */
    std::size_t nodes_per_vector;
    std::size_t* truncated; /* gets the number of vectors whose search ended by max_nodes,
                             * or null */
    int threads;
    /* Return whether to end the call early. Every thread asks now and then. */
    bool (*stop)(void* context);
    void* stop_context;
};

/* Run a batch, and return how many vectors were erased, out_of_memory or
 * unknown_option. */
using run_function = std::size_t (*)(const plan&, const batch&);
constexpr std::size_t out_of_memory = ~std::size_t(0);
constexpr std::size_t unknown_option = ~std::size_t(1);

struct detector_entry {
    const char* name;
    run_function run;
};

/* Detectors of a separately compiled module, see module.h */
struct detector_module {
    int version; /* module_version of the module's headers */
    const char* isa;
    const detector_entry* detectors; /* ends with a null name */
};

/* To be raised whenever plan, batch or detector_entry changes */
constexpr int module_version = 6;

struct code_decoders; /* see codes/decoders.h */

struct isa_build {
    const char* name;
    int lanes;
    bool (*available)();
    const detector_entry* detectors; /* ends with a null name */
    const code_decoders& decoders;
};

/* Return the builds that this machine can run, the best one first. */
const isa_build* const* available_builds(int& count);

} // namespace mimopack

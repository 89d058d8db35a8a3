/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "config.h"

namespace mimopack {

constexpr int max_list = 256; /* of k */

/* The detectors' own parameters, by the names that Python uses; detectors/ checks their
 * values and says what they mean. */
struct detector_options {
    int num_passes = 1;
    float llr_clip = infinity;
    int log_sum = 0;        /* LLRs are log-sum-exp instead of max-log */
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

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Define a module of detectors that is compiled outside of gr-mimopack's build, for
 * detectors.register() in Python:
 *
 *     #include "cpu/module.h"
 *     ...
 *     std::size_t run_toy(const plan& p, const batch& b) { ... }
 *     ...
 *     MIMOPACK_MODULE({ "toy", run_toy })
 *
 * MIMOPACK_MODULE stands at the end of the source, outside of all namespaces. */
#pragma once
#include "cpu/plan.h"

#define MIMOPACK_STRING(x) MIMOPACK_STRING_(x)
#define MIMOPACK_STRING_(x) #x
#define MIMOPACK_MODULE(...)                                                       \
    namespace mimopack {                                                           \
    namespace MIMOPACK_ISA {                                                       \
    static const detector_entry entries[] = { __VA_ARGS__, { nullptr, nullptr } }; \
    }                                                                              \
    }                                                                              \
    extern "C" {                                                                   \
    __attribute__((visibility(                                                     \
        "default"))) extern const mimopack::detector_module mimopack_detectors;    \
    const mimopack::detector_module mimopack_detectors = {                         \
        mimopack::module_version,                                                  \
        MIMOPACK_STRING(MIMOPACK_ISA),                                             \
        mimopack::MIMOPACK_ISA::entries                                            \
    };                                                                             \
    }

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

#ifndef MIMOPACK_RUNTIME_BINDINGS_H
#define MIMOPACK_RUNTIME_BINDINGS_H

#include <pybind11/pybind11.h>

namespace mimopack {

void bind_arrivals(pybind11::module_& m);
void bind_messages(pybind11::module_& m);
void bind_samples(pybind11::module_& m);

} // namespace mimopack

#endif

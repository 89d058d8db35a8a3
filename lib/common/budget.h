/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The budget of a tree search: the option max_nodes, 0 for none. A kernel that has the
 * option also has a member truncated(), the number of vectors of the last detect() whose
 * search the budget ended. */
#pragma once
#include "common/config.h"

namespace mimopack {
namespace MIMOPACK_ISA {

constexpr long long unlimited = 1ll << 60;

MP_FN long long node_budget(int max_nodes) { return max_nodes ? max_nodes : unlimited; }

/* Call as truncated_by(kernel, 0): the member truncated(), or 0 if there is none. */
template <class Kernel>
MP_FN auto truncated_by(const Kernel& kernel, int) -> decltype(kernel.truncated())
{
    return kernel.truncated();
}
template <class Kernel>
MP_FN int truncated_by(const Kernel&, long)
{
    return 0;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

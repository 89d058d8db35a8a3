/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A vector whose elements come from fixed places of others */
#pragma once
#include "common/config.h"
#include <utility>

namespace mimopack {
namespace MIMOPACK_ISA {

template <class Vector, class From, int... I>
MP_FN auto shuffle(Vector x, Vector y, From from, std::integer_sequence<int, I...>)
{
    return __builtin_shufflevector(x, y, from(I)...);
}

/* Return element from(i) of x and y, one after the other, in place i. `from` is a lambda
 * without captures. */
template <int N, class Vector, class From>
MP_FN auto shuffle(Vector x, Vector y, From from)
{
    return shuffle(x, y, from, std::make_integer_sequence<int, N>());
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

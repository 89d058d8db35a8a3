/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What the library takes from GCC and clang++ lacks */
#pragma once

template <class V, class I>
V __builtin_shuffle(V a, I from)
{
    constexpr int lanes = sizeof(a) / sizeof(a[0]);
    V out{};
    for (int l = 0; l < lanes; ++l)
        out[l] = a[from[l] & (lanes - 1)];
    return out;
}

template <class V, class I>
V __builtin_shuffle(V a, V b, I from)
{
    constexpr int lanes = sizeof(a) / sizeof(a[0]);
    V out{};
    for (int l = 0; l < lanes; ++l)
        out[l] = from[l] & lanes ? b[from[l] & (lanes - 1)] : a[from[l] & (lanes - 1)];
    return out;
}

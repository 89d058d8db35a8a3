/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes of H and of constellations that are compiled by themselves, because this is 1.5
 * times as fast as the general build. Each takes seconds to compile. */
#pragma once
#include "cpu/plan.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int N>
struct constant {
    static constexpr int value = N;
};

/* Call body(nt, nr) with constants 2x2 or 4x4, or with 0, 0 for the general build, which
 * is the only one for layers with known bits. */
template <class Body>
std::size_t by_size(const plan& p, Body body)
{
    if (p.num_tx == p.num_rx && !p.points.layers) {
        switch (p.num_tx) {
        case 2:
            return body(constant<2>(), constant<2>());
        case 4:
            return body(constant<4>(), constant<4>());
        }
    }
    return body(constant<0>(), constant<0>());
}

/* Call body(width) with a constant: the Gray bits per axis of square QAM. Only families
 * for 4096-QAM have MOST = 6. */
template <int MOST = 5, class Body>
std::size_t by_width(const plan& p, Body body)
{
    switch (p.points.width) {
    case 1:
        return body(constant<1>());
    case 2:
        return body(constant<2>());
    case 3:
        return body(constant<3>());
    case 4:
        return body(constant<4>());
    case 5:
        return body(constant<5>());
    default:
        return body(constant<MOST>());
    }
}

/* Call body(nt, nr, width). From 64-QAM on there is only the general build, because known
 * sizes gain less than 1.5 times in most families. */
template <int MOST = 5, class Body>
std::size_t by_size_and_width(const plan& p, Body body)
{
    return by_width<MOST>(p, [&](auto width) {
        if constexpr (width.value > 2)
            return body(constant<0>(), constant<0>(), width);
        else
            return by_size(p, [&](auto nt, auto nr) { return body(nt, nr, width); });
    });
}

/* Call body(width), with width 0 for any constellation that is no square QAM. */
template <class Body>
std::size_t by_any_width(const plan& p, Body body)
{
    return p.points.width ? by_width(p, body) : body(constant<0>());
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of float and double with the same names, for steps that teams repeat in
 * double precision */
#pragma once
#include "cuda/lane.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class Real>
struct complex_numbers;
template <>
struct complex_numbers<float> {
    using type = float2;
};
template <>
struct complex_numbers<double> {
    using type = double2;
};
template <class Real>
using complex_of = typename complex_numbers<Real>::type;

/* Numbers that one instruction loads from shared memory */
template <class Real>
struct alignas(16) loaded_together {
    static constexpr int size = 16 / sizeof(Real);
    Real of[size];
};

/* a b + c */
MP_FN float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
MP_FN double multiply_add(double a, double b, double c) { return ::fma(a, b, c); }

MP_FN lane as_lane(float a) { return lane(a); }
MP_FN lane as_lane(double a) { return lane(static_cast<float>(a)); }

MP_FN double reciprocal(double a) { return 1.0 / a; }

/* 0 becomes infinite, and NaN stays NaN. */
MP_FN float reciprocal_root(float a) { return rsqrt(lane(a)).v; }
MP_FN double reciprocal_root(double a) { return 1.0 / ::sqrt(a); }

MP_FN float at_least(float a, float least) { return fmaxf(a, least); }
MP_FN double at_least(double a, double least) { return ::fmax(a, least); }

} // namespace MIMOPACK_ISA
} // namespace mimopack

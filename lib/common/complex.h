/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of complex products. A complex number is two adjacent lanes, real and imaginary
 * part, or two lanes by themselves; F is a lane type or float. */
#pragma once
#include "common/scalar.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* (re, im) -= a b */
template <class F>
MP_FN void subtract_product(const F* a, F b_re, F b_im, F& re, F& im)
{
    const F a_re = a[0], a_im = a[1];
    re = fma(a_im, b_im, fnma(a_re, b_re, re));
    im = fnma(a_im, b_re, fnma(a_re, b_im, im));
}

/* sum -= a b */
template <class F>
MP_FN void subtract_product(const F* a, const F* b, F* sum)
{
    subtract_product(a, b[0], b[1], sum[0], sum[1]);
}

/* sum += a b */
template <class F>
MP_FN void add_product(const F* a, const F* b, F* sum)
{
    const F a_re = a[0], a_im = a[1], b_re = b[0], b_im = b[1];
    sum[0] = fnma(a_im, b_im, fma(a_re, b_re, sum[0]));
    sum[1] = fma(a_im, b_re, fma(a_re, b_im, sum[1]));
}

/* sum += conj(a) b */
template <class F>
MP_FN void add_conjugate_product(const F* a, const F* b, F* sum)
{
    const F a_re = a[0], a_im = a[1], b_re = b[0], b_im = b[1];
    sum[0] = fma(a_re, b_re, fma(a_im, b_im, sum[0]));
    sum[1] = fma(a_re, b_im, fnma(a_im, b_re, sum[1]));
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* exp and log on lanes for log-sum-exp, without NaN and without branches. */
#pragma once
#include "common/config.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Return exp(-x) for x >= 0 with a relative error of about 2e-7, and 0 from x = 87 on.
 * exp(-x) = 2^n * 2^f with n = round(-x log2 e), |f| <= 1/2; 2^f by its Taylor series. */
template <class F>
MP_FN F exp_minus(F x)
{
    const F t = max(x * F(-1.44269504f), F(-126.0f));
    const auto n = t.to_word();
    const F f = t - n.to_float();
    F p = fma(F(1.5403530e-4f), f, F(1.3333558e-3f));
    p = fma(p, f, F(9.6181291e-3f));
    p = fma(p, f, F(5.5504109e-2f));
    p = fma(p, f, F(2.4022651e-1f));
    p = fma(p, f, F(6.9314718e-1f));
    p = fma(p, f, F(1.0f));
    const F power = ((n + 127) << 23).as_float();
    return select(F(-125.5f) < t, p * power, F(0.0f));
}

/* Return ln(x) for normal x > 0 with an absolute error of about 2e-7 (1 + |ln x|). x =
 * 2^e m with m in [2/3, 4/3); ln m = 2 atanh((m-1)/(m+1)). */
template <class F>
MP_FN F log_positive(F x)
{
    const auto shifted = x.as_word() - 0x3f2aaaab; /* the bits of 2/3 */
    const auto exponent = (((shifted + (127 << 23)) >> 23) - 127);
    const F m = ((shifted & 0x007fffffu) + 0x3f2aaaab).as_float();
    const F s = (m - F(1.0f)) / (m + F(1.0f));
    const F z = s * s;
    F p = fma(F(0.11111111f), z, F(0.14285714f));
    p = fma(p, z, F(0.2f));
    p = fma(p, z, F(0.33333333f));
    p = fma(p, z, F(1.0f));
    return fma(exponent.to_float(), F(0.69314718f), F(2.0f) * s * p);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

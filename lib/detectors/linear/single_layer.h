/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* One layer of square QAM: maximum ratio combining, x = h^H y / |h|^2 with noise sigma^2
 * / |h|^2, and soft demapping. ZF, MMSE without its bias, and maximum likelihood coincide
 * here, but ZF needs a column that is not zero. */
#pragma once
#include "detectors/linear/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class F, int WIDTH, bool MMSE>
class single_layer
{
public:
    using mask = decltype(F() < F());

    MP_FN single_layer(arena<F>& a, const constellation& c, int nr)
        : d_nr(nr), d_scale(c.scale), d_column(a, 2 * nr)
    {
    }

    MP_FN void prepare(const F* h)
    {
        for (int i = 0; i < 2 * d_nr; ++i)
            d_column[i] = h[i];
        d_strength = qr::energy(h, d_nr);
        const mask is_zero = ~(F(least_energy) < d_strength);
        d_inverse = select(is_zero, F(0.0f), F(1.0f) / d_strength);
        d_usable = d_strength < F(largest_energy); /* also false for NaN and Inf */
        if (!MMSE)
            d_usable = d_usable & ~is_zero;
    }

    MP_FN mask detect(const F* y, F noise_var, const F*, F* llr)
    {
        F x[2];
        qr::project(&d_column[0], y, d_nr, x[0], x[1]);
        x[0] = x[0] * d_inverse;
        x[1] = x[1] * d_inverse;
        demap_axes<WIDTH>(x, d_strength / noise_var, d_scale, llr);
        return d_usable & (qr::energy(y, d_nr) < F(largest_energy));
    }

private:
    using qr = unscaled_qr<F, 0, 0>;
    const int d_nr;
    const float d_scale;
    buffer<F, 0> d_column;
    F d_strength, d_inverse;
    mask d_usable;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

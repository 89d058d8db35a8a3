/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* ZF and MMSE for sizes known when running: the same estimates from H = Q R, so that only
 * Q^H y and the decomposition depend on the number of receive antennas. */
#pragma once
#include "common/cavity.h"
#include "common/large_qr.h"
#include "detectors/linear/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* x = R^-1 z, noise sigma^2 |row i of R^-1|^2 */
template <class F>
class zero_forcing
{
public:
    buffer<F, 0> estimate, precision; /* of each stream; 1 / noise */

    MP_FN zero_forcing(arena<F>& a, int nt)
        : estimate(a, 2 * nt),
          precision(a, nt),
          d_nt(nt),
          d_inverse(a, 2 * nt * nt),
          d_spread(a, nt)
    {
    }

    /* Invert R, row by row from the last one. */
    MP_STEP void prepare(const large_qr<F>& h)
    {
        const int nt = d_nt;
        const F* const r = &h.r[0];
        MP_ROLLED
        for (int i = 0; i < 2 * nt * nt; ++i)
            d_inverse[i] = F(0.0f);
        MP_ROLLED
        for (int i = nt - 1; i >= 0; --i) {
            F* const row = &d_inverse[2 * i * nt];
            const F inverse = reciprocal(h.diagonal[i]);
            row[2 * i] = inverse;
            d_spread[i] = inverse * inverse;
            int j = i + 1;
            MP_ROLLED
            for (; j + 4 <= nt; j += 4)
                set_entries<4>(r, i, j, inverse);
            MP_ROLLED
            for (; j < nt; ++j)
                set_entries<1>(r, i, j, inverse);
        }
    }

    MP_FN void detect(const F* z, F noise_var)
    {
        const int nt = d_nt;
        MP_ROLLED
        for (int i = 0; i < nt; ++i) {
            F x[2] = { F(0.0f), F(0.0f) };
            MP_ROLLED
            for (int j = i; j < nt; ++j)
                add_product(&d_inverse[2 * (i * nt + j)], z + 2 * j, x);
            estimate[2 * i] = x[0];
            estimate[2 * i + 1] = x[1];
            precision[i] = F(1.0f) / (noise_var * d_spread[i]);
        }
    }

private:
    const int d_nt;
    buffer<F, 0> d_inverse, d_spread;

    template <int COUNT>
    MP_FN void set_entries(const F* r, int i, int j, F inverse)
    {
        const int nt = d_nt;
        F sum[2 * COUNT];
        MP_UNROLL
        for (int p = 0; p < 2 * COUNT; ++p)
            sum[p] = F(0.0f);
        MP_ROLLED
        for (int k = i + 1; k < j + COUNT; ++k) {
            MP_UNROLL
            for (int c = 0; c < COUNT; ++c)
                subtract_product(
                    &r[2 * (i * nt + k)], &d_inverse[2 * (k * nt + j + c)], sum + 2 * c);
        }
        MP_UNROLL
        for (int p = 0; p < 2 * COUNT; ++p) {
            const F entry = sum[p] * inverse;
            d_inverse[2 * (i * nt + j) + p] = entry;
            d_spread[i] = fma(entry, entry, d_spread[i]);
        }
    }
};

/* Unbiased, from [R; sigma I]. Vectors with the same matrix and noise share the
 * decomposition. */
template <class F>
class minimum_error
{
public:
    buffer<F, 0>& estimate;
    buffer<F, 0>& precision;

    MP_FN minimum_error(arena<F>& a, int nt)
        : estimate(d_cavity.mean),
          precision(d_cavity.precision),
          d_nt(nt),
          d_r(a, 2 * nt * nt),
          d_noise_var(0.0f),
          d_zeros(a, 2 * nt),
          d_ones(a, nt),
          d_cavity(a, nt)
    {
    }

    MP_FN void prepare(const large_qr<F>& h)
    {
        const int nt = d_nt;
        MP_ROLLED
        for (int j = 0; j < nt; ++j) {
            MP_ROLLED
            for (int i = 0; i < j; ++i)
                MP_ROLLED
            for (int part = 0; part < 2; ++part)
                d_r[2 * (j * nt + i) + part] = h.r[2 * (i * nt + j) + part];
            d_r[2 * (j * nt + j)] = h.diagonal[j];
            d_r[2 * (j * nt + j) + 1] = d_zeros[2 * j] = d_zeros[2 * j + 1] = F(0.0f);
            d_ones[j] = F(1.0f);
        }
        d_noise_var = F(0.0f);
    }

    MP_FN void detect(const F* z, F noise_var)
    {
        if (any((noise_var < d_noise_var) | (d_noise_var < noise_var))) {
            d_cavity.prepare(&d_r[0], &d_ones[0], noise_var * rsqrt(noise_var));
            d_noise_var = noise_var;
        }
        d_cavity.estimate(&d_r[0], z, &d_zeros[0]);
    }

private:
    const int d_nt;
    buffer<F, 0> d_r; /* column-major */
    F d_noise_var;    /* of the last decomposition; 0: none */
    buffer<F, 0> d_zeros, d_ones;
    cavity<F, 0, true> d_cavity;
};

template <class F, bool MMSE>
struct estimate_of {
    using type = zero_forcing<F>;
};

template <class F>
struct estimate_of<F, true> {
    using type = minimum_error<F>;
};

/* WIDTH = 0: any constellation. */
template <class F, int WIDTH, bool MMSE>
class large_linear
{
public:
    using mask = decltype(F() < F());

    MP_FN large_linear(arena<F>& a, const constellation& c, int nt, int nr)
        : d_constellation(c), d_nt(nt), d_qr(a, nt, nr), d_z(a, 2 * nt), d_estimate(a, nt)
    {
    }

    MP_FN void prepare(const F* h)
    {
        d_qr.decompose(h);
        d_estimate.prepare(d_qr);
    }

    MP_FN mask detect(const F* y, F noise_var, const F*, F* llr)
    {
        const mask usable = (MMSE ? d_qr.finite : d_qr.usable) & d_qr.rotate(y, &d_z[0]);
        d_estimate.detect(&d_z[0], MMSE ? d_qr.floored(noise_var) : noise_var);
        MP_ROLLED
        for (int i = 0; i < d_nt; ++i) {
            const F* const x = &d_estimate.estimate[2 * i];
            const F precision = d_estimate.precision[i];
            if constexpr (WIDTH == 0)
                demap_points(
                    x, precision, d_constellation, llr + d_constellation.bits * i);
            else if (d_constellation.layers)
                demap_layer<WIDTH>(
                    x, precision, d_constellation.layers[i], llr + 2 * WIDTH * i);
            else
                demap_axes<WIDTH>(
                    x, precision, d_constellation.scale, llr + 2 * WIDTH * i);
        }
        return usable;
    }

private:
    const constellation& d_constellation;
    const int d_nt;
    large_qr<F> d_qr;
    buffer<F, 0> d_z;
    typename estimate_of<F, MMSE>::type d_estimate;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

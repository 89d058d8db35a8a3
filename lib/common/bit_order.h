/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversion between the caller's order of bits and the canonical order of detectors for
 * square QAM. */
#pragma once
#include "common/config.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Move priors from the caller's labels to canonical bits. Return where all are finite. */
template <class F>
MP_FN decltype(F() < F())
order_prior(const constellation& c, int num_tx, const F* prior, F* canonical)
{
    F sum(0.0f);
    MP_UNROLL_DEVICE
    for (int i = 0; i < num_tx; ++i) {
        MP_UNROLL_DEVICE
        for (int k = 0; k < c.bits; ++k) {
            const F value = prior[i * c.bits + k];
            sum = sum + abs(value);
            canonical[i * c.bits + c.bit_source[k]] = value * F(c.bit_sign[k]);
        }
    }
    return sum < F(largest_prior);
}

/* Move LLRs from canonical bits to the caller's labels, and subtract the prior
 * `extrinsic` unless it is null. Erased LLRs become 0. */
template <class F, class Mask>
MP_FN void order_llr(const constellation& c,
                     int num_tx,
                     Mask usable,
                     const F* canonical,
                     const F* extrinsic,
                     F* llr)
{
    MP_UNROLL_DEVICE
    for (int i = 0; i < num_tx; ++i) {
        MP_UNROLL_DEVICE
        for (int k = 0; k < c.bits; ++k) {
            F value = canonical[i * c.bits + c.bit_source[k]] * F(c.bit_sign[k]);
            if (extrinsic)
                value = value - extrinsic[i * c.bits + k];
            llr[i * c.bits + k] = finite_where(usable, value);
        }
    }
}

/* Return k_re + side * k_im of the square QAM symbol with these label bits. */
MP_FN int hard_symbol(const constellation& c, const unsigned char* label)
{
    int gray[2] = { 0, 0 };
    for (int k = 0; k < c.bits; ++k) {
        const int place = c.bit_source[k];
        const bool bit = (label[k] != 0) != (c.bit_sign[k] < 0);
        gray[place / c.width] |= bit << (c.width - 1 - place % c.width);
    }
    for (int& code : gray)
        for (int shift = 1; shift < c.width; shift *= 2)
            code ^= code >> shift;
    return gray[0] + (gray[1] << c.width);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

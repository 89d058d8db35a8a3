/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversion between the caller's order of bits and the canonical order of detectors for
 * square QAM. */
#pragma once
#include "common/complex.h"
#include "common/config.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Move a layer's priors from the caller's labels to canonical bits. own: the layer's
 * constellation or grid_layer; prior: null for zeros. Return the sum of magnitudes. */
template <class F, class Own>
MP_FN F order_layer_prior(const Own& own, const F* prior, F* canonical)
{
    F sum(0.0f);
    MP_UNROLL_DEVICE
    for (int k = 0; k < own.bits; ++k) {
        const F value = prior ? prior[k] : F(0.0f);
        sum = sum + abs(value);
        canonical[own.bit_source[k]] = value * F(own.bit_sign[k]);
    }
    return sum;
}

/* Move priors from the caller's labels to canonical bits. prior: null for zeros. Layers
 * with known bits get these too. Return where all priors are finite. */
template <class F>
MP_STEP decltype(F() < F())
order_prior(const constellation& c, int num_tx, const F* prior, F* canonical)
{
    F sum(0.0f);
    MP_UNROLL_DEVICE
    for (int i = 0; i < num_tx; ++i) {
        F* const to = canonical + i * c.bits;
        if (c.layers) {
            MP_UNROLL_DEVICE
            for (int b = 0; b < c.bits; ++b)
                to[b] = F(llr_of_known_bit);
            sum = sum + order_layer_prior(c.layers[i], prior, to);
            prior = prior ? prior + c.layers[i].bits : nullptr;
        } else {
            sum = sum + order_layer_prior(c, prior, to);
            prior = prior ? prior + c.bits : nullptr;
        }
    }
    return sum < F(largest_prior);
}

/* Move a layer's LLRs from canonical bits to the caller's labels, and subtract the prior
 * `extrinsic` unless it is null. Erased LLRs become 0. */
template <class F, class Mask, class Own>
MP_FN void order_layer_llr(
    const Own& own, Mask usable, const F* canonical, const F* extrinsic, F* llr)
{
    MP_UNROLL_DEVICE
    for (int k = 0; k < own.bits; ++k) {
        F value = canonical[own.bit_source[k]] * F(own.bit_sign[k]);
        if (extrinsic)
            value = value - extrinsic[k];
        llr[k] = finite_where(usable, value);
    }
}

/* The same for all layers */
template <class F, class Mask>
MP_STEP void order_llr(const constellation& c,
                       int num_tx,
                       Mask usable,
                       const F* canonical,
                       const F* extrinsic,
                       F* llr)
{
    MP_UNROLL_DEVICE
    for (int i = 0; i < num_tx; ++i) {
        const F* const from = canonical + i * c.bits;
        const int bits = c.layers ? c.layers[i].bits : c.bits;
        if (c.layers)
            order_layer_llr(c.layers[i], usable, from, extrinsic, llr);
        else
            order_layer_llr(c, usable, from, extrinsic, llr);
        extrinsic = extrinsic ? extrinsic + bits : nullptr;
        llr += bits;
    }
}

/* Multiply H's columns by the layers' turns. Set shift (nr complex lanes) to the sum of
 * the columns times the layers' shifts, which is not in the kernel's model. */
template <class F>
MP_STEP void turn_columns(const grid_layer* layers, int nt, int nr, F* h, F* shift)
{
    MP_UNROLL_DEVICE
    for (int row = 0; row < nr; ++row) {
        F sum[2] = { F(0.0f), F(0.0f) };
        MP_UNROLL_DEVICE
        for (int i = 0; i < nt; ++i) {
            const grid_layer& own = layers[i];
            F* const entry = h + 2 * (row * nt + i);
            const F re = entry[0], im = entry[1];
            entry[0] = fnma(im, F(own.turn[1]), re * F(own.turn[0]));
            entry[1] = fma(im, F(own.turn[0]), re * F(own.turn[1]));
            const F by[2] = { F(own.shift[0]), F(own.shift[1]) };
            add_product(entry, by, sum);
        }
        shift[2 * row] = sum[0];
        shift[2 * row + 1] = sum[1];
    }
}

/* Return how many label bits the layers before this one have. */
MP_FN int bits_before(const constellation& c, int layer)
{
    int sum = 0;
    for (int i = 0; i < layer; ++i)
        sum += c.layers ? c.layers[i].bits : c.bits;
    return sum;
}

/* Return k_re + side * k_im of the square QAM symbol with these label bits. own: the
 * constellation itself, or the grid_layer */
template <class Own>
MP_FN int hard_symbol(const constellation& c, const Own& own, const unsigned char* label)
{
    int gray[2] = { 0, 0 };
    for (int k = 0; k < own.bits; ++k) {
        const int place = own.bit_source[k];
        const bool bit = (label[k] != 0) != (own.bit_sign[k] < 0);
        gray[place / c.width] |= bit << (c.width - 1 - place % c.width);
    }
    for (int& code : gray)
        for (int shift = 1; shift < c.width; shift *= 2)
            code ^= code >> shift;
    return gray[0] + (gray[1] << c.width);
}

/* Return the same for a layer, given the labels of all layers. */
MP_FN int
hard_symbol(const constellation& c, int layer, const unsigned char* labels_of_vector)
{
    const unsigned char* const label = labels_of_vector + bits_before(c, layer);
    return c.layers ? hard_symbol(c, c.layers[layer], label) : hard_symbol(c, c, label);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

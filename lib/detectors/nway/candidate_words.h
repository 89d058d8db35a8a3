/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The words with a candidate's symbols in the greedy search, except the top layer's
 * symbol, which follows from the candidate's number. The layer below the top comes first
 * in its word, k_re + side * k_im of each. */
#pragma once
#include "common/minima.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int NT, int WIDTH>
struct candidate_words {
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;
    /* Layers below the top whose bits share a word; a float has room for 22 bits. */
    static constexpr int layers_per_word = NT == 0 ? 1 : 22 / bits;

    MP_FN static int count(int nt)
    {
        return (nt - 1 + layers_per_word - 1) / layers_per_word;
    }

    /* Return the bias to add to a word of this many layers, or to a full word. A word
     * sums its first k_re, and l for the other axes, where l begins at -(side-1)/2. */
    MP_FN static float bias(int layers)
    {
        const int num = layers < layers_per_word ? layers : layers_per_word;
        return 0.5f * ((1 << num * bits) - side);
    }

    /* Return the place in the Gray code of canonical bit b, for the layer at a place of a
     * word. */
    MP_FN static constexpr int bit_place(int place, int b)
    {
        return place % layers_per_word * bits + symbol_bits<WIDTH>::place(b);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

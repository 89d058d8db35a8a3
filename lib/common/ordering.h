/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Column orders that differ from vector to vector: every lane sorts its own columns. */
#pragma once
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class F, class Mask>
MP_FN void swap_where(Mask where, F& a, F& b)
{
    const F kept = a;
    a = select(where, b, a);
    b = select(where, kept, b);
}

/* The layer of each column. Every lane has its own order: column c belongs to layer
 * layer[c]. */
template <class F, int NT>
struct column_layers {
    using mask = decltype(F() < F());
    const extent<NT> d_nt;
    buffer<F, NT> layer;

    MP_FN column_layers(arena<F>& a, int nt) : d_nt(nt), layer(a, nt) {}

    MP_FN void in_order()
    {
        for (int c = 0; c < d_nt; ++c)
            layer[c] = F(static_cast<float>(c));
    }

    /* Move `bits` lanes per layer to or from the order of the layers: by_layer[layer[c]]
     * = by_column[c]. */
    MP_STEP void to_layers(const F* by_column, int bits, F* by_layer) const
    {
        const int nt = d_nt;
        MP_UNROLL_DEVICE
        for (int i = 0; i < nt; ++i) {
            MP_UNROLL_DEVICE
            for (int b = 0; b < bits; ++b) {
                F value = by_column[b];
                MP_UNROLL_DEVICE
                for (int c = 1; c < nt; ++c)
                    value = select(is(c, i), by_column[c * bits + b], value);
                by_layer[i * bits + b] = value;
            }
        }
    }

    MP_STEP void to_columns(const F* by_layer, int bits, F* by_column) const
    {
        const int nt = d_nt;
        MP_UNROLL_DEVICE
        for (int c = 0; c < nt; ++c) {
            MP_UNROLL_DEVICE
            for (int b = 0; b < bits; ++b) {
                F value = by_layer[b];
                MP_UNROLL_DEVICE
                for (int i = 1; i < nt; ++i)
                    value = select(is(c, i), by_layer[i * bits + b], value);
                by_column[c * bits + b] = value;
            }
        }
    }

private:
    MP_FN mask is(int column, int i) const
    {
        return abs(layer[column] - F(static_cast<float>(i))) < F(0.5f);
    }
};

/* A copy of h with the columns in each lane's own order */
template <class F, int NT, int NR>
struct ordered_columns : column_layers<F, NT> {
    using mask = decltype(F() < F());
    using column_layers<F, NT>::d_nt;
    using column_layers<F, NT>::layer;
    const extent<NR> d_nr;
    buffer<F, 2 * NT * NR> h;
    buffer<F, NT> norm2;

    MP_FN ordered_columns(arena<F>& a, int nt, int nr)
        : column_layers<F, NT>(a, nt), d_nr(nr), h(a, 2 * nt * nr), norm2(a, nt)
    {
    }

    MP_FN void copy(const F* from)
    {
        const int nt = d_nt, nr = d_nr;
        for (int i = 0; i < 2 * nt * nr; ++i)
            h[i] = from[i];
        this->in_order();
    }

    MP_FN void swap(mask where, int a, int b)
    {
        const int nt = d_nt, nr = d_nr;
        swap_where(where, layer[a], layer[b]);
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nr; ++i) {
            swap_where(where, h[2 * (i * nt + a)], h[2 * (i * nt + b)]);
            swap_where(where, h[2 * (i * nt + a) + 1], h[2 * (i * nt + b) + 1]);
        }
    }

    /* Sort by rising norm. The strongest column comes last, on top of the tree. */
    MP_STEP void sort_by_norm(const F* from)
    {
        const int nt = d_nt, nr = d_nr;
        copy(from);
        for (int c = 0; c < nt; ++c) {
            norm2[c] = F(0.0f);
            for (int i = 0; i < nr; ++i)
                for (int part = 0; part < 2; ++part) {
                    const F x = h[2 * (i * nt + c) + part];
                    norm2[c] = fma(x, x, norm2[c]);
                }
        }
        for (int last = nt - 1; last > 0; --last) {
            for (int c = 0; c < last; ++c) {
                const mask falls = norm2[c + 1] < norm2[c];
                swap_where(falls, norm2[c], norm2[c + 1]);
                swap(falls, c, c + 1);
            }
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A search tree in which every lane follows its own paths (000 eq. 3-6). A path is kept
 * as labels, packed into words in the bits of floats.
 *
 * Level i's children differ from y_tilde_i - sum_{j>i} r_ij s_j, over r_ii,
 *
 *     |y_tilde - R s|^2 / sigma^2 = sum_i w_i |v_i - sum_{j>i} c_ij s_j - s_i|^2,
 *
 * c_ij = r_ij / r_ii, v_i = y_tilde_i / r_ii, w_i = r_ii^2 / sigma^2. For square QAM
 * (WIDTH bits per axis) the symbols are integers k = 0..side-1 on each axis instead, with
 * x = scale (2k - (side-1)(1+j)), and label k_re + side k_im. */
#pragma once
#include "common/qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* WIDTH = 0: any constellation. */
template <class F, int NT, int NR, int WIDTH>
class path_tree
{
public:
    using mask = decltype(F() < F());
    using word = decltype(F().as_word());

    /* Keep at most `capacity` paths. Word `w` of path p is at p + w * capacity. */
    MP_FN path_tree(arena<F>& a, const constellation& c, int nt, int nr, int capacity)
        : d_constellation(c),
          d_nt(nt),
          d_capacity(capacity),
          d_qr(a, nt, nr),
          d_z(a, 2 * nt),
          d_c(a, 2 * nt * nt),
          d_offset(a, 2 * nt),
          d_v(a, 2 * nt),
          d_weight(a, nt)
    {
    }

    /* Return the number of words of a path. */
    MP_FN static int num_words(const constellation& c, int nt)
    {
        const int fields = 32 / c.bits;
        return (nt + fields - 1) / fields;
    }

    /* Return the word of a path that holds a level's label, and the label's first bit in
     * it. */
    MP_FN int word_index(int level) const { return level / fields(); }
    MP_FN int shift(int level) const { return level % fields() * bits(); }

    /* Decompose h. Column `last` of h is level 0, and the others keep their order. */
    MP_STEP void prepare(const F* h, int last = 0)
    {
        const int nt = d_nt;
        d_qr.decompose_from(h, [=](int i) {
            return i == 0 ? last : i <= last ? i - 1 : i;
        });
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i)
            d_qr.divide_row(i, side, &d_c[0], &d_offset[0]);
    }

    /* Rotate a received vector. Return where it can be detected. */
    MP_FN mask receive(const F* y, F noise_var)
    {
        const int nt = d_nt;
        const mask usable = d_qr.usable & d_qr.rotate(y, &d_z[0]);
        const float spacing = WIDTH > 0 ? 2.0f * d_constellation.scale : 1.0f;
        const F unit = rsqrt(noise_var) * F(spacing);
        MP_UNROLL_UP_TO(4)
        for (int i = 0; i < nt; ++i) {
            const F inverse = d_qr.inverse[i] * F(1.0f / spacing);
            for (int part = 0; part < 2; ++part) {
                const F shift = WIDTH > 0 ? d_offset[2 * i + part] : F(0.0f);
                d_v[2 * i + part] = fma(d_z[2 * i + part], inverse, shift);
            }
            const F root = d_qr.diagonal[i] * unit;
            d_weight[i] = root * root;
        }
        return usable;
    }

    MP_FN F weight(int level) const { return d_weight[level]; }

    /* Return the real and the imaginary part of v_i, and of c_ij. */
    MP_FN const F* target(int i) const { return &d_v[2 * i]; }
    MP_FN const F* coefficient(int i, int j) const { return &d_c[2 * (i * d_nt + j)]; }

    /* Set (re, im) = v_i - sum_{j>i} c_ij s_j of a path. */
    MP_FN void residual(const F* path, int level, F& re, F& im) const
    {
        const int nt = d_nt;
        re = d_v[2 * level];
        im = d_v[2 * level + 1];
        for (int j = level + 1; j < nt; ++j) {
            F s_re, s_im;
            symbol(path, j, s_re, s_im);
            subtract_product(coefficient(level, j), s_re, s_im, re, im);
        }
    }

    /* Return |y_tilde - R s|^2 / sigma^2 of a whole path. */
    MP_FN F distance(const F* path) const
    {
        const int nt = d_nt;
        F sum(0.0f);
        for (int i = 0; i < nt; ++i) {
            F re, im, s_re, s_im;
            residual(path, i, re, im);
            symbol(path, i, s_re, s_im);
            re = re - s_re;
            im = im - s_im;
            sum = fma(fma(re, re, im * im), d_weight[i], sum);
        }
        return sum;
    }

    MP_FN void symbol(const F* path, int level, F& re, F& im) const
    {
        const word label = path[word_index(level) * d_capacity].as_word() >> shift(level);
        if (WIDTH > 0) {
            re = (label & (side - 1)).to_float();
            im = ((label >> WIDTH) & (side - 1)).to_float();
        } else {
            const word index = label & (d_constellation.size - 1);
            re = F::get(d_constellation.re, index);
            im = F::get(d_constellation.im, index);
        }
    }

    /* Copy the path at `parent`, which ends above a level, and add a label at this
     * level. */
    MP_FN void extend(F* to, const F* from, word parent, word label, int level) const
    {
        const int nt = d_nt;
        for (int w = word_index(level); w <= word_index(nt - 1); ++w) {
            const bool started = level + 1 < nt && word_index(level + 1) <= w;
            F value = started ? F::get(from + w * d_capacity, parent) : F(0.0f);
            if (w == word_index(level))
                value = (value.as_word() ^ (label << shift(level))).as_float();
            to[w * d_capacity] = value;
        }
    }

private:
    static constexpr int side = 1 << WIDTH;
    const constellation& d_constellation;
    const extent<NT> d_nt;
    const int d_capacity;
    qr<F, NT, NR> d_qr;
    buffer<F, 2 * NT> d_z;
    buffer<F, 2 * NT * NT> d_c;
    buffer<F, 2 * NT> d_offset, d_v;
    buffer<F, NT> d_weight;

    MP_FN int bits() const { return WIDTH > 0 ? 2 * WIDTH : d_constellation.bits; }
    MP_FN int fields() const { return 32 / bits(); }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* OMAP and MLA: every one of the M^nt candidates (000 §4.1).
 *
 * The tree of eq. 5 is walked depth first. A leaf does not update the hypothesis of each
 * bit. Instead, a node passes the combination of its leaves (the smallest metric for MLA,
 * the log-sum for OMAP) to its parent and to the entry of its own symbol. A leaf costs
 * one distance and two combinations, whatever the number of bits, and for any
 * constellation. Metrics are in units of the noise: |y - Hs|^2 / sigma^2 minus the sum of
 * the prior LLRs of the bits that are 1. */
#pragma once
#include "common/combination.h"
#include "common/options.h"
#include "common/qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct exhaustive_options {
    int method = 0; /* option of mla; 0: sliced, 1: plain, 2: table */

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("method", method);
    }
};

/* Combination: least_metric or log_sum */
template <class F, class Combination>
class exhaustive
{
public:
    using mask = decltype(F() < F());
    using combination = Combination;

    MP_FN exhaustive(arena<F>& a, const constellation& c, int nt, int nr)
        : d_c(c),
          d_nt(nt),
          d_qr(a, nt, nr),
          d_z(a, 2 * nt),
          d_r(a, 2 * nt * nt),
          d_y(a, 2 * nt),
          d_prior(a, nt * c.size),
          d_leaf(a, 2 * c.size),
          d_node(a, 3 * nt),
          d_entry(a, nt * c.size * combination::lanes),
          d_combined(a, nt * combination::lanes)
    {
    }

    MP_FN void prepare(const F* h) { d_qr.decompose(h); }

    /* Compute the LLRs, and return where the vector could be detected. llr: nt*bits
     * lanes, with label bit b at place bit_source[b] of its layer. */
    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const mask usable = d_qr.finite & d_qr.rotate(y, &d_z[0]);
        const F unit = rsqrt(noise_var);
        for (int i = 0; i < d_nt; ++i) {
            for (int j = i + 1; j < d_nt; ++j)
                for (int part = 0; part < 2; ++part)
                    d_r[2 * (i * d_nt + j) + part] =
                        d_qr.r[2 * (i * d_nt + j) + part] * unit;
            d_r[2 * (i * d_nt + i)] = d_qr.diagonal[i] * unit;
            d_y[2 * i] = d_z[2 * i] * unit;
            d_y[2 * i + 1] = d_z[2 * i + 1] * unit;
        }
        for (int s = 0; s < d_c.size; ++s) {
            d_leaf[2 * s] = d_r[0] * F(d_c.re[s]);
            d_leaf[2 * s + 1] = d_r[0] * F(d_c.im[s]);
        }
        for (int e = 0; e < d_nt * d_c.size; ++e)
            entry(e).clear();
        if (prior) {
            set_prior(prior);
            walk<true>();
        } else {
            walk<false>();
        }
        for (int i = 0; i < d_nt; ++i) {
            for (int b = 0; b < d_c.bits; ++b) {
                combination side[2];
                side[0].clear();
                side[1].clear();
                for (int s = 0; s < d_c.size; ++s)
                    side[s >> (d_c.bits - 1 - b) & 1].add(entry(i * d_c.size + s));
                llr[i * d_c.bits + d_c.bit_source[b]] =
                    (side[0].value() - side[1].value()) * F(d_c.bit_sign[b]);
            }
        }
        return usable;
    }

private:
    const constellation& d_c;
    const int d_nt;
    qr<F, 0, 0> d_qr;
    buffer<F, 0> d_z, d_r, d_y, d_prior, d_leaf;
    buffer<F, 0> d_node; /* current node of each level */
    /* Combinations of each symbol at each level, and of the children visited so far */
    buffer<F, 0> d_entry, d_combined;
    int d_path[16];

    /* b is the level's y_tilde minus the layers above (eq. 6). */
    struct node {
        F metric, b_re, b_im;
    };

    MP_FN combination& entry(int e)
    {
        return reinterpret_cast<combination*>(&d_entry[0])[e];
    }
    MP_FN node& at(int level) { return reinterpret_cast<node*>(&d_node[0])[level]; }
    MP_FN combination& combined(int level)
    {
        return reinterpret_cast<combination*>(&d_combined[0])[level];
    }

    /* Set d_prior[i*M + s] to the a-priori cost of symbol s of layer i. */
    MP_FN void set_prior(const F* prior)
    {
        for (int i = 0; i < d_nt; ++i) {
            for (int s = 0; s < d_c.size; ++s) {
                F sum(0.0f);
                for (int b = 0; b < d_c.bits; ++b)
                    if (s >> (d_c.bits - 1 - b) & 1)
                        sum = fnma(prior[i * d_c.bits + d_c.bit_source[b]],
                                   F(d_c.bit_sign[b]),
                                   sum);
                d_prior[i * d_c.size + s] = sum;
            }
        }
    }

    /* Search the tree from its root, depth first. It is not recursive, because GPUs lack
     * a stack for it. The two lowest levels are loops. */
    template <bool Prior>
    MP_FN void walk()
    {
        const int size = d_c.size, top = d_nt - 1, lowest = top > 0 ? 1 : 0;
        int level = top;
        at(top) = { F(0.0f), d_y[2 * top], d_y[2 * top + 1] };
        d_path[top] = 0;
        combined(top).clear();
        for (;;) {
            while (level > lowest && d_path[level] < size && skips(level, d_path[level]))
                ++d_path[level];
            if (level > lowest && d_path[level] < size) {
                at(level - 1) = child<Prior>(level, at(level));
                --level;
                d_path[level] = 0;
                combined(level).clear();
                continue;
            }
            const combination all = level > lowest ? combined(level)
                                    : level > 0    ? last_two<Prior>(at(1))
                                                   : leaves<Prior>(at(0));
            if (level == top)
                return;
            ++level;
            entry(level * size + d_path[level]).add(all);
            combined(level).add(all);
            ++d_path[level];
        }
    }

    /* Return whether a symbol contradicts a known bit. */
    MP_FN bool skips(int level, int s) const
    {
        return d_c.layers && !any(d_prior[level * d_c.size + s] < F(-known_bit));
    }

    /* Enter a node at a level. */
    template <bool Prior>
    MP_FN node child(int level, const node& from)
    {
        const int s = d_path[level], below = level - 1;
        const F r_ii = d_r[2 * (level * d_nt + level)];
        const F re = fnma(r_ii, F(d_c.re[s]), from.b_re),
                im = fnma(r_ii, F(d_c.im[s]), from.b_im);
        F m = fma(re, re, fma(im, im, from.metric));
        if (Prior)
            m = m + d_prior[level * d_c.size + s];
        F next_re = d_y[2 * below], next_im = d_y[2 * below + 1];
        for (int j = level; j < d_nt; ++j)
            subtract_product(&d_r[2 * (below * d_nt + j)],
                             F(d_c.re[d_path[j]]),
                             F(d_c.im[d_path[j]]),
                             next_re,
                             next_im);
        return { m, next_re, next_im };
    }

    template <bool Prior>
    MP_FN combination last_two(const node& from)
    {
        combination all;
        all.clear();
        for (int s = 0; s < d_c.size; ++s) {
            if (skips(1, s))
                continue;
            d_path[1] = s;
            const combination below = leaves<Prior>(child<Prior>(1, from));
            entry(d_c.size + s).add(below);
            all.add(below);
        }
        return all;
    }

    template <bool Prior>
    MP_FN combination leaves(const node& from)
    {
        combination all;
        all.clear();
        for (int s = 0; s < d_c.size; ++s) {
            const F re = from.b_re - d_leaf[2 * s], im = from.b_im - d_leaf[2 * s + 1];
            F m = fma(re, re, fma(im, im, from.metric));
            if (Prior)
                m = m + d_prior[s];
            entry(s).add(m);
            all.add(m);
        }
        return all;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The N-way detector of Wu, Yin and Cavallaro (001), in complex arithmetic (see qr.h),
 * and the fully parallel fixed sphere decoder (000 §4.3), which differs in the order of
 * the columns.
 *
 * Symbols are integers k = 0..side-1 on each axis, x = scale (2k - (side-1)(1+j)). With
 * v_i = (Q^H y)_i / (2 scale r_ii) + (side-1)/2 (1+j) sum_{j>=i} c_ij and c_ij = r_ij /
 * r_ii,
 *
 *     |y_tilde - R x|^2 = sum_i w_i |v_i - sum_{j>=i} c_ij k_j|^2,  w_i = (2 scale
 * r_ii)^2,
 *
 * so that slicing (001 Algorithm 2, lines 10-12) is a rounding and a clamp. Rounding adds
 * 1.5 * 2^23, after which the float's low bits are k, and so are its Gray bits. */
#pragma once
#include "qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

constexpr float round_magic = 12582912.0f; /* 1.5 * 2^23, bits 0x4b400000 */

/* Which column of H stands where in pass p: N-way rotates them; FPFSD, whose columns come
 * sorted by norm, puts p on top and leaves the others in order. */
enum class column_order { rotate, raise };

MP_FN int column_source(column_order order, int column, int pass, int nt)
{
    if (order == column_order::rotate)
        return column + pass < nt ? column + pass : column + pass - nt;
    return column == nt - 1 ? pass : column < pass ? column : column + 1;
}

template <class F, int NT, int NR, int WIDTH>
class nway
{
public:
    using mask = decltype(F() < F());
    using word = decltype(F().as_word());
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;

    MP_FN nway(arena<F>& a,
               const constellation& c,
               int nt,
               int nr,
               int passes,
               float clip,
               column_order order)
        : d_nt(nt),
          d_nr(nr),
          d_passes(passes),
          d_order(order),
          d_scale(c.scale),
          d_clip(clip),
          d_qr(a, nt, nr),
          d_h(nullptr),
          d_z(a, 2 * nt),
          d_v(a, 2 * nt),
          d_base(a, 2 * nt),
          d_offset(a, 2 * nt),
          d_c(a, 2 * nt * nt),
          d_w(a, nt),
          d_k(a, 2 * nt),
          d_nearest(a, 2 * nt * bits),
          d_prior(a, nt * bits),
          d_distance(a, side * side),
          d_words(a, side * side * nt)
    {
    }

    /* One pass is prepared at a time: keeping all passes' QR was measured to gain nothing
     * at nt <= 4, as they no longer fit into registers. */
    MP_FN void prepare(const F* h)
    {
        d_h = h;
        if (d_passes == 1)
            prepare_pass(0);
    }

    /* prior, llr: nt*bits lanes in canonical order; returns where the vector could be
     * detected. Clipping limits how far an LLR moves from its prior. */
    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int nt = d_nt;
        for (int b = 0; b < 2 * nt * bits; ++b)
            d_nearest[b] = F(1e30f);
        /* metrics are distances here, so the prior comes in units of the noise */
        d_has_prior = prior != nullptr;
        for (int b = 0; d_has_prior && b < nt * bits; ++b)
            d_prior[b] = prior[b] * noise_var;
        mask usable = F(0.0f) < F(1.0f);
        for (int pass = 0; pass < d_passes; ++pass) {
            if (d_passes > 1)
                prepare_pass(pass);
            usable = usable & d_qr.usable & search(y);
            if (d_has_prior)
                add_prior(pass);
            collect(pass);
        }
        const F r = rsqrt(noise_var);
        const F unit = r * r;
        for (int b = 0; b < nt * bits; ++b) {
            const F difference = (d_nearest[2 * b] - d_nearest[2 * b + 1]) * unit;
            const F known = d_has_prior ? prior[b] : F(0.0f);
            llr[b] = known + max(min(difference - known, F(d_clip)), F(-d_clip));
        }
        return usable;
    }

    /* After detect, in canonical order: [2*b + value] is the least metric of the
     * candidates with that value of bit b (1e30 where there is none), in units of y^2:
     * |y - Hx|^2 less what no x changes, minus noise_var times the prior LLRs of the
     * ones. */
    MP_FN const F* nearest() const { return &d_nearest[0]; }

private:
    const extent<NT> d_nt;
    const extent<NR> d_nr;
    const int d_passes;
    const column_order d_order;
    const float d_scale, d_clip;
    qr<F, NT, NR> d_qr;
    const F* d_h;
    buffer<F, 2 * NT> d_z, d_v, d_base, d_offset;
    buffer<F, 2 * NT * NT> d_c;
    buffer<F, NT> d_w;
    buffer<F, 2 * NT> d_k;
    buffer<F, 2 * NT * bits> d_nearest;
    buffer<F, NT * bits> d_prior;
    bool d_has_prior = false;
    buffer<F, NT == 0 ? 0 : side * side> d_distance;
    buffer<F, NT == 0 ? 0 : side * side * NT> d_words;

    MP_FN void prepare_pass(int pass)
    {
        const int nt = d_nt;
        d_qr.decompose(d_h, [=](int c) { return column_source(d_order, c, pass, nt); });
        const F half_side(0.5f * (side - 1));
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            F sum_re(1.0f), sum_im(0.0f);
            MP_UNROLL
            for (int j = i + 1; j < nt; ++j) {
                const int ij = 2 * (i * nt + j);
                d_c[ij] = d_qr.r[ij] * d_qr.inverse[i];
                d_c[ij + 1] = d_qr.r[ij + 1] * d_qr.inverse[i];
                sum_re = sum_re + d_c[ij];
                sum_im = sum_im + d_c[ij + 1];
            }
            /* (1 + j)(sum_re + j sum_im) */
            d_offset[2 * i] = half_side * (sum_re - sum_im);
            d_offset[2 * i + 1] = half_side * (sum_re + sum_im);
            const F two_scale_r = F(2.0f * d_scale) * d_qr.diagonal[i];
            d_w[i] = two_scale_r * two_scale_r;
        }
    }

    /* k nearest to u, as a float after round_magic was added */
    MP_FN F slice(F u) const
    {
        return min(max(u + F(round_magic), F(round_magic)), F(round_magic + (side - 1)));
    }

    /* Algorithm 2: fills d_distance and d_words, the bits of k_re + side * k_im per layer
     */
    MP_FN mask search(const F* y)
    {
        const int nt = d_nt;
        const mask finite = d_qr.rotate(y, &d_z[0]);
        const int top = nt - 1;
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            const F unit = d_qr.inverse[i] * F(0.5f / d_scale);
            d_v[2 * i] = fma(d_z[2 * i], unit, d_offset[2 * i]);
            d_v[2 * i + 1] = fma(d_z[2 * i + 1], unit, d_offset[2 * i + 1]);
        }
        F im_part[side];
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const F e = d_v[2 * top + 1] - F(static_cast<float>(k));
            im_part[k] = d_w[top] * e * e;
        }
        for (int k_re = 0; k_re < side; ++k_re) {
            const F level(static_cast<float>(k_re));
            const F e = d_v[2 * top] - level;
            const F re_part = d_w[top] * e * e;
            MP_UNROLL
            for (int i = 0; i < top; ++i) {
                d_base[2 * i] = fnma(d_c[2 * (i * nt + top)], level, d_v[2 * i]);
                d_base[2 * i + 1] =
                    fnma(d_c[2 * (i * nt + top) + 1], level, d_v[2 * i + 1]);
            }
            for (int k_im = 0; k_im < side; ++k_im) {
                const int candidate = k_re * side + k_im;
                F distance = re_part + im_part[k_im];
                MP_UNROLL
                for (int i = top - 1; i >= 0; --i) {
                    F re = d_base[2 * i], im = d_base[2 * i + 1];
                    MP_UNROLL
                    for (int j = top - 1; j > i; --j) {
                        const F c_re = d_c[2 * (i * nt + j)],
                                c_im = d_c[2 * (i * nt + j) + 1];
                        re = fma(c_im, d_k[2 * j + 1], fnma(c_re, d_k[2 * j], re));
                        im = fnma(c_im, d_k[2 * j], fnma(c_re, d_k[2 * j + 1], im));
                    }
                    const F s_re = slice(re), s_im = slice(im);
                    d_k[2 * i] = s_re - F(round_magic);
                    d_k[2 * i + 1] = s_im - F(round_magic);
                    d_words[candidate * nt + i] =
                        fma(d_k[2 * i + 1], F(static_cast<float>(side)), s_re);
                    const F e_re = re - d_k[2 * i], e_im = im - d_k[2 * i + 1];
                    distance = fma(d_w[i], fma(e_re, e_re, e_im * e_im), distance);
                    /* the next candidate's top symbol is j further on */
                    const F t_re = d_c[2 * (i * nt + top)],
                            t_im = d_c[2 * (i * nt + top) + 1];
                    d_base[2 * i] = d_base[2 * i] + t_im;
                    d_base[2 * i + 1] = d_base[2 * i + 1] - t_re;
                }
                d_distance[candidate] = distance;
            }
        }
        return finite;
    }

    /* To each candidate's distance, minus the prior LLRs of its ones (002 eq. 4) */
    MP_FN void add_prior(int pass)
    {
        const int nt = d_nt;
        for (int candidate = 0; candidate < side * side; ++candidate) {
            F sum = d_distance[candidate];
            for (int i = 0; i < nt; ++i) {
                const F* const layer =
                    &d_prior[bits * column_source(d_order, i, pass, nt)];
                if (i == nt - 1) {
                    const int k_re = candidate / side, k_im = candidate % side;
                    const int codes[2] = { k_re ^ (k_re >> 1), k_im ^ (k_im >> 1) };
                    for (int b = 0; b < bits; ++b)
                        if (codes[b / WIDTH] >> (WIDTH - 1 - b % WIDTH) & 1)
                            sum = sum - layer[b];
                } else {
                    const word code = gray(d_words[candidate * nt + i].as_word());
                    MP_UNROLL
                    for (int b = 0; b < bits; ++b)
                        sum = select(code.bit(place(b)), sum - layer[b], sum);
                }
            }
            d_distance[candidate] = sum;
        }
    }

    /* Algorithm 3: each bit's nearest candidate of either value. One value's is the
     * pass's best candidate, so that only those whose bit differs from it have to be
     * looked at. */
    MP_FN void collect(int pass)
    {
        const int nt = d_nt;
        collect_top(&d_nearest[2 * bits * column_source(d_order, nt - 1, pass, nt)]);
        F best = d_distance[0];
        for (int i = 0; i < nt - 1; ++i)
            d_k[i] = d_words[i];
        for (int candidate = 1; candidate < side * side; ++candidate) {
            const mask better = d_distance[candidate] < best;
            best = min(best, d_distance[candidate]);
            MP_UNROLL
            for (int i = 0; i < nt - 1; ++i)
                d_k[i] = select(better, d_words[candidate * nt + i], d_k[i]);
        }
        for (int i = 0; i < nt - 1; ++i) {
            const word chosen = d_k[i].as_word();
            F other[bits];
            MP_UNROLL
            for (int b = 0; b < bits; ++b)
                other[b] = F(1e30f);
            for (int candidate = 0; candidate < side * side; ++candidate) {
                const F d = d_distance[candidate];
                const word differs = gray(d_words[candidate * nt + i].as_word() ^ chosen);
                MP_UNROLL
                for (int b = 0; b < bits; ++b)
                    other[b] = masked_min(other[b], differs.bit(place(b)), d);
            }
            const word value = gray(chosen);
            F* const nearest = &d_nearest[2 * bits * column_source(d_order, i, pass, nt)];
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                const mask one = value.bit(place(b));
                nearest[2 * b] = min(nearest[2 * b], select(one, other[b], best));
                nearest[2 * b + 1] = min(nearest[2 * b + 1], select(one, best, other[b]));
            }
        }
    }

    /* Where canonical bit b stands in a word of Gray codes */
    MP_FN static constexpr int place(int b)
    {
        return b / WIDTH * WIDTH + WIDTH - 1 - b % WIDTH;
    }

    /* Gray codes of both axes of k_re + side * k_im; the upper axis must not leak into
     * the lower. It is linear: gray(a ^ b) = gray(a) ^ gray(b). */
    MP_FN static word gray(word k) { return k ^ ((k >> 1) & gray_mask); }

    static constexpr unsigned gray_mask =
        ((1u << (WIDTH - 1)) - 1) | (((1u << (WIDTH - 1)) - 1) << WIDTH);

    MP_FN void collect_top(F* nearest)
    {
        for (int axis = 0; axis < 2; ++axis) {
            for (int k = 0; k < side; ++k) {
                F best(1e30f);
                for (int other = 0; other < side; ++other)
                    best =
                        min(best, d_distance[axis ? other * side + k : k * side + other]);
                const int gray = k ^ (k >> 1);
                for (int g = 0; g < WIDTH; ++g) {
                    F& entry =
                        nearest[2 * (axis * WIDTH + g) + (gray >> (WIDTH - 1 - g) & 1)];
                    entry = min(entry, best);
                }
            }
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The greedy search of the N-way detector of Wu, Yin and Cavallaro (001), in complex
 * arithmetic (see qr.h). A pass tries each symbol of the layer on top of the tree, and
 * slices the layers below. N-way makes several passes, each with another column order.
 * The fully parallel fixed sphere decoder (000 §4.3) has other orders.
 *
 * With x = 2 scale l the levels l are -(side-1)/2 ... (side-1)/2 on each axis, in steps
 * of one. With R's rows divided by r_ii, c_ij = r_ij / r_ii, and v_i = (Q^H y)_i / (2
 * scale r_ii),
 *
 *     |y_tilde - R x|^2 = sum_i w_i |v_i - sum_{j>=i} c_ij l_j|^2,  w_i = (2 scale
 * r_ii)^2,
 *
 * so that slicing (001 Algorithm 2, lines 10-12) is a clamp and a rounding. With a-priori
 * LLRs each level has a cost, and slicing is a minimum over the levels of the axis. Only
 * the first pass decomposes H: moving a column to the end of the tree takes a few Givens
 * rotations. */
#pragma once
#include "common/gray.h"
#include "common/list_sums.h"
#include "common/minima.h"
#include "common/qr.h"
#include "common/slicing.h"
#include "common/soft_symbols.h"
#include "common/weighted_rotation.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The place of H's columns in pass p. N-way rotates them. FPFSD, whose columns come
 * sorted by norm, moves a column of the first pass to the top and keeps the others in
 * order. */
enum class column_order { rotate, raise };

MP_FN int column_source(column_order order, int column, int pass, int nt)
{
    if (order == column_order::rotate)
        return column + pass < nt ? column + pass : column + pass - nt;
    const int raised = nt - 1 - pass;
    return column == nt - 1 ? raised : column < raised ? column : column + 1;
}

/* Return the inverse: the place in pass p of column number `source` of the first pass. */
MP_FN int column_place(column_order order, int source, int pass, int nt)
{
    if (order == column_order::rotate)
        return source < pass ? source - pass + nt : source - pass;
    const int raised = nt - 1 - pass;
    return source == raised ? nt - 1 : source < raised ? source : source - 1;
}

template <class F, int NT, int NR, int WIDTH>
class greedy_search
{
public:
    using mask = decltype(F() < F());
    using word = decltype(F().as_word());
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;

    MP_FN greedy_search(arena<F>& a,
                        const constellation& c,
                        int nt,
                        int nr,
                        int passes,
                        float clip,
                        column_order order,
                        bool log_sum = false)
        : d_nt(nt),
          d_nr(nr),
          d_passes(passes),
          d_order(order),
          d_scale(c.scale),
          d_clip(clip),
          d_log_sum(log_sum),
          d_qr(a, nt, nr),
          d_unit(a, nt),
          d_c(a, passes * 2 * nt * nt),
          d_w(a, passes * nt),
          d_turns(a, passes * turn_size * nt),
          d_v(a, passes * 2 * nt),
          d_row(a, 2 * nt),
          d_base(a, 2 * nt),
          d_l(a, 2 * nt * together),
          d_nearest(a, 2 * nt * bits),
          d_cost(a, 2 * nt * side),
          d_distance(a, side * side),
          d_words(a, side * side * nt),
          d_sums(a, log_sum ? nt * bits : 0),
          d_lists(a, log_sum ? passes * side * side * num_words() : 0)
    {
    }

    MP_STEP void prepare(const F* h)
    {
        const int nt = d_nt;
        d_qr.decompose(h);
        MP_UNROLL
        for (int i = 0; i < nt; ++i) {
            d_unit[i] = d_qr.inverse2[i] * F(0.5f / d_scale);
            d_w[i] = d_qr.length2[i] * F(4.0f * d_scale * d_scale);
            MP_UNROLL
            for (int ij = 2 * (i * nt + i + 1); ij < 2 * nt * (i + 1); ++ij)
                d_c[ij] = d_qr.r[ij];
        }
        for (int pass = 1; pass < d_passes; ++pass) {
            MP_UNROLL
            for (int column = 0; column < nt; ++column)
                if (column == moved(pass))
                    move_to_top(pass, column);
        }
    }

    /* Compute the LLRs, and return where the vector could be detected. prior, llr:
     * nt*bits lanes in canonical order. Clipping limits how far an LLR moves from its
     * prior. */
    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const mask finite = d_qr.rotate(y, &d_v[0]);
        detect_rotated(noise_var, prior, llr);
        return d_qr.usable & finite;
    }

    /* Detect with metrics that are comparable with the metrics of other column orders,
     * even if columns are nearly dependent (see qr.h). y is overwritten. */
    MP_FN mask detect_stepwise(F* y, F noise_var, const F* prior, F* llr)
    {
        const mask finite = d_qr.rotate_stepwise(y, &d_v[0]);
        detect_rotated(noise_var, prior, llr);
        return d_qr.usable & finite;
    }

    /* Return the nearest candidates of the last detect, in canonical order: [2*b + value]
     * is the least metric of the candidates with this value of bit b (1e30 without a
     * candidate), in units of y^2. The metric is |y - Hx|^2 less what no x changes, plus
     * noise_var times the prior's cost (see axis_penalties). */
    MP_FN const F* nearest() const { return &d_nearest[0]; }

private:
    /* Candidates handled at once. A layer waits for the layer above it, and meanwhile the
     * other candidates keep the processor busy. */
    static constexpr int together = side < 4 ? side : 4;
    /* Layers below the top whose bits share a word; a float has room for 22 bits. */
    static constexpr int layers_per_word = NT == 0 ? 1 : 22 / bits;
    /* Layers whose bits are collected at once; registers hold no more beside
     * constants. */
    static constexpr int fitting_layers = 3 * F::registers / (8 * bits);
    static constexpr int layers_at_once = fitting_layers < 1 ? 1
                                          : fitting_layers < layers_per_word
                                              ? fitting_layers
                                              : layers_per_word;
    static constexpr int max_passes = NT;
    using rotation = weighted_rotation<F>;
    static constexpr int turn_size = sizeof(rotation) / sizeof(F);

    const extent<NT> d_nt;
    const extent<NR> d_nr;
    const int d_passes;
    const column_order d_order;
    const float d_scale, d_clip;
    const bool d_log_sum;
    unscaled_qr<F, NT, NR> d_qr;
    buffer<F, NT> d_unit;
    /* all passes: */
    buffer<F, max_passes * 2 * NT * NT> d_c;
    buffer<F, max_passes * NT> d_w;
    buffer<F, max_passes * turn_size * NT> d_turns;
    buffer<F, max_passes * 2 * NT> d_v;
    /* one pass: */
    buffer<F, 2 * NT> d_row, d_base;
    buffer<F, 2 * NT * together> d_l;
    buffer<F, 2 * NT * bits> d_nearest;
    buffer<F, 2 * NT * side> d_cost;
    buffer<F, NT == 0 ? 0 : side * side> d_distance;
    buffer<F, NT == 0 ? 0 : side * side * NT> d_words;
    /* log-sums: */
    list_sums<F> d_sums;
    buffer<F, 0> d_lists; /* words of all passes, each word's next to each other */

    /* Return the column of an earlier pass that becomes the last one of this pass. */
    MP_FN int moved(int pass) const
    {
        return d_order == column_order::rotate ? 0 : d_nt - 1 - pass;
    }
    MP_FN int follows(int pass) const
    {
        return d_order == column_order::rotate ? pass - 1 : 0;
    }

    /* Return the rotation of a pass that makes row i. */
    MP_FN rotation& turn_of(int pass, int i)
    {
        return reinterpret_cast<rotation*>(&d_turns[0])[pass * d_nt + i];
    }

    /* Move a column to the top. The rows below the column's own lose their first entry
     * one after another to the row that began with it. */
    MP_FN void move_to_top(int pass, int column)
    {
        const int nt = d_nt, top = nt - 1;
        const F* const from = &d_c[follows(pass) * 2 * nt * nt];
        const F* const from_w = &d_w[follows(pass) * nt];
        F* const to = &d_c[pass * 2 * nt * nt];
        F* const to_w = &d_w[pass * nt];
        MP_UNROLL
        for (int i = 0; i < column; ++i) {
            MP_UNROLL
            for (int j = i + 1; j < nt; ++j) {
                const int place = j == column ? top : j < column ? j : j - 1;
                to[2 * (i * nt + place)] = from[2 * (i * nt + j)];
                to[2 * (i * nt + place) + 1] = from[2 * (i * nt + j) + 1];
            }
            to_w[i] = from_w[i];
        }
        MP_UNROLL
        for (int j = 2 * (column + 1); j < 2 * nt; ++j)
            d_row[j] = from[2 * column * nt + j];
        F w = from_w[column];
        MP_UNROLL
        for (int i = column; i < top; ++i) {
            const rotation r =
                rotation::removing(&d_row[2 * (i + 1)], w, from_w[i + 1], to_w[i]);
            turn_of(pass, i) = r;
            MP_UNROLL
            for (int j = i + 2; j < nt; ++j)
                r.turn(&d_row[2 * j],
                       from + 2 * ((i + 1) * nt + j),
                       to + 2 * (i * nt + j - 1));
            to[2 * (i * nt + top)] = r.s[0];
            to[2 * (i * nt + top) + 1] = r.s[1];
        }
        to_w[top] = w;
    }

    /* Apply the rotations of a pass to the v_i. */
    MP_FN void turn(int pass)
    {
        const int nt = d_nt, top = nt - 1, column = moved(pass);
        const F* const from = &d_v[follows(pass) * 2 * nt];
        F* const to = &d_v[pass * 2 * nt];
        F x[2] = { from[2 * column], from[2 * column + 1] };
        for (int i = 0; i < 2 * column; ++i)
            to[i] = from[i];
        for (int i = column; i < top; ++i)
            turn_of(pass, i).turn(x, from + 2 * (i + 1), to + 2 * i);
        to[2 * top] = x[0];
        to[2 * top + 1] = x[1];
    }

    MP_FN void detect_rotated(F noise_var, const F* prior, F* llr)
    {
        const int nt = d_nt;
        /* metrics are distances here, so the prior comes in units of the noise */
        for (int axis = 0; prior && axis < 2 * nt; ++axis) {
            F* const cost = &d_cost[axis * side];
            axis_penalties<WIDTH>(prior + axis * WIDTH, cost);
            for (int k = 0; k < side; ++k)
                cost[k] = cost[k] * noise_var;
        }
        MP_UNROLL
        for (int i = 0; i < 2 * nt; ++i)
            d_v[i] = d_v[i] * d_unit[i / 2];
        const F unit = reciprocal(noise_var);
        for (int pass = 0; pass < d_passes; ++pass) {
            if (pass)
                turn(pass);
            if (NT == 2 && d_passes == 2 && !d_log_sum) {
                if (prior)
                    search_top<true>(pass);
                else
                    search_top<false>(pass);
                continue;
            }
            if (prior)
                search<true>(pass);
            else
                search<false>(pass);
            collect(pass);
            if (d_log_sum)
                add_up(pass, unit);
        }
        for (int b = 0; b < nt * bits; ++b) {
            F difference = (d_nearest[2 * b] - d_nearest[2 * b + 1]) * unit;
            if (d_log_sum)
                difference = d_sums.llr(b, difference);
            llr[b] = prior ? clipped(prior[b], difference, d_clip)
                           : clamp(difference, F(d_clip));
        }
    }

    MP_FN int num_words() const
    {
        return (d_nt - 1 + layers_per_word - 1) / layers_per_word;
    }

    MP_FN static F level(int k) { return F(axis_level<WIDTH>(k)); }

    /* Return the cost by prior of the levels of an axis, for the layer in a column of a
     * pass. */
    MP_FN const F* costs(int pass, int column, int axis) const
    {
        return &d_cost[(2 * column_source(d_order, column, pass, d_nt) + axis) * side];
    }

    /* Return what a level of the top layer's axis adds to the distance. */
    template <bool KNOWN>
    MP_FN F top_part(int pass, int axis, int k) const
    {
        const int top = d_nt - 1;
        const F e = d_v[pass * 2 * d_nt + 2 * top + axis] - level(k);
        const F part = d_w[pass * d_nt + top] * e * e;
        return KNOWN ? part + costs(pass, top, axis)[k] : part;
    }

    /* Take Algorithms 2 and 3 for two layers, each on top once. A pass finds the nearest
     * candidates of the top layer's bits, because slicing the only other layer is
     * exact. */
    template <bool KNOWN>
    MP_FN void search_top(int pass)
    {
        const F* const c = &d_c[pass * 8];
        const F* const v = &d_v[pass * 4];
        const F w = d_w[pass * 2];
        F im_part[side], low_re[side], low_im[side];
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            im_part[k] = top_part<KNOWN>(pass, 1, k);
            low_im[k] = F(no_metric);
        }
        for (int k_re = 0; k_re < side; ++k_re) {
            const F re_part = top_part<KNOWN>(pass, 0, k_re);
            F re = fnma(c[2], level(k_re), fma(c[3], level(0), v[0]));
            F im = fnma(c[3], level(k_re), fnma(c[2], level(0), v[1]));
            F low(no_metric);
            MP_UNROLL
            for (int k = 0; k < side; ++k) {
                F distance = re_part + im_part[k];
                if (KNOWN) {
                    best_level(re, w, costs(pass, 0, 0), distance);
                    best_level(im, w, costs(pass, 0, 1), distance);
                } else {
                    F l_re, l_im;
                    slice(re, side, l_re);
                    slice(im, side, l_im);
                    const F e_re = re - l_re, e_im = im - l_im;
                    distance = fma(w, fma(e_re, e_re, e_im * e_im), distance);
                }
                low = min(low, distance);
                low_im[k] = min(low_im[k], distance);
                re = re + c[3];
                im = im - c[2];
            }
            low_re[k_re] = low;
        }
        const int layer = column_source(d_order, 1, pass, 2);
        collect_axis(0, layer, 0, low_re);
        collect_axis(0, layer, 1, low_im);
    }

    /* Take Algorithm 2: set d_distance and d_words. The layer below the top comes first
     * in its word, k_re + side * k_im of each. */
    template <bool KNOWN>
    MP_STEP void search(int pass)
    {
        const int nt = d_nt, top = nt - 1;
        const F* const c = &d_c[pass * 2 * nt * nt];
        const F* const w = &d_w[pass * nt];
        const F* const v = &d_v[pass * 2 * nt];
        F im_part[side];
        MP_UNROLL
        for (int k = 0; k < side; ++k)
            im_part[k] = top_part<KNOWN>(pass, 1, k);
        for (int k_re = 0; k_re < side; ++k_re) {
            const F re_part = top_part<KNOWN>(pass, 0, k_re);
            MP_UNROLL
            for (int i = 0; i < top; ++i) {
                const F* const t = &c[2 * (i * nt + top)];
                d_base[2 * i] = fnma(t[0], level(k_re), fma(t[1], level(0), v[2 * i]));
                d_base[2 * i + 1] =
                    fnma(t[1], level(k_re), fnma(t[0], level(0), v[2 * i + 1]));
            }
            MP_UNROLL
            for (int first = 0; first < side; first += together) {
                const int candidate = k_re * side + first;
                F distance[together], code[together];
                MP_UNROLL
                for (int n = 0; n < together; ++n)
                    distance[n] = re_part + im_part[first + n];
                MP_UNROLL
                for (int i = top - 1; i >= 0; --i) {
                    const int place = top - 1 - i;
                    MP_UNROLL
                    for (int n = 0; n < together; ++n)
                        descend<KNOWN>(pass, c, w[i], i, n, distance[n], code[n]);
                    if (i == 0 || place % layers_per_word == layers_per_word - 1) {
                        MP_UNROLL
                        for (int n = 0; n < together; ++n)
                            d_words[(candidate + n) * num_words() +
                                    place / layers_per_word] = code[n];
                    }
                }
                MP_UNROLL
                for (int n = 0; n < together; ++n)
                    d_distance[candidate + n] = distance[n];
            }
        }
    }

    /* Return what a word lacks when it has this number of layers, or is full. A word adds
     * its first k_re, and l for the other axes, where l begins at -(side-1)/2. */
    MP_FN static float code_bias(int layers)
    {
        const int num = layers < layers_per_word ? layers : layers_per_word;
        return 0.5f * ((1 << num * bits) - side);
    }

    /* Return the level with the least w (u - level)^2 + cost, and add this minimum to the
     * distance. */
    MP_FN static F best_level(F u, F w, const F* cost, F& distance)
    {
        F chosen, least;
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const F e = u - level(k);
            const F metric = fma(w * e, e, cost[k]);
            chosen = k ? select(metric < least, level(k), chosen) : level(k);
            least = k ? min(metric, least) : metric;
        }
        distance = distance + least;
        return chosen;
    }

    /* Slice layer i of candidate n, and add it to its word and its distance. */
    template <bool KNOWN>
    MP_FN void descend(int pass, const F* c, F w, int i, int n, F& distance, F& code)
    {
        const int nt = d_nt, top = nt - 1, place = top - 1 - i;
        F re = d_base[2 * i], im = d_base[2 * i + 1];
        /* the next candidate's top symbol is j further on */
        d_base[2 * i] = re + c[2 * (i * nt + top) + 1];
        d_base[2 * i + 1] = im - c[2 * (i * nt + top)];
        MP_UNROLL
        for (int j = top - 1; j > i; --j) {
            const F* const l = &d_l[2 * (j * together + n)];
            subtract_product(c + 2 * (i * nt + j), l[0], l[1], re, im);
        }
        F l_re, l_im, k_re;
        if (KNOWN) {
            l_re = best_level(re, w, costs(pass, i, 0), distance);
            l_im = best_level(im, w, costs(pass, i, 1), distance);
            /* as slice() returns it */
            k_re = (l_re + F(0.5f * (side - 1))) + F(rounding_offset);
        } else {
            k_re = slice(re, side, l_re);
            slice(im, side, l_im);
        }
        d_l[2 * (i * together + n)] = l_re;
        d_l[2 * (i * together + n) + 1] = l_im;
        const int shift = bits * (place % layers_per_word);
        code = shift ? fma(l_re, F(static_cast<float>(1 << shift)), code)
                     : k_re + F(code_bias(top - place));
        code = fma(l_im, F(static_cast<float>(side << shift)), code);
        if (!KNOWN) {
            const F e_re = re - l_re, e_im = im - l_im;
            distance = fma(w, fma(e_re, e_re, e_im * e_im), distance);
        }
    }

    /* Add the candidates that no earlier pass has found to the sums of each bit. */
    MP_STEP void add_up(int pass, F unit)
    {
        const int nt = d_nt, top = nt - 1;
        F best = d_distance[0];
        for (int candidate = 1; candidate < side * side; ++candidate)
            best = min(best, d_distance[candidate]);
        best = d_sums.rescale(nt * bits, best, unit, pass == 0);
        const int top_bits = bits * column_source(d_order, top, pass, nt);
        for (int candidate = 0; candidate < side * side; ++candidate) {
            for (int n = 0; n < num_words(); ++n)
                list(pass, n)[candidate] = d_words[candidate * num_words() + n];
            F weight = exp_minus((d_distance[candidate] - best) * unit);
            for (int earlier = 0; earlier < pass; ++earlier)
                weight = select(found_in(earlier, pass, candidate), F(0.0f), weight);
            for (int b = 0; b < bits; ++b)
                d_sums.add(
                    top_bits + b,
                    gray_bit<WIDTH>(b < WIDTH ? candidate / side : candidate % side,
                                    b % WIDTH),
                    weight);
            for (int i = 0; i < top; ++i) {
                const int place = top - 1 - i;
                const auto code = gray_codes<WIDTH>(
                    d_words[candidate * num_words() + place / layers_per_word].as_word());
                const int layer = column_source(d_order, i, pass, nt);
                for (int b = 0; b < bits; ++b)
                    d_sums.add(bits * layer + b, code.bit(bit_place(place, b)), weight);
            }
        }
    }

    MP_FN F* list(int pass, int n)
    {
        return &d_lists[(pass * num_words() + n) * side * side];
    }

    /* Return k_re + side * k_im at a place of the candidates with this index in a pass's
     * list. */
    MP_FN word symbol(int pass, int place, word index)
    {
        const word all = F::get(list(pass, place / layers_per_word), index).as_word();
        return (all >> bits * (place % layers_per_word)) & (side * side - 1u);
    }

    /* Return where an earlier pass has a candidate of this pass too: a candidate with the
     * same symbol on its own top, and the same other symbols. */
    MP_FN mask found_in(int earlier, int pass, int candidate)
    {
        const int nt = d_nt, top = nt - 1;
        const word own = word{} ^ static_cast<unsigned>(candidate);
        const auto place = [=](int layer, int p) {
            return top - 1 - column_place(d_order, layer, p, nt);
        };
        const word on_top =
            symbol(pass, place(column_source(d_order, top, earlier, nt), pass), own);
        /* candidates are counted the other way round */
        const word index = ((on_top & (side - 1u)) << WIDTH) + (on_top >> WIDTH);
        word differs = symbol(earlier,
                              place(column_source(d_order, top, pass, nt), earlier),
                              index) ^
                       static_cast<unsigned>(candidate / side + candidate % side * side);
        for (int layer = 0; layer < nt; ++layer)
            if (place(layer, pass) >= 0 && place(layer, earlier) >= 0)
                differs = differs + (symbol(pass, place(layer, pass), own) ^
                                     symbol(earlier, place(layer, earlier), index));
        return differs.to_float() < F(0.5f);
    }

    /* Take Algorithm 3: find each bit's nearest candidate for either value. One value's
     * is the pass's best candidate, so that only candidates with the other value need a
     * look. */
    MP_STEP void collect(int pass)
    {
        const int top = d_nt - 1, words = num_words();
        const F best = collect_top(pass);
        MP_UNROLL
        for (int begin = 0; begin < top; begin += layers_per_word) {
            const F* const codes = &d_words[begin / layers_per_word];
            F nearest = codes[0];
            MP_UNROLL
            for (int candidate = 1; candidate < side * side; ++candidate)
                nearest = select(
                    best < d_distance[candidate], nearest, codes[candidate * words]);
            const int end = top - begin < layers_per_word ? top : begin + layers_per_word;
            MP_UNROLL
            for (int first = begin; first < end; first += layers_at_once)
                collect_layers(pass,
                               codes,
                               best,
                               nearest.as_word(),
                               first,
                               end - first < layers_at_once ? end - first
                                                            : layers_at_once);
        }
    }

    /* Collect some layers of a word, from a place on. */
    MP_FN void
    collect_layers(int pass, const F* codes, F best, word chosen, int place, int layers)
    {
        const int nt = d_nt, words = num_words();
        F other[layers_at_once][bits];
        MP_UNROLL
        for (int n = 0; n < layers; ++n)
            MP_UNROLL
        for (int b = 0; b < bits; ++b)
            other[n][b] = F(no_metric);
        for (int candidate = 0; candidate < side * side; ++candidate) {
            const F d = d_distance[candidate];
            const word differs =
                gray_codes<WIDTH>(codes[candidate * words].as_word() ^ chosen);
            MP_UNROLL
            for (int n = 0; n < layers; ++n)
                MP_UNROLL
            for (int b = 0; b < bits; ++b)
                other[n][b] =
                    masked_min(other[n][b], differs.bit(bit_place(place + n, b)), d);
        }
        const word value = gray_codes<WIDTH>(chosen);
        MP_UNROLL
        for (int n = 0; n < layers; ++n) {
            const int layer = column_source(d_order, nt - 2 - place - n, pass, nt);
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                const mask one = value.bit(bit_place(place + n, b));
                keep_nearest(pass,
                             layer * bits + b,
                             select(one, other[n][b], best),
                             select(one, best, other[n][b]));
            }
        }
    }

    MP_FN void keep_nearest(int pass, int bit, F zero, F one)
    {
        d_nearest[2 * bit] = pass ? min(d_nearest[2 * bit], zero) : zero;
        d_nearest[2 * bit + 1] = pass ? min(d_nearest[2 * bit + 1], one) : one;
    }

    /* Return the place in the Gray code of canonical bit b, for the layer at a place of a
     * word. */
    MP_FN static constexpr int bit_place(int place, int b)
    {
        return place % layers_per_word * bits + symbol_bits<WIDTH>::place(b);
    }

    /* Collect the top layer, whose bits are known for every candidate. Return the pass's
     * best distance. */
    MP_FN F collect_top(int pass)
    {
        const int layer = column_source(d_order, d_nt - 1, pass, d_nt);
        F best(no_metric);
        MP_UNROLL
        for (int axis = 0; axis < 2; ++axis) {
            F low[side];
            level_minima<WIDTH>(&d_distance[0], axis, low);
            MP_UNROLL
            for (int k = 0; axis && k < side; ++k)
                best = min(best, low[k]);
            collect_axis(pass, layer, axis, low);
        }
        return best;
    }

    /* Collect the bits of a layer's axis from the nearest candidate of each of its
     * levels. */
    MP_FN void collect_axis(int pass, int layer, int axis, const F* low)
    {
        MP_UNROLL
        for (int g = 0; g < WIDTH; ++g) {
            F zero, one;
            bit_minima_of_axis<WIDTH>(low, g, zero, one);
            keep_nearest(pass, layer * bits + axis * WIDTH + g, zero, one);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

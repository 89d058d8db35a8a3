/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Zero forcing with successive interference cancellation, and the candidate list from
 * flipped bits of hard solutions (002 §2.2, fig. 5-6). */
#pragma once
#include "common/amplification_order.h"
#include "common/options.h"
#include "common/sic_tree.h"
#include "common/soft_symbols.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct sic_options {
    int ordering = 0; /* a sic_ordering */
    int soft = 0;     /* option of zfsic */
    float llr_clip = infinity;

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("ordering", ordering);
        visit("soft", soft);
        visit("llr_clip", llr_clip);
    }
};


/* Positions of the names in detectors/sic.py */
enum class sic_ordering { sinr, norm, none };

/* What a detector puts out: hard decisions, max-log LLRs of each layer given the layers
 * decided before it, or max-log LLRs of the list */
enum class sic_output { hard, by_layer, by_list };

/* OUTPUT, COUNT: sic_output and int, or types that convert to them when compiling */
template <class F,
          int NT,
          int NR,
          int WIDTH,
          class OUTPUT = sic_output,
          class COUNT = int>
class flip_detector
{
public:
    using mask = decltype(F() < F());
    using tree = sic_tree<F, NT, NR, WIDTH>;
    static constexpr int bits = tree::bits;

    MP_FN flip_detector(arena<F>& a,
                        const constellation& c,
                        int nt,
                        int nr,
                        sic_ordering ordering,
                        OUTPUT output,
                        float clip,
                        COUNT num_hard)
        : d_ordering(ordering),
          d_output(output),
          d_clip(clip),
          d_num_hard(num_hard),
          d_nt(nt),
          d_order(a, nt, nr),
          d_tree(a, c, nt, nr),
          d_start(a.take(num_hard * nt)),
          d_words(a, nt),
          d_prior(a, nt * bits),
          d_llr(a, nt * bits)
    {
    }

    MP_FN void prepare(const F* h)
    {
        if (d_ordering == sic_ordering::sinr)
            d_order.sort(h, 0);
        else if (d_ordering == sic_ordering::norm)
            d_order.columns.sort_by_norm(h);
        else
            d_order.columns.copy(h);
        d_tree.prepare(&d_order.columns.h[0]);
    }

    /* Return memory for the words of the next vectors' hard solutions, by layer: num_hard
     * times nt. */
    MP_FN F* starts() { return d_start; }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        const int nt = d_nt;
        if (prior)
            d_order.columns.to_columns(prior, bits, &d_prior[0]);
        const mask usable = d_tree.receive(y, noise_var, prior ? &d_prior[0] : nullptr);
        const bool has_list = d_output == sic_output::by_list;
        const bool demaps = d_output == sic_output::by_layer;
        const int flipped = has_list ? nt : 0;
        for (int start = 0; start < (d_num_hard ? d_num_hard : 1); ++start) {
            const bool given = d_num_hard > 0;
            if (given)
                d_order.columns.to_columns(d_start + start * nt, 1, &d_words[0]);
            d_tree.follow(
                [&](int level, F re, F im) {
                    if (demaps)
                        demap(level, re, im, noise_var, prior);
                    return given ? tree::split(d_words[level].to_word())
                                 : d_tree.nearest(level, re, im);
                },
                flipped,
                false);
        }
        if (!demaps)
            d_tree.llrs(has_list, noise_var, &d_llr[0]);
        d_order.columns.to_layers(&d_llr[0], bits, llr);
        return usable;
    }

private:
    const sic_ordering d_ordering;
    const OUTPUT d_output;
    const float d_clip;
    const COUNT d_num_hard;
    const extent<NT> d_nt;
    amplification_order<F, NT, NR> d_order;
    tree d_tree;
    F* const d_start;
    buffer<F, NT> d_words;
    buffer<F, NT * bits> d_prior, d_llr;

    /* Set the LLRs of a level from what the levels above leave, in units of k. The prior
     * tells known bits only. */
    MP_FN void demap(int level, F re, F im, F noise_var, const F* prior)
    {
        constexpr float middle = 0.5f * (tree::side - 1);
        const F x[2] = { re - F(middle), im - F(middle) };
        const F r = rsqrt(noise_var);
        F* const own = &d_llr[level * bits];
        demap_axes<WIDTH>(x,
                          d_tree.w[level] * r * r,
                          0.5f,
                          own,
                          prior ? &d_prior[level * bits] : nullptr);
        for (int b = 0; b < bits; ++b)
            own[b] = clamp(own[b], F(d_clip));
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* N-way and the fully parallel fixed sphere decoder (000 §4.3) in one kernel. FPFSD has
 * nt searches. Each has another layer on top and the other layers below it by falling
 * column norm. With columns sorted by norm once, these are N-way's passes in another
 * order. */
#pragma once
#include "common/options.h"
#include "common/ordering.h"
#include "detectors/nway/greedy_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

struct nway_options {
    int num_passes = 1; /* option of nway; fpfsd makes one pass for each layer */
    float llr_clip = infinity;
    int llr_method = 0; /* 0: max-log, 1: log-sum */

    template <class Visit>
    MP_FN void each(Visit visit)
    {
        visit("num_passes", num_passes);
        visit("llr_clip", llr_clip);
        visit("llr_method", llr_method);
    }
};

template <class F, int NT, int NR, int WIDTH>
class nway_detector
{
public:
    using mask = decltype(F() < F());
    static constexpr int bits = 2 * WIDTH;

    MP_FN nway_detector(arena<F>& a,
                        const constellation& c,
                        int nt,
                        int nr,
                        int passes,
                        float clip,
                        column_order order,
                        bool log_sum)
        : d_sorted(order == column_order::raise),
          d_columns(a, nt, nr),
          d_search(a, c, nt, nr, passes, clip, order, log_sum),
          d_prior(a, nt * bits),
          d_llr(a, nt * bits)
    {
    }

    MP_FN void prepare(const F* h)
    {
        if (d_sorted)
            d_columns.sort_by_norm(h);
        d_search.prepare(d_sorted ? &d_columns.h[0] : h);
    }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        if (d_sorted && prior)
            d_columns.to_columns(prior, bits, &d_prior[0]);
        const mask usable = d_search.detect(y,
                                            noise_var,
                                            d_sorted && prior ? &d_prior[0] : prior,
                                            d_sorted ? &d_llr[0] : llr);
        if (d_sorted)
            d_columns.to_layers(&d_llr[0], bits, llr);
        return usable;
    }

private:
    const bool d_sorted;
    ordered_columns<F, NT, NR> d_columns;
    greedy_search<F, NT, NR, WIDTH> d_search;
    buffer<F, NT * bits> d_prior, d_llr;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

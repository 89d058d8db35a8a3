/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The two last levels of a tree search: a node tries every symbol of level 1, which are
 * the elements of lanes, and slices level 0. */
#pragma once
#include "detectors/exhaustive/sliced.h"
#include "detectors/softsphere/tree_storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A lane of nodes at level 2: their metrics, the metrics from which they are of no use,
 * and b of the levels below */
template <class F>
struct last_node {
    F metric, limit, b0_re, b0_im, b1_re, b1_im;
};

template <class F, int WIDTH>
struct leaf_search {
    using levels = axis_levels<F, WIDTH>;
    static constexpr int side = 1 << WIDTH;

    F step0, inverse0, step1; /* r_ii, and 1 / r_ii */
    F r_re, r_im;             /* r_01 */
    int symbols;
    const float *re, *im; /* axis levels of each symbol */
    const float* cost1;   /* cost of each symbol's priors at level 1 */
    const typename tree_storage<F, WIDTH>::axis_costs* cost0; /* of priors at level 0 */

    MP_FN leaf_search() {}

    /* Return the least metric of a node's leaves. */
    template <bool Prior>
    MP_FN float least_leaf(float metric, const float* b) const
    {
        const F b0_re(b[0]), b0_im(b[1]), b1_re(b[2]), b1_im(b[3]);
        F least(no_metric);
        for (int s = 0; s < symbols; s += F::width) {
            const F k_re = F::load(re + s), k_im = F::load(im + s);
            const F e_re = fnma(k_re, step1, b1_re), e_im = fnma(k_im, step1, b1_im);
            F m = fma(e_re, e_re, fma(e_im, e_im, F(metric)));
            if (Prior)
                m = m + F::load(cost1 + s);
            least = min(least,
                        leaf<Prior>(m,
                                    fma(r_im, k_im, fnma(r_re, k_re, b0_re)),
                                    fnma(r_im, k_re, fnma(r_re, k_im, b0_im))));
        }
        return least.least();
    }

private:
    template <bool Prior>
    MP_FN F leaf(F parent, F b_re, F b_im) const
    {
        if (!Prior) {
            const F e_re = levels::distance(b_re, step0, inverse0),
                    e_im = levels::distance(b_im, step0, inverse0);
            return fma(e_re, e_re, fma(e_im, e_im, parent));
        }
        F least_re(no_metric), least_im(no_metric);
        MP_UNROLL
        for (int k = 0; k < side; ++k) {
            const F level(levels::origin + k);
            const F e_re = fnma(level, step0, b_re), e_im = fnma(level, step0, b_im);
            least_re = min(least_re, fma(e_re, e_re, F(cost0->re[k])));
            least_im = min(least_im, fma(e_im, e_im, F(cost0->im[k])));
        }
        return parent + least_re + least_im;
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The two last levels of a tree search; level 0 is always sliced.
 *
 * First, a lane of nodes tries the two nearest levels on each axis of level 1. This finds
 * the best leaf of most nodes. The other nodes then try every symbol, one node at a time
 * with its symbols as the elements of lanes. */
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

    F step0, inverse0, step1, inverse1; /* r_ii, and 1 / r_ii */
    F r_re, r_im;                       /* r_01 */
    int symbols;
    const float *re, *im; /* axis levels of each symbol */
    const float* cost1;   /* cost of each symbol's priors at level 1 */
    const typename tree_storage<F, WIDTH>::axis_costs* cost0; /* of priors at level 0 */

    MP_FN leaf_search() {}

    /* Return the least metric found under each node. A node that may have a better leaf
     * gets its bit in `unsure` set. */
    MP_FN F nearest_leaves(const last_node<F>& node, unsigned& unsure) const
    {
        const axis re_axis(node.b1_re, step1, inverse1),
            im_axis(node.b1_im, step1, inverse1);
        F bound = node.limit;
        MP_UNROLL
        for (int i = 0; i < 2; ++i) {
            const F m = node.metric + re_axis.adds[i];
            const F b_re = fnma(r_re, re_axis.level[i], node.b0_re),
                    b_im = fnma(r_im, re_axis.level[i], node.b0_im);
            MP_UNROLL
            for (int j = 0; j < 2; ++j)
                bound = min(bound,
                            leaf<false>(m + im_axis.adds[j],
                                        fma(r_im, im_axis.level[j], b_re),
                                        fnma(r_re, im_axis.level[j], b_im)));
        }
        const F other =
            min(re_axis.third + im_axis.adds[0], im_axis.third + re_axis.adds[0]);
        unsure = side > 2 ? (node.metric + other < bound).to_bits() : 0;
        return bound;
    }

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
    /* The two nearest levels on an axis of level 1, the metric of each, and the least
     * metric of the other levels */
    struct axis {
        F level[2], adds[2], third;
        MP_FN axis(F b, F step, F inverse)
        {
            level[0] = levels::nearest(b, inverse);
            const F e = fnma(level[0], step, b), away = abs(e);
            const F toward = select(e < F(0.0f), F(-1.0f), F(1.0f));
            const F middle(levels::origin + 0.5f * (side - 1));
            /* The second level lies towards b, or behind the first one at the edge. */
            const auto inside = abs(level[0] + toward - middle) < F(0.5f * side);
            level[1] = level[0] + select(inside, toward, F(0.0f) - toward);
            const F far = away + step;
            const F next = select(inside, step - away, far);
            adds[0] = e * e;
            adds[1] = next * next;
            third = far * far;
        }
    };

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

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches for many more antennas than layers: with H = Q R, the metrics |Q^H y - R x|^2
 * and |y - H x|^2 differ by a constant independent of x. */
#pragma once
#include "common/large_qr.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* A kernel that searches with R and Q^H y where H has many more rows than columns. Column
 * orders, metrics and candidates then cost what they cost for a square H. With less than
 * twice as many rows, the further decomposition of H costs more than this saves. */
template <class F, class Kernel>
class qr_reduced_search : public Kernel
{
public:
    using mask = decltype(F() < F());

    /* more: further arguments of Kernel's constructor */
    template <class... More>
    MP_FN
    qr_reduced_search(arena<F>& a, const constellation& c, int nt, int nr, More... more)
        : Kernel(a, c, nt, large_qr<F>::is_tall(nt, nr) ? nt : nr, more...),
          d_nt(nt),
          d_is_tall(large_qr<F>::is_tall(nt, nr)),
          d_qr(a, d_is_tall ? nt : 0, d_is_tall ? nr : 0),
          d_r(a, d_is_tall ? 2 * nt * nt : 0),
          d_z(a, d_is_tall ? 2 * nt : 0)
    {
    }

    MP_FN void prepare(const F* h) { Kernel::prepare(d_is_tall ? triangle(h) : h); }

    MP_FN mask detect(const F* y, F noise_var, const F* prior, F* llr)
    {
        mask usable = F(0.0f) < F(1.0f);
        if (d_is_tall) {
            usable = d_qr.usable & d_qr.rotate(y, &d_z[0]);
            y = &d_z[0];
        }
        return usable & Kernel::detect(y, noise_var, prior, llr);
    }

private:
    const int d_nt;
    const bool d_is_tall;
    large_qr<F> d_qr;
    buffer<F, 0> d_r, d_z;

    /* Return R as a matrix. */
    MP_STEP const F* triangle(const F* h)
    {
        const int nt = d_nt;
        d_qr.decompose(h);
        MP_ROLLED
        for (int i = 0; i < nt; ++i) {
            MP_ROLLED
            for (int j = 0; j < nt; ++j) {
                F* const to = &d_r[2 * (i * nt + j)];
                to[0] = j > i    ? d_qr.r[2 * (i * nt + j)]
                        : j == i ? d_qr.diagonal[i]
                                 : F(0.0f);
                to[1] = j > i ? d_qr.r[2 * (i * nt + j) + 1] : F(0.0f);
            }
        }
        return &d_r[0];
    }
};

/* qr_reduced_search, or the kernel itself where H never has many more rows than columns
 */
template <class F, class Kernel, bool POSSIBLE>
struct qr_reduced_if {
    using type = Kernel;
};

template <class F, class Kernel>
struct qr_reduced_if<F, Kernel, true> {
    using type = qr_reduced_search<F, Kernel>;
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

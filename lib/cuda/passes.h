/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* N-way and FPFSD (see kernels/passes.h) in registers: passes are a loop in which columns
 * move, not code of their own each. */
#pragma once
#include "../kernels/passes.h"
#include "registers.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int NT, int NR, int WIDTH, column_order ORDER>
class register_passes
{
public:
    using mask = lane::mask;
    static constexpr int side = 1 << WIDTH;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int top = NT - 1;

    MP_FN register_passes(arena<lane>& a, const constellation& c, int passes, float clip)
        : d_passes(passes),
          d_scale(c.scale),
          d_clip(clip),
          d_columns(a, NT, NR),
          d_qr(a, NT, NR)
    {
    }

    MP_FN void prepare(const lane* h)
    {
        if constexpr (sorted) {
            d_columns.sort_by_norm(h);
            d_qr.decompose(&d_columns.h[0]);
        } else {
            d_qr.decompose(h);
        }
    }

    MP_FN mask detect(const lane* y, lane noise_var, const lane*, lane* llr)
    {
        register_system<NT, WIDTH> base;
        const mask finite = base.set(d_qr, y, d_scale);
        bit_minima<NT, WIDTH> m;
        const auto nothing = [](float, int) {};
        if constexpr (!sorted) {
            /* each pass goes on from the one before: its first column comes on top */
#pragma unroll 1
            for (int pass = 0; pass < d_passes; ++pass) {
                if (pass) {
                    base.raise(constant_column<0>());
                    m.raise(constant_column<0>());
                }
                expand_top<true>(base, m, nothing);
            }
            for (int pass = d_passes; pass < NT + 1; ++pass)
                m.raise(constant_column<0>());
        } else {
#pragma unroll 1
            for (int pass = 0; pass < NT; ++pass) {
                register_system<NT, WIDTH> s = base;
                /* the column that was raised last is back in its place with this one's
                 * way up */
                at_column(top - pass, [&](auto column) {
                    s.raise(column);
                    m.swap_with_top(column);
                });
                expand_top<true>(s, m, nothing);
            }
            m.lower(constant_column<0>());
        }
        const float unit = reciprocal(noise_var).v;
        if constexpr (sorted) {
            lane by_column[NT * bits];
            m.llrs(unit, d_clip, by_column);
            d_columns.to_layers(by_column, bits, llr);
        } else {
            m.llrs(unit, d_clip, llr);
        }
        return d_qr.usable & finite;
    }

private:
    static constexpr bool sorted = ORDER == column_order::raise;
    const int d_passes;
    const float d_scale, d_clip;
    ordered_columns<lane, NT, NR> d_columns;
    unscaled_qr<lane, NT, NR> d_qr;

    /* body(constant_column) of one of those below the top, or nothing for that */
    template <int N = 0, class Body>
    MP_FN static void at_column(int column, Body body)
    {
        if constexpr (N < top) {
            if (column == N)
                body(constant_column<N>());
            else
                at_column<N + 1>(column, body);
        }
    }
};

/* N-way rotates the columns, FPFSD raises each to the top. */
template <column_order ORDER>
MP_FN auto make(arena<lane>& a)
{
    constexpr detector_options o = asked::options();
    const int passes = ORDER == column_order::rotate ? o.num_passes : layers();
    if constexpr (fits_registers && !o.log_sum)
        return register_passes<asked::fixed_tx, asked::fixed_rx, asked::width, ORDER>(
            a, asked::points, passes, o.llr_clip);
    else
        return pass_detector<lane, asked::fixed_tx, asked::fixed_rx, asked::width>(
            a, asked::points, layers(), antennas(), passes, o.llr_clip, ORDER, o.log_sum);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

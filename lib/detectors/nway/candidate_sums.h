/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The log-sums of the greedy search. Each candidate counts once, however many passes find
 * it. */
#pragma once
#include "common/list_sums.h"
#include "common/minima.h"
#include "detectors/nway/passes.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <class F, int NT, int WIDTH>
class candidate_sums
{
public:
    using mask = decltype(F() < F());
    using word = decltype(F().as_word());
    using code = symbol_bits<WIDTH>;
    static constexpr int side = code::side;
    static constexpr int bits = code::count;

    MP_FN
    candidate_sums(arena<F>& a, int nt, int passes, column_order order, bool used)
        : d_nt(nt),
          d_order(order),
          d_sums(a, used ? nt * bits : 0),
          d_lists(a, used ? passes * side * side * (nt - 1) : 0)
    {
    }

    /* Add the candidates that no earlier pass has found to the sums of each bit, by
     * their distances and symbols. */
    MP_STEP void add(int pass, const F* distance, const F* symbols, F unit)
    {
        const int nt = d_nt, top = nt - 1;
        F best = distance[0];
        for (int candidate = 1; candidate < side * side; ++candidate)
            best = min(best, distance[candidate]);
        best = d_sums.rescale(nt * bits, best, unit, pass == 0);
        const int top_bits = bits * column_source(d_order, top, pass, nt);
        for (int candidate = 0; candidate < side * side; ++candidate) {
            for (int place = 0; place < top; ++place)
                list(pass, place)[candidate] = symbols[candidate * top + place];
            F weight = exp_minus((distance[candidate] - best) * unit);
            for (int earlier = 0; earlier < pass; ++earlier)
                weight = select(found_in(earlier, pass, candidate), F(0.0f), weight);
            for (int b = 0; b < bits; ++b)
                d_sums.add(
                    top_bits + b,
                    code::of_axis(b < WIDTH ? candidate / side : candidate % side, b),
                    weight);
            for (int i = 0; i < top; ++i) {
                const auto value =
                    gray_codes<WIDTH>(symbols[candidate * top + top - 1 - i].as_word());
                const int layer = column_source(d_order, i, pass, nt);
                for (int b = 0; b < bits; ++b)
                    d_sums.add(bits * layer + b, value.bit(code::place(b)), weight);
            }
        }
    }

    MP_FN F llr(int b, F max_log) const { return d_sums.llr(b, max_log); }

private:
    const extent<NT> d_nt;
    const column_order d_order;
    list_sums<F> d_sums;
    buffer<F, 0> d_lists; /* symbols of all passes, a place's next to each other */

    MP_FN F* list(int pass, int place)
    {
        return &d_lists[(pass * (d_nt - 1) + place) * side * side];
    }

    /* Return k_re + side * k_im at a place of the candidates with this index in a pass's
     * list. */
    MP_FN word symbol(int pass, int place, word index)
    {
        return F::get(list(pass, place), index).as_word() & (side * side - 1u);
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
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Layered decoding of low-density parity-check codes (D. E. Hocevar, SiPS 2004) by the
 * min-sum algorithm, normalised or with an offset (J. Chen, M. P. C. Fossorier, IEEE
 * Trans. Commun. 50(3), 2002): a lane is a codeword, and the checks come one after
 * another, each with what those before it have found.
 *
 * LLRs are ln P(1)/P(0), so that a set sign bit means 0; the number of a check's bits
 * decides whether its product of signs has to be positive. */
#pragma once
#include "storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The ones of a parity-check matrix, row by row: check c has columns[first[c]] ...
 * columns[first[c + 1] - 1]. */
struct parity_checks {
    int num_bits, num_checks;
    const int* first;
    const int* columns;

    MP_FN int edges() const { return first[num_checks]; }
    MP_FN int largest() const
    {
        int most = 0;
        for (int c = 0; c < num_checks; ++c)
            most = first[c + 1] - first[c] > most ? first[c + 1] - first[c] : most;
        return most;
    }
};

/* A message is sign * max(0, factor * least magnitude of the others - offset). */
struct ldpc_rule {
    float factor, offset;
};

template <class F>
class layered_min_sum
{
public:
    using mask = decltype(F() < F());
    using word = decltype(F().as_word());

    MP_FN layered_min_sum(arena<F>& a, const parity_checks& h, ldpc_rule rule)
        : posterior(a.take(h.num_bits)),
          message(a.take(h.edges())),
          d_h(h),
          d_rule(rule),
          d_own(a.take(h.largest()))
    {
    }

    F* const posterior; /* LLRs of all bits, with what the messages say */
    F* const message;   /* from checks to bits, by edge */

    /* All checks once, in lanes that are active */
    template <bool ALL>
    MP_FN void iterate(mask active)
    {
        const int* column = d_h.columns;
        F* r = message;
        for (int c = 0; c < d_h.num_checks; ++c) {
            const int degree = d_h.first[c + 1] - d_h.first[c];
            /* finite: a check of one bit has no others, and what it says is taken off
             * again */
            F least(no_metric), second(no_metric);
            word signs = F(0.0f).as_word() ^ (degree % 2 ? 0x80000000u : 0u);
            for (int e = 0; e < degree; ++e) {
                const F own = posterior[column[e]] - r[e];
                d_own[e] = own;
                const F size = abs(own);
                signs = signs ^ own.as_word();
                second = min(second, max(least, size));
                least = min(least, size);
            }
            const F of_least = weaken(second), of_others = weaken(least);
            for (int e = 0; e < degree; ++e) {
                const F own = d_own[e];
                const F size = select(least < abs(own), of_others, of_least);
                const word sign = (signs ^ own.as_word()) & 0x80000000u;
                const F found = (size.as_word() ^ sign).as_float();
                r[e] = ALL ? found : select(active, found, r[e]);
                F& all = posterior[column[e]];
                all = ALL ? own + found : select(active, own + found, all);
            }
            column += degree;
            r += degree;
        }
    }

    /* Where the signs are those of a codeword; looks at no more checks than it takes to
     * know that of every lane that is asked for. */
    MP_FN mask is_codeword(mask asked) const
    {
        mask left = asked;
        const int* column = d_h.columns;
        for (int c = 0; c < d_h.num_checks && any(left); ++c) {
            const int degree = d_h.first[c + 1] - d_h.first[c];
            word signs = F(0.0f).as_word() ^ (degree % 2 ? 0x80000000u : 0u);
            for (int e = 0; e < degree; ++e)
                signs = signs ^ posterior[column[e]].as_word();
            left = left & signs.not_bit(31);
            column += degree;
        }
        return left;
    }

private:
    const parity_checks d_h;
    const ldpc_rule d_rule;
    F* const d_own;

    MP_FN F weaken(F size) const
    {
        return max(fma(size, F(d_rule.factor), F(-d_rule.offset)), F(0.0f));
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

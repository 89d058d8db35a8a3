/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Layered decoding of low-density parity-check codes (D. E. Hocevar, SiPS 2004) by the
 * min-sum algorithm, normalised or with an offset (J. Chen, M. P. C. Fossorier, IEEE
 * Trans. Commun. 50(3), 2002), or by approximate-min* (C. Jones, E. Valles, M. Smith,
 * J. Villasenor, MILCOM 2003). A lane is a codeword. Checks come one after another, and
 * each uses the results of the checks before it.
 *
 * LLRs are ln P(1)/P(0), so a set sign bit means 0. The number of a check's bits decides
 * whether its product of signs has to be positive. */
#pragma once
#include "common/storage.h"

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

/* A message is sign * max(0, factor * least magnitude of the others - offset). With
 * min_star it is the box-plus of the others: that of a and b is min(a, b)
 * + c(a + b) - c(|a - b|), where c(x) = max(0, offset - x / 8) replaces ln(1 + e^-x). All
 * bits but the least certain one get the same magnitude, that of the whole check. */
struct ldpc_rule {
    float factor, offset;
    bool min_star;
};

/* Return the box-plus of two magnitudes. */
template <class F>
MP_FN F box_plus(F a, F b, F offset)
{
    const F low = min(a, b), high = max(a, b), part(0.125f);
    return low + min((high - low) * part, offset) - min((high + low) * part, offset);
}

/* Compute the messages of one check to its bits. bit(e), message(e): the LLR of its e-th
 * bit, and the check's last message to it; own: room for the same number of lanes;
 * set(at, value): write to such a place. */
template <class F, class Bit, class Message, class Set>
MP_FN void
min_sum_check(int degree, ldpc_rule rule, F* own, Bit bit, Message message, Set set)
{
    const F offset(rule.offset);
    const auto weaken = [=](F size) {
        return max(fma(size, F(rule.factor), F(0.0f) - offset), F(0.0f));
    };
    /* finite, because a check with a single bit has no other magnitude, and the message
     * is subtracted again */
    F least(no_metric), second(no_metric);
    auto signs = F(0.0f).as_word() ^ (degree % 2 ? 0x80000000u : 0u);
    MP_UNROLL_DEVICE
    for (int e = 0; e < degree; ++e) {
        own[e] = bit(e) - message(e);
        const F size = abs(own[e]);
        signs = signs ^ own[e].as_word();
        const F larger = max(least, size);
        second = rule.min_star ? box_plus(second, larger, offset) : min(second, larger);
        least = min(least, size);
    }
    const F of_least = rule.min_star ? second : weaken(second);
    const F of_others = rule.min_star ? box_plus(second, least, offset) : weaken(least);
    MP_UNROLL_DEVICE
    for (int e = 0; e < degree; ++e) {
        const F size = select(least < abs(own[e]), of_others, of_least);
        const auto sign = (signs ^ own[e].as_word()) & 0x80000000u;
        const F found = (size.as_word() ^ sign).as_float();
        set(message(e), found);
        set(bit(e), own[e] + found);
    }
}

/* Return a lane whose sign bit is set if a check fails. An LLR of 0 counts as bit 0, as
 * in decisions. */
template <class F, class Bit>
MP_FN auto check_signs(int degree, Bit bit) -> decltype(F().as_word())
{
    auto ones = F(0.0f).as_word();
    MP_UNROLL_DEVICE
    for (int e = 0; e < degree; ++e)
        ones = ones ^ (F(0.0f) - bit(e)).as_word();
    return ones;
}

template <class F>
class layered_min_sum
{
public:
    using mask = decltype(F() < F());

    MP_FN layered_min_sum(arena<F>& a, const parity_checks& h, ldpc_rule rule)
        : llr(a.take(h.num_bits)),
          posterior(llr),
          message(a.take(h.edges())),
          d_h(h),
          d_rule(rule),
          d_own(a.take(h.largest()))
    {
    }

    F* const llr;
    F* const posterior; /* the same memory: LLRs of all bits, messages included */
    F* const message;   /* from checks to bits, by edge */

    /* Run all checks once, in active lanes. */
    template <bool ALL>
    MP_FN void iterate(mask active)
    {
        for (int c = 0; c < d_h.num_checks; ++c) {
            F* const r = message + d_h.first[c];
            min_sum_check(
                degree(c),
                d_rule,
                d_own,
                bits(c),
                [=](int e) -> F& { return r[e]; },
                [=](F& at, F value) { at = ALL ? value : select(active, value, at); });
        }
    }

    /* Return where the decisions are a codeword. The function returns as soon as every
     * lane in `wanted` has failed a check. */
    MP_FN mask is_codeword(mask wanted) const
    {
        mask left = wanted;
        for (int c = 0; c < d_h.num_checks && any(left); ++c)
            left = left & check_signs<F>(degree(c), bits(c)).not_bit(31);
        return left;
    }

private:
    const parity_checks d_h;
    const ldpc_rule d_rule;
    F* const d_own;

    MP_FN int degree(int check) const { return d_h.first[check + 1] - d_h.first[check]; }

    MP_FN auto bits(int check) const
    {
        return [all = posterior, column = d_h.columns + d_h.first[check]](int e) -> F& {
            return all[column[e]];
        };
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

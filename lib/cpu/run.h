/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What each detector's translation unit offers, and the sizes worth a build of their own.
 */
#pragma once
#include "plan.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int N>
struct constant {
    static constexpr int value = N;
};

/* body(nt, nr) with constants 2x2 or 4x4, or 0, 0 for a general build */
template <class Body>
std::size_t by_size(const plan& p, Body body)
{
    if (p.num_tx == p.num_rx) {
        switch (p.num_tx) {
        case 2:
            return body(constant<2>(), constant<2>());
        case 4:
            return body(constant<4>(), constant<4>());
        }
    }
    return body(constant<0>(), constant<0>());
}

/* body(width), a constant: the Gray bits per axis of square QAM */
template <class Body>
std::size_t by_width(const plan& p, Body body)
{
    switch (p.points.width) {
    case 1:
        return body(constant<1>());
    case 2:
        return body(constant<2>());
    case 3:
        return body(constant<3>());
    case 4:
        return body(constant<4>());
    default:
        return body(constant<5>());
    }
}

/* body(nt, nr, width): 256- and 1024-QAM have the general build only */
template <class Body>
std::size_t by_size_and_width(const plan& p, Body body)
{
    return by_width(p, [&](auto width) {
        if constexpr (width.value > 3)
            return body(constant<0>(), constant<0>(), width);
        else
            return by_size(p, [&](auto nt, auto nr) { return body(nt, nr, width); });
    });
}

/* The same, with width 0 for any other constellation */
template <class Body>
std::size_t by_size_and_any_width(const plan& p, Body body)
{
    if (p.points.width)
        return by_size_and_width(p, body);
    return body(constant<0>(), constant<0>(), constant<0>());
}

std::size_t run_asd(const plan&, const batch&);
std::size_t run_bitflip(const plan&, const batch&);
std::size_t run_ep(const plan&, const batch&);
std::size_t run_fpfsd(const plan&, const batch&);
std::size_t run_hfsd(const plan&, const batch&);
std::size_t run_kbest(const plan&, const batch&);
std::size_t run_mla(const plan&, const batch&);
std::size_t run_mmse(const plan&, const batch&);
std::size_t run_mmsepic(const plan&, const batch&);
std::size_t run_nway(const plan&, const batch&);
std::size_t run_omap(const plan&, const batch&);
std::size_t run_psd(const plan&, const batch&);
std::size_t run_sd(const plan&, const batch&);
std::size_t run_sfsd(const plan&, const batch&);
/* MLA of square QAM, LLRs limited to +- clip from the prior */
std::size_t run_sliced(const plan&, const batch&, float clip);
std::size_t run_softsphere(const plan&, const batch&);
std::size_t run_trellis(const plan&, const batch&);
std::size_t run_zf(const plan&, const batch&);
std::size_t run_zfsic(const plan&, const batch&);

std::size_t decode_ldpc(const ldpc_plan&, const codeword_batch&);
std::size_t decode_turbo(const turbo_plan&, const codeword_batch&);

#if defined(__FMA__) || !defined(__x86_64__)
constexpr int instructions_per_fma = 1;
#else
constexpr int instructions_per_fma = 2; /* a multiplication and an addition */
#endif
std::size_t issue_arithmetic(int threads, std::size_t rounds, float* value);

} // namespace MIMOPACK_ISA
} // namespace mimopack

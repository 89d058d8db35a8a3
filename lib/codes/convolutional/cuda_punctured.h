/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of a convolutional code's output bits are sent. Namespace program has the period
 * of the pattern in steps, and kept, a bit for each of A1 B1 A2 B2 ... */
#pragma once
#include "codes/convolutional/kernel.h"
#include "cuda/lane.h"

namespace mimopack {
namespace MIMOPACK_ISA {

constexpr unsigned whole_warp = ~0u;

struct punctured {
    static constexpr unsigned period = 2 * program::period;

    /* Of A and B, of all steps, in turn, the place among those sent; -1 where it is not
     */
    MP_FN static int place(int i)
    {
        const unsigned in_period = i % period;
        if (!(program::kept >> in_period & 1))
            return -1;
        return i / period * __popc(program::kept) +
               __popc(program::kept & ((1u << in_period) - 1));
    }

    /* The inverse of place() */
    MP_FN static int sent_at(int place)
    {
        const int sent = __popc(program::kept);
        int i = place / sent * period;
        for (int before = place % sent;; ++i)
            if (program::kept >> (i % period) & 1 && before-- == 0)
                return i;
    }

    /* An LLR as the recursions take it; 0 where there is none */
    MP_FN static lane given(const float* llr, int at)
    {
        return at < 0 ? lane(0.0f)
                      : clamp(lane(llr[at]), lane(convolutional_limits<lane>::llr));
    }

    /* Whether a codeword's LLRs are all numbers and not all 0; the threads of a warp ask
     * together. */
    MP_FN static bool usable(const float* llr, int count)
    {
        bool finite = true, said = false;
        for (int i = threadIdx.x % 32; i < count; i += 32) {
            finite = finite && isfinite(llr[i]);
            said = said || llr[i] != 0.0f;
        }
        return __all_sync(whole_warp, finite) & __any_sync(whole_warp, said);
    }
};

/* Decode n codewords, a warp each. Set found: whether decode(llr, out, word) returned
 * true; and taken: 1. A codeword whose LLRs are not all numbers, or all 0, is counted in
 * erased; its `size` outputs are 0, and so are found and taken. */
template <class Out, class Decode>
MP_FN void decode_words(unsigned long long n,
                        const float* llr,
                        Out* out,
                        int size,
                        bool* found,
                        int* taken,
                        unsigned long long* erased,
                        Decode decode)
{
    constexpr int words = MIMOPACK_THREADS / 32;
    const int own = threadIdx.x % 32;
    for (unsigned long long w = blockIdx.x * words + threadIdx.x / 32; w < n;
         w += static_cast<unsigned long long>(gridDim.x) * words) {
        const float* const in = llr + w * program::num_bits;
        Out* const to = out + w * size;
        const bool usable = punctured::usable(in, program::num_bits);
        bool is_found = false;
        if (usable) {
            is_found = decode(in, to, w);
        } else {
            for (int i = own; i < size; i += 32)
                to[i] = 0;
        }
        if (own == 0) {
            found[w] = is_found;
            taken[w] = usable;
            if (!usable)
                atomicAdd(erased, 1ull);
        }
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

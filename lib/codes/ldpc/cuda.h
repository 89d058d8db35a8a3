/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Layered decoding of LDPC codes on a GPU: a block of threads has a codeword. Checks
 * without a common bit are computed at the same time, other checks in their order, so
 * that the result is that of one check after another.
 *
 * A program includes this file after namespace program, which
 * python/mimopack/cuda/ldpc.py writes. */
#pragma once
#include "codes/ldpc/kernel.h"
#include "cuda/lane.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The checks of a code that is not quasi-cyclic. The arrays are on the GPU. */
struct check_list {
    const int* first;      /* ones of the checks before each */
    const int* columns;    /* of the ones */
    const int* step_first; /* checks of the steps before each; a step's run at once */
    int steps;
};

struct write {
    MP_FN void operator()(lane& at, lane value) const { at = value; }
};

#ifdef MIMOPACK_CIRCULANTS

/* A quasi-cyclic code: each thread has the same row of all block rows, with its messages
 * in registers where they fit. kept: messages of one block after the other, or null. */
class ldpc_codeword
{
    template <int R>
    struct block_row {
        static constexpr int first = program::first[R], last = program::first[R + 1];
    };

public:
    MP_FN ldpc_codeword(lane* posterior, float* kept, const check_list&)
        : d_posterior(posterior), d_kept(kept)
    {
        each_block_row([this](auto row) {
            MP_UNROLL_DEVICE
            for (int e = row.first; e < row.last; ++e) {
                d_message[e].v = d_kept ? d_kept[e * program::size + threadIdx.x] : 0.0f;
                if (d_kept)
                    bit(e) = bit(e) + d_message[e];
            }
        });
    }

    MP_FN void keep()
    {
        if (d_kept && threadIdx.x < program::size) {
            MP_UNROLL_DEVICE
            for (int e = 0; e < program::edges; ++e)
                d_kept[e * program::size + threadIdx.x] = d_message[e].v;
        }
    }

    MP_FN void iterate()
    {
        each_block_row([this](auto row) {
            lane own[program::largest];
            min_sum_check(
                row.last - row.first,
                program::rule,
                own,
                [=](int e) -> lane& { return bit(row.first + e); },
                [=](int e) -> lane& { return d_message[row.first + e]; },
                write());
        });
    }

    MP_FN bool is_codeword()
    {
        int failed = 0;
        each_block_row<false>([&](auto row) {
            failed |= check_signs<lane>(row.last - row.first, [=](int e) -> lane& {
                          return bit(row.first + e);
                      }).v;
        });
        return __syncthreads_and(failed >= 0);
    }

private:
    lane* const d_posterior;
    float* const d_kept;
    lane d_message[program::edges];

    MP_FN lane& bit(int block)
    {
        int row = threadIdx.x + program::shift[block];
        row -= row >= program::size ? program::size : 0;
        return d_posterior[program::column[block] * program::size + row];
    }

    /* Call own(row) for each block row, in the threads that have a row of it. WAIT:
     * synchronise after each. */
    template <bool WAIT = true, int R = 0, class Row>
    MP_FN void each_block_row(Row own)
    {
        if constexpr (R < program::block_rows) {
            if (threadIdx.x < program::size)
                own(block_row<R>());
            if (WAIT)
                __syncthreads();
            each_block_row<WAIT, R + 1>(own);
        }
    }
};

#else

/* A codeword of any code. The messages are kept. */
class ldpc_codeword
{
    MP_FN auto bits(int check) const
    {
        return [all = d_posterior, column = d_h.columns + d_h.first[check]](
                   int e) -> lane& { return all[column[e]]; };
    }

public:
    MP_FN ldpc_codeword(lane* posterior, float* kept, const check_list& h)
        : d_posterior(posterior), d_message(reinterpret_cast<lane*>(kept)), d_h(h)
    {
        each_check([this](int c) {
            for (int e = d_h.first[c]; e < d_h.first[c + 1]; ++e) {
                lane& all = d_posterior[d_h.columns[e]];
                all = all + d_message[e];
            }
        });
    }

    MP_FN void keep() {}

    MP_FN void iterate()
    {
        each_check([this](int c) {
            lane own[program::largest];
            min_sum_check(
                degree(c),
                program::rule,
                own,
                bits(c),
                [at = d_message + d_h.first[c]](int e) -> lane& { return at[e]; },
                write());
        });
    }

    MP_FN bool is_codeword()
    {
        int failed = 0;
        for (int c = threadIdx.x; c < d_h.step_first[d_h.steps]; c += MIMOPACK_THREADS)
            failed |= check_signs<lane>(degree(c), bits(c)).v;
        return __syncthreads_and(failed >= 0);
    }

private:
    lane* const d_posterior;
    lane* const d_message;
    const check_list d_h;

    MP_FN int degree(int check) const { return d_h.first[check + 1] - d_h.first[check]; }

    template <class Check>
    MP_FN void each_check(Check check)
    {
        for (int s = 0; s < d_h.steps; ++s) {
            for (int c = d_h.step_first[s] + threadIdx.x; c < d_h.step_first[s + 1];
                 c += MIMOPACK_THREADS)
                check(c);
            __syncthreads();
        }
    }
};

#endif

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* n codewords, a row for each: llr -> posterior, whether it ended with a codeword and
 * after how many iterations. messages: codewords x ones, read and written, or null.
 * erased: increased by the number of codewords whose LLRs are not all numbers, or are
 * all 0. */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    decode(unsigned long long n,
           int iterations,
           const float* __restrict__ llr,
           float* posterior,
           float* messages,
           bool* __restrict__ found,
           int* __restrict__ taken,
           unsigned long long* erased,
           const int* __restrict__ first,
           const int* __restrict__ columns,
           const int* __restrict__ step_first,
           int steps)
{
    using namespace mimopack::MIMOPACK_ISA;
    extern __shared__ float shared[];
    for (unsigned long long w = blockIdx.x; w < n; w += gridDim.x) {
        const float* const in = llr + w * program::num_bits;
        float* const out = posterior + w * program::num_bits;
        float* const bits = program::in_shared ? shared : out;
        bool finite = true, said = false;
        for (int i = threadIdx.x; i < program::num_bits; i += MIMOPACK_THREADS) {
            bits[i] = in[i];
            finite = finite && isfinite(in[i]);
            said = said || in[i] != 0.0f;
        }
        const bool usable = __syncthreads_and(finite) & __syncthreads_or(said);
        bool is_codeword = false;
        int i = 0;
        if (usable) {
            ldpc_codeword word(reinterpret_cast<lane*>(bits),
                               messages ? messages + w * program::ones : nullptr,
                               { first, columns, step_first, steps });
            is_codeword = program::early_stop && word.is_codeword();
            for (; i < iterations && !is_codeword; ++i) {
                word.iterate();
                is_codeword =
                    (program::early_stop || i + 1 == iterations) && word.is_codeword();
            }
            word.keep();
        }
        for (int b = threadIdx.x; b < program::num_bits; b += MIMOPACK_THREADS)
            if (program::in_shared || !usable)
                out[b] = usable ? bits[b] : 0.0f;
        if (threadIdx.x == 0) {
            found[w] = is_codeword;
            taken[w] = i;
            if (!usable)
                atomicAdd(erased, 1ull);
        }
        __syncthreads(); /* before the next one's LLRs come */
    }
}

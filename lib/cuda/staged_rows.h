/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of a warp's vectors in shared memory. The next round's rows are loaded while
 * the warp works on the present rows. LLRs replace the rows that were read. */
#pragma once
#include "cuda/batch.h"
#include "cuda/kernel_traits.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Threads that each load and store rows of their own */
struct unstaged_rows {
    static constexpr bool used = false, takes_llr = false;
};

template <class Kernel>
class staged_rows
{
    static constexpr int nt = program::num_tx, nr = program::num_rx;
    static constexpr int num_llr = program::num_llr;
    using matrix_rows = warp_rows<2 * nr * nt>;
    using y_rows = warp_rows<2 * nr>;
    using llr_rows = warp_rows<num_llr>;
    static constexpr int y_at = matrix_rows::size, prior_at = y_at + y_rows::size;
    static constexpr int read = prior_at + (program::prior_given ? llr_rows::size : 0);
    static constexpr int room = read > llr_rows::size ? read : llr_rows::size;
    static constexpr int warps = MIMOPACK_THREADS / 32;

public:
    /* Each vector has a matrix, each thread a vector, and shared memory has room for two
     * rounds. */
    static constexpr bool used =
        program::matrix_each && matrix_rows::possible && y_rows::possible &&
        llr_rows::possible && team_blocks<Kernel>(0) == 0 &&
        2 * room * warps * 16 <= 48 * 1024 - shared_bytes<Kernel>(0);
    static constexpr bool takes_llr = used && !program::as_int8;

    /* Begin to copy the rows of the chunks from first on. */
    MP_FN static void
    bring(const batch& all, unsigned long long first, int rows, int turn)
    {
        if constexpr (used) {
            if (first < all.chunks) {
                float4* const to = tile(turn);
                matrix_rows::load(all.h + first * (2 * nr * nt), rows, to);
                y_rows::load(all.y + first * (2 * nr), rows, to + y_at);
                if constexpr (program::prior_given)
                    llr_rows::load(all.prior + first * num_llr, rows, to + prior_at);
            }
            rows_are_under_way();
        }
    }

    /* A thread without a vector reads the first thread's rows. */
    MP_FN static void load_matrix(int turn, bool exists, lane* to)
    {
        load_row<nr * nt>(own<matrix_rows>(tile(turn), exists), to);
    }

    MP_FN static void load_received(int turn, bool exists, lane* to)
    {
        load_row<nr>(own<y_rows>(tile(turn) + y_at, exists), to);
    }

    MP_FN static const float* prior(int turn, bool exists)
    {
        return own<llr_rows>(tile(turn) + prior_at, exists);
    }

    /* Store the LLRs of the chunks from first on. A warp's threads come here together.
     */
    MP_FN static void store(const batch& all,
                            const lane* ordered,
                            unsigned long long first,
                            int rows,
                            int turn)
    {
        __syncwarp();
        store_llr<num_llr>(ordered, llr_rows::own(tile(turn)));
        __syncwarp();
        llr_rows::store(tile(turn), rows, static_cast<float*>(all.llr) + first * num_llr);
    }

private:
    MP_FN static float4* tile(int turn)
    {
        __shared__ float4 tiles[warps][2][room];
        return tiles[threadIdx.x / 32][turn];
    }

    template <class Rows>
    MP_FN static float* own(float4* rows, bool exists)
    {
        return exists ? Rows::own(rows) : reinterpret_cast<float*>(rows);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* K-best (see detectors/kbest/kernel.h) by teams of threads, for square QAM. A thread
 * decomposes the matrix of a vector of its own and writes its LLRs. In between, the team
 * searches the vectors of all its threads, one after another. Gain over a thread for each
 * vector on an H200: 6 (4x4 16-QAM, k = 32) to 12 (64-QAM, k = 64). */
#pragma once
#include "detectors/kbest/cuda_team_search.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int NT, int NR, int WIDTH, int K, int TEAM>
class team_kbest
{
    using search = team_search<WIDTH, K, TEAM>;
    static constexpr int nt = program::num_tx;
    static constexpr int bits = 2 * WIDTH;
    static constexpr int warps = MIMOPACK_THREADS / 32, teams = 32 / TEAM;
    static constexpr int unrolled = search::unrolled, row_size = search::row_size;

    /* Vectors of a warp that have their models in shared memory at a time */
    static constexpr int rows_at_once(int most = 32)
    {
        return most > teams && most * row_size > 2048 ? rows_at_once(most / 2) : most;
    }
    static constexpr int at_once = rows_at_once();

    struct storage {
        float row[warps][at_once][row_size];
        typename search::workspace of[warps][teams];
    };

public:
    using mask = lane::mask;
    static constexpr int shared_bytes = sizeof(storage);
    static constexpr bool possible = shared_bytes <= 47 * 1024;
    static constexpr int team_blocks = 8;

    MP_FN team_kbest(arena<lane>& a, const constellation& c, int nt_, int nr, float clip)
        : d_clip(clip),
          d_columns(a, nt_, nr),
          d_tree(a, c, nt_, nr, 0),
          d_prior(a, nt_ * bits),
          d_llr(a, nt_ * bits)
    {
        static_assert(possible);
    }

    MP_FN void use_rows(int rows) { d_rows = rows; }

    MP_FN void prepare(const lane* h)
    {
        d_columns.sort_by_norm(h);
        d_tree.prepare(&d_columns.h[0]);
    }

    /* A warp's threads come here together. */
    MP_FN mask detect(const lane* y, lane noise_var, const lane* prior, lane* llr)
    {
        __shared__ storage s;
        const int warp = threadIdx.x / 32, in_warp = threadIdx.x % 32;
        const mask usable = d_tree.receive(y, noise_var);
        if constexpr (program::has_prior)
            d_columns.to_columns(prior, bits, &d_prior[0]);
        float* const own = s.row[warp][in_warp % at_once];
#pragma unroll 1
        for (int first = 0; first < d_rows; first += at_once) {
            const bool turn = in_warp / at_once == first / at_once;
            if (turn)
                put(own);
            __syncwarp();
#pragma unroll 1
            for (int i = 0; i < at_once && i < d_rows - first; i += teams) {
                const int team = in_warp / TEAM;
                search(s.row[warp][i + team], s.of[warp][team]).run();
            }
            if (turn)
                take(own);
            __syncwarp();
        }
        d_columns.to_layers(&d_llr[0], bits, llr);
        return usable;
    }

private:
    const float d_clip;
    ordered_columns<lane, NT, NR> d_columns;
    path_tree<lane, NT, NR, WIDTH> d_tree;
    buffer<lane, NT * bits> d_prior, d_llr;
    int d_rows = 32;

    MP_FN void put(float* row) const
    {
#pragma unroll(unrolled)
        for (int i = 0; i < nt; ++i) {
            float* const to = row + search::place(i);
            to[0] = d_tree.target(i)[0].v;
            to[1] = d_tree.target(i)[1].v;
            to[2] = d_tree.weight(i).v;
#pragma unroll(unrolled)
            for (int j = i + 1; j < nt; ++j) {
                to[1 + 2 * (j - i)] = d_tree.coefficient(i, j)[0].v;
                to[2 + 2 * (j - i)] = d_tree.coefficient(i, j)[1].v;
            }
        }
#pragma unroll(unrolled)
        for (int i = 0; program::has_prior && i < nt; ++i)
            search::set_costs(row, i, &d_prior[i * bits]);
    }

    /* Clipping limits how far an LLR moves from its prior. */
    MP_FN void take(const float* row)
    {
#pragma unroll(unrolled* bits)
        for (int b = 0; b < nt * bits; ++b) {
            const lane known = program::has_prior ? d_prior[b] : lane(0.0f);
            d_llr[b] = clipped(known, search::moved(row, b / bits, b % bits), d_clip);
        }
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

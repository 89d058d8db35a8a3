/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The search tree of a vector, which a team of threads searches: the triangular system in
 * shared memory, and the nodes. A level is a layer, so that a node has a child for each
 * point of the constellation. */
#pragma once
#include "common/qr.h"
#include "common/slicing.h"
#include "common/soft_symbols.h"
#include "cuda/batch.h"
#include "cuda/team_gram.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* The threads of a team, at least one for each layer. For 1024-QAM the stacks of several
 * teams of a warp would not fit into shared memory. */
constexpr int tree_threads = program::width > 4     ? 32
                             : program::num_tx <= 8 ? 8
                                                    : power_of_two(program::num_tx);

/* A node: the symbols from the top level down, the last one in the lowest bits, with a 1
 * in front. The lowest bits of all count the node's rows that were searched before. */
template <int WIDTH>
struct tree_path {
    static constexpr int nt = program::num_tx, bits = 2 * WIDTH;
    static constexpr int words = ((nt - 1) * bits + 1 + WIDTH + 31) / 32;
    unsigned word[words];

    MP_FN static tree_path root()
    {
        tree_path p = {};
        p.word[0] = 1u << WIDTH;
        return p;
    }

    /* The level of its children */
    MP_FN int level() const
    {
        int highest = 31 - __clz(word[0]);
        MP_UNROLL
        for (int w = 1; w < words; ++w)
            highest = word[w] ? 32 * w + 31 - __clz(word[w]) : highest;
        return nt - 1 - (highest - WIDTH) / bits;
    }

    MP_FN int rows_done() const { return word[0] & ((1 << WIDTH) - 1); }
    MP_FN void set_rows_done(int rows)
    {
        word[0] = (word[0] & ~((1u << WIDTH) - 1)) | rows;
    }

    MP_FN tree_path child(int symbol) const
    {
        tree_path p = *this;
        p.set_rows_done(0);
        MP_UNROLL
        for (int w = words - 1; w > 0; --w)
            p.word[w] = p.word[w] << bits | p.word[w - 1] >> (32 - bits);
        p.word[0] = p.word[0] << bits | symbol << WIDTH;
        return p;
    }

    /* Remove the lowest bits. */
    MP_FN void drop(int count)
    {
        MP_UNROLL
        for (int w = 0; w < words - 1; ++w)
            word[w] = word[w] >> count | word[w + 1] << (32 - count);
        word[words - 1] >>= count;
    }

    /* The symbol of a level above the node's children; lowest is the level of the last
     * symbol. */
    MP_FN int symbol(int level, int lowest) const
    {
        const int at = WIDTH + bits * (level - lowest);
        unsigned found = 0;
        MP_UNROLL
        for (int w = 0; w < words; ++w) {
            found |= w == at / 32 ? word[w] >> at % 32 : 0u;
            found |= w == at / 32 + 1 && at % 32 ? word[w] << (32 - at % 32) : 0u;
        }
        return found & ((1 << bits) - 1);
    }
};

/* What the levels of one axis, counted from 0, add to a metric: w (u - k)^2, and the
 * costs of a-priori LLRs */
template <int WIDTH>
struct tree_axis {
    static constexpr int side = 1 << WIDTH;
    float u, w, least;
    int nearest; /* level with the least sum */
    const float* cost;

    tree_axis() = default;
    MP_FN tree_axis(float u_, float w_, const float* cost_) : u(u_), w(w_), cost(cost_)
    {
        if constexpr (program::has_prior) {
            nearest = 0;
            least = at(0);
            MP_UNROLL_BY(4)
            for (int k = 1; k < side; ++k) {
                const float other = at(k);
                nearest = other < least ? k : nearest;
                least = fminf(least, other);
            }
        } else {
            nearest = __float2int_rn(fminf(fmaxf(u, 0.0f), side - 1.0f));
            least = at(nearest);
        }
    }

    MP_FN float at(int k) const
    {
        const float e = u - k;
        return program::has_prior ? fmaf(w * e, e, cost[k]) : w * e * e;
    }

    /* The levels that keep a metric below a limit */
    MP_FN unsigned below(float metric, float limit) const
    {
        unsigned levels = 0;
        MP_UNROLL_BY(8)
        for (int k = 0; k < side; ++k)
            levels |= metric + at(k) < limit ? 1u << k : 0u;
        return levels;
    }

    /* The level of a set that is nearest to u */
    MP_FN int nearest_of(unsigned levels) const
    {
        const int middle = __float2int_rn(fminf(fmaxf(u, 0.0f), side - 1.0f));
        const unsigned upper = levels & ~0u << middle;
        const int above = __ffs(upper) - 1, below = 31 - __clz(levels & ~upper);
        if (above < 0 || below < 0)
            return above < 0 ? below : above;
        return above + below < 2.0f * u ? above : below;
    }

    /* The level of a set that is farthest from u */
    MP_FN int farthest(unsigned levels) const
    {
        const int first = __ffs(levels) - 1, last = 31 - __clz(levels);
        return first + last < 2.0f * u ? first : last;
    }

    /* The levels that are left when the farthest `count` ones are removed */
    MP_FN unsigned nearer(int count) const
    {
        unsigned levels = ~0u >> (32 - side);
        for (; count; --count)
            levels &= ~(1u << farthest(levels));
        return levels;
    }

    /* The number of levels up to k, from the farthest one on */
    MP_FN int rank(int k) const
    {
        unsigned levels = ~0u >> (32 - side);
        int count = 0;
        for (; levels >> k & 1; ++count)
            levels &= ~(1u << farthest(levels));
        return count;
    }
};

/* The system of a team's vector, by sorted QR decomposition (see common/sorted_qr.h):
 *
 *     |y - H x|^2 = sum_i w_i |v_i - sum_{j>i} c_ij k_j - k_i|^2 + ...,
 *
 * where k are the points of the constellation, in steps of 1 from 0 on each axis. Each
 * thread has a layer. */
template <int WIDTH>
class team_tree
{
public:
    static constexpr int nt = program::num_tx, nr = program::num_rx;
    static constexpr int threads = tree_threads, side = 1 << WIDTH, bits = 2 * WIDTH;
    static constexpr bool with_prior = program::has_prior;
    using axis = tree_axis<WIDTH>;
    using path = tree_path<WIDTH>;

    struct storage {
        alignas(16) float2 row[nr]; /* a column of H, or y */
        float2 c[nt][nt], v[nt];
        float w[nt];
        float cost[with_prior ? nt : 1][2][with_prior ? side : 1];

        /* What is left at a level for the symbols of a path */
        MP_FN void residual(int level, path above, float& re, float& im) const
        {
            re = v[level].x;
            im = v[level].y;
            above.drop(WIDTH);
#pragma unroll 1
            for (int j = level + 1; j < nt; ++j) {
                const float2 c_j = c[level][j];
                const float k_re = above.word[0] & (side - 1),
                            k_im = above.word[0] >> WIDTH & (side - 1);
                re = fmaf(-c_j.x, k_re, fmaf(c_j.y, k_im, re));
                im = fmaf(-c_j.x, k_im, fmaf(-c_j.y, k_re, im));
                above.drop(bits);
            }
        }
    };

    /* The children of a node: what a level's axes add to its metric */
    struct children {
        int level;
        axis re, im;

        MP_FN children(const storage& s, const path& p) : level(p.level())
        {
            float u[2];
            s.residual(level, p, u[0], u[1]);
            const auto& cost = s.cost[with_prior ? level : 0];
            re = axis(u[0], s.w[level], cost[0]);
            im = axis(u[1], s.w[level], cost[1]);
        }

        MP_FN int nearest() const { return re.nearest | im.nearest << WIDTH; }
        MP_FN float least(float metric) const { return metric + im.least + re.least; }
    };

    storage& at;
    const int rank; /* in the team */
    int place = 0;  /* level of the thread's layer */

    MP_FN team_tree(storage& s, int rank_) : at(s), rank(rank_) {}
    MP_FN bool has_layer() const { return rank < nt; }
    MP_FN int layer() const { return has_layer() ? rank : nt - 1; }

    /* Decompose a matrix. Return whether it is finite and of full rank, as far as the
     * thread's layer tells. */
    MP_FN bool decompose(const float* h)
    {
        float norm2 = 0.0f;
        MP_UNROLL_BY(step)
        for (int r = 0; r < nr; ++r) {
            float2 x = reinterpret_cast<const float2*>(h)[r * nt + layer()];
            if constexpr (program::has_layers) {
                const grid_layer& own = program::points.layers[layer()];
                x = float2{ x.x * own.turn[0] - x.y * own.turn[1],
                            x.x * own.turn[1] + x.y * own.turn[0] };
            }
            d_column[r] = x;
            norm2 = fmaf(x.x, x.x, fmaf(x.y, x.y, norm2));
        }
        bool usable = norm2 < largest_energy; /* false for NaN, too */
        if (!usable || !has_layer()) {
            norm2 = 0.0f;
            MP_UNROLL_BY(step)
            for (int r = 0; r < nr; ++r)
                d_column[r] = float2{ 0.0f, 0.0f };
        }
        float left = has_layer() ? norm2 : infinity; /* once it has a level: infinity */
#pragma unroll 1
        for (int i = 0; i < nt; ++i) {
            const float least =
                over_team<threads>(left, [](float a, float b) { return fminf(a, b); });
            const unsigned candidates =
                __ballot_sync(~0u, left == least && (left < infinity)) >>
                (threadIdx.x % 32 / threads * threads);
            const int pivot = __ffs(candidates & (~0u >> (32 - threads))) - 1;
            float inverse = 0.0f;
            __syncwarp();
            if (rank == pivot) {
                float sum = 0.0f;
                MP_UNROLL_BY(step)
                for (int r = 0; r < nr; ++r) {
                    const float2 x = d_column[r];
                    at.row[r] = x;
                    sum = fmaf(x.x, x.x, fmaf(x.y, x.y, sum));
                }
                const bool independent =
                    rank_tolerance2(nr) * norm2 < sum && least_energy < sum;
                usable = usable && independent;
                inverse = d_inverse = independent ? reciprocal(sum) : 0.0f;
                at.w[i] = sum * unit() * unit();
                place = i;
                left = infinity;
            }
            inverse = __shfl_sync(~0u, inverse, pivot, threads);
            __syncwarp();
            float2 c = { 0.0f, 0.0f };
            MP_UNROLL_BY(step)
            for (int r = 0; r < nr; ++r)
                add_conjugate(at.row[r], d_column[r], c);
            c = float2{ c.x * inverse, c.y * inverse };
            if (has_layer())
                at.c[i][rank] = c;
            if (left < infinity) {
                float sum = 0.0f;
                MP_UNROLL_BY(step)
                for (int r = 0; r < nr; ++r) {
                    const float2 q = at.row[r];
                    float2& x = d_column[r];
                    x.x = fmaf(-c.x, q.x, fmaf(c.y, q.y, x.x));
                    x.y = fmaf(-c.x, q.y, fmaf(-c.y, q.x, x.y));
                    sum = fmaf(x.x, x.x, fmaf(x.y, x.y, sum));
                }
                left = sum;
            }
        }
        sort_columns();
        return usable;
    }

    /* Set the system of a vector; return whether the vector is finite. */
    MP_FN bool rotate(const float* y)
    {
        for (int r = rank; r < nr; r += threads)
            at.row[r] = reinterpret_cast<const float2*>(y)[r];
        __syncwarp();
        float energy = 0.0f;
        float2 z = { 0.0f, 0.0f };
        MP_UNROLL_BY(step)
        for (int r = 0; r < nr; ++r) {
            const float2 x = at.row[r];
            energy = fmaf(x.x, x.x, fmaf(x.y, x.y, energy));
            add_conjugate(d_column[r], x, z);
        }
        const float scale = d_inverse / unit();
        if (has_layer())
            at.v[place] =
                float2{ fmaf(z.x, scale, d_offset.x), fmaf(z.y, scale, d_offset.y) };
        __syncwarp();
        return energy < largest_energy;
    }

    /* Set the costs of the layer's a-priori LLRs, in canonical order. */
    MP_FN void set_costs(const lane* prior, lane noise)
    {
        MP_UNROLL
        for (int axis = 0; axis < 2; ++axis) {
            lane cost[side];
            axis_penalties<WIDTH>(prior + axis * WIDTH, cost);
            MP_UNROLL
            for (int k = 0; k < side; ++k)
                if (has_layer())
                    at.cost[place][axis][k] = cost[k].v * noise.v;
        }
        __syncwarp();
    }

private:
    /* of loops over a column, which is in registers if it is short */
    static constexpr int step = nr <= 16 ? nr : 4;
    float2 d_column[nr]; /* of H; of Q once the layer has a level */
    float d_inverse;     /* 1 / |q|^2, or 0 */
    float2 d_offset;     /* of v, as k begins at 0 */

    /* The distance between levels of an axis */
    MP_FN static float unit() { return 2.0f * program::points.scale; }

    /* Put the layers' columns of c in their places, and set the offset. */
    MP_FN void sort_columns()
    {
        __syncwarp();
#pragma unroll 1
        for (int i = 0; i < nt; ++i) {
            const float2 own = at.c[i][layer()];
            __syncwarp();
            if (has_layer())
                at.c[i][place] = own;
        }
        __syncwarp();
        /* the symbol at k = 0, with its shift (see grid_layer), of each level */
        constexpr float half = 0.5f * (side - 1);
        float2 own = { half, half };
        if constexpr (program::has_layers) {
            const float* const shift = program::points.layers[layer()].shift;
            own = float2{ half - shift[0] / unit(), half - shift[1] / unit() };
        }
        if (has_layer())
            at.v[place] = own;
        __syncwarp();
        for (int j = place + 1; j < nt; ++j)
            add_product(at.c[place][j], at.v[j], own);
        d_offset = own;
        __syncwarp();
    }

    /* sum += a b */
    MP_FN static void add_product(float2 a, float2 b, float2& sum)
    {
        sum.x = fmaf(a.x, b.x, fmaf(-a.y, b.y, sum.x));
        sum.y = fmaf(a.x, b.y, fmaf(a.y, b.x, sum.y));
    }

    /* sum += a^* b */
    MP_FN static void add_conjugate(float2 a, float2 b, float2& sum)
    {
        sum.x = fmaf(a.x, b.x, fmaf(a.y, b.y, sum.x));
        sum.y = fmaf(a.x, b.y, fmaf(-a.y, b.x, sum.y));
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* K-best (see detectors/kbest/kernel.h) with one thread for each vector, for short lists.
 *
 * The metric of a QAM symbol is a sum over its axes, so the children of a survivor are
 * found one by one from the sorted levels of the axes. After the child of levels (i, j),
 * by rank, comes (i, j + 1), and where j = 0 also (i + 1, 0). A sorted queue of children,
 * in registers, begins with each survivor's best child. K times its head is taken, and
 * the children after it are put in. The queue keeps no more children than are still to be
 * taken.
 *
 * A child is a key: its metric in fixed point, and below it where it comes from. A table
 * in shared memory has the step from each level's key to the next one's, so that one sum
 * makes the next key.
 *
 * Square QAM of up to three bits per axis. */
#pragma once
#include "cuda/registers.h"
#include "cuda/sizes.h"
#include "detectors/kbest/cuda_array_team.h"
#include "detectors/kbest/cuda_team.h"
#include "detectors/kbest/kernel.h"

namespace mimopack {
namespace MIMOPACK_ISA {

template <int NT, int NR, int WIDTH, int K>
class queue_kbest
{
    static constexpr int side = 1 << WIDTH, size = side * side, bits = 2 * WIDTH;
    static constexpr int threads = MIMOPACK_THREADS;
    /* A key's fields from the lowest: k_im, survivor, k_re, whether it is beyond its
     * row's first, metric */
    static constexpr int index_bits = bits_for(K), capacity = 1 << index_bits;
    static constexpr unsigned not_first = 1u << (bits + index_bits);
    static constexpr int origin_bits = bits + index_bits + 1;
    static constexpr int metric_bits = origin_bits < 9 ? 22 : 31 - origin_bits;
    /* Larger than each key in use; its sum with one of them is still in range. */
    static constexpr unsigned never = 1u << 31;
    static constexpr float metric_steps = (1 << metric_bits) - 1;
    static constexpr float bound_key = 0.999f * metric_steps;
    static constexpr float magic = 1 << 23; /* a sum with it is rounded */
    static constexpr unsigned magic_word = 0x4b000000;

    struct tables {
        unsigned im[side * capacity][threads], re[side * capacity][threads];
        unsigned path[capacity][threads];

        /* The metric of a survivor, whose table replaces it later */
        MP_FN unsigned& metric(int survivor) { return re[survivor][threadIdx.x]; }
    };

public:
    using mask = lane::mask;
    static constexpr int shared_bytes = sizeof(tables);
    static constexpr bool possible =
        bits * NT < 32 && shared_bytes <= 47 * 1024 && metric_bits >= 18;

    MP_FN queue_kbest(arena<lane>& a, const constellation& c, float clip)
        : d_scale(c.scale), d_clip(clip), d_columns(a, NT, NR), d_qr(a, NT, NR)
    {
    }

    MP_FN void prepare(const lane* h)
    {
        d_columns.sort_by_norm(h);
        d_qr.decompose(&d_columns.h[0]);
    }

    MP_FN mask detect(const lane* y, lane noise_var, const lane* prior, lane* llr)
    {
        __shared__ tables t;
        search s{ t };
        const mask usable = d_qr.usable & s.system.set(d_qr, y, d_scale);
        const float unit = reciprocal(noise_var).v;
        MP_UNROLL
        for (int i = 0; i < NT; ++i)
            s.system.w[i] *= unit;
        lane known[NT * bits], by_column[NT * bits];
        if constexpr (program::has_prior) {
            d_columns.to_columns(prior, bits, known);
            s.set_costs(known);
        }
        t.path[0][threadIdx.x] = 0;
        t.metric(0) = 0;
        s.template expand<NT - 1>();
        s.collect(known, d_clip, by_column);
        d_columns.to_layers(by_column, bits, llr);
        return usable;
    }

private:
    const float d_scale, d_clip;
    ordered_columns<lane, NT, NR> d_columns;
    unscaled_qr<lane, NT, NR> d_qr;

    static constexpr int least_of(int a, int b) { return a < b ? a : b; }

    /* The number of paths that a level leaves, 1 above the top */
    static constexpr int survivors(int level)
    {
        return level == NT ? 1 : least_of(K, survivors(level + 1) * size);
    }

    /* Where an axis stands in a path; symbol() needs the lowest bit. */
    static constexpr int place(int level, int axis)
    {
        return 1 + level * bits + axis * WIDTH;
    }

    struct search {
        tables& t;
        register_system<NT, WIDTH> system;
        float cost[NT][2][side]; /* of levels by a prior, at least 0 */

        MP_FN explicit search(tables& shared) : t(shared) {}

        MP_FN void set_costs(const lane* prior)
        {
            MP_UNROLL
            for (int axis = 0; axis < 2 * NT; ++axis) {
                lane of[side];
                axis_penalties<WIDTH>(prior + axis * WIDTH, of);
                MP_UNROLL
                for (int k = 0; k < side; ++k)
                    cost[axis / 2][axis % 2][k] = of[k].v;
            }
        }

        /* An axis's level, from the path's bits as a float's */
        MP_FN static float symbol(unsigned path, int level, int axis)
        {
            const int from = place(level, axis), shift = from + WIDTH > 23 ? 12 : 0;
            const float unit = 1.0f / (1u << (from - shift));
            const unsigned field = path >> shift & (side - 1u) << (from - shift);
            return fmaf(__uint_as_float(field | magic_word),
                        unit,
                        -magic * unit + axis_level<WIDTH>(0));
        }

        /* The part of y that a path leaves at a level */
        template <int LEVEL>
        MP_FN void residual(unsigned path, float (&left)[2]) const
        {
            left[0] = system.v[2 * LEVEL];
            left[1] = system.v[2 * LEVEL + 1];
            MP_UNROLL
            for (int j = LEVEL + 1; j < NT; ++j) {
                const float re = symbol(path, j, 0), im = symbol(path, j, 1);
                subtract_product(system.c[LEVEL][j], re, im, left[0], left[1]);
            }
        }

        /* start + unit times the metric of an axis's level */
        template <int LEVEL>
        MP_FN float
        part(const float (&left)[2], int axis, int k, float unit, float start) const
        {
            const float e = left[axis] - axis_level<WIDTH>(k);
            if constexpr (program::has_prior)
                start = fmaf(cost[LEVEL][axis][k], unit, start);
            return fmaf(e * (system.w[LEVEL] * unit), e, start);
        }

        template <int LEVEL>
        MP_FN void expand()
        {
            if constexpr (survivors(LEVEL + 1) * size <= K)
                take_all<LEVEL>();
            else
                take_best<LEVEL>();
            if constexpr (LEVEL > 0)
                expand<LEVEL - 1>();
        }

        /* The nearest child comes first, as bound() looks at the first survivors. */
        template <int LEVEL>
        MP_FN void take_all()
        {
            constexpr int parents = survivors(LEVEL + 1);
            const int own = threadIdx.x;
            unsigned path[parents];
            float metric[parents];
            MP_UNROLL
            for (int p = 0; p < parents; ++p) {
                path[p] = t.path[p][own];
                metric[p] = __uint_as_float(t.metric(p));
            }
            MP_UNROLL
            for (int p = 0; p < parents; ++p) {
                float left[2], of[2][side];
                residual<LEVEL>(path[p], left);
                int nearest = 0;
                MP_UNROLL
                for (int axis = 0; axis < 2; ++axis) {
                    int at = 0;
                    MP_UNROLL
                    for (int k = 0; k < side; ++k) {
                        of[axis][k] = part<LEVEL>(left, axis, k, 1.0f, 0.0f);
                        at += k > 0 && left[axis] > k - 0.5f * side;
                    }
                    nearest |= at << axis * WIDTH;
                }
                MP_UNROLL
                for (int s = 0; s < size; ++s) {
                    const int to = p * size + (s ^ nearest);
                    t.path[to][own] = path[p] | static_cast<unsigned>(s)
                                                    << place(LEVEL, 0);
                    t.metric(to) =
                        __float_as_uint(metric[p] + of[0][s % side] + of[1][s / side]);
                }
            }
        }

        /* At least the metric of the K-th best child: enough children of the first
         * survivors are no worse. */
        template <int LEVEL>
        MP_FN float bound() const
        {
            float worst = 1e-25f;
            MP_UNROLL
            for (int p = 0; p < survivors(LEVEL + 1) && p * size < K; ++p) {
                float left[2], own = __uint_as_float(t.metric(p));
                residual<LEVEL>(t.path[p][threadIdx.x], left);
                MP_UNROLL
                for (int axis = 0; axis < 2; ++axis) {
                    lane of[side];
                    MP_UNROLL
                    for (int k = 0; k < side; ++k)
                        of[k].v = part<LEVEL>(left, axis, k, 1.0f, 0.0f);
                    sort_runs<side, 1>(of);
                    own += of[reach(K, side) - 1].v;
                }
                worst = fmaxf(worst, own);
            }
            return worst;
        }

        MP_FN static unsigned fixed(float with_magic)
        {
            return __float_as_uint(fminf(with_magic, magic + metric_steps)) - magic_word;
        }

        /* Sort the keys of an axis and note the step from each to the next one, at the
         * place of the key's level. Return the first key. */
        MP_FN static unsigned
        make_table(sort_key (&key)[side], unsigned (*to)[threads], int stride, int shift)
        {
            sort_runs<side, 1>(key);
            MP_UNROLL
            for (int rank = 0; rank < side; ++rank) {
                const int k = key[rank].v >> shift & (side - 1);
                to[k * stride][threadIdx.x] =
                    rank + 1 < side ? key[rank + 1].v - key[rank].v : never;
            }
            return key[0].v;
        }

        template <int LEVEL>
        MP_FN void take_best()
        {
            constexpr int parents = survivors(LEVEL + 1), children = survivors(LEVEL);
            const int own = threadIdx.x;
            const float worst = bound<LEVEL>();
            const float unit = bound_key * reciprocal(lane(worst)).v;
            sort_key queue[K];
            MP_UNROLL
            for (int i = 0; i < K; ++i)
                queue[i].v = ~0u;
#pragma unroll 4
            for (int p = 0; p < parents; ++p) {
                float left[2];
                residual<LEVEL>(t.path[p][own], left);
                const unsigned metric =
                    fixed(fmaf(__uint_as_float(t.metric(p)), unit, magic))
                        << origin_bits |
                    p << WIDTH;
                unsigned first[2];
                MP_UNROLL
                for (int axis = 0; axis < 2; ++axis) {
                    const int shift = axis ? 0 : WIDTH + index_bits;
                    sort_key key[side];
                    MP_UNROLL
                    for (int k = 0; k < side; ++k)
                        key[k].v = fixed(part<LEVEL>(left, axis, k, unit, magic))
                                       << origin_bits |
                                   k << shift;
                    first[axis] = axis ? make_table(key, t.im + p * side, 1, shift)
                                       : make_table(key, t.re + p, capacity, shift);
                }
                const sort_key row = { metric + first[0] }, limit = { never };
                const unsigned head = min(row, limit).v + first[1];
                MP_UNROLL
                for (int i = 1; i < K; ++i)
                    queue[i - 1] = queue[i];
                queue[K - 1].v = head;
            }
            sort_runs<K, 1>(queue);
            unsigned taken[children];
            take(queue, taken);
            adopt<LEVEL>(taken, worst * (1.0f / bound_key));
        }

        /* Take the queue's heads, one after another, and put in the children after
         * each.
         */
        template <int COUNT>
        MP_FN void take(sort_key (&queue)[K], unsigned (&taken)[COUNT]) const
        {
            const int own = threadIdx.x;
            MP_UNROLL
            for (int n = 0; n < COUNT; ++n) {
                const unsigned key = queue[0].v;
                taken[n] = key;
                if (n + 1 == COUNT)
                    break;
                const unsigned step_im = t.im[key & (side * capacity - 1)][own],
                               step_re = t.re[key >> WIDTH & (side * capacity - 1)][own];
                sort_key low = { key + step_im | not_first },
                         high = { key & not_first ? ~0u : key + step_re };
                exchange(low, high);
                sort_key before[2] = { { 0 }, { 0 } };
                MP_UNROLL
                for (int i = 0; i + n + 1 < COUNT; ++i) {
                    const sort_key at = queue[i + 1];
                    queue[i] = min(at, max(before[0], low));
                    if (i > 0)
                        queue[i] = min(queue[i], max(before[1], high));
                    before[1] = before[0];
                    before[0] = at;
                }
            }
        }

        template <int LEVEL, int COUNT>
        MP_FN void adopt(const unsigned (&taken)[COUNT], float unit)
        {
            const int own = threadIdx.x;
            unsigned path[COUNT];
            MP_UNROLL
            for (int n = 0; n < COUNT; ++n) {
                const unsigned key = taken[n];
                path[n] = t.path[key >> WIDTH & (capacity - 1)][own] |
                          (key >> (WIDTH + index_bits) & (side - 1)) << place(LEVEL, 0) |
                          (key & (side - 1)) << place(LEVEL, 1);
            }
            MP_UNROLL
            for (int n = 0; n < COUNT; ++n) {
                t.path[n][own] = path[n];
                const float steps = __uint_as_float(taken[n] >> origin_bits | magic_word);
                t.metric(n) = __float_as_uint((steps - magic) * unit);
            }
        }

        /* -ln p of a survivor, up to a constant */
        template <int LEVEL = 0>
        MP_FN float distance(unsigned path) const
        {
            float left[2];
            residual<LEVEL>(path, left);
            left[0] -= symbol(path, LEVEL, 0);
            left[1] -= symbol(path, LEVEL, 1);
            const float own = system.w[LEVEL] * fmaf(left[0], left[0], left[1] * left[1]);
            if constexpr (LEVEL + 1 < NT)
                return own + distance<LEVEL + 1>(path);
            else
                return own;
        }

        MP_FN static bool bit(unsigned codes, int b)
        {
            return codes >> symbol_bits<WIDTH>::place(b) & 1;
        }

        /* Each bit's nearest survivors of both values. The best of all survivors has one
         * of the values, so only survivors whose bit differs from its bit count. */
        MP_FN void collect(const lane* known, float clip, lane* llr)
        {
            constexpr int count = survivors(0);
            const int own = threadIdx.x;
            float best = no_metric;
            unsigned chosen = 0;
#pragma unroll 4
            for (int c = 0; c < count; ++c) {
                const unsigned path = t.path[c][own], codes = gray(path);
                float metric = distance(path);
                if constexpr (program::has_prior) {
                    MP_UNROLL
                    for (int b = 0; b < NT * bits; ++b)
                        metric -= bit(codes, b) ? known[b].v : 0.0f;
                }
                t.path[c][own] = codes;
                t.metric(c) = __float_as_uint(metric);
                if (metric < best || c == 0)
                    chosen = codes;
                best = fminf(best, metric);
            }
            float other[NT * bits];
            MP_UNROLL
            for (int b = 0; b < NT * bits; ++b)
                other[b] = no_metric;
#pragma unroll 4
            for (int c = 0; c < count; ++c) {
                const unsigned differs = t.path[c][own] ^ chosen;
                const float metric = __uint_as_float(t.metric(c));
                MP_UNROLL
                for (int b = 0; b < NT * bits; ++b)
                    if (bit(differs, b))
                        other[b] = fminf(other[b], metric);
            }
            MP_UNROLL
            for (int b = 0; b < NT * bits; ++b) {
                const lane before = program::has_prior ? known[b] : lane(0.0f);
                const lane moved(bit(chosen, b) ? other[b] - best : best - other[b]);
                llr[b] = clipped(before, moved, clip);
            }
        }

        MP_FN static unsigned gray(unsigned path)
        {
            return gray_codes<WIDTH>(lane::word{ static_cast<int>(path >> place(0, 0)) })
                .v;
        }
    };
};

/* Whether a queue in registers has room for the list */
template <int NT, int NR, int WIDTH, int K>
constexpr bool queue_fits()
{
    if constexpr (!program::has_layers && NT > 1 && NT <= 4 && WIDTH > 0 && WIDTH <= 3 &&
                  K <= 16)
        return queue_kbest<NT, NR, WIDTH, K>::possible;
    else
        return false;
}

/* The threads of a team. Measured with 4x4 on an H200: with k = 32 teams of 8 are 1.4
 * (64-QAM) and 1.6 times as fast (16-QAM) as warps, with k = 64 teams of 16 1.2 times
 * (16-QAM) but 0.8 times (64-QAM). */
constexpr int team_size(int k)
{
    return k <= 16 ? 16 : k <= 32 ? 8 : k <= 64 && program::width <= 2 ? 16 : 32;
}

/* Whether a team searches. With shorter lists it gains 1.6 times only with 64-QAM. */
template <int NT, int NR, int WIDTH, int K>
constexpr bool team_fits()
{
    if constexpr (!program::has_layers && WIDTH > 0 && (K > 16 || (WIDTH == 3 && K >= 8)))
        return team_kbest<NT, NR, WIDTH, K, team_size(K)>::possible;
    else
        return false;
}

/* The number of layers from which such teams are faster than teams that get R from a
 * thread (H200: 1.1 to 5.9 times) */
template <int WIDTH, int K>
constexpr int layers_for_array_team()
{
    return K > 32 ? 33 : WIDTH > 2 ? (K <= 8 ? 5 : 8) : K <= 16 ? 5 : 6;
}

/* Whether teams take large arrays from H to LLRs */
template <int WIDTH, int K>
constexpr bool array_team_fits()
{
    if constexpr (fits_team_from(layers_for_array_team<WIDTH, K>()) &&
                  program::num_tx > 4 && WIDTH > 0 && K >= 8)
        return array_kbest<WIDTH, K, float>::possible;
    else
        return false;
}

/* Short lists in registers, longer ones by teams, and the CPU's form for any other. Sizes
 * are template parameters, so that only the chosen form is compiled. */
template <int NT = program::fixed_tx,
          int NR = program::fixed_rx,
          int WIDTH = program::width>
MP_FN auto make_kbest(arena<lane>& a)
{
    constexpr kbest_options o = program::options();
    if constexpr (queue_fits<NT, NR, WIDTH, o.k>())
        return queue_kbest<NT, NR, WIDTH, o.k>(a, program::points, o.llr_clip);
    else if constexpr (array_team_fits<WIDTH, o.k>())
        return team_kernel < array_kbest<WIDTH, o.k, float>,
               often_dependent && array_kbest<WIDTH, o.k, double>::possible > ();
    else if constexpr (team_fits<NT, NR, WIDTH, o.k>())
        return prepared<sized<team_kbest<NT, NR, WIDTH, o.k, team_size(o.k)>, NT>,
                        (NT > 4)>(a, program::points, layers(), antennas(), o.llr_clip);
    else
        return prepared<sized<kbest<lane, NT, NR, WIDTH>, NT>, (NT > 4)>(
            a, program::points, layers(), antennas(), o.k, o.llr_clip);
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A batch through a kernel: chunks of vectors to lanes, groups of lanes to threads.
 *
 * Compiled once per instruction set, so nothing of the standard library that is compiled
 * inline may be used here (see config.h). */
#pragma once
#include "common/bit_order.h"
#include "common/storage.h"
#include "cpu/plan.h"
#include "cpu/transpose.h"
#include <stdlib.h>

namespace mimopack {
namespace MIMOPACK_ISA {

/* A lane takes this many consecutive vectors, so that what depends on H alone is done
 * once for them: as many as share a matrix, or fewer where lanes or threads would stay
 * empty. */
MP_FN std::size_t chunk_length(const batch& b)
{
    const std::size_t wanted = static_cast<std::size_t>(simd::width) * b.threads;
    std::size_t chunk = b.per_channel;
    while (chunk > 1 && b.n / chunk < wanted) {
        do
            --chunk;
        while (b.per_channel % chunk);
    }
    return chunk;
}

/* Where a group's lanes are in the batch: a lane takes a chunk. Lanes past the end repeat
 * the last chunk and are not stored. */
struct lane_places {
    std::size_t chunk;
    std::size_t per_matrix; /* chunks that share a matrix */
    std::size_t first;      /* the first lane's chunk */
    int count;

    MP_FN lane_places(const batch& b, std::size_t chunk_, std::size_t group)
        : chunk(chunk_),
          per_matrix(b.per_channel / chunk),
          first(group * simd::width),
          count(simd::width)
    {
        if (b.n / chunk - first < simd::width)
            count = static_cast<int>(b.n / chunk - first);
    }
    MP_FN std::size_t vector(int lane) const
    {
        return (first + (lane < count ? lane : count - 1)) * chunk;
    }
    MP_FN std::size_t matrix(int lane) const
    {
        const std::size_t at = first + (lane < count ? lane : count - 1);
        return per_matrix == 1 ? at : at / per_matrix;
    }
};

/* Moves rows of `length` floats, one for each lane, from where they are in the batch to
 * lanes, and back; place(l) is the number of lane l's. Rows that are not evenly spaced go
 * through scratch, as many lanes as a row is long. */
template <class Place>
MP_FN void load_lanes(
    const float* base, bool even, Place place, int length, float* scratch, simd* lanes)
{
    if (even) {
        load_rows(
            base + place(0) * length, (place(1) - place(0)) * length, length, lanes);
        return;
    }
    for (int l = 0; l < simd::width; ++l)
        __builtin_memcpy(
            scratch + l * length, base + place(l) * length, length * sizeof(float));
    load_rows(scratch, length, length, lanes);
}

template <class Place>
MP_FN void store_lanes(
    float* base, int count, Place place, int length, float* scratch, const simd* lanes)
{
    if (count == simd::width) {
        store_rows(
            base + place(0) * length, (place(1) - place(0)) * length, length, lanes);
        return;
    }
    store_rows(scratch, length, length, lanes);
    for (int l = 0; l < count; ++l)
        __builtin_memcpy(
            base + place(l) * length, scratch + l * length, length * sizeof(float));
}

/* Asks for what is read or written next, where that leaves room in the first cache for
 * what is in use: the processor's own prefetching comes late, stops at every page's end,
 * and does not see through the steps of a chunk. */
template <bool WRITE, class T>
MP_FN void prefetch(const T* from, std::size_t count)
{
    constexpr std::size_t line = 64 / sizeof(T);
    if (count > 128 * line)
        return;
    for (std::size_t i = 0; i < count; i += line)
        __builtin_prefetch(from + i, WRITE);
}

/* The same as saturated integers */
template <class Place>
MP_FN void store_int8_lanes(
    const batch& b, int count, Place place, int length, float* scratch, simd* lanes)
{
    for (int i = 0; i < length; ++i)
        lanes[i] = max(min(lanes[i] * simd(b.int8_scale), simd(127.0f)), simd(-127.0f))
                       .to_word()
                       .to_float();
    store_rows(scratch, length, length, lanes);
    for (int l = 0; l < count; ++l)
        for (int i = 0; i < length; ++i)
            b.llr_int8[place(l) * length + i] =
                static_cast<std::int8_t>(scratch[l * length + i]);
}

/* What a detector has beyond vectors in and LLRs out: called round detect with the
 * vectors' places in the batch, vector[l] for lane l < count. */
struct no_extras {
    template <class Kernel>
    MP_FN void before(Kernel&, const std::size_t*, int) const
    {
    }
    template <class Kernel>
    MP_FN void after(Kernel&, const std::size_t*, int) const
    {
    }
};

/* NT, NR: sizes known when compiling, 0 where not. make(arena) constructs the kernel. */
template <int NT, int NR, class Make, class Extras = no_extras>
std::size_t
drive(const plan& p, const batch& b, Make make, const Extras& extras = Extras())
{
    constexpr int W = simd::width;
    const extent<NT> nt(p.num_tx);
    const extent<NR> nr(p.num_rx);
    const int bits = p.points.bits, num_llr = nt * bits;
    const std::size_t chunk = chunk_length(b);
    const std::size_t chunks = b.n / chunk;
    const std::size_t groups = (chunks + W - 1) / W;
    const int threads =
        groups < static_cast<std::size_t>(b.threads) ? (groups ? groups : 1) : b.threads;
    /* Shares are handed out as threads get free: in a flowgraph other blocks run on the
     * same cores, and the batch would wait for the thread that was held up. */
    const std::size_t eighth = groups / (8 * threads);
    const int share = static_cast<int>(eighth < 1 ? 1 : eighth > 32 ? 32 : eighth);
    std::size_t erased = 0;
    int failed = 0;
#pragma omp parallel num_threads(threads) reduction(+ : erased, failed) if (threads > 1)
    {
        arena<simd> space;
        make(space); /* counts what the kernel takes */
        const int longest = 2 * nr * nt > num_llr ? 2 * nr * nt : num_llr;
        const std::size_t own = 2 * nr * nt + 2 * nr + 4 * num_llr + longest;
        void* memory = nullptr;
        if (posix_memalign(&memory, 64, (space.used + own) * sizeof(simd))) {
            failed = 1;
            memory = nullptr;
        }
        space = arena<simd>{ static_cast<simd*>(memory), 0 };
        simd* const h = space.take(2 * nr * nt);
        simd* const y = space.take(2 * nr);
        simd* const prior = space.take(num_llr);
        simd* const canonical = space.take(num_llr);
        simd* const llr = space.take(num_llr);
        simd* const ordered = space.take(num_llr);
        float* const scratch = reinterpret_cast<float*>(space.take(longest));
        auto kernel = make(space);
        simd noise_var(b.noise_var[0]);

#pragma omp for schedule(dynamic, share)
        for (std::size_t g = 0; g < groups; ++g) {
            if (!memory)
                continue; /* every thread has to come to the loop's end */
            const lane_places at(b, chunk, g);
            const bool full = at.count == W;
            load_lanes(
                b.h,
                full && at.per_matrix == 1,
                [&](int l) { return at.matrix(l); },
                2 * nr * nt,
                scratch,
                h);
            const std::size_t next = (g + 1) * W; /* of the chunks */
            const bool ahead = next + W <= chunks;
            if (ahead && at.per_matrix == 1)
                prefetch<false>(b.h + next * 2 * nr * nt, W * 2 * nr * nt);
            kernel.prepare(h);
            for (std::size_t t = 0; t < chunk && !b.stop(b.stop_context); ++t) {
                const auto place = [&](int l) { return at.vector(l) + t; };
                if (ahead) {
                    const std::size_t share_of_next = next * chunk + t * W;
                    prefetch<false>(b.y + share_of_next * 2 * nr, W * 2 * nr);
                    if (b.llr)
                        prefetch<true>(b.llr + share_of_next * num_llr, W * num_llr);
                    else
                        prefetch<true>(b.llr_int8 + share_of_next * num_llr, W * num_llr);
                }
                load_lanes(b.y, full, place, 2 * nr, scratch, y);
                if (b.noise_per_vector)
                    load_lanes(b.noise_var, full, place, 1, scratch, &noise_var);
                auto usable = (simd(1e-37f) < noise_var) & (noise_var < simd(1e37f));
                if (b.prior) {
                    load_lanes(b.prior, full, place, num_llr, scratch, prior);
                    usable = usable & order_prior(p.points, nt, prior, canonical);
                }
                std::size_t vector[W];
                for (int l = 0; l < W; ++l)
                    vector[l] = place(l);
                extras.before(kernel, vector, at.count);
                usable = usable &
                         kernel.detect(y, noise_var, b.prior ? canonical : nullptr, llr);
                extras.after(kernel, vector, at.count);
                order_llr(p.points,
                          nt,
                          usable,
                          llr,
                          b.prior && p.extrinsic ? prior : nullptr,
                          ordered);
                erased += at.count - usable.count(at.count);
                if (b.llr)
                    store_lanes(b.llr, at.count, place, num_llr, scratch, ordered);
                else
                    store_int8_lanes(b, at.count, place, num_llr, scratch, ordered);
            }
        }
        free(memory);
    }
    return failed ? out_of_memory : erased;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

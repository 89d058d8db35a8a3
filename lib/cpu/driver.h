/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Run a kernel over a batch: a lane takes a chunk of vectors, a thread takes groups of
 * lanes.
 *
 * Each instruction set compiles this file for itself, so it may not use any part of the
 * standard library that is compiled inline (see config.h). */
#pragma once
#include "common/aligned_memory.h"
#include "common/bit_order.h"
#include "common/budget.h"
#include "common/storage.h"
#include "common/whitening.h"
#include "cpu/plan.h"
#include "cpu/transpose.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Return the number of consecutive vectors that a lane takes. The lane then prepares
 * their common matrix once. A chunk is shorter than the vectors of a matrix if lanes or
 * threads would stay empty otherwise. */
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

/* The division of a batch into chunks, groups of chunks, and shares of groups. */
struct batch_division {
    std::size_t chunk;  /* vectors of a chunk */
    std::size_t chunks; /* chunks of the batch */
    std::size_t groups; /* groups of simd::width chunks */
    int threads;
    int share; /* groups that a free thread takes at once */

    MP_FN explicit batch_division(const batch& b)
        : chunk(chunk_length(b)),
          chunks(b.n / chunk),
          groups((chunks + simd::width - 1) / simd::width),
          threads(b.threads)
    {
        if (groups < static_cast<std::size_t>(threads))
            threads = groups ? static_cast<int>(groups) : 1;
        /* Free threads take further shares. In a flowgraph other blocks run on the same
         * cores, and equal parts would make the batch wait for a delayed thread. */
        const std::size_t eighth = groups / (8 * threads);
        share = static_cast<int>(eighth < 1 ? 1 : eighth > 32 ? 32 : eighth);
    }
};

/* The places of a group's lanes in the batch. Lanes past the end repeat the last chunk,
 * and their results are not stored. */
struct lane_places {
    std::size_t chunk;
    std::size_t per_matrix; /* chunks that share a matrix */
    std::size_t first;      /* chunk of the first lane */
    std::size_t next;       /* chunk of the next group's first lane */
    int count;              /* lanes in use */
    bool next_is_full;      /* the next group uses all lanes */

    MP_FN lane_places(const batch& b, const batch_division& d, std::size_t group)
        : chunk(d.chunk),
          per_matrix(b.per_channel / chunk),
          first(group * simd::width),
          next(first + simd::width),
          count(simd::width),
          next_is_full(next + simd::width <= d.chunks)
    {
        if (d.chunks - first < simd::width)
            count = static_cast<int>(d.chunks - first);
    }
    MP_FN bool full() const { return count == simd::width; }
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

/* Move a row of `length` floats for each lane from the batch to lanes, or back. Lane l
 * has row place(l). Rows at uneven distances go through scratch, which has `length`
 * lanes. */
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

/* Prefetch `count` values unless they would fill the first cache. The processor's own
 * prefetching comes late, stops at the end of every page, and misses the steps of a
 * chunk. */
template <bool WRITE, class T>
MP_FN void prefetch(const T* from, std::size_t count)
{
    constexpr std::size_t line = 64 / sizeof(T);
    if (count > 128 * line)
        return;
    for (std::size_t i = 0; i < count; i += line)
        __builtin_prefetch(from + i, WRITE);
}

/* Store lanes as saturated integers. */
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

/* The hook of a detector that reads and writes nothing but vectors and LLRs. A hook is
 * called before each detect(). Lane l < count has the batch's vector number vector[l]. */
struct no_hook {
    template <class Kernel>
    MP_FN void operator()(Kernel&, const std::size_t*, int) const
    {
    }
};

/* Lanes that a matrix, a received vector and its LLRs take. NT, NR: sizes known when
 * compiling, or 0. */
template <int NT, int NR>
struct lane_sizes {
    const extent<NT> nt;
    const extent<NR> nr;
    const int bits;  /* bits of a symbol */
    const int given; /* LLRs of a vector in the batch */

    MP_FN explicit lane_sizes(const plan& p)
        : nt(p.num_tx), nr(p.num_rx), bits(p.points.bits), given(p.num_llr)
    {
    }
    MP_FN int h() const { return 2 * nr * nt; }
    MP_FN int y() const { return 2 * nr; }
    MP_FN int llr() const { return nt * bits; }
    MP_FN int covariance() const { return 2 * nr * nr; }
};

/* Inputs and results of the vectors in a thread's lanes, between batch and kernel. */
template <int NT, int NR>
struct lane_data {
    const plan& p;
    const batch& b;
    const lane_sizes<NT, NR> size;
    simd *h, *y, *shift, *prior, *canonical_prior, *llr, *ordered_llr;
    float* scratch;
    simd noise_var;
    noise_whitener<simd, NR> whitener;

    MP_FN lane_data(const plan& p_, const batch& b_, arena<simd>& a)
        : p(p_),
          b(b_),
          size(p_),
          h(a.take(size.h())),
          y(a.take(size.y())),
          shift(a.take(p_.points.layers ? size.y() : 0)),
          prior(a.take(size.llr())),
          canonical_prior(a.take(size.llr())),
          llr(a.take(size.llr())),
          ordered_llr(a.take(size.llr())),
          scratch(reinterpret_cast<float*>(a.take(longest()))),
          noise_var(b_.noise_var[0]),
          whitener(a, p_.num_rx, b_.noise_cov)
    {
    }

    /* Lanes of the longest row that goes through scratch */
    MP_FN int longest() const
    {
        const int row = size.h() > size.llr() ? size.h() : size.llr();
        return b.noise_cov && size.covariance() > row ? size.covariance() : row;
    }

    /* Prepare what all vectors have in common. */
    MP_FN void begin()
    {
        if (!b.noise_cov || b.cov_per_matrix)
            return;
        for (int i = 0; i < size.covariance(); ++i)
            whitener.factor[i] = simd(b.noise_cov[i]);
        whitener.factorise();
    }

    MP_STEP void load_matrices(const lane_places& at)
    {
        const bool own = at.per_matrix == 1;
        load_lanes(
            b.h,
            at.full() && own,
            [&](int l) { return at.matrix(l); },
            size.h(),
            scratch,
            h);
        if (own && at.next_is_full)
            prefetch<false>(b.h + at.next * size.h(), simd::width * size.h());
        if (b.noise_cov) {
            if (b.cov_per_matrix) {
                load_lanes(
                    b.noise_cov,
                    at.full() && own,
                    [&](int l) { return at.matrix(l); },
                    size.covariance(),
                    scratch,
                    &whitener.factor[0]);
                whitener.factorise();
            }
            whitener.whiten(h, size.nt);
        }
        if (p.points.layers)
            turn_columns(p.points.layers, size.nt, size.nr, h, shift);
    }

    /* Prefetch a share of the next group's vectors at step t of a chunk. */
    MP_STEP void prefetch_vectors(const lane_places& at, std::size_t t)
    {
        if (!at.next_is_full)
            return;
        const std::size_t vector = at.next * at.chunk + t * simd::width;
        prefetch<false>(b.y + vector * size.y(), simd::width * size.y());
        if (b.llr)
            prefetch<true>(b.llr + vector * size.given, simd::width * size.given);
        else
            prefetch<true>(b.llr_int8 + vector * size.given, simd::width * size.given);
    }

    /* Load vector t of each chunk, and return where noise and priors are in range. */
    MP_STEP auto load_vectors(const lane_places& at, std::size_t t)
    {
        const auto place = [&](int l) { return at.vector(l) + t; };
        load_lanes(b.y, at.full(), place, size.y(), scratch, y);
        if (b.noise_per_vector) {
            /* No pointer to a member: the compiler would keep all members in memory. */
            simd loaded;
            load_lanes(b.noise_var, at.full(), place, 1, scratch, &loaded);
            noise_var = loaded;
        }
        auto usable = (simd(least_noise) < noise_var) & (noise_var < simd(largest_noise));
        if (b.prior)
            load_lanes(b.prior, at.full(), place, size.given, scratch, prior);
        if (b.noise_cov)
            whitener.whiten(y, extent<1>(1));
        for (int i = 0; p.points.layers && i < size.y(); ++i)
            y[i] = y[i] - shift[i];
        if (known())
            usable = usable &
                     order_prior(
                         p.points, size.nt, b.prior ? prior : nullptr, canonical_prior);
        return usable;
    }

    /* The prior in the kernel's order, or null */
    MP_FN const simd* known() const
    {
        return b.prior || p.points.layers ? canonical_prior : nullptr;
    }

    template <class Mask>
    MP_STEP void store_llrs(const lane_places& at, std::size_t t, Mask usable)
    {
        const auto place = [&](int l) { return at.vector(l) + t; };
        order_llr(p.points,
                  size.nt,
                  usable,
                  llr,
                  b.prior && p.extrinsic ? prior : nullptr,
                  ordered_llr);
        if (b.llr)
            store_lanes(b.llr, at.count, place, size.given, scratch, ordered_llr);
        else
            store_int8_lanes(b, at.count, place, size.given, scratch, ordered_llr);
    }
};

/* Detect the vectors of a group of lanes and return how many were erased. Add the number
 * of truncated searches to `truncated`. */
template <int NT, int NR, class Kernel, class Hook>
MP_FN std::size_t detect_group(lane_data<NT, NR>& lanes,
                               const lane_places& at,
                               Kernel& kernel,
                               const Hook& hook,
                               std::size_t& truncated)
{
    const batch& b = lanes.b;
    std::size_t erased = 0;
    lanes.load_matrices(at);
    kernel.prepare(lanes.h);
    for (std::size_t t = 0; t < at.chunk && !b.stop(b.stop_context); ++t) {
        lanes.prefetch_vectors(at, t);
        auto usable = lanes.load_vectors(at, t);
        std::size_t vector[simd::width];
        for (int l = 0; l < simd::width; ++l)
            vector[l] = at.vector(l) + t;
        hook(kernel, vector, at.count);
        usable =
            usable & kernel.detect(lanes.y, lanes.noise_var, lanes.known(), lanes.llr);
        truncated += truncated_by(kernel, 0);
        lanes.store_llrs(at, t, usable);
        erased += at.count - usable.count(at.count);
    }
    return erased;
}

/* Run a batch through the kernels that make(arena) constructs, one for each thread.
 * Return how many vectors were erased, or out_of_memory. */
template <int NT, int NR, class Make, class Hook = no_hook>
std::size_t drive(const plan& p, const batch& b, Make make, const Hook& hook = Hook())
{
    const batch_division division(b);
    const int threads = division.threads;
    std::size_t erased = 0, truncated = 0;
    int failed = 0;
#pragma omp parallel num_threads(threads) reduction(+ : erased, truncated, failed) if (threads > 1)
    {
        arena<simd> space; /* without memory, it counts what is taken */
        lane_data<NT, NR>(p, b, space);
        make(space);
        const aligned_memory memory(space.used * sizeof(simd));
        failed = !memory.get();
        space = arena<simd>{ static_cast<simd*>(memory.get()), 0 };
        lane_data<NT, NR> lanes(p, b, space);
        if (!failed)
            lanes.begin();
        auto kernel = make(space);

#pragma omp for schedule(dynamic, division.share)
        for (std::size_t g = 0; g < division.groups; ++g) {
            if (failed)
                continue; /* OpenMP needs every thread at the end of the loop */
            erased +=
                detect_group(lanes, lane_places(b, division, g), kernel, hook, truncated);
        }
    }
    if (b.truncated)
        *b.truncated = truncated;
    return failed ? out_of_memory : erased;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

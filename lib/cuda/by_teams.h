/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A batch by teams of threads: a team takes a matrix and its vectors, a thread a layer.
 * Matrices with nearly dependent columns are detected again in double precision, if there
 * is such a form. The team's first thread detects the remaining ones by the CPU's
 * form. */
#pragma once
#include "cuda/lockstep.h"
#include "cuda/team.h"
#include "cuda/team_gram.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Whether a team takes this size: one that is too large for a thread's registers, or has
 * at least `layers` layers, from which the detector's teams are faster. Layers with known
 * bits are not supported. */
constexpr bool fits_team_from(int layers)
{
    return !program::has_layers && program::num_tx > 1 && program::num_tx <= 32 &&
           (!program::fixed_tx || program::num_tx >= layers);
}
constexpr bool fits_team = fits_team_from(33);

template <class Real, class Steps>
struct team_storage {
    typename team_gram_of<Real>::storage gram;
    typename Steps::storage method;
};

/* How nearly dependent columns are detected again, if AGAIN */
template <class Method, bool AGAIN>
struct repeated {
    using real = float;
    using method = Method;
};
template <class Method>
struct repeated<Method, true> {
    using real = double;
    using method = typename Method::in_double;
};

/* Method: the steps of a detector, with the following members. AGAIN: whether nearly
 * dependent columns are detected again in double precision. Gain on an H200: ZF 16x16
 * 3.9; where 14 vectors share a 12x12 matrix, N-way and FPFSD 4.2, K-best 2.1. MMSE,
 * MMSE-PIC, EP: none.
 *
 *   in_double             if AGAIN: the same steps in double precision
 *   axes                  columns of a thread, as in team_cavity.h; 0: it has none
 *   storage               what they keep in shared memory
 *   METHOD(gram, storage)
 *   begin()               after H^H H; returns whether the matrix is good enough
 *   detect(matched, noise, prior, llr)
 *                         from the layer's entry of H^H y; prior: null, or the layer's.
 *                         Returns whether the matrix is good enough for these, too
 *   make_serial(arena)    the CPU's form */
template <class Method, bool AGAIN>
class by_teams
{
    static constexpr int bits = program::bits, nt = program::num_tx, nr = program::num_rx;
    using wide = typename repeated<Method, AGAIN>::real;
    using wide_method = typename repeated<Method, AGAIN>::method;
    using wide_storage = team_storage<wide, wide_method>;

    union storage {
        team_storage<float, Method> once;
        wide_storage again;
    };

public:
    static constexpr int team_threads = team_gram::threads;
    static constexpr int teams = MIMOPACK_THREADS / team_threads;
    static constexpr int shared_bytes = teams * sizeof(storage);

    /* Detect the batch; return how many of this thread's vectors were erased. memory: the
     * team's arena for the CPU's form */
    MP_FN static unsigned detect(const batch& all, lane* memory)
    {
        constexpr int in_warp = 32 / team_threads;
        __shared__ storage of[teams];
        storage& own = of[threadIdx.x / team_threads];
        const unsigned warps = gridDim.x * (MIMOPACK_THREADS / 32);
        unsigned long long first =
            (blockIdx.x * (MIMOPACK_THREADS / 32) + threadIdx.x / 32) *
            static_cast<unsigned long long>(in_warp);
        unsigned erased = 0;
        for (; first < all.chunks;
             first += warps * static_cast<unsigned long long>(in_warp)) {
            const unsigned long long wanted = first + threadIdx.x % 32 / team_threads;
            const bool exists = wanted < all.chunks;
            const unsigned long long chunk = exists ? wanted : all.chunks - 1;
            bool good;
            erased += detect_chunk<float, Method>(all, chunk, exists, own.once, good);
            if constexpr (AGAIN)
                if (__any_sync(~0u, exists && !good)) {
                    const bool bad = exists && !good;
                    erased += detect_again(all, chunk, bad, own.again, good);
                    good = good || !bad;
                }
            if (!good && exists && threadIdx.x % team_threads == 0)
                erased += detect_serially(all, chunk, memory);
            __syncwarp();
        }
        return erased;
    }

private:
    MP_CALLED static unsigned detect_again(const batch& all,
                                           unsigned long long chunk,
                                           bool stores,
                                           wide_storage& own,
                                           bool& good)
    {
        __syncwarp();
        return detect_chunk<wide, wide_method>(all, chunk, stores, own, good);
    }

    /* stores: whether this team's results count. Set good: whether the matrix is good
     * enough for Real. If not, all vectors must be detected again. */
    template <class Real, class Steps>
    MP_FN static unsigned detect_chunk(const batch& all,
                                       unsigned long long chunk,
                                       bool stores,
                                       team_storage<Real, Steps>& own,
                                       bool& good)
    {
        using gram_of_h = team_gram_of<Real>;
        gram_of_h gram(own.gram, threadIdx.x % team_threads);
        Steps method(gram, own.method);
        const unsigned length = program::matrix_each ? 1 : all.chunk;
        const unsigned long long place = all.place_of(chunk);
        unsigned erased = 0;
        good = true;
#pragma unroll 1
        for (unsigned t = 0; t < length; t += gram_of_h::vectors) {
            const unsigned long long vector = chunk * length + t;
            const int count = length - t < gram_of_h::vectors
                                  ? static_cast<int>(length - t)
                                  : gram_of_h::vectors;
            gram.compute(all, place, vector, count, t == 0, sizeof(storage));
            if (t == 0) {
                const Real energy = gram.diagonal();
                const bool fine =
                    method.begin() && energy < largest_energy && energy > least_energy;
                good = over_team<team_threads>(fine ? 1 : 0,
                                               [](int a, int b) { return a & b; }) != 0;
            }
            for (gram.vector = 0; gram.vector < count; ++gram.vector) {
                const bool usable =
                    detect_vector(all, vector + gram.vector, gram, method, stores, good);
                erased += stores && gram.rank == 0 && !usable;
            }
        }
        return good ? erased : 0;
    }

    template <class Real, class Steps>
    MP_FN static bool detect_vector(const batch& all,
                                    unsigned long long vector,
                                    const team_gram_of<Real>& gram,
                                    Steps& method,
                                    bool stores,
                                    bool& good)
    {
        const lane noise = all.load_noise(vector);
        const int at = gram.layer() * bits;
        lane known[bits], canonical[bits], found[bits], ordered[bits];
        bool usable =
            batch::allowed(noise).m && gram.at.energy[gram.vector] < largest_energy;
        if constexpr (program::has_prior) {
            float sum = 0.0f;
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                known[b].v = all.prior[vector * (nt * bits) + at + b];
                sum += gram.has_layer() ? fabsf(known[b].v) : 0.0f;
            }
            order_prior(program::points, 1, known, canonical);
            sum = over_team<team_threads>(sum, [](float a, float b) { return a + b; });
            usable = usable && sum < largest_prior;
        }
        const bool enough = method.detect(gram.at.matched[gram.vector][gram.layer()],
                                          noise,
                                          program::has_prior ? canonical : nullptr,
                                          found);
        good = good && (enough || !usable);
        order_llr(program::points,
                  1,
                  lane::mask{ usable },
                  found,
                  program::has_prior && program::extrinsic ? known : nullptr,
                  ordered);
        if (stores && good && gram.has_layer()) {
            const unsigned long long place = vector * (nt * bits) + at;
            MP_UNROLL
            for (int b = 0; b < bits; ++b) {
                if constexpr (program::as_int8)
                    static_cast<signed char*>(all.llr)[place + b] =
                        quantised(ordered[b], all.int8_scale);
                else
                    static_cast<float*>(all.llr)[place + b] = ordered[b].v;
            }
        }
        return usable;
    }

    MP_CALLED static unsigned
    detect_serially(const batch& all, unsigned long long chunk, lane* memory)
    {
        arena<lane> space{ memory, 0 };
        vector_arrays arrays(space);
        auto kernel = Method::make_serial(space);
        all.load_matrix(chunk, &arrays.matrix[0]);
        kernel.prepare(&arrays.matrix[0]);
        const unsigned length = program::matrix_each ? 1 : all.chunk;
        unsigned erased = 0;
        for (unsigned t = 0; t < length; ++t)
            erased += !mimopack::MIMOPACK_ISA::detect_vector(
                kernel, all, arrays, 1, chunk * length + t, true);
        return erased;
    }
};

/* The kernel's place holder if teams detect the batch */
template <class Method, bool AGAIN>
struct team_kernel {
    using teams = by_teams<Method, AGAIN>;
    static constexpr int team_threads = teams::team_threads;
    /* Least number of blocks per multiprocessor, which limits registers. If vectors share
     * a matrix, a thread gets more registers to keep an inverse in them, or if shared
     * memory has no room for eight blocks anyway. Otherwise mostly the CPU's form
     * spills. */
    static constexpr bool takes_many =
        !program::matrix_each &&
        (Method::axes == 2 || (Method::axes == 1 && often_dependent) ||
         8 * (teams::shared_bytes + 1024) > 228 * 1024);
    /* for 64 threads per block; with fewer threads, as many registers per thread */
    static constexpr int large = (Method::axes == 2 ? 4 : 6) * 64 / MIMOPACK_THREADS;
    static constexpr int least_blocks = program::num_tx > 16 ? large : takes_many ? 6 : 8;

    MP_FN static auto make_serial(arena<lane>& a) { return Method::make_serial(a); }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A batch through a kernel: chunks of vectors to lanes, groups of lanes to threads.
 *
 * Compiled once per instruction set, so nothing of the standard library that is compiled
 * inline may be used here (see config.h). */
#pragma once
#include "../kernels/storage.h"
#include "plan.h"
#include "transpose.h"
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

MP_FN simd gather(const float* base, const std::size_t* index)
{
    float values[simd::width];
    for (int l = 0; l < simd::width; ++l)
        values[l] = base[index[l]];
    return simd::load(values);
}

MP_FN void
store_int8(const batch&, const std::size_t*, std::size_t, int, int, const simd*);

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
        const std::size_t own = 2 * nr * nt + 2 * nr + 4 * num_llr;
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
        auto kernel = make(space);

#pragma omp for schedule(dynamic, share)
        for (std::size_t g = 0; g < groups; ++g) {
            if (!memory)
                continue; /* every thread has to come to the loop's end */
            const int count = chunks - g * W < static_cast<std::size_t>(W)
                                  ? static_cast<int>(chunks - g * W)
                                  : W;
            /* Lanes past the end repeat the last chunk and are not stored. */
            std::size_t vector[W];
            const float* rows[W];
            for (int l = 0; l < W; ++l) {
                vector[l] = (g * W + (l < count ? l : count - 1)) * chunk;
                rows[l] = b.h + vector[l] / b.per_channel * (2 * nr * nt);
            }
            load_rows(rows, 2 * nr * nt, h);
            kernel.prepare(h);
            for (std::size_t t = 0; t < chunk; ++t) {
                for (int l = 0; l < W; ++l)
                    rows[l] = b.y + (vector[l] + t) * (2 * nr);
                load_rows(rows, 2 * nr, y);
                const simd noise_var = gather(b.noise_var + t, vector);
                auto usable = (simd(1e-37f) < noise_var) & (noise_var < simd(1e37f));
                if (b.prior) {
                    for (int l = 0; l < W; ++l)
                        rows[l] = b.prior + (vector[l] + t) * num_llr;
                    load_rows(rows, num_llr, prior);
                    simd sum(0.0f);
                    for (int i = 0; i < nt; ++i) {
                        for (int k = 0; k < bits; ++k) {
                            const simd value = prior[i * bits + k];
                            sum = sum + abs(value);
                            canonical[i * bits + p.points.bit_source[k]] =
                                value * simd(p.points.bit_sign[k]);
                        }
                    }
                    usable = usable & (sum < simd(1e30f));
                }
                std::size_t place[W];
                for (int l = 0; l < W; ++l)
                    place[l] = vector[l] + t;
                extras.before(kernel, place, count);
                usable = usable &
                         kernel.detect(y, noise_var, b.prior ? canonical : nullptr, llr);
                extras.after(kernel, place, count);
                for (int i = 0; i < nt; ++i) {
                    for (int k = 0; k < bits; ++k) {
                        simd value = llr[i * bits + p.points.bit_source[k]] *
                                     simd(p.points.bit_sign[k]);
                        if (b.prior && p.options.extrinsic)
                            value = value - prior[i * bits + k];
                        const auto good = usable & (abs(value) < simd(1e37f));
                        ordered[i * bits + k] = select(good, value, simd(0.0f));
                    }
                }
                for (int l = 0; l < count; ++l)
                    erased += !usable[l];
                if (b.llr) {
                    float* out[W];
                    for (int l = 0; l < W; ++l)
                        out[l] = b.llr + (vector[l] + t) * num_llr;
                    store_rows(out, count, num_llr, ordered);
                } else {
                    store_int8(b, vector, t, count, num_llr, ordered);
                }
            }
        }
        free(memory);
    }
    return failed ? out_of_memory : erased;
}

MP_FN void store_int8(const batch& b,
                      const std::size_t* vector,
                      std::size_t t,
                      int count,
                      int num_llr,
                      const simd* llr)
{
    for (int i = 0; i < num_llr; ++i) {
        const simd scaled = llr[i] * simd(b.int8_scale);
        float values[simd::width];
        max(min(scaled, simd(127.0f)), simd(-127.0f)).to_word().to_float().store(values);
        for (int l = 0; l < count; ++l)
            b.llr_int8[(vector[l] + t) * num_llr + i] =
                static_cast<std::int8_t>(values[l]);
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

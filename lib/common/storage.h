/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes known when compiling (N > 0) or when running (N = 0), and storage for both. */
#pragma once
#include "common/config.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

/* MP_UNROLL for a loop over antennas or layers. Most kernels do not know their number,
 * and g++ repeats the body of such a loop too. n is therefore as small as 4x4 allows. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define MP_UNROLL_UP_TO(n) MP_PRAGMA(GCC unroll n)
#else
#define MP_UNROLL_UP_TO(n) MP_UNROLL
#endif

namespace mimopack {
namespace MIMOPACK_ISA {

template <int N>
struct extent {
    MP_FN explicit extent(int) {}
    MP_FN operator int() const { return N; }
};

template <>
struct extent<0> {
    int n;
    MP_FN explicit extent(int n_) : n(n_) {}
    MP_FN operator int() const { return n; }
};

/* Hands out pieces of one allocation. An arena without memory counts what is taken.
 * AddressSanitizer sees a single allocation, so an element behind each piece tells it
 * where the piece ends. */
template <class F>
struct arena {
    F* memory = nullptr;
    unsigned long used = 0;
    MP_FN F* take(unsigned long count)
    {
        F* piece = memory ? memory + used : nullptr;
        used += count;
#ifdef __SANITIZE_ADDRESS__
        if (memory)
            __asan_poison_memory_region(memory + used, sizeof(F));
        ++used;
#endif
        return piece;
    }
};

/* N elements on the stack, in registers if possible. With N = 0, the given number of
 * elements from the arena. */
template <class F, int N>
struct buffer {
    F data[N];
    MP_FN buffer(arena<F>&, int) {}
    MP_FN F& operator[](int i) { return data[i]; }
    MP_FN const F& operator[](int i) const { return data[i]; }
};

template <class F>
struct buffer<F, 0> {
    F* data;
    MP_FN buffer(arena<F>& a, int n) : data(a.take(n)) {}
    MP_FN F& operator[](int i) { return data[i]; }
    MP_FN const F& operator[](int i) const { return data[i]; }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack

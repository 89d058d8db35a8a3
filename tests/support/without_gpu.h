/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Make a GPU program (python/mimopack/cuda/source.py) compile with a C++ compiler. The
 * threads of a block take turns: each runs until it must wait for others. After
 * disorder(seed), warps miss turns at random. */
#include <ucontext.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#define __CUDACC__
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __shared__ thread_local /* all take turns in one thread of the host */

struct float2 {
    float x, y;
};
struct double2 {
    double x, y;
};
struct float4 {
    float x, y, z, w;
};
struct int4 {
    int x, y, z, w;
};
struct place {
    unsigned x;
};
static place threadIdx, blockIdx, blockDim, gridDim;

namespace turns {

/* Where threads meet: the values that they bring, of this meeting and of the one before
 */
struct meeting {
    unsigned arrived = 0, generation = 0;
    long long values[2][1024] = {};
};

struct thread {
    ucontext_t context;
    std::vector<char> stack;
    bool done = false;
};

static std::vector<thread> threads;
static std::vector<std::map<unsigned, meeting>> warps; /* by mask */
static meeting block;
static ucontext_t scheduler;
static std::function<void()> body;
static bool moved;
static unsigned chance; /* 0: no warp misses a turn */

inline bool misses_turn()
{
    chance = chance * 1664525u + 1013904223u * (chance != 0);
    return chance >> 31;
}

inline void finish()
{
    body();
    threads[threadIdx.x].done = moved = true;
    swapcontext(&threads[threadIdx.x].context, &scheduler);
}

/* Waits for so many threads; the values that they brought, by thread of the block */
inline const long long* meet(meeting& at, unsigned expected, long long value)
{
    const unsigned generation = at.generation, self = threadIdx.x;
    long long* const values = at.values[generation % 2];
    values[self] = value;
    moved = true;
    if (++at.arrived == expected) {
        at.arrived = 0;
        ++at.generation;
    }
    while (at.generation == generation) {
        swapcontext(&threads[self].context, &scheduler);
        threadIdx.x = self;
    }
    return values;
}

inline const long long* meet_warp(unsigned mask, long long value)
{
    return meet(warps[threadIdx.x / 32][mask], __builtin_popcount(mask), value) +
           threadIdx.x / 32 * 32;
}

/* A block of so many threads */
inline void run(unsigned count, const std::function<void()>& what)
{
    body = what;
    blockDim.x = count;
    threads = std::vector<thread>(count);
    warps.assign((count + 31) / 32, {});
    block = meeting();
    for (thread& t : threads) {
        t.stack.resize(1 << 18);
        getcontext(&t.context);
        t.context.uc_stack.ss_sp = t.stack.data();
        t.context.uc_stack.ss_size = t.stack.size();
        makecontext(&t.context, finish, 0);
    }
    for (unsigned left = count; left;) {
        moved = false;
        left = 0;
        bool misses = false;
        for (unsigned i = 0; i < count; ++i) {
            if (i % 32 == 0)
                misses = misses_turn();
            if (misses && !threads[i].done) {
                moved = true;
                ++left;
            } else if (!threads[i].done) {
                threadIdx.x = i;
                swapcontext(&scheduler, &threads[i].context);
                left += !threads[i].done;
            }
        }
        if (!moved) {
            std::fprintf(stderr, "a block's threads wait for others for ever\n");
            std::abort();
        }
    }
    threads = {}; /* stacks of 256 KiB, and programs stay loaded */
}

/* Run a kernel. arguments: the address of each argument */
template <class... Argument>
void launch(void (*kernel)(Argument...),
            unsigned blocks,
            unsigned count,
            void** arguments)
{
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        run(count, [=] {
            void** next = arguments;
            std::apply(kernel,
                       std::tuple<Argument...>{ *static_cast<Argument*>(*next++)... });
        });
}

template <class T>
long long packed(T value)
{
    static_assert(sizeof(T) <= sizeof(long long));
    long long bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T>
T unpacked(long long bits)
{
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/* Over the threads of the mask */
template <class T, class Operation>
T reduce(unsigned mask, T value, Operation operation)
{
    const long long* const all = meet_warp(mask, packed(value));
    bool first = true;
    T result = value;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1) {
            const T other = unpacked<T>(all[i]);
            result = first ? other : operation(result, other);
            first = false;
        }
    return result;
}

} // namespace turns

extern "C" void disorder(unsigned seed) { turns::chance = seed; }

inline void __syncwarp(unsigned mask = ~0u) { turns::meet_warp(mask, 0); }
inline void __syncthreads() { turns::meet(turns::block, blockDim.x, 0); }
inline int __syncthreads_or(int value)
{
    const long long* const all = turns::meet(turns::block, blockDim.x, value != 0);
    return std::any_of(all, all + blockDim.x, [](long long v) { return v != 0; });
}
inline int __syncthreads_and(int value) { return !__syncthreads_or(!value); }
template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
    const int self = threadIdx.x % 32;
    return turns::unpacked<T>(turns::meet_warp(
        mask, turns::packed(value))[self / width * width + (from & (width - 1))]);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32)
{
    return __shfl_sync(mask, value, (threadIdx.x % width) ^ with, width);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const unsigned self = threadIdx.x % width;
    return __shfl_sync(mask, value, self < by ? self : self - by, width);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const unsigned self = threadIdx.x % width;
    return __shfl_sync(
        mask, value, self + by < unsigned(width) ? self + by : self, width);
}
inline unsigned __ballot_sync(unsigned mask, bool value)
{
    return turns::reduce(mask,
                         unsigned(value) << threadIdx.x % 32,
                         [](unsigned a, unsigned b) { return a | b; });
}
inline bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value); }
inline bool __all_sync(unsigned mask, bool value)
{
    return __ballot_sync(mask, value) == mask;
}
template <class T>
T __reduce_min_sync(unsigned mask, T value)
{
    return turns::reduce(mask, value, [](T a, T b) { return b < a ? b : a; });
}
template <class T>
T __reduce_max_sync(unsigned mask, T value)
{
    return turns::reduce(mask, value, [](T a, T b) { return a < b ? b : a; });
}
template <class T>
T __reduce_add_sync(unsigned mask, T value)
{
    return turns::reduce(mask, value, [](T a, T b) { return a + b; });
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value)
{
    return turns::reduce(mask, value, [](unsigned a, unsigned b) { return a | b; });
}

inline float4 make_float4(float x, float y, float z, float w) { return { x, y, z, w }; }
inline int4 make_int4(int x, int y, int z, int w) { return { x, y, z, w }; }
inline int __float_as_int(float x)
{
    int bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline unsigned __float_as_uint(float x) { return __float_as_int(x); }
inline float __int_as_float(int bits)
{
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
inline float __uint_as_float(unsigned bits) { return __int_as_float(bits); }
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
inline float __saturatef(float x) { return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fadd_rd(float a, float b)
{
    const double sum = double(a) + b;
    const float nearest = float(sum);
    return nearest > sum ? std::nextafter(nearest, -INFINITY) : nearest;
}
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __clz(int bits) { return bits ? __builtin_clz(bits) : 32; }
template <class T, class U>
T atomicAdd(T* sum, U value)
{
    const T before = *sum;
    *sum += value;
    return before;
}
template <class T, class U>
T atomicOr(T* bits, U value)
{
    const T before = *bits;
    *bits |= value;
    return before;
}
template <class T, class U>
T atomicXor(T* bits, U value)
{
    const T before = *bits;
    *bits ^= value;
    return before;
}
template <class T>
T atomicCAS(T* at, T expected, T value)
{
    const T before = *at;
    *at = before == expected ? value : before;
    return before;
}
inline void __threadfence() {}
inline void __nanosleep(unsigned) {}
template <class T, class U>
T atomicMin(T* least, U value)
{
    const T before = *least;
    *least = T(value) < before ? T(value) : before;
    return before;
}
using std::isfinite;

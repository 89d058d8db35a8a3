/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Lets a C++ compiler take a GPU program (python/mimopack/cuda/source.py), of which one
 * thread after the other is run. Threads that work together, those that share memory,
 * cannot be. */
#include <cmath>
#include <cstring>

#define __CUDACC__
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __shared__ static

struct float2 {
    float x, y;
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
static place threadIdx, blockIdx, gridDim;

inline float4 make_float4(float x, float y, float z, float w) { return { x, y, z, w }; }
inline int4 make_int4(int x, int y, int z, int w) { return { x, y, z, w }; }
inline int __float_as_int(float x)
{
    int bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float __int_as_float(int bits)
{
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline void __syncwarp() {}
inline void atomicAdd(unsigned long long* sum, unsigned long long value)
{
    *sum += value;
}
using std::isfinite;

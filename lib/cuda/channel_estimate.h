/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The channel of slots by linear MMSE estimation with a known profile: what
 * python/mimopack/nr/tracking.py does in NumPy. Arrays of complex numbers are
 * C-contiguous. cuBLAS is not used, because CuPy refuses to record it in a CUDA graph. */
#pragma once
#include "common/config.h"
#include "cuda/program.h"

namespace mimopack {
namespace MIMOPACK_ISA {
namespace estimate {

constexpr int largest_array = 256; /* antennas */
constexpr int largest_shared = 32; /* with a covariance in shared memory */

MP_FN float2 times_conjugate(float2 a, float2 b)
{
    return { a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y };
}
MP_FN float power(float2 a) { return a.x * a.x + a.y * a.y; }
MP_FN float2 scaled(float2 a, float by) { return { a.x * by, a.y * by }; }

MP_FN int least(int a, int b) { return a < b ? a : b; }

/* sum += a b */
MP_FN void add_product(float2& sum, float2 a, float2 b)
{
    sum.x = fmaf(-a.y, b.y, fmaf(a.x, b.x, sum.x));
    sum.y = fmaf(a.y, b.x, fmaf(a.x, b.y, sum.y));
}

MP_FN float2 sum_of_warp(float2 x)
{
    for (int distance = 16; distance; distance /= 2) {
        x.x += __shfl_xor_sync(~0u, x.x, distance);
        x.y += __shfl_xor_sync(~0u, x.y, distance);
    }
    return x;
}

/* Return sums over a block's threads, to all of them. */
MP_FN float2 sum_of_block(float2 x)
{
    __shared__ float2 parts[MIMOPACK_THREADS / 32];
    x = sum_of_warp(x);
    __syncthreads(); /* Others may still read the last sum. */
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = { 0.0f, 0.0f };
    for (float2 part : parts)
        x = { x.x + part.x, x.y + part.y };
    return x;
}
MP_FN float sum_of_block(float x) { return sum_of_block(float2{ x, 0.0f }).x; }

/* A slot: modes by antenna, and strengths of the modes */
struct slot {
    int antennas, modes, elements;
    int steps;    /* of the noise power */
    float least;  /* noise power, relative to that of the DMRS */
    float2* seen; /* (antennas, modes) */
    const float* values;
    float* power; /* of each mode, over all antennas */

    /* Return the most likely noise power, if the DMRS have this power. */
    MP_FN float noise(float start, float total) const
    {
        for (int m = threadIdx.x; m < modes; m += MIMOPACK_THREADS) {
            float sum = 0.0f;
            for (int i = 0; i < antennas; ++i)
                sum += estimate::power(seen[i * modes + m]);
            power[m] = sum;
        }
        float noise = start;
        for (int step = 0; step < steps; ++step) {
            float2 sum{ 0.0f, 0.0f }; /* what the modes explain; their freedom */
            for (int m = threadIdx.x; m < modes; m += MIMOPACK_THREADS) {
                const float weight = 1.0f / (values[m] + noise);
                sum.x += power[m] * weight * (1.0f + noise * weight);
                sum.y += values[m] * weight;
            }
            sum = sum_of_block(sum);
            noise = fmaxf((total - sum.x) / (antennas * (elements - sum.y)),
                          least * total / elements);
        }
        return noise;
    }

    /* Set the lower triangle of the covariance of what the modes leave of the DMRS, and
     * return the number of elements less that of the gains. */
    MP_FN float
    residual(const float2* energy, float noise, float total, double2* out) const
    {
        float used = 0.0f;
        for (int m = threadIdx.x; m < modes; m += MIMOPACK_THREADS)
            used += values[m] / (values[m] + noise);
        const float free = fmaxf(elements - sum_of_block(used), 1.0f);
        for (int pair = threadIdx.x / 32; pair < antennas * (antennas + 1) / 2;
             pair += MIMOPACK_THREADS / 32) {
            /* Pairs j <= i: those of row i, and of row n - 1 - i, are n + 1 together. */
            const int high = pair / (antennas + 1), rest = pair % (antennas + 1);
            const int i = rest <= high ? high : antennas - 1 - high;
            const int j = rest <= high ? rest : rest - high - 1, at = i * antennas + j;
            float2 sum{ 0.0f, 0.0f };
#pragma unroll 4
            for (int m = threadIdx.x % 32; m < modes; m += 32) {
                const float weight = 1.0f / (values[m] + noise);
                const float2 product =
                    scaled(times_conjugate(seen[i * modes + m], seen[j * modes + m]),
                           weight * (2.0f - values[m] * weight));
                sum.x += product.x;
                sum.y += product.y;
            }
            sum = sum_of_warp(sum);
            if (threadIdx.x % 32 == 0) {
                const float more = i == j ? least * total : 0.0f;
                out[at] = { (static_cast<double>(energy[at].x) - sum.x + more) / free,
                            (static_cast<double>(energy[at].y) - sum.y) / free };
            }
        }
        return free;
    }

    /* Multiply by a lower triangle. */
    MP_FN void whiten(const float2* factor)
    {
        for (int m = threadIdx.x; m < modes; m += MIMOPACK_THREADS)
            for (int i = antennas - 1; i >= 0; --i) {
                float2 sum{ 0.0f, 0.0f };
                for (int j = 0; j <= i; ++j)
                    add_product(sum, factor[i * antennas + j], seen[j * modes + m]);
                seen[i * modes + m] = sum;
            }
    }
};

/* Replace a covariance by its Cholesky factor. Return the logarithm of the covariance's
 * determinant; infinity if it is not positive definite. */
MP_FN double decompose(double2* a, int n)
{
    double logarithm = 0.0;
    for (int k = 0; k < n; ++k) {
        __syncthreads();
        const double pivot = a[k * n + k].x;
        if (!(pivot > 0.0))
            return infinity;
        logarithm += log(pivot);
        __syncthreads();
        const double root = sqrt(pivot);
        for (int i = k + threadIdx.x; i < n; i += MIMOPACK_THREADS)
            a[i * n + k] = { a[i * n + k].x / root, a[i * n + k].y / root };
        __syncthreads();
        for (int at = threadIdx.x; at < n * n; at += MIMOPACK_THREADS) {
            const int i = at / n, j = at % n;
            if (k < j && j <= i) {
                const double2 x = a[i * n + k], y = a[j * n + k];
                a[at].x -= x.x * y.x + x.y * y.y;
                a[at].y -= x.y * y.x - x.x * y.y;
            }
        }
    }
    __syncthreads();
    return logarithm;
}

/* Set the inverse of a Cholesky factor. */
MP_FN void invert(const double2* a, int n, float2* out)
{
    for (int column = threadIdx.x; column < n; column += MIMOPACK_THREADS)
        for (int i = column; i < n; ++i) {
            double2 x{ i == column ? 1.0 : 0.0, 0.0 };
            for (int j = column; j < i; ++j) {
                const double2 y = a[i * n + j];
                const float2 z = out[j * n + column];
                x.x -= y.x * z.x - y.y * z.y;
                x.y -= y.x * z.y + y.y * z.x;
            }
            const double pivot = a[i * n + i].x;
            out[i * n + column] = { static_cast<float>(x.x / pivot),
                                    static_cast<float>(x.y / pivot) };
        }
}

} // namespace estimate
} // namespace MIMOPACK_ISA
} // namespace mimopack

/* The lower triangles of the products of antennas, summed over elements: a block of
 * threads for each entry. pilots: (slots, antennas, elements), out: (slots, antennas,
 * antennas) */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    energies(const float2* __restrict__ pilots, int antennas, int elements, float2* out)
{
    using namespace mimopack::MIMOPACK_ISA::estimate;
    const unsigned square = antennas * antennas, entry = blockIdx.x % square;
    const unsigned i = entry / antennas, j = entry % antennas;
    if (j > i)
        return;
    const float2* const all =
        pilots +
        static_cast<unsigned long long>(blockIdx.x / square) * antennas * elements;
    float2 sum{ 0.0f, 0.0f };
    for (int e = threadIdx.x; e < elements; e += MIMOPACK_THREADS) {
        const float2 product =
            times_conjugate(all[i * elements + e], all[j * elements + e]);
        sum.x += product.x;
        sum.y += product.y;
    }
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

/* What modes receive: a block of threads for 8 rows of pilots and 2 modes. pilots: (rows,
 * elements), places: (count,) the elements of the modes' ports, analysis: (modes, count),
 * seen: (rows, all modes), into which the columns from `first` on are written */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    project(const float2* __restrict__ pilots,
            int rows,
            int elements,
            const int* __restrict__ places,
            int count,
            const float2* __restrict__ analysis,
            int modes,
            int first,
            int all,
            float2* __restrict__ seen)
{
    using namespace mimopack::MIMOPACK_ISA::estimate;
    constexpr int height = 8, width = 2, warps = MIMOPACK_THREADS / 32;
    __shared__ float2 parts[warps][height * width];
    const int tiles = (modes + width - 1) / width;
    const int row = blockIdx.x / tiles * height, mode = blockIdx.x % tiles * width;
    float2 sum[height * width] = {};
#pragma unroll 2
    for (int e = threadIdx.x; e < count; e += MIMOPACK_THREADS) {
        const int place = places[e];
        float2 pilot[height], own[width]; /* all are loaded before the first is used */
        MP_UNROLL
        for (int j = 0; j < width; ++j)
            own[j] = analysis[least(mode + j, modes - 1) * count + e];
        MP_UNROLL
        for (int i = 0; i < height; ++i)
            pilot[i] = pilots[static_cast<unsigned long long>(least(row + i, rows - 1)) *
                                  elements +
                              place];
        MP_UNROLL
        for (int i = 0; i < height; ++i)
            MP_UNROLL
        for (int j = 0; j < width; ++j)
            add_product(sum[i * width + j], pilot[i], own[j]);
    }
    MP_UNROLL
    for (int at = 0; at < height * width; ++at) {
        const float2 part = sum_of_warp(sum[at]);
        if (threadIdx.x % 32 == 0)
            parts[threadIdx.x / 32][at] = part;
    }
    __syncthreads();
    if (threadIdx.x >= height * width)
        return;
    const int i = row + threadIdx.x / width, j = mode + threadIdx.x % width;
    float2 whole{ 0.0f, 0.0f };
    for (int warp = 0; warp < warps; ++warp) {
        whole.x += parts[warp][threadIdx.x].x;
        whole.y += parts[warp][threadIdx.x].y;
    }
    if (i < rows && j < modes)
        seen[static_cast<unsigned long long>(i) * all + first + j] = whole;
}

/* Compute the channel of a group of ports. A block of threads takes 32 columns of a slot
 * and 8 antennas; each warp takes a part of the modes.
 *
 * mean: (slots, antennas, all modes); the group's modes begin at `first`
 * synthesis: (modes, columns), a column for each place and each of `width` ports
 * out: (slots, places, antennas, all ports) */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    synthesise(const float2* __restrict__ mean,
               int antennas,
               int first,
               int all,
               const float2* __restrict__ synthesis,
               int modes,
               int columns,
               const int* __restrict__ ports,
               int width,
               int all_ports,
               float2* __restrict__ out)
{
    using namespace mimopack::MIMOPACK_ISA::estimate;
    constexpr int height = 8, warps = MIMOPACK_THREADS / 32, at_once = 4;
    __shared__ float2 parts[warps][height][32];
    const int tiles = (columns + 31) / 32, groups = (antennas + height - 1) / height;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int begin = blockIdx.x % tiles * 32, column = least(begin + lane, columns - 1);
    const int antenna = blockIdx.x / tiles % groups * height;
    const unsigned long long slot = blockIdx.x / tiles / groups;
    const float2* gains[height];
    MP_UNROLL
    for (int i = 0; i < height; ++i)
        gains[i] =
            mean + (slot * antennas + least(antenna + i, antennas - 1)) * all + first;
    float2 sum[height] = {};
    for (int m = warp; m < modes; m += warps * at_once) {
        float2 wave[at_once];
        MP_UNROLL
        for (int j = 0; j < at_once; ++j)
            wave[j] = m + j * warps < modes
                          ? synthesis[(m + j * warps) * columns + column]
                          : float2{ 0.0f, 0.0f };
        MP_UNROLL
        for (int j = 0; j < at_once; ++j)
            MP_UNROLL
        for (int i = 0; i < height; ++i)
            add_product(sum[i], gains[i][least(m + j * warps, modes - 1)], wave[j]);
    }
    MP_UNROLL
    for (int i = 0; i < height; ++i)
        parts[warp][i][lane] = sum[i];
    __syncthreads();
    for (int at = threadIdx.x; at < height * 32; at += MIMOPACK_THREADS) {
        const int i = antenna + at / 32, place = begin + at % 32;
        if (i >= antennas || place >= columns)
            continue;
        float2 whole{ 0.0f, 0.0f };
        MP_UNROLL
        for (int w = 0; w < warps; ++w) {
            whole.x += parts[w][at / 32][at % 32].x;
            whole.y += parts[w][at / 32][at % 32].y;
        }
        out[((slot * (columns / width) + place / width) * antennas + i) * all_ports +
            ports[place % width]] = whole;
    }
}

/* Compute the expected error of the channel: share (slots, modes) times spread (modes,
 * columns), plus left_out (columns,). A block of threads takes 32 columns of a slot; each
 * warp takes a part of the modes. */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    errors(const float* __restrict__ share,
           const float* __restrict__ spread,
           const float* __restrict__ left_out,
           int modes,
           int columns,
           float* __restrict__ out)
{
    using namespace mimopack::MIMOPACK_ISA::estimate;
    constexpr int warps = MIMOPACK_THREADS / 32;
    __shared__ float parts[warps][32];
    const int tiles = (columns + 31) / 32, lane = threadIdx.x % 32;
    const int column = blockIdx.x % tiles * 32 + lane;
    const unsigned long long slot = blockIdx.x / tiles;
    float sum = 0.0f;
#pragma unroll 4
    for (int m = threadIdx.x / 32; m < modes; m += warps)
        sum = fmaf(share[slot * modes + m],
                   spread[m * columns + least(column, columns - 1)],
                   sum);
    parts[threadIdx.x / 32][lane] = sum;
    __syncthreads();
    if (threadIdx.x >= 32 || column >= columns)
        return;
    sum = left_out[column];
    MP_UNROLL
    for (int w = 0; w < warps; ++w)
        sum += parts[w][lane];
    out[slot * columns + column] = sum;
}

/* Multiply received symbols (slots, antennas, columns) by the lower triangle of each
 * slot's factor; a block of threads for some columns of a slot. */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    whiten(const float2* __restrict__ factors,
           const float2* __restrict__ received,
           int antennas,
           int columns,
           float2* __restrict__ out)
{
    using namespace mimopack::MIMOPACK_ISA::estimate;
    const int tiles = (columns + blockDim.x - 1) / blockDim.x;
    const int column = blockIdx.x % tiles * blockDim.x + threadIdx.x;
    const unsigned long long slot = blockIdx.x / tiles;
    if (column >= columns)
        return;
    const float2* const factor = factors + slot * antennas * antennas;
    const unsigned long long from = slot * antennas * columns + column;
    for (int i = 0; i < antennas; ++i) {
        float2 sum{ 0.0f, 0.0f };
        for (int j = 0; j <= i; ++j)
            add_product(sum,
                        factor[i * antennas + j],
                        received[from + static_cast<unsigned long long>(j) * columns]);
        out[from + static_cast<unsigned long long>(i) * columns] = sum;
    }
}

/* The mean power of each layer: h (slots, rows, layers) is added to (slots, layers),
 * which are 0 before; `parts` blocks of threads for each */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    powers(const float2* __restrict__ h, int rows, int layers, int parts, float* out)
{
    using namespace mimopack::MIMOPACK_ISA::estimate;
    const unsigned which = blockIdx.x / parts, part = blockIdx.x % parts;
    const float2* const own =
        h + static_cast<unsigned long long>(which / layers) * rows * layers +
        which % layers;
    float sum = 0.0f;
#pragma unroll 4
    for (int row = part * MIMOPACK_THREADS + threadIdx.x; row < rows;
         row += parts * MIMOPACK_THREADS)
        sum += power(own[static_cast<unsigned long long>(row) * layers]);
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        atomicAdd(out + which, sum / rows);
}

/* A block of threads has a slot. seen: (slots, antennas, modes) what the modes receive ->
 * the modes' mean, whitened. energy: as from energies(). noise: (slots,). share: (slots,
 * modes) the expected error of each mode relative to its strength. factors: (slots,
 * antennas, antennas), by which noise becomes white; scratch: the same number of double2
 * for large arrays */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    gains(float2* seen,
          const float2* __restrict__ energy,
          const float* __restrict__ values,
          int antennas,
          int modes,
          int elements,
          int steps,
          float least,
          float start,
          float* __restrict__ noise,
          float* share,
          float2* factors,
          double2* scratch)
{
    using namespace mimopack;
    using namespace mimopack::MIMOPACK_ISA::estimate;
    __shared__ double2 local[largest_shared * largest_shared];
    __shared__ double powers[largest_array];
    const unsigned long long which = blockIdx.x;
    const int n = antennas, square = n * n;
    seen += which * n * modes;
    energy += which * square;
    share += which * modes;
    factors += which * square;
    double2* const covariance = n <= largest_shared ? local : scratch + which * square;
    slot own{ n, modes, elements, steps, least, seen, values, share };

    float total = 0.0f;
    for (int i = 0; i < n; ++i)
        total += energy[i * n + i].x;
    float found = own.noise(start, total);
    const float free = own.residual(energy, found, total, covariance);
    for (int at = threadIdx.x; at < square; at += MIMOPACK_THREADS)
        factors[at] = { at / n == at % n ? 1.0f : 0.0f, 0.0f };
    __syncthreads();

    /* The form with the shortest description, see nr/noise.py */
    for (int i = threadIdx.x; i < n; i += MIMOPACK_THREADS)
        powers[i] = covariance[i * n + i].x;
    __syncthreads();
    double mean = 0.0, apart = 0.0;
    bool positive = free > n;
    for (int i = 0; i < n; ++i) {
        positive = positive && powers[i] > 0.0;
        mean += powers[i] / n;
        apart += log(powers[i]);
    }
    const double together = decompose(covariance, n);
    const double each = 0.5 * log(static_cast<double>(free));
    const double same_length = free * n * log(mean) + each;
    const double apart_length = free * apart + each * n;
    const double together_length = free * together + each * square;
    const bool is_whole = together_length < apart_length && together_length < same_length;
    if (positive && (is_whole || apart_length < same_length)) {
        if (is_whole)
            invert(covariance, n, factors);
        else
            for (int i = threadIdx.x; i < n; i += MIMOPACK_THREADS)
                factors[i * n + i].x = static_cast<float>(1.0 / sqrt(powers[i]));
        __syncthreads();
        float sum = 0.0f;
        for (int at = threadIdx.x; at < square; at += MIMOPACK_THREADS)
            sum += power(factors[at]);
        const float scale = 1.0f / sqrtf(sum_of_block(sum) / n);
        for (int at = threadIdx.x; at < square; at += MIMOPACK_THREADS)
            factors[at] = scaled(factors[at], scale);
        __syncthreads();
        own.whiten(factors);
        /* The power of the whitened DMRS: the trace of factor energy factor^H */
        sum = 0.0f;
        for (int at = threadIdx.x; at < square; at += MIMOPACK_THREADS) {
            const int i = at / n, j = at % n;
            for (int k = 0; j <= i && k <= i; ++k) {
                float2 product = energy[j >= k ? j * n + k : k * n + j];
                product.y = j >= k ? product.y : -product.y;
                /* f_ij E_jk conj(f_ik) */
                const float2 ends = times_conjugate(factors[at], factors[i * n + k]);
                sum += ends.x * product.x - ends.y * product.y;
            }
        }
        found = own.noise(start, sum_of_block(sum));
    }
    __syncthreads();
    for (int m = threadIdx.x; m < modes; m += MIMOPACK_THREADS) {
        const float weight = 1.0f / (values[m] + found);
        for (int i = 0; i < n; ++i)
            seen[i * modes + m] = scaled(seen[i * modes + m], weight);
        share[m] = found * weight;
    }
    if (threadIdx.x == 0)
        noise[which] = found;
}

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Code blocks on a GPU: their LLRs before the decoder, and their bits and CRCs after it.
 * A block of threads has a code block; the code blocks of a transport block follow each
 * other. */
#pragma once
#include "common/config.h"
#include "cuda/program.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN unsigned xor_of_warp(unsigned x)
{
    for (int distance = 16; distance; distance /= 2)
        x ^= __shfl_xor_sync(~0u, x, distance);
    return x;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

/* LLRs of the bits sent -> LLRs of all bits of the code blocks. `width` LLRs belong to a
 * transport block. sources: (times, blocks, size), where each bit's first, second, ...
 * transmission is: twice its place, plus 1 if it was sent inverted; negative if there is
 * none. Bits [begin, end) have the LLR `known`, unless all others have an LLR of 0. */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    recover(const float* __restrict__ llr,
            unsigned long long width,
            const int* __restrict__ sources,
            int times,
            int blocks,
            int size,
            int begin,
            int end,
            float known,
            float* out)
{
    const float* const from = llr + blockIdx.x / blocks * width;
    const int* const source = sources + blockIdx.x % blocks * size;
    float* const to = out + static_cast<unsigned long long>(blockIdx.x) * size;
    bool said = false;
    for (int bit = threadIdx.x; bit < size; bit += MIMOPACK_THREADS) {
        float sum = 0.0f;
        for (int t = 0; t < times; ++t) {
            const int at = source[t * blocks * size + bit];
            if (at >= 0)
                sum += at & 1 ? -from[at >> 1] : from[at >> 1];
        }
        to[bit] = sum;
        said = said || sum != 0.0f;
    }
    if (__syncthreads_or(said))
        for (int bit = begin + threadIdx.x; bit < end; bit += MIMOPACK_THREADS)
            to[bit] = known;
}

/* A-posteriori LLRs -> bits of transport blocks, and their CRCs. The first `length` of a
 * code block's `size` bits are decided; the last `crc` of these are its own CRC. What a
 * bit adds to a remainder, if it is 1, is in of_block and of_whole. remainders, 0 before:
 * 0 after if the CRC of a transport block is correct. flags: 1 if a code block was found,
 * or has bits other than 0, plus 2 if its own CRC is correct. */
extern "C" __global__ void __launch_bounds__(MIMOPACK_THREADS)
    join(const float* __restrict__ posterior,
         int size,
         const bool* __restrict__ found,
         int blocks,
         int length,
         int crc,
         int transport_bits,
         const unsigned* __restrict__ of_block,
         const unsigned* __restrict__ of_whole,
         unsigned char* __restrict__ bits,
         unsigned* remainders,
         unsigned char* __restrict__ flags)
{
    using namespace mimopack::MIMOPACK_ISA;
    __shared__ unsigned parts[2][32];
    const unsigned which = blockIdx.x / blocks;
    const int own = length - crc, first = blockIdx.x % blocks * own;
    const float* const from =
        posterior + static_cast<unsigned long long>(blockIdx.x) * size;
    unsigned char* const to =
        bits + static_cast<unsigned long long>(which) * transport_bits;
    unsigned block = 0, whole = 0;
    bool any = false;
    for (int i = threadIdx.x; i < length; i += MIMOPACK_THREADS) {
        const bool bit = from[i] > 0.0f;
        any = any || bit;
        if (i < own && first + i < transport_bits)
            to[first + i] = bit;
        if (bit && i < own)
            whole ^= of_whole[first + i];
        if (bit && crc)
            block ^= of_block[i];
    }
    block = xor_of_warp(block);
    whole = xor_of_warp(whole);
    if (threadIdx.x % 32 == 0) {
        parts[0][threadIdx.x / 32] = block;
        parts[1][threadIdx.x / 32] = whole;
    }
    const bool is_real = __syncthreads_or(any) || found[blockIdx.x];
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < MIMOPACK_THREADS / 32; ++warp) {
            block ^= parts[0][warp];
            whole ^= parts[1][warp];
        }
        atomicXor(remainders + which, whole);
        flags[blockIdx.x] = is_real + 2 * (block == 0);
    }
}

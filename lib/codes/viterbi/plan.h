/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What the decoders of the convolutional code are asked to do, and what each instruction
 * set's build of them offers. */
#pragma once
#include "cpu/plan.h"

namespace mimopack {

/* Of A1 B1 A2 B2 ... of `steps` trellis steps, bit i of `kept` says whether i is sent:
 * IEEE 802.11-2020 figures 17-9 and 19-11. LLRs become integers of at most `largest`, see
 * codes/viterbi/kernel.h. */
struct puncturing {
    const char* rate;
    int steps;
    unsigned kept;
    int largest;
};

constexpr puncturing viterbi_rates[] = {
    { "1/2", 1, 0b11, 21 },
    { "2/3", 2, 0b0111, 31 },
    { "3/4", 3, 0b100111, 36 },
    { "5/6", 5, 0b1001100111, 42 },
};

/* Always part of its caller, as instruction sets share this namespace. */
MP_FN constexpr std::int64_t coded_length(const puncturing& p, std::int64_t steps)
{
    std::int64_t sent = 0;
    for (int i = 0; i < 2 * p.steps; ++i)
        if (p.kept >> i & 1)
            sent += steps / p.steps + (i / 2 < steps % p.steps);
    return sent;
}

constexpr int viterbi_tail = 6;

/* What LLRs are multiplied with before they are rounded: their mean magnitude becomes
 * half the largest integer. Without a mean all of them are 0, NaN or Inf. */
MP_FN float viterbi_scale(const puncturing& p, float mean, float largest_mean)
{
    const float most = mean < largest_mean ? mean : largest_mean;
    return mean > 0
               ? 0.5f * static_cast<float>(p.largest) / (most > 1e-30f ? most : 1e-30f)
               : 1.0f;
}

/* Blocks are cut at multiples of this many steps, whole periods of every puncturing, of
 * the trellis's phases and of its normalisation. */
constexpr int viterbi_chunk = 120;

struct viterbi_block {
    const void* llr;    /* float or int8 */
    std::int64_t steps; /* with the tail */
    std::uint8_t* bits;
    float scale; /* of an LLR, before it is rounded */
};

/* A piece of a block, for one lane: it runs steps [from, to) and writes the bits of
 * [begin, end). Unless from is 0 any state is as likely there; unless `to` is the block's
 * end it goes back from the best state. */
struct viterbi_job {
    viterbi_block* block;
    std::int64_t from, to, begin, end;
    /* All metrics and the chosen state where the bits begin and end, for comparison with
     * the neighbours */
    std::uint8_t metrics[2][64];
    std::uint8_t state[2];
};

/* Soft output: what it is asked to do; place as in codes/convolutional/kernel.h. */
struct convolutional_plan {
    int num_info, num_bits;
    const int* place;
    float margin; /* found: no a-posteriori LLR of an information bit is smaller */
    bool int16;   /* in place of float: twice the lanes */
};

struct viterbi_build {
    const char* name; /* of its isa_build */
    int lanes;        /* jobs that run together */
    /* The mean of |LLR| of those that are neither 0 nor NaN nor Inf, or 0 */
    float (*mean)(const void* llr, bool int8, std::int64_t n);
    /* What a group needs whose longest job has so many steps */
    std::size_t (*memory)(std::int64_t steps);
    /* At most `lanes` jobs; memory is aligned to 64 bytes. */
    void (*decode)(
        viterbi_job* const* jobs, int count, int rate, bool int8, std::uint8_t* memory);
    /* Returns how many codewords were erased, or out_of_memory. */
    std::size_t (*decode_soft)(const convolutional_plan&, const codeword_batch&);
};

const viterbi_build& find_viterbi(const isa_build& isa);

/* n blocks, LLRs and bits of one after those of another */
struct viterbi_batch {
    std::size_t n;
    const std::int64_t* num_bits; /* without tail */
    int rate;                     /* place in viterbi_rates */
    const void* llr;
    bool int8;
    bool rounded; /* int8 that need no scale */
    float largest_mean;
    std::uint8_t* bits; /* one in a byte */
    int threads;
    bool (*stop)(void* context);
    void* stop_context;
};

/* Returns 0 or out_of_memory. */
std::size_t decode_viterbi(const viterbi_build& build, const viterbi_batch& b);

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans and batches of the codes' decoders, and the decoders of an instruction set */
#pragma once
#include "cpu/plan.h"

namespace mimopack {

/* The plan of an LDPC decoder; codes/ldpc/kernel.h describes the code's arrays */
struct ldpc_plan {
    int num_bits, num_checks;
    const int* first;
    const int* columns;
    int iterations;
    float factor, offset;
    bool min_star;   /* see ldpc_rule */
    bool early_stop; /* each codeword stops by itself */
};

/* The plan of a decoder of an LDPC code made of circulant blocks, with integers of 16
 * bits. Block row r has the blocks first[r] ... first[r + 1] - 1. In such a block, row i
 * has its one in column (i + shift) modulo size. */
constexpr int quasi_cyclic_degree = 32; /* most blocks in a block row */
struct quasi_cyclic_plan {
    int size, rows, columns; /* of a block; block rows, block columns */
    const int* first;
    const int* column; /* of a block */
    const int* shift;
    int iterations;
    float factor, offset;
    bool min_star;   /* see ldpc_rule */
    bool early_stop; /* each codeword stops by itself */
};

/* The plan of a turbo decoder; codes/turbo/kernel.h describes the interleaver */
struct turbo_plan {
    int size;
    const int* interleaver;
    int iterations;
    float scale;
    bool early_stop; /* each codeword stops by itself */
    bool int16;      /* integers of 16 bits in place of float: twice the lanes */
};

/* The plan of a decoder of the convolutional code with soft output;
 * codes/convolutional/kernel.h describes `place` */
struct convolutional_plan {
    int num_info, num_bits;
    const int* place;
    float margin; /* found: no information bit has a smaller |a-posteriori LLR| */
    bool int16;   /* integers of 16 bits in place of float: twice the lanes */
};

/* n codewords, a row for each */
struct codeword_batch {
    std::size_t n;
    const float* llr;         /* n x num_bits */
    float* posterior;         /* n x num_bits; or null, and `bits` instead */
    std::uint8_t* bits;       /* n x num_bits decisions, of decode_quasi_cyclic alone */
    float* messages;          /* groups x messages x lanes, read and written; or null */
    std::uint8_t* found;      /* n: the decoder ended with a codeword */
    std::int32_t* iterations; /* n: iterations that it took */
    int threads;
    bool (*stop)(void* context);
    void* stop_context;
};

/* Where the LLRs of code blocks are among those of the bits sent. A bit may be sent
 * `times` times. */
struct recovery_plan {
    std::size_t times, blocks;
    std::size_t size;   /* bits of a block */
    std::size_t stride; /* sources of a block, a multiple of all lanes */
    std::size_t sent;   /* bits sent, of all blocks */
    /* (times, blocks, stride): the place of each bit among those sent, times 4, plus 1 if
     * it was sent inverted; 2 if there is none. */
    const std::int32_t* sources;
    /* Bits [begin, end) of a block have the LLR `known`, unless all others have an LLR of
     * 0. */
    std::size_t begin, end;
    float known;
};

/* Puncturing: of A1 B1 A2 B2 ... of `steps` trellis steps, element i is sent if bit i of
 * `kept` is set (IEEE 802.11-2020 figures 17-9 and 19-11). LLRs become integers of at
 * most `largest`, see codes/viterbi/kernel.h. */
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

/* Return the number of coded bits. Always part of its caller, because instruction sets
 * share this namespace. */
MP_FN constexpr std::int64_t coded_length(const puncturing& p, std::int64_t steps)
{
    std::int64_t sent = 0;
    for (int i = 0; i < 2 * p.steps; ++i)
        if (p.kept >> i & 1)
            sent += steps / p.steps + (i / 2 < steps % p.steps);
    return sent;
}

constexpr int viterbi_tail = 6;

/* Return the factor for LLRs before rounding: their mean magnitude becomes half the
 * largest integer. The mean is 0 if all LLRs are 0, NaN or Inf. */
MP_FN float viterbi_scale(const puncturing& p, float mean, float largest_mean)
{
    const float most = mean < largest_mean ? mean : largest_mean;
    return mean > 0
               ? 0.5f * static_cast<float>(p.largest) / (most > 1e-30f ? most : 1e-30f)
               : 1.0f;
}

/* Blocks are cut at multiples of this number of steps, which are whole periods of every
 * puncturing, of the trellis's phases and of its normalisation. */
constexpr int viterbi_chunk = 120;

struct viterbi_block {
    const void* llr;    /* float or int8 */
    std::int64_t steps; /* tail included */
    std::uint8_t* bits;
    float scale; /* factor for an LLR before rounding */
};

/* A piece of a block, for one lane. It runs steps [from, to) and writes the bits of
 * [begin, end). All states are equally likely at `from` unless it is 0. The piece goes
 * back from the best state unless `to` is the block's end. */
struct viterbi_job {
    viterbi_block* block;
    std::int64_t from, to, begin, end;
    /* All metrics and the chosen state where the bits begin and end, to be compared with
     * the neighbours' */
    std::uint8_t metrics[2][64];
    std::uint8_t state[2];
};

struct viterbi_build {
    int lanes; /* jobs that run together */
    /* Return the mean of |LLR| over all finite LLRs other than 0, or 0 if there are
     * none. */
    float (*mean)(const void* llr, bool int8, std::int64_t n);
    /* Return the bytes that a group needs if its longest job has this number of steps. */
    std::size_t (*memory)(std::int64_t steps);
    /* Decode at most `lanes` jobs; memory is aligned to 64 bytes. */
    void (*decode)(
        viterbi_job* const* jobs, int count, int rate, bool int8, std::uint8_t* memory);
};

/* The decoders of an instruction set. The first four return how many codewords were
 * erased, or out_of_memory. */
struct code_decoders {
    std::size_t (*ldpc)(const ldpc_plan&, const codeword_batch&);
    std::size_t (*quasi_cyclic)(const quasi_cyclic_plan&, const codeword_batch&);
    std::size_t (*turbo)(const turbo_plan&, const codeword_batch&);
    std::size_t (*convolutional)(const convolutional_plan&, const codeword_batch&);
    const viterbi_build& viterbi;
    /* Compute the LLRs of n rows of blocks (n, blocks, size) from those of the bits sent,
     * (n, sent). */
    void (*recover)(
        const recovery_plan&, std::size_t n, const float* llr, float* out, int threads);
};

/* n blocks; LLRs and bits follow each other block after block */
struct viterbi_batch {
    std::size_t n;
    const std::int64_t* num_bits; /* without the tail */
    int rate;                     /* place in viterbi_rates */
    const void* llr;
    bool int8;
    bool rounded; /* int8 that needs no scale */
    float largest_mean;
    std::uint8_t* bits; /* a bit in each byte */
    int threads;
    bool (*stop)(void* context);
    void* stop_context;
};

/* Return 0 or out_of_memory. */
std::size_t decode_viterbi(const viterbi_build& build, const viterbi_batch& b);

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes a batch of blocks as groups of jobs of about the same length.
 *
 * Long blocks are cut into pieces, so that a few blocks fill all lanes and threads, and
 * decisions stay in the cache. A piece starts 120 steps early, from any state, and ends
 * 120 steps late (240 at rate 5/6). Where two pieces meet they are compared: all 64
 * metrics, and the state that each traced back to. If both are equal everywhere, then
 * from the first piece on every metric and decision is that of decoding the whole block,
 * and from the last piece back every state. A block with a difference is decoded again
 * with four times the overlap, in the end without a cut. So the result never depends on
 * the cuts. Below a bit error rate of about 1 % nearly no block is decoded twice; noise
 * alone takes two to three times as long. */
#include "codes/decoders.h"
#include "common/aligned_memory.h"
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

namespace mimopack {

namespace {

/* Steps before and after a piece, by rate, and the factor by which a retry multiplies
 * them */
constexpr std::int64_t overlaps[] = { 120, 120, 120, 240 };
constexpr int longer = 4;
constexpr std::int64_t shortest_piece = viterbi_chunk, longest_piece = 40 * viterbi_chunk;

std::int64_t round_up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

struct cutting {
    std::int64_t piece, overlap;

    std::int64_t pieces(std::int64_t steps) const
    {
        return std::max<std::int64_t>(1, (steps + piece / 2) / piece);
    }
    /* Return the steps of the longest piece without overlap. */
    std::int64_t length(std::int64_t steps) const
    {
        return round_up((steps + pieces(steps) - 1) / pieces(steps), viterbi_chunk);
    }
};

/* Return the steps of all groups, each as long as its longest job. lengths: set to the
 * steps of all jobs. */
std::int64_t cost(const std::vector<viterbi_block*>& blocks,
                  const cutting& cut,
                  int lanes,
                  std::vector<std::int64_t>& lengths)
{
    lengths.clear();
    for (const viterbi_block* block : blocks) {
        const std::int64_t length = cut.length(block->steps);
        for (std::int64_t begin = 0; begin < block->steps; begin += length)
            lengths.push_back(std::min(block->steps, begin + length + cut.overlap) -
                              std::max<std::int64_t>(0, begin - cut.overlap));
    }
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < lengths.size(); i += lanes)
        sum += lengths[i];
    return sum;
}

/* Find the cheapest cutting of few blocks; `lanes` counts the lanes of all threads. */
cutting choose(const std::vector<viterbi_block*>& blocks, std::int64_t overlap, int lanes)
{
    const std::int64_t longest = std::max(longest_piece, 4 * overlap);
    cutting best = { longest, overlap };
    if (blocks.size() >= 4 * static_cast<std::size_t>(lanes))
        return best;
    std::vector<std::int64_t> lengths;
    std::int64_t least = cost(blocks, best, lanes, lengths), steps = 0;
    for (const viterbi_block* block : blocks)
        steps = std::max(steps, block->steps);
    for (std::int64_t piece = std::min(longest, steps); piece >= shortest_piece;
         piece = piece * 7 / 8) {
        const cutting cut = { piece, overlap };
        const std::int64_t now = cost(blocks, cut, lanes, lengths);
        if (std::accumulate(lengths.begin(), lengths.end(), std::int64_t(0)) >=
            lanes * least)
            break; /* shorter pieces need more groups */
        if (now < least) {
            least = now;
            best = cut;
        }
    }
    return best;
}

void cut_block(viterbi_block& block, const cutting& cut, std::vector<viterbi_job>& jobs)
{
    const std::int64_t length = cut.length(block.steps);
    for (std::int64_t begin = 0; begin < block.steps; begin += length) {
        viterbi_job job{};
        job.block = &block;
        job.begin = begin;
        job.end = std::min(block.steps, begin + length);
        job.from = std::max<std::int64_t>(0, begin - cut.overlap);
        job.to = std::min(block.steps, job.end + cut.overlap);
        jobs.push_back(job);
    }
}

bool fits(const viterbi_job& first, const viterbi_job& second)
{
    return first.state[1] == second.state[0] &&
           !std::memcmp(first.metrics[1], second.metrics[0], sizeof first.metrics[1]);
}

/* Set the scale of a block's LLRs. */
void set_scale(const viterbi_build& build, const viterbi_batch& b, viterbi_block& block)
{
    if (b.rounded) {
        block.scale = 1;
        return;
    }
    const puncturing& p = viterbi_rates[b.rate];
    block.scale = viterbi_scale(
        p, build.mean(block.llr, b.int8, coded_length(p, block.steps)), b.largest_mean);
}

/* Run all jobs, unless the call is stopped. Return false if memory runs out. */
bool run(const viterbi_build& build,
         const viterbi_batch& b,
         std::vector<viterbi_job>& jobs)
{
    std::vector<viterbi_job*> order;
    for (viterbi_job& job : jobs)
        order.push_back(&job);
    std::stable_sort(order.begin(), order.end(), [](const auto* x, const auto* y) {
        return x->to - x->from > y->to - y->from;
    });
    const std::int64_t groups = (jobs.size() + build.lanes - 1) / build.lanes;
    const std::size_t size = build.memory(order[0]->to - order[0]->from);
    const int threads = static_cast<int>(std::min<std::int64_t>(groups, b.threads));
    int failed = 0;
#pragma omp parallel num_threads(threads) reduction(+ : failed) if (threads > 1)
    {
        const aligned_memory memory(size);
        failed = !memory.get();
#pragma omp for schedule(dynamic, 1)
        for (std::size_t i = 0; i < jobs.size(); ++i)
            if (jobs[i].begin == 0)
                set_scale(build, b, *jobs[i].block);
#pragma omp for schedule(dynamic, 1)
        for (std::int64_t g = 0; g < groups; ++g) {
            if (failed || b.stop(b.stop_context))
                continue; /* OpenMP needs every thread at the end of the loop */
            const std::int64_t first = g * build.lanes;
            const auto count = std::min<std::int64_t>(build.lanes, jobs.size() - first);
            build.decode(&order[first],
                         static_cast<int>(count),
                         b.rate,
                         b.int8,
                         static_cast<std::uint8_t*>(memory.get()));
        }
    }
    return !failed;
}

std::vector<viterbi_block> make_blocks(const viterbi_batch& b)
{
    const puncturing& p = viterbi_rates[b.rate];
    std::vector<viterbi_block> blocks(b.n);
    const char* llr = static_cast<const char*>(b.llr);
    std::uint8_t* bits = b.bits;
    for (std::size_t i = 0; i < b.n; ++i) {
        blocks[i] = { llr, b.num_bits[i] + viterbi_tail, bits, 0.0f };
        llr += coded_length(p, blocks[i].steps) * (b.int8 ? 1 : sizeof(float));
        bits += b.num_bits[i];
    }
    return blocks;
}

} // namespace

std::size_t decode_viterbi(const viterbi_build& build, const viterbi_batch& b)
{
    std::vector<viterbi_block> blocks = make_blocks(b);
    std::vector<viterbi_block*> left;
    for (viterbi_block& block : blocks)
        if (block.steps > viterbi_tail)
            left.push_back(&block);
    for (std::int64_t overlap = overlaps[b.rate]; !left.empty(); overlap *= longer) {
        const cutting cut = choose(left, overlap, build.lanes * b.threads);
        std::vector<viterbi_job> jobs;
        for (viterbi_block* block : left)
            cut_block(*block, cut, jobs);
        left.clear();
        if (!run(build, b, jobs))
            return out_of_memory;
        if (b.stop(b.stop_context))
            break;
        for (std::size_t i = 1; i < jobs.size(); ++i)
            if (jobs[i].block == jobs[i - 1].block && !fits(jobs[i - 1], jobs[i]) &&
                (left.empty() || left.back() != jobs[i].block))
                left.push_back(jobs[i].block);
    }
    return 0;
}

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Run a group of blocks through the Viterbi algorithm. LLRs are rounded and set out by
 * trellis step, codes/viterbi/kernel.h goes forward, and all lanes go back together. */
#include "codes/viterbi/cpu_penalties.h"
#include "codes/viterbi/cpu_trace_back.h"
#include "codes/viterbi/kernel.h"
#include "cpu/quantise.h"

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

using code = viterbi_code;
using metrics = viterbi_metrics<simd8>;

constexpr int lanes = simd8::lanes;
constexpr int chunk = viterbi_chunk;
constexpr int normalise_every = code::normalise_every;
constexpr int snapshot = code::states * lanes;
static_assert(chunk % normalise_every == 0 && normalise_every % code::period == 0);

float mean(const void* llr, bool int8, std::int64_t n)
{
    return int8 ? mean_magnitude(static_cast<const std::int8_t*>(llr), n)
                : mean_magnitude(static_cast<const float*>(llr), n);
}

/* Memory of a group, for steps up to a multiple of normalise_every */
struct memory_plan {
    std::size_t decisions, snapshots, places;

    explicit memory_plan(std::int64_t steps)
    {
        const std::size_t most = (steps + chunk - 1) / chunk * chunk;
        decisions = most * metrics::row;
        snapshots = (most / chunk + 1) * snapshot;
        places = most / code::period * sizeof(lane_words);
    }
};

std::size_t memory(std::int64_t steps)
{
    const memory_plan plan(steps);
    return plan.decisions + plan.snapshots + plan.places;
}

/* One group of jobs */
template <int RATE, class T>
struct group {
    viterbi_job* const* jobs;
    const int count;
    std::int64_t length = 0; /* steps of the longest job */
    std::uint8_t *decisions, *snapshots, *places;

    group(viterbi_job* const* jobs_, int count_, std::uint8_t* space)
        : jobs(jobs_), count(count_)
    {
        for (int l = 0; l < count; ++l)
            if (jobs[l]->to - jobs[l]->from > length)
                length = jobs[l]->to - jobs[l]->from;
        const memory_plan plan(length);
        decisions = space;
        snapshots = decisions + plan.decisions;
        places = snapshots + plan.snapshots;
    }

    void forward()
    {
        /* All states are equally likely, or state 0 (at place 0) is certain. */
        __builtin_memset(snapshots, 255, snapshot);
        for (int l = 0; l < count; ++l) {
            if (jobs[l]->from != 0)
                continue;
            for (int p = 0; p < code::states; p += code::group)
                __builtin_memset(metric_at(0, l, p), 0, code::group);
            *metric_at(0, l, 0) = 255;
        }
        metrics m;
        m.load(snapshots);
        alignas(64) std::int8_t pairs[lanes][pairs_size] = {};
        alignas(64) std::int8_t steps[2 * lanes * chunk];
        alignas(64) std::uint8_t penalties[4 * lanes * chunk];
        for (std::int64_t at = 0; at < length; at += chunk) {
            for (int l = 0; l < count; ++l)
                load_pairs<RATE, T>(*jobs[l]->block, jobs[l]->from + at, pairs[l]);
            std::int64_t rest = length - at + normalise_every - 1;
            rest -= rest % normalise_every;
            const int now = rest < chunk ? static_cast<int>(rest) : chunk;
            by_step(pairs, now, steps);
            to_penalties(steps, now * lanes, penalties);
            std::uint8_t* const rows = decisions + at * metrics::row;
            for (int t = 0; t < now; t += normalise_every) {
                six(m, penalties + 4 * lanes * t, rows + t * metrics::row);
                six(m, penalties + 4 * lanes * (t + 6), rows + (t + 6) * metrics::row);
                m.normalise();
            }
            m.store(snapshots + (at / chunk + 1) * snapshot);
        }
    }

    MP_FN static void six(metrics& m, const std::uint8_t* paid, std::uint8_t* rows)
    {
        constexpr int width = 4 * lanes, row = metrics::row;
        m.template step<0>(paid, rows);
        m.template step<1>(paid + width, rows + row);
        m.template step<2>(paid + 2 * width, rows + 2 * row);
        m.template step<3>(paid + 3 * width, rows + 3 * row);
        m.template step<4>(paid + 4 * width, rows + 4 * row);
        m.template step<5>(paid + 5 * width, rows + 5 * row);
    }

    /* Return a lane's metrics of a group of places, from `place` on, after a number of
     * steps, a multiple of a chunk. */
    std::uint8_t* metric_at(std::int64_t steps, int lane, int place) const
    {
        return snapshots + steps / chunk * snapshot + place / code::group * simd8::width +
               lane * code::group;
    }

    void read_metrics(std::int64_t steps, int lane, std::uint8_t* to) const
    {
        for (int p = 0; p < code::states; p += code::group)
            __builtin_memcpy(to + p, metric_at(steps, lane, p), code::group);
    }

    int place_after(std::int64_t steps, int lane) const
    {
        return places[(steps / code::period - 1) * sizeof(lane_words) +
                      lane * sizeof(std::uint64_t)];
    }

    /* Return the place in which a lane ends. */
    int last_place(int lane) const
    {
        const viterbi_job& job = *jobs[lane];
        if (job.to == job.block->steps)
            return 0;
        std::uint8_t last[code::states];
        read_metrics(job.to - job.from, lane, last);
        int best = 0;
        for (int p = 1; p < code::states; ++p)
            if (last[p] > last[best])
                best = p;
        return best;
    }

    /* Trace all lanes back, and keep their places after every six steps. The places of a
     * lane that has not begun yet are meaningless. */
    void backward()
    {
        std::int64_t ends[lanes] = {};
        int last[lanes] = {};
        for (int l = 0; l < count; ++l) {
            ends[l] = jobs[l]->to - jobs[l]->from;
            last[l] = last_place(l);
        }
        lane_words place = {};
        std::int64_t next = length; /* step at which a lane begins */
        for (std::int64_t t = (length + 5) / 6 * 6 - 6; t >= 0; t -= 6) {
            std::uint8_t* const kept = places + t / 6 * sizeof place;
            const std::uint8_t* const rows = decisions + t * metrics::row;
            if (next > t) {
                begin(t + 6, ends, last, place);
                __builtin_memcpy(kept, &place, sizeof place);
                back<5>(rows + 5 * metrics::row, place);
                begin(t + 5, ends, last, place);
                back<4>(rows + 4 * metrics::row, place);
                begin(t + 4, ends, last, place);
                back<3>(rows + 3 * metrics::row, place);
                begin(t + 3, ends, last, place);
                back<2>(rows + 2 * metrics::row, place);
                begin(t + 2, ends, last, place);
                back<1>(rows + metrics::row, place);
                begin(t + 1, ends, last, place);
                back<0>(rows, place);
                next = 0;
                for (int l = 0; l < count; ++l)
                    if (ends[l] <= t && ends[l] > next)
                        next = ends[l];
            } else {
                __builtin_memcpy(kept, &place, sizeof place);
                back<5>(rows + 5 * metrics::row, place);
                back<4>(rows + 4 * metrics::row, place);
                back<3>(rows + 3 * metrics::row, place);
                back<2>(rows + 2 * metrics::row, place);
                back<1>(rows + metrics::row, place);
                back<0>(rows, place);
            }
        }
    }

    MP_FN void begin(std::int64_t at,
                     const std::int64_t* ends,
                     const int* last,
                     lane_words& place) const
    {
        for (int l = 0; l < lanes; ++l)
            if (ends[l] == at)
                place[l] = last[l];
    }

    void write(int lane)
    {
        viterbi_job& job = *jobs[lane];
        const std::int64_t most = job.block->steps - viterbi_tail;
        const std::int64_t end = job.end < most ? job.end : most;
        const std::uint8_t* at =
            places + (job.begin - job.from) / code::period * sizeof(lane_words) +
            lane * sizeof(std::uint64_t);
        std::uint8_t* to = job.block->bits + job.begin;
        std::int64_t left = end - job.begin;
        for (; left >= 8; left -= 6, to += 6, at += sizeof(lane_words))
            __builtin_memcpy(to, bits_of_place.bits[*at], 8);
        for (; left > 0; left -= 6, to += 6, at += sizeof(lane_words))
            __builtin_memcpy(to, bits_of_place.bits[*at], left < 6 ? left : 6);
    }

    /* Keep what neighbours compare. */
    void keep(int lane)
    {
        viterbi_job& job = *jobs[lane];
        const std::int64_t at[2] = { job.begin, job.end };
        for (int side = 0; side < 2; ++side)
            if (at[side] > job.from && at[side] < job.to) {
                read_metrics(at[side] - job.from, lane, job.metrics[side]);
                job.state[side] =
                    static_cast<std::uint8_t>(place_after(at[side] - job.from, lane));
            }
    }
};

template <int RATE, class T>
void decode_group(viterbi_job* const* jobs, int count, std::uint8_t* memory)
{
    group<RATE, T> g(jobs, count, memory);
    g.forward();
    g.backward();
    for (int l = 0; l < count; ++l) {
        g.write(l);
        g.keep(l);
    }
}

void decode(
    viterbi_job* const* jobs, int count, int rate, bool int8, std::uint8_t* memory)
{
    using function = void (*)(viterbi_job* const*, int, std::uint8_t*);
    constexpr function functions[][2] = {
        { decode_group<0, float>, decode_group<0, std::int8_t> },
        { decode_group<1, float>, decode_group<1, std::int8_t> },
        { decode_group<2, float>, decode_group<2, std::int8_t> },
        { decode_group<3, float>, decode_group<3, std::int8_t> },
    };
    functions[rate][int8](jobs, count, memory);
}

} // namespace

extern const viterbi_build viterbi = { lanes, mean, memory, decode };

} // namespace MIMOPACK_ISA
} // namespace mimopack

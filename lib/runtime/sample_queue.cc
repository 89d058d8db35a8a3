/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include "runtime/sample_queue.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

namespace mimopack {

void sample_queue::open()
{
    const std::lock_guard guard(d_mutex);
    d_ends = d_dropping = d_abandoned = false;
    d_waiting = d_taking = 0;
    d_tags.clear();
    for (std::shared_ptr<chunk>& used : d_chunks)
        d_free.push_back(std::move(used));
    d_chunks.clear();
}

/* Return a chunk with room for samples. The next sample that it gets is number
 * "sample". */
std::shared_ptr<sample_queue::chunk> sample_queue::chunk_for(std::uint64_t sample)
{
    const std::lock_guard guard(d_mutex);
    if (!d_chunks.empty()) {
        const chunk& last = *d_chunks.back();
        if (last.used < d_size && last.first + last.used == sample)
            return d_chunks.back();
    }
    std::shared_ptr<chunk> made;
    const auto unused =
        std::find_if(d_free.begin(), d_free.end(), [](const std::shared_ptr<chunk>& c) {
            return c.use_count() == 1;
        });
    if (unused == d_free.end()) {
        made = std::make_shared<chunk>();
        made->data.reset(new float[2 * d_num_rx * d_size]);
    } else {
        /* See what the last reader did before it let go of the chunk. */
        std::atomic_thread_fence(std::memory_order_acquire);
        made = std::move(*unused);
        d_free.erase(unused);
    }
    made->first = sample;
    made->used = made->taken = 0;
    d_chunks.push_back(made);
    return made;
}

bool sample_queue::put(std::uint64_t first,
                       const sample* const* rows,
                       std::int64_t count,
                       const std::vector<gr::tag_t>& tags)
{
    {
        const std::lock_guard guard(d_mutex);
        if (d_abandoned) { /* nobody wants the tags either */
            d_dropped += count;
            return false;
        }
        d_tags.insert(d_tags.end(), tags.begin(), tags.end());
        if (d_drops && !fits(count)) {
            d_dropping = true;
            d_dropped += count;
            return true;
        }
        d_dropping = false;
    }
    std::int64_t done = 0;
    while (done < count) {
        const std::shared_ptr<chunk> into = chunk_for(first + done);
        const std::int64_t size = std::min(count - done, d_size - into->used);
        if (!d_drops) {
            std::unique_lock lock(d_mutex);
            d_change.wait(lock, [&] { return fits(size) || d_abandoned; });
            if (d_abandoned) {
                d_dropped += count - done;
                return false;
            }
        }
        /* The taking thread reads up to "used" only. */
        for (int row = 0; row < d_num_rx; ++row)
            std::memcpy(into->data.get() + 2 * (row * d_size + into->used),
                        rows[row] + done,
                        size * sizeof(sample));
        const std::lock_guard guard(d_mutex);
        into->used += size;
        d_waiting += size;
        done += size;
        d_change.notify_all();
    }
    return true;
}

/* Release the samples that were being taken. The caller holds the mutex. */
void sample_queue::release()
{
    if (d_taking == 0)
        return;
    d_waiting -= d_taking;
    d_taking = 0;
    d_change.notify_all();
}

bool sample_queue::wait()
{
    std::unique_lock lock(d_mutex);
    release();
    d_change.wait(lock, [&] { return d_waiting || d_ends || d_woken; });
    d_woken = false;
    return d_waiting || d_ends;
}

std::optional<sample_queue::span> sample_queue::take()
{
    std::unique_lock lock(d_mutex);
    release();
    d_change.wait(lock, [&] { return d_waiting || d_ends; });
    if (!d_waiting || d_abandoned)
        return std::nullopt;
    while (d_chunks.front()->taken == d_chunks.front()->used) {
        d_free.push_back(std::move(d_chunks.front()));
        d_chunks.pop_front();
    }
    const std::shared_ptr<chunk>& memory = d_chunks.front();
    const std::uint64_t end = memory->first + memory->used;
    const auto later =
        std::stable_partition(d_tags.begin(), d_tags.end(), [&](const gr::tag_t& tag) {
            return tag.offset < end;
        });
    span taken{ memory->first + memory->taken,
                memory,
                memory->taken,
                memory->used,
                { d_tags.begin(), later } };
    d_tags.erase(d_tags.begin(), later);
    d_taking = memory->used - memory->taken;
    memory->taken = memory->used;
    return taken;
}

void sample_queue::rest(double least, double most)
{
    std::this_thread::sleep_for(std::chrono::duration<double>(least));
    std::unique_lock lock(d_mutex);
    d_change.wait_for(lock, std::chrono::duration<double>(most - least), [&] {
        return d_waiting == 0;
    });
}

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* A queue of samples of several antennas for a thread that is sometimes too slow for
 * them */

#ifndef MIMOPACK_RUNTIME_SAMPLE_QUEUE_H
#define MIMOPACK_RUNTIME_SAMPLE_QUEUE_H

#include <gnuradio/tags.h>

#include <condition_variable>
#include <chrono>
#include <complex>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace mimopack {

/* One thread puts samples, another thread takes them. If too many samples wait, put()
 * holds back its caller or drops whole spans. Dropping begins when no more samples fit
 * and ends when half of the queue is free again, so that few long spans are lost and not
 * many short ones. Tags of dropped samples come with the next samples, because they tell
 * the time and frequency of these. Memory is used again as soon as nobody holds the
 * samples in it: new pages for each call would cost more than the copy. */
class sample_queue
{
public:
    using sample = std::complex<float>;

    /* Consecutive samples (antennas, size) */
    struct chunk {
        std::unique_ptr<float[]> data;
        std::uint64_t first = 0; /* number of the first sample in the stream */
        std::int64_t used = 0, taken = 0;
    };

    struct span {
        std::uint64_t first;
        std::shared_ptr<chunk> memory;
        std::int64_t begin, end;     /* columns */
        std::vector<gr::tag_t> tags; /* tags up to the last sample */
    };

    /* most: samples of each antenna that may wait. at_a_time: samples taken at once, at
     * most. drops: drop samples that do not fit; otherwise put() waits. */
    sample_queue(int num_rx, std::int64_t most, std::int64_t at_a_time, bool drops)
        : d_num_rx(num_rx), d_most(most), d_size(at_a_time), d_drops(drops)
    {
    }

    int num_rx() const { return d_num_rx; }
    bool drops() const { return d_drops; }
    std::int64_t at_a_time() const { return d_size; }

    /* Begin a new stream. Nobody may put or take at the same time. */
    void open();

    /* End the stream: take() returns the samples that wait, and then nothing. */
    void close()
    {
        const std::lock_guard guard(d_mutex);
        d_ends = true;
        d_change.notify_all();
    }

    /* Forget the samples that wait, and drop further ones until the next stream. */
    void abandon()
    {
        const std::lock_guard guard(d_mutex);
        d_abandoned = d_ends = true;
        d_change.notify_all();
    }

    /* Copy samples of the antennas, and keep their tags. Return false if the queue is
     * abandoned. */
    bool put(std::uint64_t first,
             const sample* const* rows,
             std::int64_t count,
             const std::vector<gr::tag_t>& tags);

    /* Wait for the oldest samples. From then on, the samples of the previous call do not
     * count as waiting. They stay as they are while somebody holds their chunk. */
    std::optional<span> take();

    /* Wait until take() need not wait, or until wake(). Return whether take() need not
     * wait. The samples of the previous take() do not count as waiting any more. */
    bool wait();

    /* Let wait() return: the call that waits, or else the next one. Any thread may call
     * this. */
    void wake()
    {
        const std::lock_guard guard(d_mutex);
        d_woken = true;
        d_change.notify_all();
    }

    /* Wait for the least seconds, and then until no samples wait, for the most seconds in
     * all. */
    void rest(double least, double most);

    /* Samples of each antenna that were dropped, samples that wait or are being taken,
     * and whether samples wait beside those being taken */
    std::int64_t dropped() const
    {
        const std::lock_guard guard(d_mutex);
        return d_dropped;
    }
    std::int64_t waiting() const
    {
        const std::lock_guard guard(d_mutex);
        return d_waiting;
    }
    bool has_more() const
    {
        const std::lock_guard guard(d_mutex);
        return d_waiting > d_taking;
    }

private:
    const int d_num_rx;
    const std::int64_t d_most, d_size;
    const bool d_drops;

    mutable std::mutex d_mutex;
    std::condition_variable d_change;
    std::deque<std::shared_ptr<chunk>> d_chunks;
    std::vector<std::shared_ptr<chunk>> d_free; /* taken; somebody may hold them */
    std::vector<gr::tag_t> d_tags;
    std::int64_t d_dropped = 0, d_waiting = 0, d_taking = 0;
    bool d_ends = false, d_dropping = false, d_abandoned = false, d_woken = false;

    bool fits(std::int64_t count) const
    {
        const std::int64_t limit = d_dropping ? d_most / 2 : d_most;
        return d_waiting == 0 || d_waiting + count <= limit;
    }

    std::shared_ptr<chunk> chunk_for(std::uint64_t sample);
    void release();
};

} // namespace mimopack

#endif

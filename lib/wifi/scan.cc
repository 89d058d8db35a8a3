/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "wifi/scan.h"
#include <algorithm>
#include <cstring>

namespace mimopack {

namespace {

/* Bytes of samples that are copied and correlated at once, so that they stay in the
 * cache */
constexpr std::int64_t together = std::int64_t{ 1 } << 17;

} // namespace

wifi_scan::wifi_scan(const scan_settings& settings, const wifi_build& build)
    : d_settings(settings), d_build(build)
{
}

void wifi_scan::restart() { d_blocks = 0; }

scan_result wifi_scan::take(const scan_piece& piece, float threshold)
{
    const scan_settings& s = d_settings;
    const std::int64_t end = piece.at + piece.count;
    const std::int64_t step = std::max<std::int64_t>(s.block, together / (8 * s.rows));
    std::int64_t done = 0;
    do {
        const std::int64_t count = std::min(step, piece.count - done);
        for (std::int64_t row = 0; row < s.rows && count; ++row)
            std::memcpy(piece.array + 2 * (row * piece.to + piece.at + done),
                        piece.samples + 2 * (row * piece.from + done),
                        static_cast<std::size_t>(count) * 2 * sizeof(float));
        done += count;
        correlate(piece, (piece.at + done - piece.begin) / s.block);
    } while (done < piece.count);

    scan_result found;
    const std::int64_t size = std::max<std::int64_t>(0, d_blocks - s.window);
    found.lag.resize(2 * size);
    found.metric.resize(size);
    if (size)
        d_build.metric({ s.rows,
                         size,
                         s.window,
                         d_energy.data(),
                         d_lag.data(),
                         d_room,
                         found.lag.data(),
                         found.metric.data() });
    const float* const metric = found.metric.data();
    found.fallen.resize(std::max<std::int64_t>(0, size - s.fall));
    for (std::size_t i = 0; i < found.fallen.size(); ++i)
        found.fallen[i] = metric[i + s.fall] < s.fallen * metric[i];
    const std::int64_t tested =
        std::clamp<std::int64_t>((end - piece.begin) / s.block - s.ahead,
                                 0,
                                 static_cast<std::int64_t>(found.fallen.size()));
    /* Of neighbouring windows the best one is tried first, then the hits up to the next
     * one. */
    const auto known = static_cast<std::int64_t>(found.fallen.size());
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < std::min(std::max(tested, at), known); ++i)
        if (metric[i] > threshold * threshold && found.fallen[i]) {
            found.hits.push_back(i);
            if (i >= at) {
                found.chain.push_back(strongest(metric, size, i, s.region, s.searches));
                at = found.chain.back() + s.next;
            }
        }
    found.passed = std::max(tested, at);
    drop(found.passed);
    return found;
}

/* A receiver's direct current correlates as well as a preamble. A preamble has none, so
 * energy and lag leave it out. */
void wifi_scan::correlate(const scan_piece& piece, std::int64_t blocks)
{
    if (blocks <= d_blocks)
        return;
    const std::int64_t rows = d_settings.rows, block = d_settings.block;
    if (blocks > d_room) {
        const std::int64_t room = std::max<std::int64_t>(2 * d_room, blocks);
        std::vector<float> energy(rows * room), lag(2 * rows * room);
        for (std::int64_t row = 0; row < rows; ++row) {
            std::copy_n(
                d_energy.data() + row * d_room, d_blocks, energy.data() + row * room);
            std::copy_n(d_lag.data() + 2 * row * d_room,
                        2 * d_blocks,
                        lag.data() + 2 * row * room);
        }
        d_energy.swap(energy);
        d_lag.swap(lag);
        d_room = room;
    }
    /* The last block's correlation with the next one is still missing. */
    const std::int64_t first = std::max<std::int64_t>(0, d_blocks - 1);
    d_build.correlate({ rows,
                        blocks - first,
                        block,
                        piece.to,
                        piece.array + 2 * (piece.begin + first * block),
                        d_room,
                        d_energy.data() + first,
                        d_lag.data() + 2 * first });
    d_blocks = blocks;
}

void wifi_scan::drop(std::int64_t blocks)
{
    const std::int64_t left = std::max<std::int64_t>(0, d_blocks - blocks);
    for (std::int64_t row = 0; row < d_settings.rows && left; ++row) {
        float* const energy = d_energy.data() + row * d_room;
        float* const lag = d_lag.data() + 2 * row * d_room;
        std::memmove(energy, energy + blocks, left * sizeof(float));
        std::memmove(lag, lag + 2 * blocks, 2 * left * sizeof(float));
    }
    d_blocks = left;
}

std::int64_t strongest(
    const float* metric, std::int64_t n, std::int64_t window, int region, int searches)
{
    std::int64_t best = window;
    for (int i = 0; i < searches; ++i) {
        const std::int64_t end = window + region;
        best = std::max_element(metric + window, metric + std::min(end, n)) - metric;
        if (best < end - 1 || end > n)
            break;
        window = best;
    }
    return best;
}

} // namespace mimopack

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Search of a stream's samples for short training fields, as the samples come. */
#pragma once
#include "wifi/plan.h"
#include <vector>

namespace mimopack {

/* Settings of the search, in blocks of samples. A window is `window` blocks, and one
 * begins with each block. */
struct scan_settings {
    std::int64_t rows, block; /* antennas; samples, a multiple of 16 */
    int window;
    /* The best window is looked for in `region` behind a window above the threshold. If
     * the best window is the last one, the search goes on from there, `searches` times in
     * all. */
    int region, searches;
    /* `fall` windows behind the best one, the metric must be below `fallen` times its
     * metric. The next preamble may begin `next` windows behind the best one. */
    int fall;
    float fallen;
    int next;
    /* Blocks that the search needs behind a window */
    int ahead;
};

struct scan_result {
    std::vector<float> lag, metric; /* lag is complex; a value for each window from the
                                       first unfinished one on */
    std::vector<std::uint8_t> fallen;
    std::vector<std::int64_t> hits, chain;
    std::int64_t passed = 0; /* windows that are finished */
};

/* New samples, to be put behind others in an array */
struct scan_piece {
    const float* samples; /* rows x count complex, `from` complex numbers apart */
    std::int64_t count, from;
    float* array; /* rows, `to` complex numbers apart */
    std::int64_t to, at;
    /* Column of the array at which the first unfinished window begins. All samples from
     * there on are in the array or in this piece. The column may lie behind both. */
    std::int64_t begin;
};

/* One thread at a time may use a scan. */
class wifi_scan
{
public:
    wifi_scan(const scan_settings& settings, const wifi_build& build);

    const scan_settings& settings() const { return d_settings; }

    /* Forget all samples. */
    void restart();

    /* Copy samples, and search them together with earlier ones. */
    scan_result take(const scan_piece& piece, float threshold);

private:
    scan_settings d_settings;
    const wifi_build& d_build;
    /* Energy of the blocks from the first window on, rows x d_room, and their complex
     * correlation with the next block */
    std::vector<float> d_energy, d_lag;
    std::int64_t d_room = 0, d_blocks = 0;

    void correlate(const scan_piece& piece, std::int64_t blocks);
    void drop(std::int64_t blocks);
};

/* Return the best window at or shortly behind one of n windows. */
std::int64_t strongest(
    const float* metric, std::int64_t n, std::int64_t window, int region, int searches);

} // namespace mimopack

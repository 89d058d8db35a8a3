/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A stream's samples, searched for short training fields as they come. */
#pragma once
#include "wifi/plan.h"
#include <vector>

namespace mimopack {

/* How short training fields are looked for, all in blocks of samples. A window is
 * `window` blocks that begin with one of them. */
struct scan_settings {
    std::int64_t rows, block; /* antennas; samples, a multiple of 16 */
    int window;
    /* The best window is looked for in `region` behind one above the threshold; where it
     * is the last of them the search goes on from there, `searches` times in all. */
    int region, searches;
    /* `fall` windows after the best one the metric must be below `fallen` times it. The
     * next preamble may begin `next` windows after it. */
    int fall;
    float fallen;
    int next;
    /* Blocks that must be there behind a window for the search */
    int ahead;
};

struct scan_result {
    std::vector<float> lag, metric; /* complex; of the windows from the first on */
    std::vector<std::uint8_t> fallen;
    std::vector<std::int64_t> hits, chain;
    std::int64_t passed = 0; /* windows that are done with */
};

/* Samples that are put behind others in an array */
struct scan_piece {
    const float* samples; /* rows x count complex, `from` complex numbers apart */
    std::int64_t count, from;
    float* array; /* rows, `to` complex numbers apart */
    std::int64_t to, at;
    /* Column of the array at which the first unfinished window begins. All samples from
     * there on are in the array, or come now. It may lie behind them. */
    std::int64_t begin;
};

/* For one thread at a time. */
class wifi_scan
{
public:
    wifi_scan(const scan_settings& settings, const wifi_build& build);

    const scan_settings& settings() const { return d_settings; }

    /* Forgets all samples. */
    void restart();

    /* Copies samples and searches them with what came before. */
    scan_result take(const scan_piece& piece, float threshold);

private:
    scan_settings d_settings;
    const wifi_build& d_build;
    /* Of the blocks from the first window on, rows x d_room: energy, and correlation with
     * the next one, complex */
    std::vector<float> d_energy, d_lag;
    std::int64_t d_room = 0, d_blocks = 0;

    void correlate(const scan_piece& piece, std::int64_t blocks);
    void drop(std::int64_t blocks);
};

/* The best window at or shortly behind one of n */
std::int64_t strongest(
    const float* metric, std::int64_t n, std::int64_t window, int region, int searches);

} // namespace mimopack

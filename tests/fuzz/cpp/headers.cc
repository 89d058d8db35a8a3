/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames from samples up to the bits of their signal fields. An input is an option byte,
 * and floats, which replace samples of a frame whose three symbols repeat the long
 * training field. The Viterbi decoder is replaced by hard decisions. */
#include "table.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace mimopack;

constexpr int fft = 64, delays = 33, rank = 3;
constexpr std::int64_t needed = 5 * fft + 3 * 16;

void require(bool holds)
{
    if (!holds)
        std::abort();
}

/* The long training field, on subcarriers -26..26 without 0 */
const char field[] = "++--++-+-++++++--++-+-++++"
                     "+--++-+-+-----++--+-+-++++";

struct layout {
    std::int64_t k[wifi_legacy], bins[wifi_legacy], data[wifi_signal_bits], pilots[4];
    std::int64_t order[wifi_signal_bits];
    float sequence[wifi_legacy], signs[12], transform[2 * wifi_legacy * delays];
    float matrix[wifi_legacy * rank];
    double distance[3] = { 192, 272, 352 }, delay[delays];
    float wave[2 * needed];

    layout()
    {
        std::int64_t at = 0;
        for (int i = 0; i < wifi_legacy; ++i) {
            k[i] = i < 26 ? i - 26 : i - 25;
            bins[i] = k[i] & (fft - 1);
            sequence[i] = field[i] == '+' ? 1.0f : -1.0f;
            if (i != 5 && i != 19 && i != 32 && i != 46)
                data[at++] = i;
            for (int d = 0; d < delays; ++d) {
                const double angle = 2 * M_PI * k[i] * (d - delays / 2) / fft;
                transform[2 * (i * delays + d)] = std::cos(angle) / wifi_legacy;
                transform[2 * (i * delays + d) + 1] = std::sin(angle) / wifi_legacy;
            }
            for (int r = 0; r < rank; ++r)
                matrix[i * rank + r] = std::cos(M_PI * i * r / wifi_legacy) / 7;
        }
        for (int d = 0; d < delays; ++d)
            delay[d] = d - delays / 2;
        const std::int64_t places[] = { 5, 19, 32, 46 };
        std::copy(places, places + 4, pilots);
        for (int i = 0; i < 12; ++i)
            signs[i] = i % 4 == 3 ? -1.0f : 1.0f;
        for (int i = 0; i < wifi_signal_bits; ++i)
            order[i] = 3 * (i % 16) + i / 16;
        for (std::int64_t n = 0; n < needed; ++n) {
            double re = 0, im = 0;
            for (int i = 0; i < wifi_legacy; ++i) {
                re += sequence[i] * std::cos(2 * M_PI * k[i] * n / fft);
                im += sequence[i] * std::sin(2 * M_PI * k[i] * n / fft);
            }
            wave[2 * n] = static_cast<float>(re / 64);
            wave[2 * n + 1] = static_cast<float>(im / 64);
        }
    }
};

wifi_filter find(const void* bank, int width, int level)
{
    /* Indices into a table, whatever the samples are */
    require(width >= 0 && width <= 1000 && level >= -1000 && level <= 1000);
    const float* matrix = static_cast<const layout*>(bank)->matrix;
    return { rank, matrix, matrix, 0.1 };
}

void decide(const void*,
            const float* llr,
            const std::int64_t* num_bits,
            std::int64_t blocks,
            std::uint8_t* bits)
{
    for (std::int64_t block = 0; block < blocks; ++block) {
        require(num_bits[block] == 18 || num_bits[block] == 42);
        for (std::int64_t i = 0; i < num_bits[block]; ++i)
            *bits++ = llr[2 * i] > 0;
        llr += 2 * (num_bits[block] + 6);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* input, std::size_t size)
{
    static const layout l;
    if (!size)
        return 0;
    const int options = *input;
    const std::int64_t rows = 1 + options % 3;
    std::vector<float> samples;
    for (std::int64_t row = 0; row < rows; ++row)
        samples.insert(samples.end(), l.wave, l.wave + 2 * needed);
    /* Every 6 bytes are a place and a float. */
    for (++input, --size; size >= 6; input += 6, size -= 6) {
        const std::size_t place = (input[0] | input[1] << 8) % samples.size();
        std::memcpy(&samples[place], input + 2, 4);
    }
    const wifi_smoother smoother{ wifi_legacy, wifi_legacy,
                                  delays,      l.k,
                                  l.k,         l.delay,
                                  l.transform, { 1.2, 20, 1, 0.1, 1e-3, 1, 3 },
                                  find,        &l };
    std::uint8_t first[wifi_signal_bits / 2], second[wifi_signal_bits], kind = 255;
    const float* const address = samples.data();
    const std::int64_t length = needed;
    const std::vector<float> direct(2 * rows, 0.0f);
    const std::vector<float> white(2 * rows * rows, 0.5f);
    const double cfo = (options >> 4) * 1e-4;
    const std::int64_t starts[] = { 0, 64, 144, 224, 304 };
    std::vector<double> noise(rows, -1), signal(rows, -1);
    const wifi_headers plan{ 1,
                             rows,
                             1,
                             fft,
                             { &address, &length, &length },
                             direct.data(),
                             &cfo,
                             starts,
                             options & 8 ? white.data() : nullptr,
                             l.bins,
                             l.sequence,
                             &smoother,
                             { 1,
                               nullptr,
                               nullptr,
                               l.data,
                               l.pilots,
                               l.signs,
                               l.order,
                               l.distance,
                               decide,
                               nullptr,
                               first,
                               second,
                               &kind },
                             noise.data(),
                             signal.data() };
    MIMOPACK_ISA::headers(plan);
    require(kind < 32);
    require(!(kind & wifi_greenfield) || kind == wifi_greenfield);
    require(kind < 3 || kind & wifi_l_sig);
    for (const std::uint8_t bit : first)
        require(bit <= 1);
    for (const std::uint8_t bit : second)
        require(bit <= 1);
    for (std::int64_t row = 0; row < rows; ++row)
        /* NaN and infinity come only from samples that have such a square. */
        require(!(noise[row] <= 0) && !(signal[row] < 0));
    return 0;
}

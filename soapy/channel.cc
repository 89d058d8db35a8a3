// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "channel.h"
#include <random>

// The sum over taps and antennas takes most of the time; wider registers double its
// speed. ThreadSanitizer crashes if functions are selected while a program is loaded.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define WIDER __attribute__((target_clones("default", "arch=haswell")))
#else
#define WIDER
#endif

namespace mimopack {

namespace {

constexpr size_t NOISE = 1 << 16;       // size of the noise table in samples
constexpr size_t NOISE_BLOCK = 1 << 12; // consecutive samples taken from the table
constexpr double PI = 3.14159265358979323846;

uint64_t mix(uint64_t x)
{
    // splitmix64
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

WIDER void add_scaled(const float* __restrict re,
                      const float* __restrict im,
                      float h_re,
                      float h_im,
                      size_t count,
                      float* __restrict sum_re,
                      float* __restrict sum_im)
{
    for (size_t i = 0; i < count; i++) {
        sum_re[i] += h_re * re[i] - h_im * im[i];
        sum_im[i] += h_re * im[i] + h_im * re[i];
    }
}

// Rotate the sums and write them interleaved.
WIDER void turn(const float* __restrict sum_re,
                const float* __restrict sum_im,
                const float* __restrict turn_re,
                const float* __restrict turn_im,
                size_t count,
                float* __restrict out)
{
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = sum_re[i] * turn_re[i] - sum_im[i] * turn_im[i];
        out[2 * i + 1] = sum_re[i] * turn_im[i] + sum_im[i] * turn_re[i];
    }
}

} // namespace

Channel::Channel(Radio& radio, size_t channels)
    : d_radio(radio),
      d_channels(channels),
      d_taps(radio.arguments.loopback == "identity" ? 1 : radio.arguments.taps),
      d_identity(radio.arguments.loopback == "identity"),
      d_turns(0),
      d_seed(radio.arguments.seed),
      d_matrix(d_taps * channels * channels),
      d_re(channels),
      d_im(channels)
{
    std::mt19937_64 random(d_seed);
    std::normal_distribution<float> normal(0, std::sqrt(0.5));
    double total = 0;
    for (size_t tap = 0; tap < d_taps; tap++)
        total += std::exp(-double(tap));
    for (size_t tap = 0; tap < d_taps; tap++) {
        const float scale = std::sqrt(std::exp(-double(tap)) / total);
        for (size_t i = 0; i < channels * channels; i++) {
            const float re = normal(random), im = normal(random);
            d_matrix[tap * channels * channels + i] =
                d_identity ? cf32(i % (channels + 1) == 0) : scale * cf32(re, im);
        }
    }
    const Arguments& arguments = radio.arguments;
    if (arguments.snr_db != HUGE_VAL) {
        const float scale = std::pow(10, (arguments.level_db - arguments.snr_db) / 20);
        d_noise.resize(NOISE + NOISE_BLOCK);
        for (size_t i = 0; i < NOISE; i++) {
            const float re = normal(random), im = normal(random);
            d_noise[i] = scale * cf32(re, im);
        }
        std::copy_n(d_noise.begin(), NOISE_BLOCK, d_noise.begin() + NOISE);
    }
}

void Channel::transmit(const std::vector<const cf32*>& samples,
                       size_t count,
                       int64_t index)
{
    constexpr size_t LONGEST = 1 << 16;
    if (d_sent.empty() || d_sent.back().end() != index ||
        d_sent.back().samples[0].size() > LONGEST)
        d_sent.push_back({ index, std::vector<std::vector<cf32>>(d_channels) });
    for (size_t channel = 0; channel < d_channels; channel++) {
        std::vector<cf32>& to = d_sent.back().samples[channel];
        if (samples[channel])
            to.insert(to.end(), samples[channel], samples[channel] + count);
        else
            to.resize(to.size() + count);
    }
}

void Channel::forget(int64_t before)
{
    // Keep the samples that the longest path and a lagging channel may still need.
    constexpr int64_t MARGIN = 1 << 16;
    while (!d_sent.empty() && d_sent.front().end() + MARGIN < before)
        d_sent.pop_front();
}

void Channel::prepare(int64_t index, size_t count, size_t before)
{
    const size_t margin = before + d_taps - 1;
    const size_t length = count + margin;
    d_window = index - int64_t(margin);
    d_silent = true;
    for (const Sent& sent : d_sent) {
        const int64_t from = std::max(sent.start, d_window);
        const int64_t to = std::min(sent.end(), d_window + int64_t(length));
        if (from >= to)
            continue;
        for (size_t channel = 0; channel < d_channels; channel++) {
            if (d_silent) {
                d_re[channel].assign(length, 0);
                d_im[channel].assign(length, 0);
            }
            const cf32* in = sent.samples[channel].data() + (from - sent.start);
            float* re = d_re[channel].data() + (from - d_window);
            float* im = d_im[channel].data() + (from - d_window);
            for (int64_t i = 0; i < to - from; i++) {
                re[i] = in[i].real();
                im[i] = in[i].imag();
            }
        }
        d_silent = false;
    }
    d_turns = d_radio.arguments.cfo_hz / d_radio.clock.rate();
    if (!d_silent && d_turns != 0) {
        const double start = std::fmod(d_turns * double(d_window), 1.0);
        std::complex<double> phase = std::polar(1.0, 2 * PI * start);
        const std::complex<double> step = std::polar(1.0, 2 * PI * d_turns);
        d_turn_re.resize(length);
        d_turn_im.resize(length);
        for (size_t i = 0; i < length; i++) {
            d_turn_re[i] = float(phase.real());
            d_turn_im[i] = float(phase.imag());
            phase = { phase.real() * step.real() - phase.imag() * step.imag(),
                      phase.real() * step.imag() + phase.imag() * step.real() };
        }
    }
}

void Channel::add_noise(size_t channel, int64_t index, size_t count, cf32* out) const
{
    for (size_t done = 0; done < count && !d_noise.empty();) {
        const int64_t here = index + int64_t(done);
        const uint64_t block = uint64_t(here) / NOISE_BLOCK;
        const size_t within = size_t(uint64_t(here) % NOISE_BLOCK);
        const size_t now = std::min(count - done, NOISE_BLOCK - within);
        const cf32* noise =
            d_noise.data() + mix(mix(d_seed * 64 + channel) + block) % NOISE + within;
        // The table is one block longer than the range of starts: wrap beyond its end.
        const size_t most =
            std::min<size_t>(now, d_noise.data() + d_noise.size() - noise);
        for (size_t i = 0; i < most; i++)
            out[done + i] += noise[i];
        for (size_t i = most; i < now; i++)
            out[done + i] += noise[i - NOISE];
        done += now;
    }
}

void Channel::fetch(size_t channel, int64_t, int64_t index, size_t count, cf32* out)
{
    if (d_silent) {
        std::fill_n(out, count, cf32());
    } else {
        const size_t at = size_t(index - d_window);
        d_sum_re.assign(count, 0);
        d_sum_im.assign(count, 0);
        for (size_t from = 0; from < d_channels; from++)
            for (size_t tap = 0; tap < d_taps; tap++) {
                const cf32 h = coefficient(channel, from, tap);
                if (h != cf32())
                    add_scaled(d_re[from].data() + at - tap,
                               d_im[from].data() + at - tap,
                               h.real(),
                               h.imag(),
                               count,
                               d_sum_re.data(),
                               d_sum_im.data());
            }
        if (d_turns != 0)
            turn(d_sum_re.data(),
                 d_sum_im.data(),
                 d_turn_re.data() + at,
                 d_turn_im.data() + at,
                 count,
                 reinterpret_cast<float*>(out));
        else
            for (size_t i = 0; i < count; i++)
                out[i] = { d_sum_re[i], d_sum_im[i] };
    }
    add_noise(channel, index, count, out);
}

} // namespace mimopack

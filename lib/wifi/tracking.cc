/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Phase and sampling clock over a frame, from known subcarriers;
 * tests/support/wifi_oracle.py has the formulas in NumPy. A frame's results depend on no
 * other frame. */
#include "wifi/lanes.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

namespace {

/* Expected deviation of sampling clocks */
constexpr double clock_deviation = 25e-6;
/* Spans of symbols in which the sampling clock is looked for. Phases could turn round
 * within a longer first span. */
constexpr std::int64_t spans[] = { 24, 96, 384, std::int64_t{ 1 } << 40 };
/* Least variance of an oscillator's phase from symbol to symbol, rad^2 */
constexpr double least_wander = 1e-6;
constexpr double tiny = 1e-30;

double angle_of(complex a) { return std::atan2(a.im, a.re); }

/* exp(i angle distance[s]), symbol after symbol. A product suffices for symbols as far
 * apart as the first two. */
class rotating
{
public:
    rotating(const tracking& t, double angle)
        : d_t(t),
          d_angle(angle),
          d_now(unit(angle * t.distance[0])),
          d_apart(t.symbols > 1 ? t.distance[1] - t.distance[0] : 0),
          d_step(unit(angle * d_apart))
    {
    }

    complex at(std::int64_t s)
    {
        if (s == 0)
            return d_now;
        const double apart = d_t.distance[s] - d_t.distance[s - 1];
        d_now = apart == d_apart ? d_now * d_step : unit(d_angle * d_t.distance[s]);
        return d_now;
    }

private:
    const tracking& d_t;
    double d_angle;
    complex d_now;
    double d_apart;
    complex d_step;
};

/* Return the maximum a posteriori estimate from pairs of subcarriers, which are free of
 * the common phase. */
double sampling_offset(const tracking& t, const std::vector<complex>& values)
{
    /* Twice the middle of the subcarriers, which is 0 unless they lie to one side */
    const std::int64_t middle = t.k[0] + t.k[t.carriers - 1];
    std::int64_t below = 0, above = t.carriers;
    while (below < t.carriers && 2 * t.k[below] < middle)
        ++below;
    while (above > 0 && 2 * t.k[above - 1] > middle)
        --above;
    const std::int64_t pairs = std::min(below, t.carriers - above);
    double epsilon = 0, weight = 0, variance = 0;
    std::int64_t done = 0;
    for (const std::int64_t span : spans) {
        const std::int64_t count = std::min(span, t.symbols);
        double slope = 0;
        for (std::int64_t p = 0; p < pairs; ++p) {
            const std::int64_t high = t.carriers - 1 - p;
            const double spread =
                static_cast<double>(t.k[high] - t.k[p]) * (-2 * M_PI / t.fft);
            rotating turn(t, -epsilon * spread);
            for (std::int64_t s = 0; s < count; ++s) {
                const complex a = values[s * t.carriers + high],
                              b = values[s * t.carriers + p];
                const complex pair = a * complex{ b.re, -b.im };
                const double arm = t.distance[s] * spread;
                slope += (pair * turn.at(s)).im * arm;
                if (s < done)
                    continue;
                const double strength = std::sqrt(pair.re * pair.re + pair.im * pair.im);
                weight += strength * arm * arm;
                variance += strength * std::sqrt(strength) * arm * arm;
            }
        }
        done = count;
        const double doubt =
            variance / std::max(weight, tiny) / (clock_deviation * clock_deviation);
        /* The result of a shorter span is not shrunk again. */
        epsilon = weight / std::max(weight + doubt, tiny) *
                  (epsilon + slope / std::max(weight, tiny));
        if (span >= t.symbols)
            break;
    }
    return epsilon;
}

/* Transform in place, radix 2. */
void transform(std::vector<complex>& x)
{
    const std::size_t n = x.size();
    std::vector<complex> turns(n / 2 + 1);
    for (std::size_t i = 1, j = 0; i < n; ++i) {
        std::size_t bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j)
            std::swap(x[i], x[j]);
    }
    for (std::size_t span = 2; span <= n; span *= 2) {
        const complex step = unit(-2 * M_PI / static_cast<double>(span));
        turns[0] = { 1, 0 };
        for (std::size_t i = 1; i < span / 2; ++i)
            turns[i] = turns[i - 1] * step;
        for (std::size_t begin = 0; begin < n; begin += span)
            for (std::size_t i = 0; i < span / 2; ++i) {
                complex &upper = x[begin + i], &lower = x[begin + i + span / 2];
                const complex a = upper, b = lower * turns[i];
                upper = { a.re + b.re, a.im + b.im };
                lower = { a.re - b.re, a.im - b.im };
            }
    }
}

/* Return the strongest frequency of values, in radians a symbol. */
double peak(const std::vector<complex>& values)
{
    std::size_t size = 1;
    while (size < 4 * values.size())
        size *= 2;
    std::vector<complex> spectrum(size);
    std::copy(values.begin(), values.end(), spectrum.begin());
    transform(spectrum);
    double most = -1;
    std::size_t best = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const complex x = spectrum[i];
        const double power = x.re * x.re + x.im * x.im;
        if (power > most) {
            most = power;
            best = i;
        }
    }
    const double step = 2 * M_PI * static_cast<double>(best) / static_cast<double>(size);
    return step > M_PI ? step - 2 * M_PI : step;
}

/* Replace values by means weighted with decay^|distance|. Two recursions, forward and
 * backward, drop what is beyond their reach. */
void smooth(std::vector<double>& x, double decay, std::int64_t reach)
{
    const std::int64_t n = static_cast<std::int64_t>(x.size());
    const double last = std::pow(decay, static_cast<double>(reach + 1));
    std::vector<double> sums(n), weights(n), values(x);
    double sum = 0, weight = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const bool far = i > reach;
        sum = values[i] + decay * sum - (far ? last * values[i - reach - 1] : 0);
        weight = 1 + decay * weight - (far ? last : 0);
        sums[i] = sum;
        weights[i] = weight;
    }
    sum = weight = 0;
    for (std::int64_t i = n - 1; i >= 0; --i) {
        /* Without values[i] itself, which the forward recursion has. */
        x[i] = (sums[i] + decay * sum) / (weights[i] + decay * weight);
        const bool far = n - 1 - i >= reach;
        sum = values[i] + decay * sum - (far ? last / decay * values[i + reach] : 0);
        weight = 1 + decay * weight - (far ? last / decay : 0);
    }
}

/* Smooth like the steady state for random walks, by the ratio of the variance of steps to
 * the variance of noise. */
void smooth_walk(std::vector<double>& x, double ratio)
{
    if (!(ratio >= 0))
        ratio = 0;
    ratio = std::min(ratio, 1e6);
    const double root = std::sqrt(ratio + ratio * ratio / 4);
    const double decay = std::min(std::max(1 + ratio / 2 - root, 1e-9), 1 - 1e-9);
    double reach = decay < 0.02 ? 0 : std::ceil(std::log(0.01) / std::log(decay));
    reach = std::min(reach, static_cast<double>(x.size() - 1));
    smooth(x, decay, static_cast<std::int64_t>(reach));
}

/* Fit a line, and smooth the remaining phases as much as their own wander allows. */
void common_phase(const std::vector<complex>& total, double* phase)
{
    const std::size_t n = total.size();
    if (n == 1) {
        phase[0] = angle_of(total[0]);
        return;
    }
    const double step = peak(total);
    std::vector<complex> flat(n);
    complex all{ 0, 0 };
    for (std::size_t s = 0; s < n; ++s) {
        flat[s] = total[s] * unit(-step * static_cast<double>(s));
        all.re += flat[s].re;
        all.im += flat[s].im;
    }
    const double start = angle_of(all);
    std::vector<double> rest(n), weight(n);
    double sum = 0, mean = 0, offset = 0;
    for (std::size_t s = 0; s < n; ++s) {
        rest[s] = angle_of(flat[s] * unit(-start));
        weight[s] = std::sqrt(total[s].re * total[s].re + total[s].im * total[s].im);
        sum += weight[s];
        mean += weight[s] * static_cast<double>(s);
        offset += weight[s] * rest[s];
    }
    mean /= std::max(sum, tiny);
    offset /= std::max(sum, tiny);
    double slope = 0, lever = 0;
    for (std::size_t s = 0; s < n; ++s) {
        const double arm = static_cast<double>(s) - mean;
        slope += weight[s] * rest[s] * arm;
        lever += weight[s] * arm * arm;
    }
    slope /= std::max(lever, tiny);
    double steps = 0;
    for (std::size_t s = 0; s < n; ++s) {
        rest[s] -= offset + slope * (static_cast<double>(s) - mean);
        if (s)
            steps += (rest[s] - rest[s - 1]) * (rest[s] - rest[s - 1]);
    }
    const double count = static_cast<double>(n);
    steps /= count - 1;
    const double noise = 1 / (2 * std::max(sum / count, 1e-3));
    /* Steps have the variance of the wander and twice the variance of the noise. Two
     * deviations of the estimate must not pass for wander. */
    const double wander =
        std::max(steps - 2 * noise * (1 + 2 * std::sqrt(3 / count)), least_wander);
    smooth_walk(rest, wander / noise);
    for (std::size_t s = 0; s < n; ++s) {
        const double place = static_cast<double>(s);
        phase[s] = start + step * place + offset + slope * (place - mean) + rest[s];
    }
}

void turn(const tracking& t, double epsilon, std::vector<complex>& values)
{
    if (epsilon == 0)
        return;
    for (std::int64_t c = 0; c < t.carriers; ++c) {
        rotating by(t, epsilon * static_cast<double>(t.k[c]) * (2 * M_PI / t.fft));
        for (std::int64_t s = 0; s < t.symbols; ++s) {
            complex& x = values[s * t.carriers + c];
            x = x * by.at(s);
        }
    }
}

} // namespace

double track(const tracking& t, double before, double* phase)
{
    std::vector<complex> values(t.symbols * t.carriers);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = { t.known[2 * i], t.known[2 * i + 1] };
    turn(t, before, values);
    const double epsilon = sampling_offset(t, values);
    if (!phase)
        return epsilon;
    turn(t, epsilon, values);
    std::vector<complex> total(t.symbols);
    for (std::int64_t s = 0; s < t.symbols; ++s)
        for (std::int64_t c = 0; c < t.carriers; ++c) {
            total[s].re += values[s * t.carriers + c].re;
            total[s].im += values[s * t.carriers + c].im;
        }
    common_phase(total, phase);
    return epsilon;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

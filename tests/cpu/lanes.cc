/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Compare each operator of the lane types with plain C++. The program names the operators
 * that differ. */
#include "codes/viterbi/cpu_penalties.h"
#include "codes/viterbi/cpu_trace_back.h"
#include "cpu/quantise.h"
#include "cpu/simd.h"
#include "cpu/simd16.h"
#include "cpu/simd8.h"
#include "cpu/transpose.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

using namespace mimopack;
using namespace mimopack::MIMOPACK_ISA;

namespace {

constexpr int width = simd::width;
int failures = 0;

void expect(bool right, const char* what)
{
    if (!right) {
        std::printf("%s\n", what);
        ++failures;
    }
}

std::mt19937 generator(1);
float number(float low = -10, float high = 10)
{
    return std::uniform_real_distribution<float>(low, high)(generator);
}
int integer(int low, int high)
{
    return std::uniform_int_distribution<int>(low, high)(generator);
}

simd lanes(const std::vector<float>& x) { return simd::load(x.data()); }

template <class Expected>
void each(simd found, Expected expected, const char* what, float error = 0)
{
    float x[width];
    found.store(x);
    bool right = true;
    for (int l = 0; l < width; ++l) {
        const float wanted = expected(l);
        right = right && std::fabs(x[l] - wanted) <= error * std::fabs(wanted);
    }
    expect(right, what);
}

template <class Expected>
void each(simd::mask found, Expected expected, const char* what)
{
    unsigned bits = 0;
    bool right = true;
    for (int l = 0; l < width; ++l) {
        right = right && found[l] == expected(l);
        bits |= static_cast<unsigned>(expected(l)) << l;
    }
    right = right && found.to_bits() == bits && any(found) == (bits != 0);
    for (int n = 0; n <= width; ++n)
        right = right && found.count(n) == __builtin_popcount(bits & ((1u << n) - 1));
    expect(right, what);
}

template <class Expected>
void each(simd::word found, Expected expected, const char* what)
{
    int words[width];
    __builtin_memcpy(words, &found.v, sizeof words);
    bool right = true;
    for (int l = 0; l < width; ++l)
        right = right && words[l] == static_cast<int>(expected(l));
    expect(right, what);
}

void floats_of_lanes()
{
    std::vector<float> a(width), b(width), c(width), positive(width);
    for (int l = 0; l < width; ++l) {
        a[l] = number();
        b[l] = l % 3 ? number() : a[l];
        c[l] = number();
        positive[l] = std::exp2(number(-40, 40));
    }
    const simd x = lanes(a), y = lanes(b), z = lanes(c), p = lanes(positive);
    each(
        simd(1.5f), [](int) { return 1.5f; }, "simd(float)");
    each(
        x + y, [&](int l) { return a[l] + b[l]; }, "+");
    each(
        x - y, [&](int l) { return a[l] - b[l]; }, "-");
    each(
        x * y, [&](int l) { return a[l] * b[l]; }, "*");
    each(
        x / y, [&](int l) { return a[l] / b[l]; }, "/");
    const float last_bits = 1e-5f;
    each(
        fma(x, y, simd(200.0f)),
        [&](int l) { return a[l] * b[l] + 200; },
        "fma",
        last_bits);
    each(
        fnma(x, y, simd(200.0f)),
        [&](int l) { return 200 - a[l] * b[l]; },
        "fnma",
        last_bits);
    each(
        min(x, y), [&](int l) { return std::min(a[l], b[l]); }, "min");
    each(
        max(x, y), [&](int l) { return std::max(a[l], b[l]); }, "max");
    each(
        abs(x), [&](int l) { return std::fabs(a[l]); }, "abs");
    each(
        clamp(x, abs(y)),
        [&](int l) { return std::clamp(a[l], -std::fabs(b[l]), std::fabs(b[l])); },
        "clamp");
    const float newton = std::exp2(-22.0f);
    each(
        rsqrt(p), [&](int l) { return 1 / std::sqrt(positive[l]); }, "rsqrt", newton);
    each(
        reciprocal(p), [&](int l) { return 1 / positive[l]; }, "reciprocal", newton);
    each(
        reciprocal(x), [&](int l) { return 1 / a[l]; }, "reciprocal", newton);
    expect(x.least() == *std::min_element(a.begin(), a.end()), "least");

    each(
        x < y, [&](int l) { return a[l] < b[l]; }, "<");
    each((x < y) & (y < z), [&](int l) { return a[l] < b[l] && b[l] < c[l]; }, "mask &");
    each((x < y) | (y < z), [&](int l) { return a[l] < b[l] || b[l] < c[l]; }, "mask |");
    each(
        ~(x < y), [&](int l) { return !(a[l] < b[l]); }, "mask ~");
    each(
        x < x, [](int) { return false; }, "mask, none");
    each(
        select(x < y, y, z), [&](int l) { return a[l] < b[l] ? b[l] : c[l]; }, "select");
    each(
        masked_min(x, z < simd(0.0f), y),
        [&](int l) { return c[l] < 0 ? std::min(a[l], b[l]) : a[l]; },
        "masked_min");
    for (int side = 2; side <= 32; side *= 2) {
        simd level;
        const float half = 0.5f * (side - 1);
        const auto nearest = [&](int l) {
            return std::clamp(std::nearbyint(3 * a[l] + half), 0.0f, side - 1.0f);
        };
        const simd k = slice(x * simd(3.0f), side, level);
        each(k.as_word() & (side - 1u), nearest, "slice");
        each(
            level, [&](int l) { return nearest(l) - half; }, "slice, level", last_bits);
    }
    std::vector<float> special = a;
    special[0] = infinity;
    special[1] = -infinity;
    special[2] = not_a_number;
    each(
        finite_where(lanes(b) < z, lanes(special)),
        [&](int l) { return l > 2 && b[l] < c[l] ? a[l] : 0.0f; },
        "finite_where");
    each(
        lanes(special) < simd(infinity),
        [&](int l) { return special[l] < infinity; },
        "<, special values");
}

void words_of_lanes()
{
    std::vector<float> a(width), b(width);
    std::vector<unsigned> u(width), w(width);
    for (int l = 0; l < width; ++l) {
        u[l] = generator();
        w[l] = generator();
        a[l] = __builtin_bit_cast(float, u[l]);
        b[l] = __builtin_bit_cast(float, w[l]);
    }
    const simd::word x = lanes(a).as_word(), y = lanes(b).as_word();
    for (int i = 0; i < 31; ++i) {
        each(
            x.bit(i), [&](int l) { return (u[l] >> i & 1) != 0; }, "bit");
        each(
            x.not_bit(i), [&](int l) { return (u[l] >> i & 1) == 0; }, "not_bit");
        each(
            x >> i, [&](int l) { return u[l] >> i; }, ">>");
        each(
            x << i, [&](int l) { return u[l] << i; }, "<<");
    }
    each(
        x & 0xf0f0u, [&](int l) { return u[l] & 0xf0f0u; }, "word &");
    each(
        x ^ y, [&](int l) { return u[l] ^ w[l]; }, "word ^");
    each(
        x ^ 5u, [&](int l) { return u[l] ^ 5u; }, "word ^, unsigned");
    each(
        x + y, [&](int l) { return u[l] + w[l]; }, "word +");
    each(
        x + 7, [&](int l) { return u[l] + 7; }, "word +, int");
    each(
        x - 7, [&](int l) { return u[l] - 7; }, "word -, int");
    each(
        x.as_float().as_word(), [&](int l) { return u[l]; }, "as_float");
    each((x >> 10).to_float(), [&](int l) { return float(u[l] >> 10); }, "to_float");
    for (int l = 0; l < width; ++l)
        a[l] = l % 2 ? integer(-1000, 1000) + 0.5f : number(-1e5f, 1e5f);
    each(
        lanes(a).to_word(), [&](int l) { return std::nearbyint(a[l]); }, "to_word");
}

void places_of_lanes()
{
    constexpr int length = 37;
    std::vector<float> table(length * width), list(3 * 64);
    std::vector<int> at(width);
    simd array[length];
    for (float& x : table)
        x = number();
    std::copy(table.begin(), table.end(), reinterpret_cast<float*>(array));
    std::vector<float> index(width), a(width);
    for (int l = 0; l < width; ++l) {
        index[l] = at[l] = integer(0, length - 1);
        a[l] = number();
    }
    const simd::word places = lanes(index).to_word();
    each(
        simd::get(table.data(), places), [&](int l) { return table[at[l]]; }, "get");
    each(
        simd::get(array, places),
        [&](int l) { return table[at[l] * width + l]; },
        "get, of an array for each lane");
    simd::put(array, places, lanes(a));
    for (int l = 0; l < width; ++l)
        table[at[l] * width + l] = a[l];
    bool right = true;
    for (int i = 0; i < length; ++i)
        for (int l = 0; l < width; ++l)
            right = right && array[i].v[l] == table[i * width + l];
    expect(right, "put");

    const simd x = lanes(a), values[3] = { x, x + simd(1.0f), x * simd(2.0f) };
    const simd::mask chosen = x < simd(0.0f);
    const int count = append(chosen, values, list.data(), 64);
    int expected = 0;
    for (int l = 0; l < width; ++l) {
        if (!(a[l] < 0))
            continue;
        for (int i = 0; i < 3; ++i)
            right = right && list[64 * i + expected] == values[i].v[l];
        ++expected;
    }
    expect(right && count == expected, "append");

    for (int columns = 1; columns <= 2 * width + 3; ++columns) {
        const int apart = columns + 2;
        std::vector<float> rows(width * apart), back(width * apart);
        std::vector<simd> lanes_of(columns);
        for (float& element : rows)
            element = number();
        load_rows(rows.data(), apart, columns, lanes_of.data());
        store_rows(back.data(), apart, columns, lanes_of.data());
        for (int l = 0; l < width; ++l)
            for (int i = 0; i < columns; ++i)
                right = right && lanes_of[i].v[l] == rows[l * apart + i] &&
                        back[l * apart + i] == rows[l * apart + i];
    }
    expect(right, "load_rows, store_rows");
}

void integers_of_lanes()
{
    constexpr int wide = simd16::width;
    std::vector<float> a(wide), b(wide);
    for (int l = 0; l < wide; ++l) {
        a[l] = std::nearbyint(number(-8000, 8000));
        b[l] = l % 3 ? std::nearbyint(number(-8000, 8000)) : a[l];
    }
    const auto load = [](const std::vector<float>& x) {
        return simd16(simd::load(x.data()), simd::load(x.data() + width));
    };
    const auto check = [](simd16 found, auto expected, const char* what) {
        for (int part = 0; part < 2; ++part)
            each(
                found.floats(part),
                [&](int l) { return static_cast<float>(expected(part * width + l)); },
                what);
    };
    const simd16 x = load(a), y = load(b), one(1.0f), none(0.0f);
    check(
        x, [&](int l) { return a[l]; }, "simd16, floats");
    check(
        simd16(-3.0f), [](int) { return -3; }, "simd16(float)");
    check(
        x + y, [&](int l) { return a[l] + b[l]; }, "simd16 +");
    check(
        x - y, [&](int l) { return a[l] - b[l]; }, "simd16 -");
    check(
        min(x, y), [&](int l) { return std::min(a[l], b[l]); }, "simd16 min");
    check(
        max(x, y), [&](int l) { return std::max(a[l], b[l]); }, "simd16 max");
    check(
        clamp(x, simd16(500.0f)),
        [&](int l) { return std::clamp(a[l], -500.0f, 500.0f); },
        "simd16 clamp");
    check(
        scaled(x, 0.75f),
        [&](int l) { return std::floor(a[l] * 0.75f + 0.5f); },
        "scaled");
    check(
        select(same_sign(x, y), one, none),
        [&](int l) { return (a[l] < 0) == (b[l] < 0); },
        "same_sign");
    const simd zero(0.0f), first = simd::load(a.data()), second = simd::load(&a[width]);
    const simd16::mask negative = simd16::both(first < zero, second < zero);
    check(
        select(negative, x, y), [&](int l) { return a[l] < 0 ? a[l] : b[l]; }, "both");
    check(
        select(~negative & same_sign(x, y), x, none),
        [&](int l) { return a[l] >= 0 && b[l] >= 0 ? a[l] : 0; },
        "simd16 mask ~, &");
    check(
        select(negative | same_sign(x, y), x, none),
        [&](int l) { return a[l] < 0 || b[l] >= 0 ? a[l] : 0; },
        "simd16 mask |");
    expect(any(simd16::both(first < first, second < lanes(b) + simd(1e5f))) &&
               !any(simd16::both(first < first, first < first)),
           "simd16 any");

    float llr[quantised_at_once];
    std::int8_t rounded[quantised_at_once];
    for (float& value : llr)
        value = number(-40, 40);
    llr[3] = not_a_number;
    llr[5] = infinity;
    quantiser<21>(0.7f)(llr, rounded);
    bool right = true;
    for (int i = 0; i < quantised_at_once; ++i)
        right =
            right &&
            rounded[i] ==
                (i == 3 ? 0 : std::clamp(std::nearbyint(llr[i] * 0.7f), -21.0f, 21.0f));
    expect(right, "quantiser");
}

/* Bytes of the Viterbi decoder */
using code = viterbi_code;
struct alignas(64) row_of_bytes {
    std::uint8_t of[simd8::width];
};

template <class Expected>
void each(simd8 found, Expected expected, const char* what)
{
    row_of_bytes row;
    found.store(row.of);
    bool right = true;
    for (int i = 0; i < simd8::width; ++i)
        right = right && row.of[i] == static_cast<std::uint8_t>(expected(i));
    expect(right, what);
}

template <int PHASE>
void phase()
{
    row_of_bytes paid;
    for (std::uint8_t& byte : paid.of)
        byte = integer(0, 255);
    const simd8::penalties p(paid.of);
    const auto pays = [&](int flip) {
        return [&, flip](int i) {
            return paid.of[i / 8 * 4 + (code::output(PHASE, i % 8) ^ flip)];
        };
    };
    each(simd8::lookup<PHASE, 0>(p), pays(0), "lookup");
    each(simd8::lookup<PHASE, 1>(p), pays(1), "lookup");
    each(simd8::lookup<PHASE, 2>(p), pays(2), "lookup");
    each(simd8::lookup<PHASE, 3>(p), pays(3), "lookup");

    alignas(64) std::uint8_t decisions[code::registers * simd8::lanes];
    for (std::uint8_t& byte : decisions)
        byte = integer(0, 255);
    lane_words place;
    int expected[simd8::lanes];
    for (int l = 0; l < simd8::lanes; ++l) {
        const int at = integer(0, code::states - 1);
        place[l] = at;
        const int stays = decisions[at / 8 * simd8::lanes + l] >> at % 8 & 1;
        expected[l] = stays ? at : at ^ 1 << code::turn[PHASE];
    }
    back<PHASE>(decisions, place);
    for (int l = 0; l < simd8::lanes; ++l)
        expect(static_cast<int>(place[l]) == expected[l], "back");
}

template <int RATE>
void erasures()
{
    constexpr puncturing rate = viterbi_rates[RATE];
    std::int8_t sent[pairs_size + 16], pairs[pairs_size + 16];
    for (std::int8_t& byte : sent)
        byte = integer(-40, 40);
    insert_erasures<RATE>(sent, pairs);
    bool right = true;
    for (int i = 0, place = 0; i < 2 * viterbi_chunk; ++i) {
        const bool kept = rate.kept >> i % (2 * rate.steps) & 1;
        right = right && pairs[i] == (kept ? sent[place++] : 0);
    }
    expect(right, "insert_erasures");
}

void bytes_of_lanes()
{
    row_of_bytes a, b;
    for (int i = 0; i < simd8::width; ++i) {
        a.of[i] = integer(0, 255);
        b.of[i] = i % 3 ? integer(0, 255) : a.of[i];
    }
    const simd8 x = simd8::load(a.of), y = simd8::load(b.of);
    each(
        x + y, [&](int i) { return a.of[i] + b.of[i]; }, "bytes +");
    each(
        x - y, [&](int i) { return std::max(a.of[i] - b.of[i], 0); }, "bytes -");
    each(
        ~x, [&](int i) { return 255 - a.of[i]; }, "bytes ~");
    each(
        max(x, y), [&](int i) { return std::max(a.of[i], b.of[i]); }, "bytes max");
    each(
        x.exchange<1>(), [&](int i) { return a.of[i ^ 1]; }, "exchange<1>");
    each(
        x.exchange<2>(), [&](int i) { return a.of[i ^ 2]; }, "exchange<2>");
    each(
        x.exchange<4>(), [&](int i) { return a.of[i ^ 4]; }, "exchange<4>");

    alignas(64) std::uint8_t rows[code::registers][simd8::lanes];
    simd8::decisions chosen(rows[0]);
    bool right = true;
    for (int r = 0; r < code::registers; ++r) {
        const simd8 moved = r % 2 ? x : y + simd8(bytes{} + static_cast<std::uint8_t>(r));
        chosen.set(r, moved, max(moved, x));
    }
    chosen.store();
    for (int r = 0; r < code::registers; ++r)
        for (int i = 0; i < simd8::width; ++i) {
            const bool stays = r % 2 || static_cast<std::uint8_t>(b.of[i] + r) >= a.of[i];
            right = right && (rows[r][i / 8] >> i % 8 & 1) == stays;
        }
    expect(right, "decisions");
    phase<0>();
    phase<1>();
    phase<2>();
    phase<3>();
    phase<4>();
    phase<5>();
    erasures<1>();
    erasures<2>();
    erasures<3>();

    constexpr int steps = 16, n = steps * simd8::lanes;
    static std::int8_t pairs[simd8::lanes][pairs_size];
    alignas(64) std::int8_t ordered[2 * n];
    alignas(64) std::uint8_t penalties[4 * n];
    for (auto& lane : pairs)
        for (std::int8_t& byte : lane)
            byte = integer(-42, 42);
    by_step(pairs, steps, ordered);
    to_penalties(ordered, n, penalties);
    for (int i = 0; i < n; ++i) {
        const std::int8_t* pair = pairs[i % simd8::lanes] + 2 * (i / simd8::lanes);
        for (int out = 0; out < 4; ++out) {
            const int pays = std::max(out & 2 ? -pair[0] : pair[0], 0) +
                             std::max(out & 1 ? -pair[1] : pair[1], 0);
            right = right && penalties[4 * i + out] == pays;
        }
    }
    expect(right, "by_step, to_penalties");
}

} // namespace

int main()
{
    for (int turn = 0; turn < 20; ++turn) {
        floats_of_lanes();
        words_of_lanes();
        places_of_lanes();
        integers_of_lanes();
        bytes_of_lanes();
    }
    return failures != 0;
}

/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the bits of the signal fields, and tell from the turns of their symbols what the
 * frame is. A frame's results depend on no other frame. */
#include "codes/decoders.h"
#include "codes/viterbi/kernel.h"
#include "wifi/he_signal.h"
#include "wifi/lanes.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {

extern const viterbi_build viterbi;

void decode_half_rate(const float* llr,
                      const std::vector<std::int64_t>& num_bits,
                      std::uint8_t* bits)
{
    viterbi_batch b{};
    b.n = num_bits.size();
    b.num_bits = num_bits.data();
    b.rate = 0; /* 1/2 */
    b.llr = llr;
    b.largest_mean = 8;
    b.bits = bits;
    b.threads = 1;
    b.stop = [](void*) { return false; };
    if (b.n && decode_viterbi(viterbi, b) == out_of_memory)
        throw std::bad_alloc();
}

namespace {

/* A frame's three symbols */
class signal_field
{
public:
    signal_field(const wifi_signal_layout& s, const wifi_signal& signal)
        : d_s(s), d_combined(signal.symbols[0])
    {
        /* The turn of the L-LTF's halves against each other is known to 1 / strength,
         * rad^2. */
        for (int t = 0; t < wifi_signal_symbols; ++t) {
            const double share = part_fft / s.distance[t];
            align(t, { 1, 0 }, signal.strength / 2 * share * share);
        }
    }

    bool turned(int t) const
    {
        double re = 0, im = 0;
        for (const complex& x : d_data[t]) {
            re += x.re * x.re;
            im += x.im * x.im;
        }
        return im > re;
    }

    /* Write the LLRs of a symbol in the order of the code. */
    void put_llrs(int t, bool imaginary, float* out) const
    {
        for (int j = 0; j < wifi_signal_bits; ++j) {
            const complex& x = d_data[t][d_s.order[j]];
            out[j] = static_cast<float>(4 * (imaginary ? x.im : x.re));
        }
    }

    /* Turn all symbols by the phase that the decoded subcarriers tell. */
    void turn_by(const std::uint8_t* coded, double strength)
    {
        complex sum{ 0, 0 };
        const auto add = [&](std::int64_t k, double sign) {
            sum.re += sign * d_combined[2 * k];
            sum.im += sign * d_combined[2 * k + 1];
        };
        for (int j = 0; j < wifi_signal_bits; ++j)
            add(d_s.data[d_s.order[j]], coded[j] ? 1 : -1);
        for (int p = 0; p < 4; ++p)
            add(d_s.pilots[p], d_s.pilot_signs[p]);
        const double turn = std::atan2(sum.im, sum.re);
        for (int t = 0; t < wifi_signal_symbols; ++t) {
            const double share = d_s.distance[0] / d_s.distance[t];
            const complex by = unit(-turn / share);
            align(t, by, strength * share * share);
            for (int d = 0; t < 2 && d < wifi_signal_bits; ++d) {
                const float* x = d_combined + 2 * (t * wifi_legacy + d_s.data[d]);
                d_flat[t][d] = x[0] * by.re - x[1] * by.im;
            }
        }
    }

    /* Return whether the second symbol repeats the first one. Noise adds to the power of
     * the first symbol but not to the correlation. Of all first data symbols of 6 Mbit/s,
     * 4 in 10^4 have a correlation above 0.5 with the L-SIG, and 5 in 10^6 one above
     * 0.72. */
    bool repeated(double snr) const
    {
        double both = 0, first = 0;
        for (int d = 0; d < wifi_signal_bits; ++d) {
            both += d_flat[0][d] * d_flat[1][d];
            first += d_flat[0][d] * d_flat[0][d];
        }
        return both * (1 + 0.5 / std::max(snr, 1e-3)) > 0.72 * first;
    }

private:
    static constexpr double part_fft = 64;

    const wifi_signal_layout& d_s;
    const float* d_combined;
    complex d_data[wifi_signal_symbols][wifi_signal_bits];
    double d_flat[2][wifi_signal_bits]; /* real parts */

    /* Turn a symbol, and then align it by its pilots. prior is the weight of no turn. */
    void align(int t, complex by, double prior)
    {
        const float* x = d_combined + 2 * t * wifi_legacy;
        const auto turned = [&](std::int64_t k) {
            return complex{ x[2 * k], x[2 * k + 1] } * by;
        };
        complex total{ prior, 0 };
        for (int p = 0; p < 4; ++p) {
            const complex pilot = turned(d_s.pilots[p]);
            total.re += pilot.re * d_s.pilot_signs[4 * t + p];
            total.im += pilot.im * d_s.pilot_signs[4 * t + p];
        }
        const double size =
            std::max(std::sqrt(total.re * total.re + total.im * total.im), 1e-30);
        const complex back{ total.re / size, -total.im / size };
        for (int d = 0; d < wifi_signal_bits; ++d)
            d_data[t][d] = turned(d_s.data[d]) * back;
    }
};

/* Return the least agreement: the sum of LLRs that agree with the decoded bits less those
 * that do not, over the sum of magnitudes. Random LLRs reach 0.73 in the median. LLRs of
 * an L-SIG at 0 dB reach 0.96 in the median, and 99.9 of 100 reach more than 0.81. */
double agreement(double snr)
{
    const double db = 10 * std::log10(std::max(snr, 1e-3));
    return 0.76 + (0.92 - 0.76) * std::min(std::max((db - 2) / 10, 0.0), 1.0);
}

/* Return whether LLRs agree with the bits decoded from them, because a parity bit tells
 * little. Set the coded bits. */
bool agrees(const float* llr,
            const std::uint8_t* bits,
            int num_bits,
            double snr,
            std::uint8_t* coded)
{
    int state = 0;
    double with = 0, all = 0;
    for (int i = 0; i < num_bits; ++i) {
        const int out = viterbi_code::output_of(state, bits[i]);
        state = state >> 1 | bits[i] << 5;
        for (int b = 0; b < 2; ++b) {
            const float x = llr[2 * i + b];
            coded[2 * i + b] = out >> (1 - b) & 1;
            with += coded[2 * i + b] ? x : -x;
            all += std::fabs(x);
        }
    }
    return with >= agreement(snr) * all;
}

constexpr int half = wifi_signal_bits / 2; /* uncoded bits of a symbol */

/* Blocks for the Viterbi decoder, one for each frame that has such a signal field */
struct signal_blocks {
    std::vector<float> llr;
    std::vector<std::int64_t> num_bits, frame;
    std::vector<std::uint8_t> bits;

    void add_symbol(const signal_field& field, int symbol, bool imaginary)
    {
        llr.resize(llr.size() + wifi_signal_bits);
        field.put_llrs(symbol, imaginary, llr.data() + llr.size() - wifi_signal_bits);
    }
    /* End a block of one or more symbols. */
    void end(std::int64_t of_frame, int symbols)
    {
        num_bits.push_back(symbols * half - viterbi_tail);
        frame.push_back(of_frame);
        bits.resize(bits.size() + num_bits.back());
    }
    void decode() { decode_half_rate(llr.data(), num_bits, bits.data()); }
};

/* Add the first signal field, or none, and return what its turns say. */
wifi_signal_kind
add_first(const signal_field& field, std::int64_t frame, signal_blocks& first)
{
    if (!field.turned(0)) {
        first.add_symbol(field, 0, false);
        first.end(frame, 1);
        return wifi_l_sig;
    }
    if (field.turned(1)) {
        first.add_symbol(field, 0, true);
        first.add_symbol(field, 1, true);
        first.end(frame, 2);
        return wifi_greenfield;
    }
    return wifi_no_signal;
}

/* Return whether the CRC of the first 34 bits follows them (§19.3.9.4.4). */
bool crc_holds(const std::uint8_t* bits)
{
    constexpr int covered = 34;
    unsigned crc = 0xFF;
    for (int i = 0; i < covered; ++i)
        crc = (crc << 1 & 0xFF) ^ ((crc >> 7 ^ bits[i]) & 1 ? 7 : 0);
    for (int i = 0; i < 8; ++i)
        if (((~crc >> (7 - i)) & 1) != bits[covered + i])
            return false;
    return true;
}

int l_sig_length(const std::uint8_t* bits)
{
    int length = 0;
    for (int i = 0; i < 12; ++i)
        length |= bits[5 + i] << i;
    return length;
}

/* Return whether parity, reserved bit, rate and length of an L-SIG are right (§17.3.4).
 */
bool l_sig_holds(const std::uint8_t* bits)
{
    int sum = 0;
    for (int i = 0; i < 18; ++i)
        sum += bits[i];
    /* The fourth bit is a 1 in all rates. */
    return !(sum & 1) && !bits[4] && bits[3] && l_sig_length(bits);
}

/* Check an L-SIG against its LLRs, add the field behind it if there is one, and return
 * what the frame is. */
std::uint8_t judge_l_sig(const wifi_signal& signal,
                         std::int64_t frame,
                         const float* llr,
                         signal_field& field,
                         signal_blocks& second)
{
    std::uint8_t coded[wifi_signal_bits];
    const double snr = signal.strength / wifi_legacy;
    const std::uint8_t* l_sig = signal.fields;
    if (!l_sig_holds(l_sig) || !agrees(llr, l_sig, wifi_signal_bits / 2, snr, coded))
        return wifi_no_signal;
    /* Frames of 802.11n and later have an L-SIG of 6 Mbit/s. */
    if (!l_sig[0] || !l_sig[1] || l_sig[2])
        return wifi_l_sig;
    field.turn_by(coded, signal.strength);
    const bool turned = field.turned(1);
    if (l_sig_length(l_sig) % 3 == 0 && field.turned(2)) {
        second.add_symbol(field, 1, turned);
        second.add_symbol(field, 2, true);
        second.end(frame, 2);
        return static_cast<std::uint8_t>(wifi_l_sig | wifi_third_turned |
                                         (turned ? wifi_second_turned : 0));
    }
    return static_cast<std::uint8_t>(
        wifi_l_sig | (!turned && field.repeated(snr) ? wifi_repeated : 0));
}

constexpr std::int64_t outer = (wifi_he_carriers - wifi_legacy) / 2;

/* Return the subcarriers of a symbol of an HE-SIG-A that carry data. */
std::array<int, wifi_he_bits> he_data(const wifi_signal_layout& layout)
{
    std::array<int, wifi_he_bits> data;
    for (int k = 0, i = 0; k < wifi_he_carriers; ++k)
        if (std::find(layout.pilots, layout.pilots + 4, k - outer) == layout.pilots + 4)
            data[i++] = k;
    return data;
}

} // namespace

bool he_signal::follows(const wifi_signal& signal) { return signal.kind & wifi_repeated; }

void he_signal::clear()
{
    for (auto& symbol : symbols)
        std::fill_n(symbol, 2 * wifi_he_carriers, 0.0f);
}

void he_signal::follow_l_sig(const wifi_signal_layout& layout)
{
    std::uint8_t coded[wifi_signal_bits];
    int state = 0;
    for (int i = 0; i < wifi_signal_bits / 2; ++i) {
        const int out = viterbi_code::output_of(state, d_signal->fields[i]);
        state = state >> 1 | d_signal->fields[i] << 5;
        coded[2 * i] = out >> 1 & 1;
        coded[2 * i + 1] = out & 1;
    }
    for (int t = 0; t < 2; ++t) {
        complex sum{ 0, 0 };
        const auto add = [&](std::int64_t k, double sign) {
            sum.re += sign * symbols[t][2 * (k + outer)];
            sum.im += sign * symbols[t][2 * (k + outer) + 1];
        };
        for (int j = 0; j < wifi_signal_bits; ++j)
            add(layout.data[layout.order[j]], coded[j] ? 1 : -1);
        for (int p = 0; p < 4; ++p)
            add(layout.pilots[p], layout.pilot_signs[4 * t + p]);
        add_phase(layout, t, sum);
    }
    for (int t = 0; t < wifi_he_symbols; ++t)
        d_turn[t] = unit(-frequency() * layout.distance[t]);
}

void he_signal::follow(const wifi_signal_layout& layout, int t, const complex* sent)
{
    complex sum{ 0, 0 };
    for (const int k : he_data(layout)) {
        const float re = symbols[t][2 * k], im = symbols[t][2 * k + 1];
        sum.re += re * sent->re + im * sent->im;
        sum.im += im * sent->re - re * sent->im;
        ++sent;
    }
    add_phase(layout, t, sum);
}

void he_signal::add_phase(const wifi_signal_layout& layout, int t, complex sum)
{
    /* The phase lies near what the symbols before it predict. */
    const double distance = layout.distance[t], near = t ? frequency() * distance : 0;
    const complex rest = sum * unit(-near);
    d_slope += (std::atan2(rest.im, rest.re) + near) * distance;
    d_lever += distance * distance;
}

void he_signal::add_outer(const float* x, std::int64_t step)
{
    constexpr int k[] = { 0, 1, wifi_he_carriers - 2, wifi_he_carriers - 1 };
    constexpr float signs[] = { -1, -1, -1, 1 }; /* §27.3.11.5 */
    for (int i = 0; i < 4; ++i) {
        complex h{ 0, 0 };
        for (int t = 0; t < 2; ++t) {
            const float* own = x + 2 * (t * step + k[i]);
            const complex in_phase = complex{ own[0], own[1] } * d_turn[t];
            h.re += 0.5 * signs[i] * in_phase.re;
            h.im += 0.5 * signs[i] * in_phase.im;
        }
        const float channel[] = { static_cast<float>(h.re), static_cast<float>(h.im) };
        add(x + 2 * k[i], step, k[i], channel);
    }
}

void he_signal::aligned(const wifi_signal_layout& layout, int t, complex* data) const
{
    const auto turned = [&](std::int64_t k) {
        return complex{ symbols[t][2 * k], symbols[t][2 * k + 1] } * d_turn[t];
    };
    /* Two symbols of data told the phase before the pilots. */
    complex total{ d_signal->strength, 0 };
    for (int p = 0; p < 4; ++p) {
        const complex one = turned(layout.pilots[p] + outer);
        total.re += one.re * layout.pilot_signs[4 * t + p];
        total.im += one.im * layout.pilot_signs[4 * t + p];
    }
    const double size = std::max(std::hypot(total.re, total.im), 1e-30);
    const complex back{ total.re / size, -total.im / size };
    for (const int k : he_data(layout))
        *data++ = turned(k) * back;
}

void read_he(const wifi_signal_layout& layout, std::vector<he_signal>& signals)
{
    constexpr int size = 2 * wifi_he_bits, num_bits = size / 2 - viterbi_tail;
    const std::int64_t count = static_cast<std::int64_t>(signals.size());
    std::vector<float> llr(count * size);
    std::vector<std::uint8_t> bits(count * num_bits);
    for (std::int64_t i = 0; i < count; ++i) {
        complex data[4][wifi_he_bits];
        double re = 0, im = 0;
        for (int t = 0; t < 4; ++t)
            signals[i].aligned(layout, t + 2, data[t]);
        for (const complex& x : data[1]) {
            re += x.re * x.re;
            im += x.im * x.im;
        }
        /* In an HE ER SU frame, each symbol is followed by the same coded bits without
         * the interleaver, and the first of these is turned. */
        const bool extended = im > re;
        for (int half_of = 0; half_of < 2; ++half_of)
            for (int j = 0; j < wifi_he_bits; ++j) {
                const complex* first = data[extended ? 2 * half_of : half_of];
                double sum = first[layout.he_order[j]].re;
                if (extended)
                    sum += half_of ? data[3][j].re : data[1][j].im;
                llr[i * size + half_of * wifi_he_bits + j] = static_cast<float>(4 * sum);
            }
        signals[i].signal().kind |= extended ? wifi_he_extended : 0;
    }
    decode_half_rate(llr.data(), std::vector<std::int64_t>(count, num_bits), bits.data());
    for (std::int64_t i = 0; i < count; ++i) {
        wifi_signal& signal = signals[i].signal();
        std::uint8_t coded[size];
        std::uint8_t own[size / 2] = {}; /* with the tail, which is sent too */
        std::copy_n(bits.data() + i * num_bits, num_bits, own);
        if (!agrees(llr.data() + i * size,
                    own,
                    size / 2,
                    signal.strength / wifi_legacy,
                    coded)) {
            signal.kind &= static_cast<std::uint8_t>(~wifi_he_extended);
            continue;
        }
        signal.kind |= wifi_he_signal;
        std::copy_n(own, num_bits, signal.fields + half);
        /* What was sent is now known. */
        const bool extended = signal.kind & wifi_he_extended;
        for (int half_of = 0; half_of < 2; ++half_of) {
            complex first[wifi_he_bits], again[wifi_he_bits];
            for (int j = 0; j < wifi_he_bits; ++j) {
                const double sign = coded[half_of * wifi_he_bits + j] ? 1 : -1;
                first[layout.he_order[j]] = { sign, 0 };
                again[j] = half_of ? complex{ sign, 0 } : complex{ 0, sign };
            }
            const int t = 2 + (extended ? 2 * half_of : half_of);
            signals[i].follow(layout, t, first);
            if (extended)
                signals[i].follow(layout, t + 1, again);
        }
    }
}

void read(const wifi_signal_layout& layout, wifi_signal* signals, std::int64_t count)
{
    std::vector<signal_field> fields;
    fields.reserve(count);
    signal_blocks first, second;
    for (std::int64_t frame = 0; frame < count; ++frame) {
        fields.emplace_back(layout, signals[frame]);
        signals[frame].kind = add_first(fields.back(), frame, first);
        std::fill_n(signals[frame].fields, wifi_field_bits, std::uint8_t{ 0 });
    }
    first.decode();
    const float* llr = first.llr.data();
    const std::uint8_t* bits = first.bits.data();
    for (std::size_t i = 0; i < first.frame.size(); ++i) {
        const std::int64_t frame = first.frame[i], num_bits = first.num_bits[i];
        wifi_signal& signal = signals[frame];
        const bool greenfield = signal.kind == wifi_greenfield;
        std::copy_n(bits, num_bits, signal.fields + (greenfield ? half : 0));
        if (!greenfield)
            signal.kind = judge_l_sig(signal, frame, llr, fields[frame], second);
        else if (!crc_holds(bits))
            signal.kind = wifi_no_signal;
        llr += 2 * (num_bits + viterbi_tail);
        bits += num_bits;
    }
    second.decode();
    bits = second.bits.data();
    for (const std::int64_t frame : second.frame) {
        std::copy_n(bits, 2 * half - viterbi_tail, signals[frame].fields + half);
        bits += 2 * half - viterbi_tail;
    }
}

} // namespace MIMOPACK_ISA
} // namespace mimopack

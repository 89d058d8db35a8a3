/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Signal fields of frames, from samples or from combined symbols */
#include "bindings/wifi/headers.h"
#include "bindings/wifi/signals.h"
#include "codes/viterbi/builds.h"

namespace mimopack {

void decode_signals(const void* decoder,
                    const float* llr,
                    const std::int64_t* num_bits,
                    std::int64_t blocks,
                    std::uint8_t* bits)
{
    viterbi_batch b{};
    b.n = static_cast<std::size_t>(blocks);
    b.num_bits = num_bits;
    b.rate = 0; /* 1/2 */
    b.llr = llr;
    b.int8 = false;
    b.largest_mean = 8;
    b.bits = bits;
    b.threads = 1;
    b.stop = [](void*) { return false; };
    if (decode_viterbi(*static_cast<const viterbi_build*>(decoder), b) == out_of_memory)
        throw std::bad_alloc();
}

namespace {

/* Return whether the CRC of the first `covered` bits follows them (§19.3.9.4.4). */
bool crc_holds(const std::uint8_t* bits, int covered)
{
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

py::array_t<std::uint8_t> rows_of(const std::vector<std::uint8_t>& values,
                                  std::int64_t frames)
{
    byte_array out(
        { frames, frames ? static_cast<std::int64_t>(values.size()) / frames : 0 });
    std::copy(values.begin(), values.end(), out.mutable_data());
    return out;
}

/* Return the signal fields of symbols (frames, 3, legacy) behind a matched filter, with
 * the strength (frames,) of their channels. */
signal_results read_signals(const complex_array& combined,
                            const double_array& strength,
                            const signal_layout& layout,
                            const std::string& isa)
{
    const std::int64_t frames = strength.size();
    require(has_shape(combined, { frames, 3, wifi_legacy }) && strength.ndim() == 1 &&
                layout.fits(),
            "read_signals");
    signal_results found(frames);
    wifi_signals s = found.plan(layout, isa);
    s.combined = floats(combined);
    s.strength = strength.data();
    find_wifi(isa).read(s);
    return found;
}

/* Return (kind (frames,), L-SIGs (frames, 24), HT-SIGs or VHT-SIG-As (frames, 48)). */
py::tuple arrays_of(const signal_results& found)
{
    const std::int64_t frames = static_cast<std::int64_t>(found.kind.size());
    return py::make_tuple(byte_array(frames, found.kind.data()),
                          rows_of(found.first, frames),
                          rows_of(found.second, frames));
}

} // namespace

bool signal_layout::fits() const
{
    return has_shape(data, { wifi_signal_bits }) && within(data, wifi_legacy) &&
           has_shape(pilots, { 4 }) && within(pilots, wifi_legacy) &&
           has_shape(pilot_signs, { 3, 4 }) && has_shape(order, { wifi_signal_bits }) &&
           within(order, wifi_signal_bits) && has_shape(distance, { 3 });
}

signal_results::signal_results(std::int64_t frames)
    : kind(frames), first(frames * first_bits), second(frames * second_bits)
{
}

wifi_signals signal_results::plan(const signal_layout& layout, const std::string& isa)
{
    return { static_cast<std::int64_t>(kind.size()),
             nullptr,
             nullptr,
             layout.data.data(),
             layout.pilots.data(),
             layout.pilot_signs.data(),
             layout.order.data(),
             layout.distance.data(),
             &decode_signals,
             &find_viterbi(find_build(isa)),
             first.data(),
             second.data(),
             kind.data() };
}

void signal_results::settle()
{
    for (std::size_t i = 0; i < kind.size(); ++i)
        if (!settle(static_cast<std::int64_t>(i)))
            kind[i] = wifi_no_signal;
}

/* Return whether the fields of a frame are valid. */
bool signal_results::settle(std::int64_t frame)
{
    std::uint8_t& flags = kind[frame];
    std::uint8_t* const l_sig = first.data() + frame * first_bits;
    std::uint8_t* const other = second.data() + frame * second_bits;
    if (!(flags & wifi_l_sig)) {
        std::fill_n(l_sig, first_bits, std::uint8_t{ 0 });
        flags &= wifi_greenfield;
        return flags && crc_holds(other, 34);
    }
    /* Frames of 802.11n and later have an L-SIG of 6 Mbit/s. */
    const bool slowest = l_sig[0] && l_sig[1] && !l_sig[2] && l_sig[3];
    const int rest = l_sig_length(l_sig) % 3;
    if (slowest && !rest && flags & wifi_third_turned)
        flags &= wifi_l_sig | wifi_second_turned | wifi_third_turned;
    else {
        const bool twice =
            slowest && flags & wifi_repeated && !(flags & wifi_second_turned);
        flags = twice ? wifi_l_sig | wifi_repeated : wifi_l_sig;
        std::fill_n(other, second_bits, std::uint8_t{ 0 });
    }
    return l_sig_holds(l_sig);
}

header_reader::header_reader(int fft,
                             const float_array& sequence,
                             std::shared_ptr<smoother> s,
                             const signal_layout& layout)
    : d_fft(fft), d_sequence(sequence), d_layout(layout), d_smoother(std::move(s))
{
    require(fft >= 2 && fft <= 1 << 16 && !(fft & (fft - 1)) &&
                has_shape(sequence, { wifi_legacy }) &&
                d_smoother->carriers() == wifi_legacy &&
                d_smoother->wanted() == wifi_legacy && d_layout.fits(),
            "HeaderReader");
}

signal_results header_reader::read(const header_frames& from,
                                   double* noise,
                                   double* signal,
                                   const std::string& isa) const
{
    bool fits = can_be_rows(from.rows) && from.all.fits && from.parts >= 1 &&
                from.parts <= wifi_max_parts;
    for (const std::int64_t length : from.all.length)
        fits = fits && length >= d_fft;
    for (std::int64_t i = 0; fits && i < from.parts * wifi_legacy; ++i)
        fits = from.bins[i] >= 0 && from.bins[i] < d_fft;
    require(fits, "HeaderReader.read");
    std::vector<std::int64_t> inside(from.starts,
                                     from.starts + from.frames * wifi_header_windows);
    for (std::size_t i = 0; i < inside.size(); ++i)
        inside[i] = std::min(std::max(inside[i], std::int64_t{ 0 }),
                             from.all.length[i / wifi_header_windows] - d_fft);
    signal_results found(from.frames);
    filter_lease lease = d_smoother->lease();
    const wifi_smoother own = d_smoother->plan(lease);
    const wifi_headers h{ from.frames,
                          from.rows,
                          from.parts,
                          d_fft,
                          from.all.all(),
                          from.direct,
                          from.cfo,
                          inside.data(),
                          from.white,
                          from.bins,
                          d_sequence.data(),
                          &own,
                          found.plan(d_layout, isa),
                          noise,
                          signal };
    find_wifi(isa).headers(h);
    found.settle();
    return found;
}

py::tuple header_reader::read_symbols(const complex_array& combined,
                                      const double_array& strength,
                                      const std::string& isa) const
{
    signal_results found = read_signals(combined, strength, d_layout, isa);
    found.settle();
    return arrays_of(found);
}

void bind_wifi_headers(py::module_& m)
{
    m.def(
        "read_signals",
        [](const complex_array& combined,
           const double_array& strength,
           const long_array& data,
           const long_array& pilots,
           const float_array& pilot_signs,
           const long_array& order,
           const double_array& distance,
           const std::string& isa) {
            return arrays_of(read_signals(
                combined, strength, { data, pilots, pilot_signs, order, distance }, isa));
        },
        py::arg("combined").noconvert(),
        py::arg("strength").noconvert(),
        py::kw_only(),
        py::arg("data").noconvert(),
        py::arg("pilots").noconvert(),
        py::arg("pilot_signs").noconvert(),
        py::arg("order").noconvert(),
        py::arg("distance").noconvert(),
        py::arg("isa") = "auto");
    py::dict kinds;
    kinds["greenfield"] = +wifi_greenfield;
    kinds["l_sig"] = +wifi_l_sig;
    kinds["second_turned"] = +wifi_second_turned;
    kinds["third_turned"] = +wifi_third_turned;
    kinds["repeated"] = +wifi_repeated;
    m.attr("signal_kinds") = kinds;
    py::class_<header_reader, std::shared_ptr<header_reader>>(
        m, "HeaderReader", py::module_local())
        .def(py::init([](int fft,
                         const float_array& sequence,
                         std::shared_ptr<smoother> s,
                         const long_array& data,
                         const long_array& pilots,
                         const float_array& pilot_signs,
                         const long_array& order,
                         const double_array& distance) {
                 return std::make_shared<header_reader>(
                     fft,
                     sequence,
                     std::move(s),
                     signal_layout{ data, pilots, pilot_signs, order, distance });
             }),
             py::kw_only(),
             py::arg("fft"),
             py::arg("sequence").noconvert(),
             py::arg("smoother"),
             py::arg("data").noconvert(),
             py::arg("pilots").noconvert(),
             py::arg("pilot_signs").noconvert(),
             py::arg("order").noconvert(),
             py::arg("distance").noconvert())
        .def("read_symbols",
             &header_reader::read_symbols,
             py::arg("combined").noconvert(),
             py::arg("strength").noconvert(),
             py::arg("isa") = "auto");
}

} // namespace mimopack

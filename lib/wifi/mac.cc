/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "wifi/mac.h"
#include <algorithm>
#include <array>
#include <cstring>

namespace mimopack {

namespace {

constexpr std::int64_t fcs = 4, word = 4;
constexpr std::uint8_t signature = 0x4E;
/* Words of the smallest MPDU, an acknowledgement, with its delimiter: 4 + 14 bytes */
constexpr std::int64_t smallest = 5;
/* Bytes of MPDUs with a wrong FCS, as a multiple of the PSDU's bytes */
constexpr std::int64_t most_wrong = 4;

/* CRC-32 of eight bytes at a time: table [n] holds the CRC of a byte and n zeros. */
using crc_tables = std::array<std::array<std::uint32_t, 256>, 8>;

crc_tables make_tables()
{
    crc_tables tables;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t c = byte;
        for (int bit = 0; bit < 8; ++bit)
            c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
        tables[0][byte] = c;
    }
    for (int n = 1; n < 8; ++n)
        for (int byte = 0; byte < 256; ++byte) {
            const std::uint32_t c = tables[n - 1][byte];
            tables[n][byte] = c >> 8 ^ tables[0][c & 0xFF];
        }
    return tables;
}

std::uint32_t number(const std::uint8_t* bytes)
{
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 |
           static_cast<std::uint32_t>(bytes[3]) << 24;
}

std::uint32_t crc32(const std::uint8_t* x, std::int64_t size)
{
    static const crc_tables t = make_tables();
    std::uint32_t c = 0xFFFFFFFFu;
    for (; size >= 8; size -= 8, x += 8) {
        const std::uint32_t a = c ^ number(x), b = number(x + 4);
        c = t[7][a & 0xFF] ^ t[6][a >> 8 & 0xFF] ^ t[5][a >> 16 & 0xFF] ^ t[4][a >> 24] ^
            t[3][b & 0xFF] ^ t[2][b >> 8 & 0xFF] ^ t[1][b >> 16 & 0xFF] ^ t[0][b >> 24];
    }
    for (; size; --size)
        c = c >> 8 ^ t[0][(c ^ *x++) & 0xFF];
    return ~c;
}

bool fcs_fits(const std::uint8_t* mpdu, std::int64_t length)
{
    return length > fcs && crc32(mpdu, length - fcs) == number(mpdu + length - fcs);
}

/* Return the CRC of a delimiter's first 16 bits (§9.7.1): x^8 + x^2 + x + 1 over them,
 * inverted, the highest power first. */
std::uint8_t delimiter_crc(std::uint32_t head)
{
    std::uint32_t c = 0xFF;
    for (int bit = 0; bit < 16; ++bit) {
        const std::uint32_t feedback = (c >> 7 ^ head >> bit) & 1;
        c = (c << 1 & 0xFF) ^ (feedback ? 0b111 : 0);
    }
    std::uint8_t reversed = 0;
    for (int bit = 0; bit < 8; ++bit)
        reversed |= (~c >> bit & 1) << (7 - bit);
    return reversed;
}

struct delimiter {
    std::int64_t place, length; /* its word, and bytes of the MPDU behind */
    bool last;                  /* only padding follows its subframe */
};

std::vector<delimiter> find_delimiters(const std::uint8_t* psdu, std::int64_t length)
{
    std::vector<delimiter> found;
    for (std::int64_t place = 0; place < length / word; ++place) {
        const std::uint8_t* at = psdu + word * place;
        if (at[3] != signature)
            continue;
        const std::uint32_t head = at[0] | at[1] << 8;
        if (delimiter_crc(head) == at[2])
            found.push_back(
                { place, head >> 4 | (head >> 2 & 3) << 12, (head & 1) != 0 });
    }
    return found;
}

std::int64_t words(std::int64_t bytes) { return (bytes + word - 1) / word; }

/* Return whether every gap between known MPDUs, delimiters of length 0 and padding is too
 * short for an MPDU. Behind the first delimiter of the last subframe there is only
 * padding, right or wrong. */
bool no_room(const std::vector<delimiter>& delimiters,
             const std::vector<mpdu_place>& mpdus,
             std::int64_t length)
{
    std::vector<std::uint8_t> known(words(length), 0);
    for (const mpdu_place& one : mpdus) {
        const std::int64_t begin = one.offset / word;
        std::fill(
            known.begin() + begin - 1, known.begin() + begin + words(one.length), 1);
    }
    std::vector<std::uint8_t> empty(delimiters.size());
    for (std::size_t i = 0; i < delimiters.size(); ++i)
        /* The bytes of an MPDU may look like anything. */
        empty[i] = !delimiters[i].length && !known[delimiters[i].place];
    auto next = mpdus.begin();
    bool ended = false;
    for (std::size_t i = 0; i < delimiters.size(); ++i) {
        const std::int64_t place = delimiters[i].place;
        if (empty[i])
            known[place] = 1;
        while (next != mpdus.end() && next->offset / word - 1 < place)
            ++next;
        const bool before_mpdu = next != mpdus.end() && next->offset / word - 1 == place;
        if (!ended && delimiters[i].last && (before_mpdu || empty[i])) {
            std::fill(known.begin() + place, known.end(), 1);
            ended = true;
        }
    }
    std::int64_t room = 0;
    for (const std::uint8_t one : known) {
        room = one ? 0 : room + 1;
        if (room >= smallest)
            return false;
    }
    return true;
}

} // namespace

mpdu_places find_mpdus(const std::uint8_t* psdu, std::int64_t length, bool aggregated)
{
    mpdu_places out{ {}, false };
    std::vector<delimiter> delimiters;
    if (aggregated) {
        delimiters = find_delimiters(psdu, length);
        std::int64_t free = 0; /* first word that is not known */
        /* A wrong length that passed a CRC must not hide what follows. But a PSDU made to
         * do harm may have a delimiter in each word. */
        std::int64_t left = most_wrong * length;
        for (const delimiter& one : delimiters) {
            const std::int64_t begin = word * (one.place + 1);
            if (!one.length || one.place < free || begin + one.length > length ||
                one.length > left)
                continue;
            const bool ok = fcs_fits(psdu + begin, one.length);
            out.mpdus.push_back({ begin, one.length, ok });
            if (ok)
                free = one.place + 1 + words(one.length);
            else
                left -= one.length;
        }
    } else if (length)
        out.mpdus.push_back({ 0, length, fcs_fits(psdu, length) });
    out.complete = !out.mpdus.empty() &&
                   std::all_of(out.mpdus.begin(),
                               out.mpdus.end(),
                               [](auto& m) { return m.fcs_ok; }) &&
                   (!aggregated || no_room(delimiters, out.mpdus, length));
    return out;
}

} // namespace mimopack

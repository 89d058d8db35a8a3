/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* MPDUs of a PSDU: places inside, right verdicts of the FCS, bounded results. The first
 * byte of an input tells whether CRCs of delimiters and some FCSs are put right. */
#include "wifi/mac.h"
#include <zlib.h>
#include <cstdlib>
#include <vector>

namespace {

void require(bool holds)
{
    if (!holds)
        std::abort();
}

std::uint32_t fcs_of(const std::uint8_t* x, std::int64_t size)
{
    return static_cast<std::uint32_t>(crc32(0, x, static_cast<uInt>(size)));
}

std::uint32_t fcs_at(const std::uint8_t* x)
{
    return x[0] | x[1] << 8 | x[2] << 16 | static_cast<std::uint32_t>(x[3]) << 24;
}

/* The CRC of a delimiter, as a division of polynomials */
std::uint8_t slow_crc8(std::uint32_t head)
{
    std::uint32_t rest = 0xFF;
    for (int bit = 0; bit < 16; ++bit) {
        rest ^= (head >> bit & 1) << 7;
        rest = (rest & 0x80 ? rest << 1 ^ 0x07 : rest << 1) & 0xFF;
    }
    std::uint8_t reversed = 0;
    for (int bit = 0; bit < 8; ++bit)
        reversed |= (~rest >> bit & 1) << (7 - bit);
    return reversed;
}

void repair(std::vector<std::uint8_t>& psdu)
{
    const std::int64_t size = static_cast<std::int64_t>(psdu.size());
    for (std::int64_t at = 0; at + 4 <= size; at += 4) {
        if (psdu[at + 3] != 0x4E)
            continue;
        const std::uint32_t head = psdu[at] | psdu[at + 1] << 8;
        psdu[at + 2] = slow_crc8(head);
        const std::int64_t length = head >> 4 | (head >> 2 & 3) << 12;
        if (!(head & 2) || length <= 4 || at + 4 + length > size)
            continue;
        const std::uint32_t fcs = fcs_of(&psdu[at + 4], length - 4);
        for (int byte = 0; byte < 4; ++byte)
            psdu[at + length + byte] = fcs >> 8 * byte & 0xFF;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (!size)
        return 0;
    /* A vector of its own, so that the sanitizer sees each byte read beyond it */
    std::vector<std::uint8_t> psdu(data + 1, data + size);
    if (data[0] & 1)
        repair(psdu);
    const std::int64_t length = static_cast<std::int64_t>(psdu.size());
    for (const bool aggregated : { false, true }) {
        const mimopack::mpdu_places found =
            mimopack::find_mpdus(psdu.data(), length, aggregated);
        std::int64_t good_end = 0, bytes = 0;
        bool all = !found.mpdus.empty();
        for (const mimopack::mpdu_place& one : found.mpdus) {
            require(one.offset >= 0 && one.length > 0 &&
                    one.length <= length - one.offset);
            const std::uint8_t* mpdu = psdu.data() + one.offset;
            require(one.fcs_ok == (one.length > 4 && fcs_of(mpdu, one.length - 4) ==
                                                         fcs_at(mpdu + one.length - 4)));
            require(one.offset >= good_end);
            good_end = one.fcs_ok ? one.offset + one.length : good_end;
            bytes += one.length;
            all = all && one.fcs_ok;
        }
        require(all || !found.complete);
        /* Wrong MPDUs may overlap, but not without limit. */
        require(bytes <= 5 * length);
    }
    return 0;
}

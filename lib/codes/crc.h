/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Cyclic redundancy checks of bits that lie in bytes, one by one */
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mimopack {

/* A CRC of up to 32 bits whose register begins with zeros, the first bit first */
class bit_crc
{
public:
    /* polynomial: without its first term, D^length */
    bit_crc(int length, std::uint32_t polynomial) : d_shift(32 - length)
    {
        const std::uint32_t aligned = polynomial << d_shift;
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            std::uint32_t c = byte << 24;
            for (int bit = 0; bit < 8; ++bit)
                c = c >> 31 ? c << 1 ^ aligned : c << 1;
            d_tables[0][byte] = c;
        }
        /* tables[n] holds the remainder of a byte and n bytes of zeros. */
        for (int n = 1; n < 8; ++n)
            for (int byte = 0; byte < 256; ++byte) {
                const std::uint32_t c = d_tables[n - 1][byte];
                d_tables[n][byte] = c << 8 ^ d_tables[0][c >> 24];
            }
    }

    /* Return the remainder of the bits times D^length; its last bit is the last parity
     * bit. */
    std::uint32_t remainder(const std::uint8_t* bits, std::size_t count) const
    {
        /* Zeros before the first bit change nothing. */
        std::uint32_t c = 0;
        std::size_t at = count % 8;
        if (at) {
            std::uint32_t byte = 0;
            for (std::size_t i = 0; i < at; ++i)
                byte = byte << 1 | bits[i];
            c = d_tables[0][byte];
        }
        const auto& t = d_tables;
        for (; at + 64 <= count; at += 64) {
            std::uint8_t x[8];
            for (int i = 0; i < 8; ++i)
                x[i] = packed(bits + at + 8 * i);
            c = t[7][x[0] ^ c >> 24] ^ t[6][x[1] ^ (c >> 16 & 0xFF)] ^
                t[5][x[2] ^ (c >> 8 & 0xFF)] ^ t[4][x[3] ^ (c & 0xFF)] ^ t[3][x[4]] ^
                t[2][x[5]] ^ t[1][x[6]] ^ t[0][x[7]];
        }
        for (; at < count; at += 8)
            c = c << 8 ^ t[0][packed(bits + at) ^ c >> 24];
        return c >> d_shift;
    }

private:
    int d_shift;
    std::array<std::array<std::uint32_t, 256>, 8> d_tables;

    /* Return eight bits as a byte, the first one on top. */
    static std::uint8_t packed(const std::uint8_t* bits)
    {
        std::uint64_t x;
        std::memcpy(&x, bits, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        /* The factor's terms bring bit 8 i to 63 - i; no two products share a place. */
        return x * 0x8040201008040201u >> 56;
#else
        return x * 0x0102040810204080u >> 56;
#endif
    }
};

} // namespace mimopack

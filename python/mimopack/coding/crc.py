# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cyclic redundancy checks of LTE and 5G NR: 3GPP TS 36.212 §5.1.1, TS 38.212 §5.1."""

import numpy as np

from .. import _core
from ..checks import bits as check_bits
from ..checks import choice

# The generator polynomials without their first term, D^length.
_POLYNOMIALS = {"24A": 0x864CFB, "24B": 0x800063, "24C": 0xB2B117, "16": 0x1021, "11": 0x621,
                "8": 0x9B, "6": 0x21}
_LENGTHS = {"24A": 24, "24B": 24, "24C": 24, "16": 16, "11": 11, "8": 8, "6": 6}
CRCS = tuple(_POLYNOMIALS)


class Crc:
    """A CRC over batches of bit arrays, whose rows begin with the bit that is sent first.

    The register starts with zeros, and no bit is inverted. The CRC of IEEE 802.11, which is over
    bytes, is ``wifi.mac.fcs``.

    Args:
        name: "24A", "24B", "24C" (5G only), "16", "11" (5G only), "8" (LTE only) or "6" (5G only).

    Attributes:
        length: number of CRC bits, L.
        polynomial: the generator polynomial without its first term, D^length.
    """

    def __init__(self, name):
        self.name = choice("name", name, CRCS)
        self.length, self.polynomial = _LENGTHS[name], _POLYNOMIALS[name]

    def parity(self, bits):
        """Compute the CRC bits of each row, p_0 to p_(L-1).

        Args:
            bits: (n, count) uint8, 0 or 1.

        Returns:
            (n, L) uint8.
        """
        values = self._remainders(check_bits("bits", bits, "count"))
        return (values[:, None] >> np.arange(self.length)[::-1] & 1).astype(np.uint8)

    def attach(self, bits):
        """Append the CRC to each row.

        Args:
            bits: (n, count) uint8, 0 or 1.

        Returns:
            (n, count + L) uint8.
        """
        return np.hstack([bits, self.parity(bits)])

    def check(self, bits):
        """Split off and check the CRC that :meth:`attach` appended.

        Args:
            bits: (n, count + L) uint8.

        Returns:
            ((n, count) uint8: a view of the rows without their CRC, (n,) bool: whether the CRC is
            correct)
        """
        check_bits("bits", bits, "count + L")
        if bits.shape[1] < self.length:
            raise ValueError(f"bits: got {bits.shape[1]} in a row, must be at least {self.length}")
        return bits[:, :-self.length], self._remainders(bits) == 0

    def shares(self, count):
        """Return what each 1 in a row adds, by exclusive or, to the remainder that is 0 in check().

        Args:
            count: number of bits in a row, those of the CRC included.

        Returns:
            (count,) uint32.
        """
        shares, generator = np.empty(count, np.uint32), self.polynomial | 1 << self.length
        share = 1    # of the last bit
        for place in range(count - 1, -1, -1):
            shares[place] = share
            share <<= 1
            if share >> self.length:
                share ^= generator
        return shares

    def _remainders(self, bits):
        return _core.crc(bits, self.length, self.polynomial)

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Non-HT OFDM frames (802.11a/g/p, clause 17), and their duplicates in wider channels."""

from dataclasses import dataclass
from functools import cached_property

from ...checks import integer, integer_choice
from .. import carriers, training
from .base import SERVICE, TAIL, FrameFormat

# Tables 17-4 and 17-6: {Mbit/s: (RATE bits R1..R4 as sent, constellation, code rate)}.
RATES = {6: (0b1101, "wlan_bpsk", "1/2"), 9: (0b1111, "wlan_bpsk", "3/4"),
         12: (0b0101, "wlan_qpsk", "1/2"), 18: (0b0111, "wlan_qpsk", "3/4"),
         24: (0b1001, "wlan_qam16", "1/2"), 36: (0b1011, "wlan_qam16", "3/4"),
         48: (0b0001, "wlan_qam64", "2/3"), 54: (0b0011, "wlan_qam64", "3/4")}
MAX_LENGTH = 4095    # bytes of the PSDU


@dataclass(frozen=True)
class NonHT(FrameFormat):
    """A non-HT frame.

    Args:
        mcs: data rate in Mbit/s at 20 MHz: 6, 9, 12, 18, 24, 36, 48 or 54.
        length: length of the PSDU in bytes, 1..4095.
        bandwidth_mhz: 20; 40, 80 or 160 for a duplicate frame, which is repeated in each 20 MHz.

    Raises:
        ValueError: an argument is not as above.
    """

    mcs: int
    length: int
    bandwidth_mhz: int = 20

    name = "non-ht"

    def __post_init__(self):
        integer_choice("mcs", self.mcs, tuple(RATES))
        integer("length", self.length, 1, MAX_LENGTH)
        integer_choice("bandwidth_mhz", self.bandwidth_mhz, carriers.BANDWIDTHS)

    @property
    def _modulation(self):
        return RATES[self.mcs][1:3]

    @cached_property
    def plan(self):
        return carriers.legacy(self.bandwidth_mhz)

    @cached_property
    def data_start(self):
        return training.L_STF + training.L_LTF + training.SYMBOL

    @cached_property
    def num_symbols(self):
        return -(-(SERVICE + 8 * self.length + TAIL) // self.data_bits_per_symbol)

    @cached_property
    def tail_position(self):
        return SERVICE + 8 * self.length

    @cached_property
    def num_scrambled(self):
        return self.num_symbols * self.data_bits_per_symbol

    def pilots(self, count):
        """Return the pilots of the first count data symbols: (count, number of pilots, 1)."""
        return training.legacy_pilots(1, count, self.plan.copies)[..., None]

    def describe(self):
        wide = "" if self.bandwidth_mhz == 20 else f" duplicate {self.bandwidth_mhz} MHz"
        return f"non-HT {self.mcs} Mbit/s{wide}"

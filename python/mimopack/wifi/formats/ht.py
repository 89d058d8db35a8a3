# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HT frames (802.11n, clause 19): mixed and greenfield, equal and unequal modulation.

The numbers of equations and tables are those of IEEE 802.11-2020.
"""

from dataclasses import dataclass
from functools import cached_property

from ...checks import choice, flag, integer, integer_choice
from .. import carriers, training
from .base import MCS, SERVICE, FrameFormat, Unsupported, unequal

MAX_LENGTH = 65535    # bytes of the PSDU
DUPLICATE = 32    # MCS 32: 6 Mbit/s, sent in both halves of 40 MHz
UNEQUAL = unequal(2, 33) | unequal(3, 39) | unequal(4, 53)    # MCS 33 to 76
_FASTEST_ENCODER = 300    # Mbit/s, the most for one convolutional encoder


@dataclass(frozen=True)
class HT(FrameFormat):
    """An HT frame.

    Args:
        mcs: 0..31 (equal modulation), 32 (a duplicate, at 40 MHz only), or 33..76 (unequal
            modulation of 2 to 4 streams).
        length: length of the PSDU in bytes, 0..65535. 0 makes a frame without data, for sounding.
        bandwidth_mhz: 20 or 40.
        short_gi: whether data symbols have the short guard interval.
        coding: "bcc" or "ldpc".
        stbc: N_STS - N_SS, 0..2.
        aggregated: whether the PSDU is an A-MPDU.
        greenfield: whether the preamble has no non-HT part.
        smoothing: whether channel estimation may smooth over neighbouring subcarriers.
        sounding: whether the frame is for channel sounding (field Not Sounding is 0).
        extension_streams: 0; extension long training fields are not supported.

    Raises:
        Unsupported: the MCS is above 76 (reserved), extension long training fields are announced,
            or the standard excludes the combination of fields.
        ValueError: another argument is not as above.
    """

    mcs: int
    length: int
    bandwidth_mhz: int = 20
    short_gi: bool = False
    coding: str = "bcc"
    stbc: int = 0
    aggregated: bool = False
    greenfield: bool = False
    smoothing: bool = True
    sounding: bool = False
    extension_streams: int = 0

    name = "ht"

    def __post_init__(self):
        integer("mcs", self.mcs, 0, 127)
        if self.mcs > 76:
            raise Unsupported(f"MCS {self.mcs} (reserved)")
        integer("length", self.length, 0, MAX_LENGTH)
        integer_choice("bandwidth_mhz", self.bandwidth_mhz, (20, 40))
        choice("coding", self.coding, ("bcc", "ldpc"))
        integer("stbc", self.stbc, 0, 2)
        for name in ("short_gi", "aggregated", "greenfield", "smoothing", "sounding"):
            flag(name, getattr(self, name))
        if self.extension_streams:
            raise Unsupported(f"{self.extension_streams} extension spatial streams "
                              "(extension HT-LTFs)")
        if self.mcs == DUPLICATE and (self.bandwidth_mhz != 40 or self.stbc
                                      or self.coding != "bcc"):
            raise Unsupported("MCS 32 that is not BCC at 40 MHz without STBC")
        # Table 19-18: one stream with a space-time block code, and the others equal.
        if self.mcs in UNEQUAL and self.stbc and (
                self.stbc > 1 or len(set(self.stream_constellations[1:])) > 1):
            raise Unsupported(f"MCS {self.mcs} (unequal modulation) with STBC {self.stbc} "
                              "(excluded by the standard)")
        if self.num_streams + self.stbc > 4 or self.stbc > self.num_streams:
            raise Unsupported(f"{self.num_streams} streams with STBC {self.stbc}")
        if self.greenfield and self.short_gi and self.num_space_time_streams == 1:
            raise Unsupported("greenfield with one stream and short guard interval")

    @cached_property
    def num_streams(self):
        if self.mcs in UNEQUAL:
            return UNEQUAL[self.mcs][0].count(",") + 1
        return 1 if self.mcs == DUPLICATE else self.mcs // 8 + 1

    @property
    def _modulation(self):
        if self.mcs in UNEQUAL:
            return UNEQUAL[self.mcs]
        return MCS[0 if self.mcs == DUPLICATE else self.mcs % 8]

    @cached_property
    def plan(self):
        if self.mcs == DUPLICATE:
            return carriers.legacy(40)
        return carriers.high_throughput(self.bandwidth_mhz)

    @cached_property
    def num_encoders(self):
        # §19.3.11.4: two encoders above 300 Mbit/s.
        fast = self.data_bits_per_symbol / 4 > _FASTEST_ENCODER
        return 2 if fast and self.coding == "bcc" else 1

    @cached_property
    def signal_start(self):
        """Position of the HT-SIG."""
        return training.L_STF + training.L_LTF + (0 if self.greenfield else training.SYMBOL)

    @cached_property
    def training_start(self):
        # In a greenfield frame, the position of the second HT-LTF.
        behind = self.signal_start + 2 * training.SYMBOL
        return behind if self.greenfield else behind + training.SYMBOL

    @cached_property
    def data_start(self):
        fields = self.num_ltf - 1 if self.greenfield else self.num_ltf
        return self.training_start + training.SYMBOL * fields

    @cached_property
    def tail_position(self):
        return SERVICE + 8 * self.length

    @cached_property
    def num_symbols(self):
        # (19-32), (19-41).
        if not self.length:
            return 0
        if self.coding == "ldpc":
            return self.ldpc_matching.num_symbols * self.symbols_per_code_block
        bits = SERVICE + 8 * self.length + self.tail
        block = self.symbols_per_code_block
        return block * -(-bits // (self.data_bits_per_symbol * block))

    @cached_property
    def num_scrambled(self):
        if self.coding == "ldpc":
            return SERVICE + 8 * self.length
        return self.num_symbols * self.data_bits_per_symbol

    def pilots(self, count):
        """Return the pilots of the first count data symbols: (count, number of pilots, N_STS)."""
        first = 2 if self.greenfield else 3
        if self.mcs == DUPLICATE:
            return training.legacy_pilots(first, count, 2)[..., None]
        return training.ht_pilots(self.bandwidth_mhz, self.num_space_time_streams, first, count)

    def describe(self):
        extra = "".join((", greenfield" * self.greenfield, ", short GI" * self.short_gi,
                         ", LDPC" * (self.coding == "ldpc"), ", STBC" * bool(self.stbc)))
        return f"HT MCS {self.mcs}, {self.bandwidth_mhz} MHz{extra}"

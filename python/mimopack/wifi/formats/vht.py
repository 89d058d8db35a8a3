# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""VHT frames (802.11ac, clause 21) for a single user, with up to four space-time streams.

The numbers of sections, equations and tables are those of IEEE 802.11-2020.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...checks import choice, flag, integer, integer_choice
from ...coding.ldpc import WifiRateMatching
from .. import carriers, training
from .base import MCS, SERVICE, FrameFormat, Unsupported, ratio

_BITS_OF_ENCODER = 2160    # N_DBPS at 600 Mbit/s with the short guard interval

MAX_SYMBOLS = 1512    # limit of the L-SIG, with short guard intervals


@dataclass(frozen=True)
class VHT(FrameFormat):
    """A VHT frame for one user. The PSDU is an A-MPDU, padded to fill the symbols.

    Args:
        mcs: 0..9.
        num_symbols: number of OFDM data symbols; 0 is a null data packet (NDP), for sounding.
        num_streams: number of spatial streams, 1..4.
        bandwidth_mhz: 20, 40, 80 or 160.
        short_gi: whether data symbols have the short guard interval.
        coding: "bcc" or "ldpc".
        stbc: N_STS - N_SS: 0, or num_streams (1 or 2).
        extra_symbol: whether LDPC coding added a symbol (two with STBC), according to the signal
            field. If only the opposite value fits num_symbols, the opposite value is used.
        group_id: 0 or 63 in frames for one user.
        partial_aid: 0..511.
        beamformed: whether the streams are beamformed. The channels of neighbouring subcarriers may
            then differ, so estimates are not smoothed.
        apep_length: length of the A-MPDU before padding in bytes, a multiple of 4, from the
            VHT-SIG-B; None if unknown.

    Raises:
        Unsupported: the standard excludes the combination, or this receiver does not support it.
        ValueError: another argument is not as above.
    """

    mcs: int
    num_symbols: int
    num_streams: int = 1
    bandwidth_mhz: int = 20
    short_gi: bool = False
    coding: str = "bcc"
    stbc: int = 0
    extra_symbol: bool = False
    group_id: int = 0
    partial_aid: int = 0
    beamformed: bool = False
    apep_length: int | None = None

    BANDWIDTHS = carriers.BANDWIDTHS
    name = "vht"
    aggregated = True
    training_start = 640

    def __post_init__(self):
        if integer("mcs", self.mcs, 0, 15) >= len(MCS):
            raise Unsupported(f"VHT MCS {self.mcs} (reserved)")
        integer("num_symbols", self.num_symbols, 0, MAX_SYMBOLS)
        integer("num_streams", self.num_streams, 1, 8)
        if self.num_streams + integer("stbc", self.stbc, 0, 8) > 4:
            raise Unsupported(f"{self.num_streams + self.stbc} space-time streams")
        integer_choice("bandwidth_mhz", self.bandwidth_mhz, self.BANDWIDTHS)
        choice("coding", self.coding, ("bcc", "ldpc"))
        choice("stbc", self.stbc, (0, self.num_streams))
        for name in ("short_gi", "extra_symbol", "beamformed"):
            flag(name, getattr(self, name))
        integer("group_id", self.group_id, 0, 63)
        integer("partial_aid", self.partial_aid, 0, 511)
        # §21.5: the share of an encoder in a symbol is whole, before and after puncturing.
        numerator, denominator = ratio(self.code_rate)
        share, rest = divmod(self.coded_bits_per_symbol, self._num_bcc_encoders * denominator)
        if rest or (share * numerator * self._num_bcc_encoders
                    != self.coded_bits_per_symbol * numerator // denominator):
            raise Unsupported(f"VHT MCS {self.mcs} with {self.num_streams} streams at "
                              f"{self.bandwidth_mhz} MHz (excluded by the standard)")

    @classmethod
    def of_length(cls, mcs, apep_length, num_streams=1, bandwidth_mhz=20, short_gi=False,
                  coding="bcc", stbc=0, **fields):
        """Return the format with the number of symbols for an A-MPDU (§21.3.10.3, (21-60)-(21-67)).

        Args:
            mcs, num_streams, bandwidth_mhz, short_gi, coding, stbc, fields: see the class.
            apep_length: length of the A-MPDU before padding in bytes; 0 makes an NDP.

        Raises:
            Unsupported, ValueError: as for the class.
        """
        probe = cls(mcs, 0, num_streams, bandwidth_mhz, short_gi, coding, stbc)
        block = probe.symbols_per_code_block
        bits = SERVICE + 8 * apep_length + probe.tail
        symbols = block * -(-bits // (probe.data_bits_per_symbol * block)) if apep_length else 0
        extra = False
        if coding == "ldpc" and symbols:
            needed = probe._ldpc_symbols(symbols)
            extra, symbols = needed > symbols, needed
        return cls(mcs, symbols, num_streams, bandwidth_mhz, short_gi, coding, stbc, extra,
                   apep_length=apep_length, **fields)

    @property
    def _modulation(self):
        return MCS[self.mcs]

    @cached_property
    def smoothing(self):
        return not self.beamformed

    @cached_property
    def plan(self):
        return carriers.high_throughput(self.bandwidth_mhz)

    @cached_property
    def _num_bcc_encoders(self):
        if (self.bandwidth_mhz, self.num_streams, self.mcs) == (160, 4, 7):
            return 6    # 5 could not share the coded bits
        return max(1, -(-self.data_bits_per_symbol // _BITS_OF_ENCODER))

    @cached_property
    def segments(self):
        return 2 if self.bandwidth_mhz == 160 else 1

    @cached_property
    def num_encoders(self):
        # Tables 21-30 to 21-61.
        return self._num_bcc_encoders if self.coding == "bcc" else 1

    @cached_property
    def signal_b_start(self):
        """Position of the VHT-SIG-B."""
        return self.training_start + training.SYMBOL * self.num_ltf

    @cached_property
    def data_start(self):
        return self.signal_b_start + training.SYMBOL

    @cached_property
    def _initial_symbols(self):
        """N_SYM,init, the number of symbols before LDPC's extra symbol ((21-62), (21-65)).

        It follows extra_symbol, unless only the opposite value fits num_symbols.
        """
        shorter = self.num_symbols - self.symbols_per_code_block
        choices = [shorter, self.num_symbols] if self.extra_symbol else [self.num_symbols, shorter]
        return next(filter(self._makes_all, choices), choices[0])

    def _makes_all(self, initial):
        """Return whether N_SYM,init = initial leads to num_symbols."""
        return initial > 0 and self._ldpc_symbols(initial) == self.num_symbols

    def _ldpc_symbols(self, initial):
        """Return the number of symbols that LDPC coding makes of N_SYM,init = initial."""
        block = self.symbols_per_code_block
        return block * _coded_symbols(initial * self.data_bits_per_symbol, self.code_rate,
                                      block * self.coded_bits_per_symbol)

    @cached_property
    def contradiction(self):
        if self.num_symbols % self.symbols_per_code_block:
            return "an odd number of symbols with STBC"
        if (self.coding == "bcc" or not self.num_symbols
                or self._makes_all(self._initial_symbols)):
            return ""
        return "VHT-SIG-A and L-SIG disagree: no LDPC frame has this number of symbols"

    @cached_property
    def num_scrambled(self):
        symbols = self._initial_symbols if self.coding == "ldpc" else self.num_symbols
        return symbols * self.data_bits_per_symbol

    @cached_property
    def tail_position(self):
        # The tail comes last, after the padding.
        return self.num_scrambled - self.tail

    @cached_property
    def length(self):
        # (21-63), (21-68).
        return max(0, (self.tail_position - SERVICE) // 8)

    def pilots(self, count):
        """Return the pilots of the first count data symbols, equal for all streams.

        The shape is (count, number of pilots, N_STS).
        """
        one = training.vht_pilots(self.bandwidth_mhz, 4, 0, count)
        return one[..., None].repeat(self.num_space_time_streams, axis=2)

    def describe(self):
        extra = "".join((", short GI" * self.short_gi, ", LDPC" * (self.coding == "ldpc"),
                         ", STBC" * bool(self.stbc), ", NDP" * (not self.num_symbols)))
        streams = f"{self.num_streams} stream{'s' * (self.num_streams > 1)}"
        return f"VHT MCS {self.mcs}, {streams}, {self.bandwidth_mhz} MHz{extra}"


@lru_cache(maxsize=4096)
def _coded_symbols(payload_bits, code_rate, symbol_bits):
    """Return the number of OFDM symbols that the LDPC codewords of the payload fill."""
    return WifiRateMatching(payload_bits, code_rate, symbol_bits).num_symbols

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HE frames (802.11ax, clause 27) for one user: HE SU, HE ER SU and HE TB.

The numbers of sections, equations and tables are those of IEEE 802.11ax-2021.
"""

from dataclasses import dataclass
from functools import cached_property

from ...checks import choice, flag, integer, integer_choice
from ...coding.ldpc import WifiRateMatching
from .. import carriers, he_tables, training
from ..he_tables import RU
from .base import MCS, SERVICE, FrameFormat, Unsupported, ratio

HE_MCS = (*MCS, ("wlan_qam1024", "3/4"), ("wlan_qam1024", "5/6"))
DCM_MCS = (0, 1, 3, 4)
# Guard intervals in samples at 20 MS/s.
GUARDS = {0.8: 16, 1.6: 32, 3.2: 64}
# {format: allowed (LTF size, guard interval), in the order of their field in HE-SIG-A or EHT-SIG}
TRAINING = {"he-su": ((1, 0.8), (2, 0.8), (2, 1.6), (4, 3.2), (4, 0.8)),
            "he-er-su": ((1, 0.8), (2, 0.8), (2, 1.6), (4, 3.2), (4, 0.8)),
            "he-mu": ((4, 0.8), (2, 0.8), (2, 1.6), (4, 3.2)),
            "he-tb": ((1, 1.6), (2, 1.6), (4, 3.2)),
            "eht-mu": ((2, 0.8), (2, 1.6), (4, 0.8), (4, 3.2))}
NAMES = ("he-su", "he-er-su", "he-mu", "he-tb")    # a radiotap header numbers them so
NO_TXOP = 127    # field TXOP without information about the duration
# Samples at 20 MS/s before and after the signal fields.
_NON_HT_PART = training.L_STF + training.L_LTF + 2 * training.SYMBOL
_STF = training.SYMBOL
_MICROSECOND = 20    # samples at 20 MS/s
MAX_SYMBOLS = 401    # limit of the L-SIG, with guard intervals of 0.8 us


@dataclass(frozen=True)
class HE(FrameFormat):
    """An HE frame for one user, or one user's part of an HE MU frame (:class:`HEMU`).

    The PSDU is an A-MPDU, padded to fill the symbols up to the pre-FEC padding boundary.

    Args:
        mcs: 0..11.
        num_symbols: number of OFDM data symbols, 1..401.
        num_streams: number of spatial streams, 1..4.
        bandwidth_mhz: 20, 40, 80 or 160.
        gi_us: guard interval of data symbols and HE-LTFs in microseconds: 0.8, 1.6 or 3.2.
        ltf: 1, 2 or 4 for 1x, 2x or 4x HE-LTFs. The allowed pairs with gi_us are in ``TRAINING``.
        coding: "bcc" or "ldpc".
        stbc: 1 for a space-time block code, which needs one stream; else 0.
        dcm: whether the data have dual carrier modulation: MCS 0, 1, 3 or 4, one or two streams.
        midamble: number of data symbols between midambles, 10 or 20; 0 without midambles.
        pre_fec_padding: pre-FEC padding factor a, 1..4: quarters of the last symbol that hold coded
            bits.
        extra_symbol: whether LDPC coding added a segment of a symbol.
        packet_extension_us: duration T_PE of the packet extension in microseconds: 0, 4, 8, 12, 16.
        name: "he-su", "he-er-su", "he-tb", or "he-mu" for a part of an HE MU frame.
        ru: resource unit, :class:`he_tables.RU` or (size, index). None takes the one that fills the
            channel. RU (106, 2) of an HE ER SU frame is its upper RU of 106 tones.
        bss_color: 0..63.
        uplink: whether the frame is sent to an access point.
        txop: field TXOP, 0..127. 127 gives no information.
        spatial_reuse: field of HE-SIG-A, 0..15.
        beamformed: whether the streams are beamformed.
        beam_change: whether the part before the HE-STF is mapped to the antennas in another way
            than the first HE-LTF.
        ltf_count: number of HE-LTFs; None takes the least number for the streams. Only in HE TB
            frames and parts of HE MU frames may it be larger.
        masked_ltf: whether each stream of an HE TB frame has signs of its own on the subcarriers of
            its HE-LTFs (HE masked HE-LTF sequence mode).
        first_stream: number of space-time streams of other users in this RU before this user's.
        ru_streams: number of space-time streams of all users in this RU; None for a single user.
        sta_id: 11 bits of a station's association identifier: of the receiver of this part of an HE
            MU frame, or of the sender of an HE TB frame; None if unknown.
        num_sig_b: number of HE-SIG-B symbols, in HE MU frames.
        sig_b_mcs, sig_b_dcm, sig_b_compressed: see :class:`HEMU`; None in other frames.
        ru_allocation: RU Allocation subfields of the 20 MHz subchannels, as decimal numbers
            separated by spaces, such as "24 192"; None without them.
        apep_length: length of the A-MPDU before padding in bytes; None if unknown.

    Raises:
        Unsupported: the standard excludes the combination, or this package does not support it.
        ValueError: another argument is not as above.
    """

    mcs: int
    num_symbols: int
    num_streams: int = 1
    bandwidth_mhz: int = 20
    gi_us: float = 0.8
    ltf: int = 2
    coding: str = "bcc"
    stbc: int = 0
    dcm: bool = False
    midamble: int = 0
    pre_fec_padding: int = 4
    extra_symbol: bool = False
    packet_extension_us: int = 0
    name: str = "he-su"
    ru: RU | None = None
    bss_color: int = 0
    uplink: bool = False
    txop: int = NO_TXOP
    spatial_reuse: int = 0
    beamformed: bool = False
    beam_change: bool = True
    ltf_count: int | None = None
    masked_ltf: bool = False
    first_stream: int = 0
    ru_streams: int | None = None
    sta_id: int | None = None
    num_sig_b: int = 0
    sig_b_mcs: int | None = None
    sig_b_dcm: bool | None = None
    sig_b_compressed: bool | None = None
    ru_allocation: str | None = None
    apep_length: int | None = None

    aggregated = True
    short_gi = None
    density = 4
    # What EHT frames have more of; None in the table of MCSs stands for one that is not supported.
    NAMES = NAMES
    MCS = HE_MCS
    EXTENSIONS_US = (0, 4, 8, 12, 16)

    def __post_init__(self):
        choice("name", self.name, self.NAMES)
        integer("mcs", self.mcs, 0, 15)
        if self.mcs >= len(self.MCS) or self.MCS[self.mcs] is None:
            raise Unsupported(f"{self.name.partition('-')[0].upper()} MCS {self.mcs} (reserved)")
        integer("num_symbols", self.num_symbols, 1, MAX_SYMBOLS)
        integer("num_streams", self.num_streams, 1, 8)
        integer_choice("bandwidth_mhz", self.bandwidth_mhz, carriers.BANDWIDTHS)
        if (self.ltf, self.gi_us) not in TRAINING[self.name]:
            allowed = ", ".join(f"{ltf}x with {gi}" for ltf, gi in TRAINING[self.name])
            raise ValueError(f"ltf: got {self.ltf} with gi_us {self.gi_us}, allowed in {self.name} "
                             f"frames are {allowed}")
        choice("coding", self.coding, ("bcc", "ldpc"))
        integer("stbc", self.stbc, 0, 1)
        for name in ("dcm", "extra_symbol", "uplink", "beamformed", "beam_change", "masked_ltf"):
            flag(name, getattr(self, name))
        integer_choice("midamble", self.midamble, (0, 10, 20))
        integer("pre_fec_padding", self.pre_fec_padding, 1, 4)
        integer_choice("packet_extension_us", self.packet_extension_us, self.EXTENSIONS_US)
        for name, most in (("bss_color", 63), ("txop", 127), ("spatial_reuse", 15),
                           ("first_stream", 7)):
            integer(name, getattr(self, name), 0, most)
        if self.sta_id is not None:
            integer("sta_id", self.sta_id, 0, 2047)
        self._check_ru()
        self._check_combination()
        self._check_training()

    def _check_ru(self):
        whole = he_tables.WHOLE[self.bandwidth_mhz]
        if self.ru is None:
            object.__setattr__(self, "ru", RU(whole, 1))
        size, index = self.ru
        integer_choice("ru", size, [size for size in he_tables.RU_SIZES if size <= whole])
        integer("ru", index, 1, he_tables.num_rus(self.bandwidth_mhz, size))
        object.__setattr__(self, "ru", RU(size, index))
        if self.name in ("he-su", "eht-mu") and size != whole:
            raise ValueError(f"ru: got {size}, a frame for one user has {whole} tones in "
                             f"{self.bandwidth_mhz} MHz")
        if self.name == "he-er-su" and self.ru not in ((242, 1), (106, 2)):
            raise ValueError(f"ru: got {tuple(self.ru)}, an HE ER SU frame has (242, 1) or "
                             "(106, 2)")

    def _check_combination(self):
        if self.num_streams > 4:
            raise Unsupported(f"{self.num_streams} spatial streams")
        if self.stbc and self.num_streams > 1:
            raise Unsupported(f"STBC with {self.num_streams} spatial streams (excluded by the "
                              "standard)")
        if self.dcm and (self.mcs not in DCM_MCS or self.num_streams > 2 or self.stbc):
            raise Unsupported(f"DCM with MCS {self.mcs}, {self.num_streams} streams, STBC "
                              f"{self.stbc} (excluded by the standard)")
        if (self.dcm or self.stbc) and (self.ltf, self.gi_us) == (4, 0.8) and (
                self.name in ("he-su", "he-er-su")):
            raise Unsupported("4x HE-LTFs and 0.8 us with DCM or STBC (no signal field tells it)")
        if self.coding == "bcc" and (self.ru.size > 242 or self.mcs > 9 or self.extra_symbol
                                     and self.name in ("he-su", "he-er-su")):
            raise Unsupported(f"BCC with MCS {self.mcs} on {self.ru.size} tones (excluded by the "
                              "standard)")
        if self.name == "he-er-su" and (self.num_streams > 1 or self.bandwidth_mhz > 20
                                        or self.mcs > (2 if self.ru.size == 242 else 0)):
            raise Unsupported(f"HE ER SU with MCS {self.mcs} on {self.ru.size} tones, "
                              f"{self.num_streams} streams (excluded by the standard)")
        if self.num_symbols % self.symbols_per_code_block:
            raise ValueError(f"num_symbols: got {self.num_symbols}, must be even with STBC")
        if self.masked_ltf and self.name != "he-tb":
            raise ValueError(f"masked_ltf: got True, only HE TB frames have it, not {self.name}")

    def _check_training(self):
        streams = self.num_space_time_streams
        if self.ltf_count is not None:
            integer_choice("ltf_count", self.ltf_count, (1, 2, 4, 6, 8))
        if self.ru_streams is not None:
            integer("ru_streams", self.ru_streams, self.first_stream + streams, 8)
        integer("first_stream", self.first_stream, 0, 8 - streams)
        least = training.NUM_LTF[max(self.first_stream + streams, self.ru_streams or 1)]
        if self.num_ltf < least or (self.name in ("he-su", "he-er-su") and self.num_ltf > least):
            raise ValueError(f"ltf_count: got {self.ltf_count}, the streams need {least}")

    @classmethod
    def of_length(cls, mcs, apep_length, num_streams=1, nominal_padding_us=0, **fields):
        """Return the format with the number of symbols for an A-MPDU (§27.3.12.4, §27.3.13).

        Args:
            mcs, num_streams, fields: see the class.
            apep_length: length of the A-MPDU before padding in bytes.
            nominal_padding_us: nominal packet padding that the receiver needs, 0, 8 or 16 us; in
                EHT frames also 20 us.

        Raises:
            Unsupported, ValueError: as for the class.
        """
        probe = cls(mcs, 2, num_streams, **fields)
        symbols, padding = probe.initial_symbols(apep_length)
        extra = False
        if probe.coding == "ldpc":
            plain = cls(mcs, symbols, num_streams, pre_fec_padding=padding, **fields)
            extra = plain.needs_extra_symbol
        if extra:
            symbols, padding = with_extra_segment(symbols, padding, probe.symbols_per_code_block)
        return cls(mcs, symbols, num_streams, pre_fec_padding=padding, extra_symbol=extra,
                   packet_extension_us=packet_extension(padding, nominal_padding_us,
                                                        cls.EXTENSIONS_US[-1]),
                   apep_length=apep_length, **fields)

    def initial_symbols(self, apep_length):
        """Return (N_SYM,init, a_init) of an A-MPDU ((27-60) to (27-66))."""
        block = self.symbols_per_code_block
        bits = SERVICE + 8 * apep_length + self.tail
        whole, rest = divmod(bits, block * self.data_bits_per_symbol)
        if not rest:
            return block * whole, 4
        return block * (whole + 1), min(4, -(-rest // (block * self._data_bits(1))))

    @property
    def _modulation(self):
        return self.MCS[self.mcs]

    @cached_property
    def smoothing(self):
        return not self.beamformed

    @cached_property
    def plan(self):
        return he_tables.plan(self.bandwidth_mhz, self.ru)

    @cached_property
    def segments(self):
        """Number of halves of the RU that a segment parser fills: 2 for 2x996 tones, else 1."""
        return 2 if self.ru.size == 1992 else 1

    @cached_property
    def num_points(self):
        return self.plan.num_data // (2 if self.dcm else 1)

    @cached_property
    def coded_bits_per_symbol(self):
        return self.num_points * sum(self.stream_bits)

    def _coded_bits(self, padding):
        """Return N_CBPS,last: coded bits of a symbol of which ``padding`` quarters are used."""
        if padding == 4:
            return self.coded_bits_per_symbol
        short = he_tables.SHORT_DCM if self.dcm else he_tables.SHORT
        return padding * short[self.ru.size] * sum(self.stream_bits)

    def _data_bits(self, padding):
        """Return N_DBPS,last: data bits of a symbol of which ``padding`` quarters are used."""
        if padding == 4:
            return self.data_bits_per_symbol
        numerator, denominator = ratio(self.code_rate)
        return padding * (self._coded_bits(1) * numerator // denominator)

    @cached_property
    def last_coded_bits(self):
        """N_CBPS,last: number of coded bits in the last symbol, before post-FEC padding."""
        return self._coded_bits(self.pre_fec_padding)

    @cached_property
    def _initial(self):
        """(N_SYM,init, a_init): before LDPC's extra segment ((27-80), (27-81))."""
        if self.coding == "bcc" or not self.extra_symbol:
            return self.num_symbols, self.pre_fec_padding
        if self.pre_fec_padding > 1:
            return self.num_symbols, self.pre_fec_padding - 1
        return self.num_symbols - self.symbols_per_code_block, 4

    @cached_property
    def contradiction(self):
        if self._initial[0] < self.symbols_per_code_block or self.tail_position < SERVICE:
            return "there are too few symbols for the extra segment or the SERVICE field"
        return ""

    @cached_property
    def num_scrambled(self):
        symbols, padding = self._initial
        block = self.symbols_per_code_block
        return (symbols - block) * self.data_bits_per_symbol + block * self._data_bits(padding)

    @cached_property
    def tail_position(self):
        # The tail comes last, after the padding.
        return self.num_scrambled - self.tail

    @cached_property
    def length(self):
        return max(0, (self.tail_position - SERVICE) // 8)

    def _matching(self, extended):
        symbols, padding = self._initial
        block = self.symbols_per_code_block
        available = ((symbols - block) * self.coded_bits_per_symbol
                     + block * self._coded_bits(padding))
        # The third quarter is followed by all that remains of the symbol.
        more = (self.coded_bits_per_symbol - self._coded_bits(3) if padding == 3
                else self._coded_bits(1))
        return WifiRateMatching(self.num_scrambled, self.code_rate, block * more, available,
                                extended)

    @property
    def ldpc_matching(self):
        return self._matching(self.extra_symbol)

    @cached_property
    def needs_extra_symbol(self):
        """Return whether LDPC coding of these symbols needs an extra segment."""
        return self._matching(None).extended

    @cached_property
    def num_ltf(self):
        if self.ltf_count:
            return self.ltf_count
        return training.NUM_LTF[self.ru_streams or self.num_space_time_streams]

    @cached_property
    def guard(self):
        return GUARDS[self.gi_us]

    @cached_property
    def ltf_guard(self):
        return self.guard

    @cached_property
    def pilots_in_ltf(self):
        return not self.masked_ltf and (self.name != "he-tb" or self.ltf > 1)

    @cached_property
    def training_gain(self):
        """Amplitude of a subcarrier in HE-LTFs over that in data symbols."""
        return 2 / self.ltf**0.5 * (2**0.5 if self.name == "he-er-su" else 1)

    @cached_property
    def midamble_period(self):
        return self.midamble and self.midamble * self.symbol + self.num_ltf * self.ltf_symbol

    @cached_property
    def ru_name(self):
        size = "2x996" if self.ru.size == 1992 else str(self.ru.size)
        if self.ru.size == he_tables.WHOLE[self.bandwidth_mhz]:
            return size
        return f"{size} upper" if self.name == "he-er-su" else f"{size} index {self.ru.index}"

    @cached_property
    def doppler(self):
        """Field Doppler of HE-SIG-A: whether there may be midambles."""
        return bool(self.midamble)

    @cached_property
    def symbol(self):
        return he_tables.FFT_20 + self.guard

    @cached_property
    def ltf_symbol(self):
        """Duration of an HE-LTF with its guard interval, in samples at 20 MS/s."""
        return self.guard + he_tables.FFT_20 // 4 * self.ltf

    @cached_property
    def num_signal_symbols(self):
        """Number of symbols of HE-SIG-A."""
        return 4 if self.name == "he-er-su" else 2

    @cached_property
    def short_training_start(self):
        """Position of the HE-STF."""
        return _NON_HT_PART + (self.num_signal_symbols + self.num_sig_b) * training.SYMBOL

    @cached_property
    def short_training(self):
        """Duration of the HE-STF, in samples at 20 MS/s."""
        return _STF * (2 if self.name == "he-tb" else 1)

    @cached_property
    def training_start(self):
        return self.short_training_start + self.short_training

    @cached_property
    def data_start(self):
        return self.training_start + self.num_ltf * self.ltf_symbol

    @cached_property
    def num_midambles(self):
        """N_MA, the number of midambles (27-92)."""
        if not self.midamble:
            return 0
        return max(0, -(-(self.num_symbols - 1) // self.midamble) - 1)

    @cached_property
    def num_samples(self):
        return (self.data_start + self.symbol * self.num_symbols
                + self.num_midambles * self.num_ltf * self.ltf_symbol
                + _MICROSECOND * self.packet_extension_us)

    @cached_property
    def legacy_length(self):
        """LENGTH field of the L-SIG (27-11). Its remainder modulo 3 tells the format."""
        m = {"eht-mu": 0, "he-er-su": 1, "he-mu": 1}.get(self.name, 2)
        return super().legacy_length - m

    @cached_property
    def pe_disambiguity(self):
        """Field PE Disambiguity of HE-SIG-A (27-118)."""
        rounded = -(-(self.num_samples - 400) // 80) * 80 - (self.num_samples - 400)
        return _MICROSECOND * self.packet_extension_us + rounded >= self.symbol

    @cached_property
    def first_pilot(self):
        """Index of the first data symbol in the pilot polarity sequence (27-99)."""
        return 2 + self.num_signal_symbols + self.num_sig_b

    def pilots(self, count):
        """Return the pilots of the first count data symbols, equal for all streams.

        The shape is (count, number of pilots, N_STS).
        """
        one = he_tables.pilots(self.ru.size, self.first_pilot, count)
        return one[..., None].repeat(self.num_space_time_streams, axis=2)

    @cached_property
    def users(self):
        """The parts of the frame, one for each user: only this one."""
        return (self,)

    @cached_property
    def kind(self):
        return (self.name, self.bandwidth_mhz, self.ru, self.mcs, self.num_streams, self.stbc,
                self.gi_us, self.ltf, self.coding, self.dcm, self.midamble, self.smoothing,
                self.num_ltf, self.first_stream, self.first_pilot, self.masked_ltf)

    @cached_property
    def key(self):
        return *self.kind, self.num_symbols, self.pre_fec_padding, self.extra_symbol

    def describe(self):
        extra = "".join((", LDPC" * (self.coding == "ldpc"), ", STBC" * bool(self.stbc),
                         ", DCM" * self.dcm, f", midambles {self.midamble}" * bool(self.midamble)))
        streams = f"{self.num_streams} stream{'s' * (self.num_streams > 1)}"
        size, index = self.ru
        where = "" if size == he_tables.WHOLE[self.bandwidth_mhz] else f", RU {size}/{index}"
        return (f"{self.name.upper().replace('-', ' ')} MCS {self.mcs}, {streams}, "
                f"{self.bandwidth_mhz} MHz{where}, GI {self.gi_us} us, {self.ltf}x LTF{extra}")


def with_extra_segment(symbols, padding, block):
    """Return (N_SYM, a) after LDPC's extra segment ((27-80), (27-81))."""
    return (symbols + block, 1) if padding == 4 else (symbols, padding + 1)


def packet_extension(padding, nominal_us, most_us=16):
    """Return T_PE in microseconds for a pre-FEC padding factor (Table 27-46).

    ``nominal_us`` is the nominal packet padding, 0, 8, 16 or 20, at most ``most_us``.
    """
    integer_choice("nominal_padding_us", nominal_us, [us for us in (0, 8, 16, 20)
                                                      if us <= most_us])
    return max(0, nominal_us - 4 * (4 - padding))

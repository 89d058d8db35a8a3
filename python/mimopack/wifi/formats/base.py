# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of the frame formats: the properties that all later stages rely on."""

from functools import cached_property, lru_cache
from itertools import product

from ... import constellation as constellations
from ...coding.ldpc import WifiRateMatching
from .. import carriers, training

# Bits of the SERVICE field, and of the tail of each convolutional encoder.
SERVICE = 16
TAIL = 6
# Constellation and code rate by MCS index: HT (index modulo 8) and VHT, Tables 19-27 and 21-29. HE
# and EHT have them too, and further ones.
MCS = (("wlan_bpsk", "1/2"), ("wlan_qpsk", "1/2"), ("wlan_qpsk", "3/4"), ("wlan_qam16", "1/2"),
       ("wlan_qam16", "3/4"), ("wlan_qam64", "2/3"), ("wlan_qam64", "3/4"), ("wlan_qam64", "5/6"),
       ("wlan_qam256", "3/4"), ("wlan_qam256", "5/6"))


class Unsupported(ValueError):
    """The signal fields announce a frame that is not supported; the text says why.

    Attributes:
        announced: dictionary of the fields that were read, with keys of ``ReceivedFrame.as_json``.
    """

    announced = {}


def ratio(rate):
    """Return (numerator, denominator) of a code rate such as "3/4"."""
    return tuple(map(int, rate.split("/")))


@lru_cache
def bits_per_point(constellation):
    return constellations.get(constellation).bits_per_symbol


def unequal(num_streams, first):
    """Return {MCS: (constellations of the streams, code rate)} of unequal modulation.

    Tables 19-38 to 19-41: streams of QPSK, 16- or 64-QAM, none with more bits than the one before,
    and not all the same; with code rate 1/2, then with 3/4. MCS ``first`` is the first one.
    """
    streams = [names for names in product(("wlan_qpsk", "wlan_qam16", "wlan_qam64"),
                                          repeat=num_streams)
               if len(set(names)) > 1
               and list(names) == sorted(names, key=bits_per_point, reverse=True)]
    return {first + i: (",".join(names), rate)
            for i, (rate, names) in enumerate(product(("1/2", "3/4"), streams))}


class FrameFormat:
    """Format of a frame, as its signal fields announce it; base class of NonHT, HT, VHT and HE.

    Durations and positions are in samples at 20 MS/s. Positions count from the first sample of the
    short training field. Multiply durations and positions by 2 at 40 MS/s, by 4 at 80 MS/s, and
    by 8 at 160 MS/s.

    Attributes of every format:
        name: "non-ht", "ht", "vht", "vht-mu", "he-su", "he-er-su", "he-mu", "he-tb" or "eht-mu".
        bandwidth_mhz: bandwidth of the channel in MHz: 20, 40, 80 or 160; 20 also for the narrow
            channels of 802.11p.
        mcs: modulation and coding scheme; for a non-HT frame the rate in Mbit/s.
        num_streams: N_SS, number of spatial streams.
        num_space_time_streams: N_STS, number of space-time streams.
        stbc: N_STS - N_SS; 0 without a space-time block code.
        density: number of subcarriers of data symbols in 312.5 kHz: 4 in HE and EHT frames, else
            1.
        ru_name: name of the resource unit of an HE or EHT frame, as in reports; None for
            other formats.
        ltf_guard: guard interval of long training fields behind the L-LTF.
        first_stream: number of space-time streams of other users before those of the format.
        pilots_in_ltf: whether all streams send the same pilots in (V)HT-LTFs, except in HT.
        dcm: whether each point is sent on two subcarriers (dual carrier modulation); None except
            for HE.
        midamble: number of symbols from one midamble to the next, 0 without; None except for HE.
        midamble_period: the same in samples at 20 MS/s.
        short_gi: whether data symbols have the short guard interval.
        coding: "bcc" or "ldpc".
        constellation: name of the constellation in ``constellation.BUILT_IN``; if streams differ,
            the names of all streams, separated by commas.
        code_rate: code rate as a text such as "3/4".
        length: length of the PSDU in bytes.
        num_symbols: number of OFDM data symbols.
        aggregated: whether the PSDU is an A-MPDU.
        scrambler: number of bits of the scrambler's state: 11 in EHT frames, else 7.
        greenfield: whether the preamble has no non-HT part.
        smoothing: whether channel estimation may smooth over neighbouring subcarriers.
        plan: :class:`carriers.CarrierPlan` of the data symbols.
        training_start: position of the guard interval of the first (V)HT-LTF; None if the channel
            estimate comes from the L-LTF.
        data_start: position of the guard interval of the first data symbol.
    """

    name = ""
    num_streams = 1
    stbc = 0
    short_gi = False
    dcm = midamble = None
    midamble_period = 0
    density = 1
    ru_name = None
    ltf_guard = training.GUARD
    first_stream = 0
    pilots_in_ltf = True
    coding = "bcc"
    aggregated = False
    scrambler = 7
    greenfield = False
    smoothing = True
    training_start = None

    @cached_property
    def constellation(self):
        return self._modulation[0]

    @cached_property
    def code_rate(self):
        return self._modulation[1]

    @property
    def _modulation(self):
        """Return (constellation, code rate); a subclass has its table of them."""
        raise NotImplementedError

    @cached_property
    def num_space_time_streams(self):
        """N_STS, the number of space-time streams."""
        return self.num_streams + self.stbc

    @cached_property
    def num_ltf(self):
        """N_LTF, the number of (V)HT-LTFs: 1, 2, 4, 4 for 1..4 space-time streams."""
        return training.NUM_LTF[self.num_space_time_streams]

    @cached_property
    def stream_constellations(self):
        """The names of the constellations of all streams, a tuple."""
        names = self.constellation.split(",")
        return tuple(names) if len(names) > 1 else tuple(names) * self.num_streams

    @cached_property
    def stream_bits(self):
        """N_BPSCS, coded bits per subcarrier of each stream, a tuple."""
        return tuple(map(bits_per_point, self.stream_constellations))

    @cached_property
    def bits_per_carrier(self):
        """N_BPSCS of the first stream, which has the most coded bits per subcarrier."""
        return self.stream_bits[0]

    @cached_property
    def num_points(self):
        """Number of points of a stream in a symbol; with DCM, each is sent on two subcarriers."""
        return self.plan.num_data

    @cached_property
    def segments(self):
        """Number of parts of a symbol that a segment parser fills."""
        return 1

    @cached_property
    def sent_coded_bits(self):
        """Number of coded bits in each symbol but the last ones; less than N_CBPS only with DCM."""
        if self.coding == "ldpc":
            return self.coded_bits_per_symbol
        numerator, denominator = ratio(self.code_rate)
        return self.data_bits_per_symbol * denominator // numerator

    @cached_property
    def last_coded_bits(self):
        """Number of coded bits in the last symbol; padding follows them in HE frames."""
        return self.coded_bits_per_symbol

    @cached_property
    def coded_bits_per_symbol(self):
        """N_CBPS, coded bits per symbol in all streams."""
        return self.plan.num_data * sum(self.stream_bits)

    @cached_property
    def data_bits_per_symbol(self):
        """N_DBPS, data bits per symbol."""
        numerator, denominator = ratio(self.code_rate)
        return self.coded_bits_per_symbol * numerator // denominator

    @cached_property
    def num_encoders(self):
        """N_ES, the number of convolutional encoders that share the data."""
        return 1

    @cached_property
    def tail(self):
        """Number of tail bits of all convolutional encoders; 0 with LDPC."""
        return TAIL * self.num_encoders if self.coding == "bcc" else 0

    @cached_property
    def guard(self):
        """Guard interval of data symbols, in samples at 20 MS/s."""
        return training.SHORT_GUARD if self.short_gi else training.GUARD

    @cached_property
    def symbol(self):
        """Duration of a data symbol, in samples at 20 MS/s."""
        return carriers.FFT_20 + self.guard

    @cached_property
    def num_samples(self):
        """Duration of the frame, in samples at 20 MS/s."""
        return self.data_start + self.symbol * self.num_symbols

    @property
    def legacy_length(self):
        """LENGTH field of the L-SIG, which tells other stations the duration (9-13, 21-24)."""
        return -(-(self.num_samples - 400) // 80) * 3 - 3

    @cached_property
    def rate_mbps(self):
        """Data rate in Mbit/s; 10 and 5 MHz channels of 802.11p have half and a quarter of it."""
        return self.data_bits_per_symbol / (self.symbol / 20)

    @cached_property
    def symbols_per_code_block(self):
        """m_STBC: 2 with a space-time block code, else 1; it divides the number of symbols."""
        return 2 if self.stbc else 1

    @cached_property
    def contradiction(self):
        """Why the fields contradict each other, as a text; "" if they are consistent."""
        return ""

    @cached_property
    def num_scrambled(self):
        """Number of scrambled bits before encoding, including tail and padding."""
        raise NotImplementedError

    @cached_property
    def tail_position(self):
        """Position of the convolutional code's tail among the scrambled bits."""
        raise NotImplementedError

    @property
    def ldpc_matching(self):
        """``ldpc.WifiRateMatching`` of an LDPC format, which says which codeword bits are sent.

        The object is a new one each time. Receivers keep thousands of formats, so a format must not
        keep the object's positions, 16 bytes for each bit of the frame.
        """
        return WifiRateMatching(self.num_scrambled, self.code_rate,
                                self.coded_bits_per_symbol * self.symbols_per_code_block)

    @cached_property
    def kind(self):
        """Key that is equal for frames that differ in nothing but their length."""
        return (self.name, self.bandwidth_mhz, self.mcs, self.num_streams, self.stbc, self.short_gi,
                self.coding, self.greenfield, self.smoothing)

    @cached_property
    def key(self):
        """Key that is equal for frames whose bits have the same places."""
        return *self.kind, self.num_symbols, self.length, self.aggregated

    @cached_property
    def sizes(self):
        """Sizes in which frames of a kind differ, for ``_core.wifi.Demodulator.begin``."""
        codewords = ()
        if self.coding == "ldpc" and self.num_symbols:
            matching = self.ldpc_matching
            codewords = (matching.code.num_bits, matching.num_codewords, matching.num_shortened,
                         matching.num_punctured, matching.num_repeated)
        return (self.num_symbols, self.num_scrambled, self.tail_position, self.length,
                self.aggregated, min(self.last_coded_bits, self.sent_coded_bits), codewords,
                self.scrambler)

    def describe(self):
        """Return a short description, such as "HT MCS 5, 20 MHz"."""
        raise NotImplementedError

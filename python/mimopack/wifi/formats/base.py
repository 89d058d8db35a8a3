# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of the frame formats: the properties that all later stages rely on."""

from functools import cached_property, lru_cache

from ... import constellation as constellations
from ...coding.ldpc import WifiRateMatching
from .. import carriers, training

SERVICE = 16
TAIL = 6
# Constellation and code rate by MCS index, shared by HT (index modulo 8) and VHT: Tables 19-27,
# 21-29.
MCS = (("wlan_bpsk", "1/2"), ("wlan_qpsk", "1/2"), ("wlan_qpsk", "3/4"), ("wlan_qam16", "1/2"),
       ("wlan_qam16", "3/4"), ("wlan_qam64", "2/3"), ("wlan_qam64", "3/4"), ("wlan_qam64", "5/6"),
       ("wlan_qam256", "3/4"), ("wlan_qam256", "5/6"))


class Unsupported(ValueError):
    """The signal field announces a frame that this receiver does not support; the text says why.

    Attributes:
        announced: fields that were read, with the keys of ``ReceivedFrame.as_json``.
    """

    announced = {}


def ratio(rate):
    """Return (numerator, denominator) of a code rate such as "3/4"."""
    return tuple(map(int, rate.split("/")))


@lru_cache
def _bits_of(constellation):
    return constellations.get(constellation).bits_per_symbol


class FrameFormat:
    """A frame's format as announced by its signal fields; base of :class:`NonHT`, ``HT``, ``VHT``.

    Durations and positions are in samples at 20 MS/s. Positions count from the first sample of the
    short training field. At W x 20 MS/s, multiply both by W.

    Attributes of every format:
        name: "non-ht", "ht" or "vht".
        bandwidth_mhz: 20, 40 or 80, of the nominal 20 MS/s numerology.
        mcs: modulation and coding scheme; for a non-HT frame the rate in Mbit/s.
        num_streams: N_SS, number of spatial streams.
        num_space_time_streams: N_STS.
        stbc: N_STS - N_SS; 0 without a space-time block code.
        short_gi: whether data symbols have the short guard interval.
        coding: "bcc" or "ldpc".
        constellation: name of the constellation in ``constellation.BUILT_IN``.
        code_rate: such as "3/4".
        length: length of the PSDU in bytes.
        num_symbols: number of OFDM data symbols.
        aggregated: whether the PSDU is an A-MPDU.
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
    coding = "bcc"
    aggregated = False
    greenfield = False
    smoothing = True
    training_start = None

    @cached_property
    def num_space_time_streams(self):
        """N_STS."""
        return self.num_streams + self.stbc

    @cached_property
    def num_ltf(self):
        """N_LTF, the number of (V)HT-LTFs: 1, 2, 4, 4 for 1..4 space-time streams."""
        return training.NUM_LTF[self.num_space_time_streams]

    @cached_property
    def bits_per_carrier(self):
        """N_BPSCS, coded bits per subcarrier and stream."""
        return _bits_of(self.constellation)

    @cached_property
    def coded_bits_per_symbol(self):
        """N_CBPS, coded bits per symbol in all streams."""
        return self.plan.num_data * self.bits_per_carrier * self.num_streams

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

    @cached_property
    def rate_mbps(self):
        """Data rate in Mbit/s at 20 MS/s."""
        return self.data_bits_per_symbol / (self.symbol / 20)

    @cached_property
    def symbols_per_code_block(self):
        """m_STBC: the number of data symbols is a multiple of it."""
        return 2 if self.stbc else 1

    @cached_property
    def contradiction(self):
        """Why no transmitter sends a frame with these fields; "" if the fields are consistent."""
        return ""

    @cached_property
    def num_scrambled(self):
        """Number of scrambled bits before encoding, including tail and padding."""
        raise NotImplementedError

    @cached_property
    def tail_position(self):
        """Position of the convolutional code's tail among the scrambled bits."""
        raise NotImplementedError

    @cached_property
    def ldpc_matching(self):
        """LDPC rate matching: which codeword bits are sent."""
        return WifiRateMatching(self.num_scrambled, self.code_rate,
                                self.coded_bits_per_symbol * self.symbols_per_code_block)

    @cached_property
    def symbols_key(self):
        """Equal for frames whose symbols are demodulated alike, whatever their contents."""
        return (self.name, self.bandwidth_mhz, self.mcs, self.num_streams, self.stbc, self.short_gi,
                self.coding, self.greenfield, self.num_symbols, self.smoothing)

    @cached_property
    def key(self):
        """Equal for frames that can be demodulated and decoded in one batch."""
        return *self.symbols_key, self.length, self.aggregated

    def describe(self):
        """Return a short text for people."""
        raise NotImplementedError

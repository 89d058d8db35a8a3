# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The questions that every frame format answers, so that later stages need not know which one they
have."""

from functools import cached_property, lru_cache

from ... import constellation as constellations
from ...coding.ldpc import WifiRateMatching
from .. import carriers, training

SERVICE = 16
TAIL = 6
# Constellation and code rate by the index that HT (modulo 8) and VHT share: Tables 19-27, 21-29.
MCS = (("wlan_bpsk", "1/2"), ("wlan_qpsk", "1/2"), ("wlan_qpsk", "3/4"), ("wlan_qam16", "1/2"),
       ("wlan_qam16", "3/4"), ("wlan_qam64", "2/3"), ("wlan_qam64", "3/4"), ("wlan_qam64", "5/6"),
       ("wlan_qam256", "3/4"), ("wlan_qam256", "5/6"))


class Unsupported(ValueError):
    """A frame's signal field asks for what this receiver does not decode; the text says what.

    Attributes:
        announced: what was read of it, with the keys of ``ReceivedFrame.as_json``.
    """

    announced = {}


def ratio(rate):
    """(numerator, denominator) of a code rate such as "3/4"."""
    return tuple(map(int, rate.split("/")))


@lru_cache
def _bits_of(constellation):
    return constellations.get(constellation).bits_per_symbol


class FrameFormat:
    """A frame's format as its signal fields announce it; base of :class:`NonHT`, ``HT``, ``VHT``.

    Durations and positions are in samples at 20 MS/s from the first one of the short training
    field; a receiver at W times that rate takes them W times.

    Attributes that each format has:
        name: "non-ht", "ht" or "vht".
        bandwidth_mhz: 20, 40 or 80, of the nominal 20 MS/s numerology.
        mcs: modulation and coding scheme; of a non-HT frame its rate in Mbit/s.
        num_streams: N_SS, spatial streams.
        num_space_time_streams: N_STS.
        stbc: space-time block code, N_STS - N_SS: 0 where there is none.
        short_gi: whether data symbols have the short guard interval.
        coding: "bcc" or "ldpc".
        constellation: its name in ``constellation.BUILT_IN``.
        code_rate: such as "3/4".
        length: bytes of the PSDU.
        num_symbols: OFDM data symbols.
        aggregated: whether the PSDU is an A-MPDU.
        greenfield: whether the preamble has no non-HT part.
        smoothing: whether neighbouring subcarriers may be smoothed in channel estimation.
        plan: :class:`carriers.CarrierPlan` of the data symbols.
        training_start: position of the guard interval of the first (V)HT-LTF; None where the
            channel comes from the L-LTF.
        data_start: position of the first data symbol's guard interval.
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
        """N_LTF: long training fields of (V)HT, 1, 2, 4, 4 for 1..4 space-time streams."""
        return training.NUM_LTF[self.num_space_time_streams]

    @cached_property
    def bits_per_carrier(self):
        """N_BPSCS: coded bits per subcarrier and stream."""
        return _bits_of(self.constellation)

    @cached_property
    def coded_bits_per_symbol(self):
        """N_CBPS, all streams together."""
        return self.plan.num_data * self.bits_per_carrier * self.num_streams

    @cached_property
    def data_bits_per_symbol(self):
        """N_DBPS."""
        numerator, denominator = ratio(self.code_rate)
        return self.coded_bits_per_symbol * numerator // denominator

    @cached_property
    def num_encoders(self):
        """N_ES: convolutional encoders that share the data."""
        return 1

    @cached_property
    def guard(self):
        """Guard interval of data symbols, in samples at 20 MS/s."""
        return training.SHORT_GUARD if self.short_gi else training.GUARD

    @cached_property
    def symbol(self):
        """Samples of a data symbol at 20 MS/s."""
        return carriers.FFT_20 + self.guard

    @cached_property
    def num_samples(self):
        """Samples of the frame at 20 MS/s."""
        return self.data_start + self.symbol * self.num_symbols

    @cached_property
    def rate_mbps(self):
        """Data rate at 20 MS/s, Mbit/s."""
        return self.data_bits_per_symbol / (self.symbol / 20)

    @cached_property
    def symbols_per_code_block(self):
        """m_STBC: data symbols come in so many."""
        return 2 if self.stbc else 1

    @cached_property
    def contradiction(self):
        """Why no transmitter sends a frame with these fields; "" where one may."""
        return ""

    @cached_property
    def num_scrambled(self):
        """Bits before the encoder, tail and padding included."""
        raise NotImplementedError

    @cached_property
    def tail_position(self):
        """Where the convolutional code's tail begins among the scrambled bits."""
        raise NotImplementedError

    @cached_property
    def ldpc_matching(self):
        """Rate matching: the bits of the LDPC codewords that are sent."""
        return WifiRateMatching(self.num_scrambled, self.code_rate,
                                self.coded_bits_per_symbol * self.symbols_per_code_block)

    @cached_property
    def symbols_key(self):
        """Equal for frames whose symbols are demodulated alike, whatever they carry."""
        return (self.name, self.bandwidth_mhz, self.mcs, self.num_streams, self.stbc, self.short_gi,
                self.coding, self.greenfield, self.num_symbols, self.smoothing)

    @cached_property
    def key(self):
        """Equal for frames that can be demodulated and decoded in one batch."""
        return *self.symbols_key, self.length, self.aggregated

    def describe(self):
        """A short text for people."""
        raise NotImplementedError

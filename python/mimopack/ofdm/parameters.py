# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What transmitter and receiver must agree on before a frame is sent."""

from dataclasses import dataclass, replace
from functools import cached_property

from .. import constellation as constellations
from ..checks import choice, integer
from ..coding import CODE_RATES as CONVOLUTIONAL_RATES
from ..coding import ConvolutionalCode, ldpc
from ..coding.convolutional import TAIL

SAMPLE_RATE = 20e6
FFT_SIZE = 64
GUARD = 16
SYMBOL = FFT_SIZE + GUARD
STF = 160
LTF1 = 160
NUM_DATA_CARRIERS = 52
SERVICE = 16
CRC = 32
MAX_PAYLOAD = 65531
MAX_RX = 256
CONSTELLATIONS = ("wlan_bpsk", "wlan_qpsk", "wlan_qam16", "wlan_qam64")
_LDPC = "ldpc:"
LDPC_CODE_RATES = tuple(_LDPC + rate for rate in ldpc.WIFI_RATES)
CODE_RATES = (*CONVOLUTIONAL_RATES, *LDPC_CODE_RATES)
_NUM_LTF = {1: 1, 2: 2, 3: 4, 4: 4}


@dataclass(frozen=True)
class Parameters:
    """Format of a frame: one spatial layer per transmit antenna, IEEE 802.11n HT20 numerology.

    There is no signal field yet, so both sides are given these.

    Args:
        num_tx: 1..4 transmit antennas.
        constellation: one of ``CONSTELLATIONS``, the same for all layers.
        code_rate: of the convolutional code "1/2" or "3/4"; "2/3" or "5/6" where an OFDM symbol
            then carries whole bits (64-QAM, or three layers). Of the LDPC code "ldpc:1/2",
            "ldpc:2/3", "ldpc:3/4" or "ldpc:5/6".
        payload_length: bytes in a frame without the CRC, 1..65531.
        scrambler_seed: 1..127; the receiver finds the transmitter's in the SERVICE field.

    Raises:
        ValueError: naming the parameter that is not as above.
    """

    num_tx: int = 4
    constellation: str = "wlan_qam16"
    code_rate: str = "1/2"
    payload_length: int = 500
    scrambler_seed: int = 93

    def __post_init__(self):
        for name, high in (("num_tx", max(_NUM_LTF)), ("payload_length", MAX_PAYLOAD),
                           ("scrambler_seed", 127)):
            object.__setattr__(self, name, integer(name, getattr(self, name), 1, high))
        choice("constellation", self.constellation, CONSTELLATIONS)
        choice("code_rate", self.code_rate, CODE_RATES)
        denominator = int(self.rate[-1])
        if not self.is_ldpc and self.coded_bits_per_ofdm_symbol % denominator:
            raise ValueError(f"code_rate: got {self.code_rate!r}, {self.num_tx} layers of "
                             f"{self.constellation} carry {self.coded_bits_per_ofdm_symbol} coded "
                             f"bits in an OFDM symbol, no multiple of {denominator}; allowed are "
                             "1/2, 3/4, and LDPC codes")

    def with_payload(self, length):
        """The same format with another payload length."""
        return replace(self, payload_length=length)

    @property
    def is_ldpc(self):
        """Whether the code is LDPC, not convolutional."""
        return self.code_rate.startswith(_LDPC)

    @property
    def rate(self):
        """The code rate without the code's name."""
        return self.code_rate.removeprefix(_LDPC)

    @property
    def sample_rate(self):
        """Samples per second."""
        return SAMPLE_RATE

    @property
    def num_ltf(self):
        """HT long training fields: 1, 2, 4, 4 for 1..4 layers."""
        return _NUM_LTF[self.num_tx]

    @property
    def num_training_symbols(self):
        """64-sample symbols before the data: the first LTF holds two, each other one."""
        return self.num_ltf + 1

    @cached_property
    def bits_per_symbol(self):
        """m: coded bits per constellation point."""
        return constellations.get(self.constellation).bits_per_symbol

    @property
    def coded_bits_per_ofdm_symbol(self):
        """N_CBPS: coded bits in an OFDM symbol, all layers together."""
        return NUM_DATA_CARRIERS * self.num_tx * self.bits_per_symbol

    @cached_property
    def data_bits_per_ofdm_symbol(self):
        """N_DBPS: bits before the encoder in an OFDM symbol; of an LDPC code whole ones."""
        numerator, denominator = map(int, self.rate.split("/"))
        return self.coded_bits_per_ofdm_symbol * numerator // denominator

    @property
    def data_bits(self):
        """Bits before the encoder without padding: SERVICE, payload, CRC and, of the convolutional
        code, tail."""
        return SERVICE + 8 * self.payload_length + CRC + (0 if self.is_ldpc else TAIL)

    @cached_property
    def ldpc_matching(self):
        """What is sent of the LDPC codewords."""
        return ldpc.WifiRateMatching(self.data_bits, self.rate, self.coded_bits_per_ofdm_symbol)

    @cached_property
    def num_symbols(self):
        """OFDM data symbols."""
        if self.is_ldpc:
            return self.ldpc_matching.num_symbols
        return -(-self.data_bits // self.data_bits_per_ofdm_symbol)

    @cached_property
    def num_coded_bits(self):
        """Coded bits of ``data_bits``: what the decoder reads; the rest is padding."""
        if self.is_ldpc:
            return self.ldpc_matching.num_coded
        return ConvolutionalCode(self.rate).coded_length(self.data_bits)

    @property
    def num_fft_items(self):
        """64-sample symbols in a frame: training and data."""
        return self.num_training_symbols + self.num_symbols

    @property
    def num_items(self):
        """Received vectors (subcarrier, data symbol) in a frame."""
        return NUM_DATA_CARRIERS * self.num_symbols

    @property
    def preamble_samples(self):
        """Samples before the first data symbol."""
        return STF + LTF1 + SYMBOL * (self.num_ltf - 1)

    @property
    def frame_samples(self):
        """Samples from the first of the short training field to the last of the data."""
        return self.preamble_samples + SYMBOL * self.num_symbols

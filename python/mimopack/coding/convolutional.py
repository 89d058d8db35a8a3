# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The convolutional code of IEEE 802.11, K = 7 (133, 171 octal), with its puncturing."""

import numpy as np

from .. import _core
from ..checks import (
    any_bits,
    array,
    choice,
    instruction_set,
    integer,
    positive,
    real_numbers,
    thread_count,
)
from .decoder import Encoder

CONSTRAINT_LENGTH = 7
TAIL = CONSTRAINT_LENGTH - 1
# IEEE 802.11-2020 §17.3.5.6, g0 = 133 and g1 = 171 octal: the leftmost bit is the newest input.
GENERATORS = ((1, 0, 1, 1, 0, 1, 1), (1, 1, 1, 1, 0, 0, 1))
# For each rate, which of the bits A1 B1 A2 B2 ... are sent: IEEE 802.11-2020, figures 17-9, 19-11.
PUNCTURING = _core.VITERBI_RATES
CODE_RATES = tuple(PUNCTURING)
# Largest mean of |LLR| that the decoder's rounding uses. Without the limit, the large LLRs of a
# strong layer would make the LLRs of a weak layer round to 0. Of 6, 8 and 12, the value 8 changed
# the fewest CRCs of a recording (4x4, four detectors) compared with decoding without rounding.
LARGEST_MEAN = 8.0
# Limits for the number of information bits in a codeword. With only one or two, some of the bits
# sent would always be 0.
LEAST_BITS, MOST_BITS = 3, 2**19


class ConvolutionalCode:
    """Encoder and Viterbi decoder of the convolutional code of IEEE 802.11, K = 7.

    See A. J. Viterbi, IEEE Trans. Inf. Theory 13(2), 1967. The decoder first scales and rounds the
    LLRs of each block to 43 levels (rate 1/2), 63 (2/3), 73 (3/4) or 85 (5/6), the largest numbers
    for which 8-bit metrics are exact. The scale makes the mean magnitude of the nonzero LLRs equal
    to half of the largest level; a mean above LARGEST_MEAN is replaced by LARGEST_MEAN. The decoder
    then finds the codeword with the largest sum of LLRs over its ones. Over AWGN the rounding costs
    at most 0.02 dB. Work and memory grow with 64 x (bits + 6).

    Several threads may use an object at once.

    Args:
        rate: "1/2", "2/3", "3/4" or "5/6".
        isa: instruction set of the decoder, as for detectors; all give the same bits.
    """

    def __init__(self, rate="1/2", isa="auto"):
        self.rate = choice("rate", rate, CODE_RATES)
        self._pattern = np.array(PUNCTURING[rate], bool)
        self._kept = [sum(PUNCTURING[rate][:end]) for end in range(len(PUNCTURING[rate]) + 1)]
        self._decoder = _core.ViterbiDecoder(rate=self.rate, isa=instruction_set(isa))

    @property
    def isa(self):
        """The decoder's instruction set."""
        return self._decoder.isa

    def coded_length(self, num_bits):
        """Return the number of coded bits for num_bits input bits, after puncturing.

        Works element by element on arrays.
        """
        whole, rest = divmod(2 * num_bits, len(self._kept) - 1)
        of_rest = np.take(self._kept, rest) if np.ndim(rest) else self._kept[rest]
        return whole * self._kept[-1] + of_rest

    def encode(self, bits):
        """Encode and puncture blocks of bits, starting in state 0.

        No tail is added: append six zeros to the bits to return to state 0.

        Args:
            bits: (n,), or (blocks, n) for several blocks; 0 or 1.

        Returns:
            (coded_length(n),) or (blocks, coded_length(n)) uint8, in the order A1 B1 A2 B2 ...,
            where A and B are the outputs of generators 133 and 171.
        """
        bits = any_bits("bits", bits)
        if bits.ndim not in (1, 2):
            raise ValueError(f"bits: got shape {bits.shape}, must be (n,) or (blocks, n)")
        n = bits.shape[-1]
        history = np.zeros((*bits.shape[:-1], TAIL + n), np.uint8)
        history[..., TAIL:] = bits
        delayed = [history[..., TAIL - delay:TAIL - delay + n] for delay in range(TAIL + 1)]
        coded = np.empty((*bits.shape, 2), np.uint8)
        for output, generator in enumerate(GENERATORS):
            taps = [bit for bit, tap in zip(delayed, generator, strict=True) if tap]
            coded[..., output] = np.bitwise_xor.reduce(taps)
        coded = coded.reshape(*bits.shape[:-1], 2 * n)
        return coded if self._pattern.all() else coded[..., np.resize(self._pattern, 2 * n)]

    def decode(self, llr, threads=1):
        """Decode a block that begins and ends in state 0.

        Args:
            llr: (coded_length(n + 6),) ln P(1)/P(0), for n bits and six tail zeros. The scale
                matters little. NaN counts as an erasure, infinity as certain.
            threads: see :meth:`decode_batch`.

        Returns:
            (n,) uint8: the bits without the tail.
        """
        llr = real_numbers("llr", llr)
        with np.errstate(over="ignore"):
            llr = np.ascontiguousarray(llr.ravel(), np.int8 if llr.dtype == np.int8 else np.float32)
        guess = llr.size * (len(self._kept) - 1) // (2 * self._kept[-1])
        fits = [n for n in range(guess, guess + 3) if self.coded_length(n) == llr.size]
        if not fits or fits[-1] <= TAIL:
            raise ValueError(f"llr: got {llr.size} values, which is not the length of any block of "
                             f"rate {self.rate} with tail")
        return self.decode_batch(llr, [fits[-1] - TAIL], threads)

    def decode_batch(self, llr, num_bits, threads=0, scale=None):
        """Decode blocks of any lengths, each of which begins and ends in state 0.

        Each block gives the same bits as if it were decoded alone.

        Args:
            llr: float32 or int8, C-contiguous, flat: the LLRs ln P(1)/P(0) of all blocks in order,
                coded_length(num_bits[i] + 6) values for block i. NaN counts as an erasure, infinity
                as certain.
            num_bits: integers, the number of bits in each block without the tail; 0 is allowed.
            threads: number of threads; 0 takes all cores.
            scale: ratio of llr to ln P(1)/P(0), such as a detector's ``llr_scale``. None means 1
                for float32, and unknown for int8. LARGEST_MEAN does not apply if the scale is
                unknown.

        Returns:
            (sum(num_bits),) uint8: the bits of all blocks in order. ``np.split(bits,
                np.cumsum(num_bits)[:-1])`` splits them into one array per block.
        """
        if getattr(llr, "dtype", None) not in (np.float32, np.int8):
            raise ValueError(f"llr: got {getattr(llr, 'dtype', type(llr).__name__)}, must be a "
                             "float32 or int8 array")
        lengths = np.asarray(num_bits)
        if lengths.ndim != 1 or (lengths.size and lengths.dtype.kind not in "iu"):
            raise ValueError(f"num_bits: got {num_bits!r}, must be integers")
        if scale is not None:
            largest_mean = LARGEST_MEAN * positive("scale", scale)
        else:
            largest_mean = LARGEST_MEAN if llr.dtype == np.float32 else np.inf
        return self._decoder.decode(
            array("llr", llr, llr.dtype, ("m",)), lengths.astype(np.int64),
            largest_mean=largest_mean, threads=thread_count(threads))


class ConvolutionalEncoder(Encoder):
    """Encoder for codewords of one length, terminated by six tail bits of 0.

    A codeword consists of the information bits followed by the bits sent. Users of
    ``coding.get("conv:1000:1/2")`` see only the bits sent.

    Args:
        num_info: number of information bits, 3 to 2^19.
        rate: "1/2", "2/3", "3/4" or "5/6": the code rate without the tail bits.
    """

    def __init__(self, num_info, rate="1/2"):
        self.num_info = integer("num_info", num_info, LEAST_BITS, MOST_BITS)
        self._code = ConvolutionalCode(rate)
        self.num_bits = self.num_info + self._code.coded_length(self.num_info + TAIL)
        self.information = np.arange(self.num_info)

    def _encode(self, bits):
        return np.hstack([bits, self._code.encode(np.pad(bits, ((0, 0), (0, TAIL))))])


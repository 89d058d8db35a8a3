# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of any family by a name, as blocks take them: bits to what is sent, LLRs to bits."""

from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from ..cuda import Constant, array_module
from . import ldpc, turbo
from .convolutional import ConvolutionalEncoder
from .convolutional_decoder import ConvolutionalDecoder
from .selection import Selection
from .viterbi_decoder import ViterbiDecoder


class Code:
    """A code with its encoder; ``decoder`` makes decoders of it.

    Args:
        encoder: has num_info, num_bits, information and encode(bits), as :class:`ldpc.LdpcEncoder`.
        make_decoder: called with keyword arguments, makes what has the attributes and methods of
            :class:`ldpc.LdpcDecoder`, or of :class:`Decoder`.
        matching: what is sent of its codewords, :class:`Selection` or another with its attributes
            and methods, such as :class:`ldpc.NrRateMatching`; None for all of them. One with
            ``information`` says itself where the information bits are in a codeword.

    Attributes:
        num_info: information bits of a codeword.
        num_bits: bits sent of it.
    """

    def __init__(self, encoder, make_decoder, matching=None):
        self._encoder, self._make_decoder, self._matching = encoder, make_decoder, matching
        self.num_info, self.num_bits = encoder.num_info, encoder.num_bits
        if matching:
            self.num_info, self.num_bits = matching.info_bits, matching.coded_bits
        self._information = Constant(getattr(matching, "information",
                                             encoder.information[:self.num_info]))

    @property
    def rate(self):
        """Information bits per bit sent."""
        return self.num_info / self.num_bits

    def encode(self, bits):
        """uint8 (n, num_info), 0 or 1, to uint8 (n, num_bits)."""
        if self._matching is None:
            return self._encoder.encode(bits)
        words = self._encoder.encode(self._matching.with_filler(bits))
        return self._matching.match(words)

    def decoder(self, **parameters):
        """A :class:`Decoder`; parameters are those of the family's decoder.

        Raises:
            ValueError: a parameter that it refuses or does not have.
        """
        try:
            decoder = self._make_decoder(**parameters)
        except TypeError as error:
            what = str(error).partition("() ")[2]    # without the name of a constructor
            raise ValueError(f"parameters: {what or error}") from None
        if hasattr(decoder, "bits"):
            return decoder
        return Decoder(decoder, self.num_bits, self._information, self._matching)


def _of_decoder(name):
    return property(lambda self: getattr(self.decoder, name),
                    lambda self, value: setattr(self.decoder, name, value))


class Decoder:
    """The decoder of a :class:`Code`, for one thread at a time.

    What is not below it takes from ``decoder``: found, iterations_taken and erasures of the last
    call, reset(), keep_messages, backend.

    Attributes:
        decoder: that of the code's family.
        iterations, threads: of it; they may be changed.
        num_bits: bits sent of a codeword.
        bits: (n, num_info) uint8, decisions of the last call on the information bits.
    """

    iterations, threads = _of_decoder("iterations"), _of_decoder("threads")

    def __init__(self, decoder, num_bits, information, matching):
        self.decoder, self.num_bits = decoder, num_bits
        self._information, self._matching = information, matching

    def __getattr__(self, name):
        return getattr(self.decoder, name)

    def decode(self, llr):
        """A-posteriori LLRs, those of erased codewords 0.

        Args:
            llr: (n, num_bits) float32, ln P(1)/P(0), C-contiguous; CuPy's where the family's
                decoder takes such.

        Returns:
            (n, num_bits) float32 of all bits sent.
        """
        if self._matching:
            llr = self._matching.recover(llr)
        posterior = self.decoder.decode(llr)
        information = self._information.beside(posterior)
        decided = array_module(posterior).take(posterior, information, axis=1) > 0
        self.bits = decided.view(np.uint8)
        return self._matching.match(posterior) if self._matching else posterior


def _ldpc(name):
    matrix = ldpc.get(name)
    return Code(ldpc.LdpcEncoder(matrix), partial(ldpc.LdpcDecoder, matrix))


def _nr(name):
    """Without the bits that are never sent, TS 38.212 §5.3.2."""
    matrix = ldpc.get(name)
    sent = np.arange(ldpc.NR_PUNCTURED_COLUMNS * matrix.size, matrix.num_bits)
    return Code(ldpc.LdpcEncoder(matrix), partial(ldpc.LdpcDecoder, matrix),
                Selection(matrix.num_info, matrix.num_bits, sent))


def _nr_matched(info_bits, coded_bits, bits_per_symbol=1, redundancy_version=0):
    matching = ldpc.NrRateMatching(info_bits, coded_bits, bits_per_symbol=bits_per_symbol,
                                   redundancy_version=redundancy_version)

    def make_decoder(**parameters):
        usual = {} if "factor" in parameters else {"algorithm": "offset"}
        return ldpc.LdpcDecoder(matching.code, **usual | parameters)

    return Code(ldpc.LdpcEncoder(matching.code), make_decoder, matching)


def _turbo(size):
    return Code(turbo.TurboEncoder(size), partial(turbo.TurboDecoder, size))


def _turbo_matched(info_bits, coded_bits, redundancy_version=0):
    matching = turbo.RateMatching(info_bits, coded_bits, redundancy_version)
    return Code(turbo.TurboEncoder(matching.size), partial(turbo.TurboDecoder, matching.size),
                matching)


def _convolutional(info_bits, rate):
    encoder = ConvolutionalEncoder(info_bits, rate)

    def make_decoder(algorithm="max-log", **parameters):
        if algorithm == "viterbi":
            return ViterbiDecoder(info_bits, rate, **parameters)
        return ConvolutionalDecoder(info_bits, rate, algorithm=algorithm, **parameters)

    return Code(encoder, make_decoder, Selection(info_bits, encoder.num_bits,
                                                 np.arange(info_bits, encoder.num_bits)))


# Beside what ldpc.get knows; sizes are integers, but for rates.
_FAMILIES = {"conv": _convolutional, "nr_matched": _nr_matched, "turbo": _turbo,
             "turbo_matched": _turbo_matched}
FORMS = (*ldpc.FORMS[:-1], "conv:INFO_BITS:RATE", "turbo:INFO_BITS",
         "turbo_matched:INFO_BITS:CODED_BITS[:VERSION]",
         "nr_matched:INFO_BITS:CODED_BITS[:BITS_PER_SYMBOL[:VERSION]]", ldpc.FORMS[-1])


def get(name):
    """The code that a name stands for.

    Args:
        name: one that :func:`ldpc.get` knows, such as "wimax:2304:1/2", "nr:1:384" (without
            its first 2 * 384 bits, which 5G NR never sends) or the path of an alist file;
            "conv:1000:3/4", IEEE 802.11's convolutional code: information bits, then six zeros, and
            the rate without them; its decoder's algorithm is "max-log", or "viterbi", which makes a
            :class:`ViterbiDecoder`; "turbo:6144", LTE's turbo code of so many information bits;
            "turbo_matched:1000:2000:0", what LTE sends of a code block: its information bits, bits
            sent and redundancy version (0); or "nr_matched:1000:2000:4:0", what 5G NR sends of one:
            its information bits, bits sent, bits per symbol of the interleaver (1) and redundancy
            version (0). The algorithm of nr_matched's decoder is "offset", which loses fewer blocks
            at low rates, unless a factor is given.

    Returns:
        :class:`Code`; the same object for the same name, but for a file.

    Raises:
        ValueError: a name of another form, or sizes that there are not.
        OSError: a file that cannot be read.
    """
    if not isinstance(name, str | Path):
        raise ValueError(f"code: got {name!r}, allowed are {', '.join(FORMS)}")
    return _ldpc(name) if Path(name).is_file() else _of_standard(str(name))


@lru_cache(maxsize=32)
def _of_standard(name):
    family, *sizes = name.split(":")
    if family in ldpc.FAMILIES:
        return _nr(name) if family == "nr" else _ldpc(name)
    if family not in _FAMILIES:
        raise ValueError(f"code: got {name!r}, which is no file, allowed are {', '.join(FORMS)}")
    try:
        return _FAMILIES[family](*map(_size, sizes))
    except TypeError:
        form = next(form for form in FORMS if form.startswith(f"{family}:"))
        raise ValueError(f"code: got {name!r}, must be {form}") from None
    except ValueError as error:
        raise ValueError(f"code: got {name!r}; {error}") from None


def _size(text):
    """An integer, or a rate; TypeError where it is neither."""
    if text.isdecimal():
        return int(text)
    if "/" not in text:
        raise TypeError
    return text

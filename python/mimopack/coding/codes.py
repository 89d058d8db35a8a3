# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of any family by a name: bits to what is sent, LLRs to bits."""

from copy import copy
from functools import lru_cache

import numpy as np

from ..arrays import Constant, array_module
from .decoder import DecoderAround, HardDecoder, as_decoder
from .registry import look_up


class Code:
    """A code with its encoder; ``decoder`` makes decoders of it.

    Args:
        encoder: has num_info, num_bits, information and encode(bits), as :class:`ldpc.LdpcEncoder`.
        make_decoder: called with keyword arguments, makes a :class:`HardDecoder` of what is sent,
            or another :class:`Decoder`, of whole codewords.
        matching: what is sent of its codewords, a :class:`Selection`, such as
            :class:`ldpc.NrRateMatching`; None for all of them.

    Attributes:
        num_info: information bits of a codeword.
        num_bits: bits sent of it.
        options: of its decoders, where ``decoder`` is given no others; a name can give them.
    """

    def __init__(self, encoder, make_decoder, matching=None):
        self._encoder, self._make_decoder, self._matching = encoder, make_decoder, matching
        self.num_info, self.num_bits = encoder.num_info, encoder.num_bits
        information = encoder.information
        if matching:
            self.num_info, self.num_bits = matching.info_bits, matching.coded_bits
            information = (information[:self.num_info] if matching.information is None
                           else matching.information)
        self._information = _Columns(information)
        self.options = {}

    @property
    def rate(self):
        """Information bits per bit sent."""
        return self.num_info / self.num_bits

    def with_options(self, options):
        """Return the same code with other ``options``."""
        code = copy(self)
        code.options = dict(options)
        return code

    def encode(self, bits):
        """uint8 (n, num_info), 0 or 1, to uint8 (n, num_bits)."""
        if self._matching is None:
            return self._encoder.encode(bits)
        words = self._encoder.encode(self._matching.with_filler(bits))
        return self._matching.match(words)

    def decoder(self, **options):
        """Make a :class:`Decoder` of LLRs of what is sent, with ``bits``.

        Args:
            options: those of the family's decoder, see its class; they come before ``options`` of
                the code.

        Raises:
            ValueError: an option that it refuses or does not have.
        """
        try:
            decoder = self._make_decoder(**self.options | options)
        except TypeError as error:
            what = str(error).partition("() ")[2]    # without the name of a constructor
            raise ValueError(f"parameters: {what or error}") from None
        if isinstance(decoder, HardDecoder):
            return decoder
        return CodeDecoder(as_decoder(decoder), self.num_bits, self._information, self._matching)


class CodeDecoder(DecoderAround):
    """The decoder of a :class:`Code`, around one of whole codewords. Members of that one, such as
    ``algorithm`` and ``isa``, are members of this one too.

    Attributes:
        decoder: that of the code's family.
        num_bits: bits sent of a codeword.
        bits: (n, num_info) uint8, decisions of the last call on the information bits.
    """

    def __init__(self, decoder, num_bits, information, matching):
        super().__init__(decoder, num_bits)
        self._information, self._matching = information, matching
        self.keep_messages, self.queues_only = decoder.keep_messages, decoder.queues_only

    found = property(lambda self: self.decoder.found)
    iterations_taken = property(lambda self: self.decoder.iterations_taken)
    erasure_count = property(lambda self: self.decoder.erasure_count)

    def __getattr__(self, name):
        if name == "decoder":    # not made yet
            raise AttributeError(name)
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
        self.bits = (self._information.of(posterior) > 0).view(np.uint8)
        return self._matching.match(posterior) if self._matching else posterior


class _Columns:
    """Columns of arrays of the host or a GPU, as a view where they are neighbours."""

    def __init__(self, columns):
        columns = np.asarray(columns)
        first, count = (int(columns[0]), len(columns)) if len(columns) else (0, 0)
        neighbours = np.array_equal(columns, np.arange(first, first + count))
        self._range = slice(first, first + count) if neighbours else None
        self._columns = Constant(columns)

    def of(self, values):
        if self._range:
            return values[:, self._range]
        return array_module(values).take(values, self._columns.beside(values), axis=1)


def get(name):
    """The code that a name stands for.

    Args:
        name: a name of one of the forms in ``FORMS``, such as "wimax:2304:1/2",
            "nr_matched:1000:2000:4", "turbo:6144" or "conv:1000:3/4"; ``FAMILIES`` says what each
            stands for, and docs/coding.md. Or the path of an alist file. Behind either there may be
            options of the decoder: "conv:1000:3/4:algorithm=viterbi".

    Returns:
        :class:`Code`; the same object for the same name, but for a file, or with options.

    Raises:
        ValueError: a name of another form, sizes that there are not, or an option that no decoder
            of the code has.
        OSError: a file that cannot be read.
    """
    family, sizes, options = look_up(name)
    try:
        family.check(options)
        code = family.make(*sizes) if family.in_files else _made(family, sizes)
    except ValueError as error:
        raise ValueError(f"code: got {str(name)!r}; {error}") from None
    return code.with_options(options) if options else code


@lru_cache(maxsize=32)
def _made(family, sizes):
    return family.make(*sizes)

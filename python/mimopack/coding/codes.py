# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of all families, found by name: encode bits, decode LLRs."""

import inspect
from copy import copy
from functools import lru_cache

import numpy as np

from ..arrays import Constant, array_module
from .decoder import DecoderAround, HardDecoder, as_decoder
from .registry import check_options, look_up


class Code:
    """A code with its encoder; ``decoder`` makes decoders for it.

    Args:
        encoder: an object with num_info, num_bits, information and encode(bits), such as
            :class:`ldpc.LdpcEncoder`.
        make_decoder: a function that takes keyword arguments and makes a decoder. A
            :class:`HardDecoder` takes the LLRs of the bits sent; any other :class:`Decoder` takes
            the LLRs of whole codewords.
        matching: a :class:`Selection` that says which bits of a codeword are sent, such as
            :class:`ldpc.NrRateMatching`; None if all bits are sent.

    Attributes:
        num_info: number of information bits per codeword.
        num_bits: number of bits sent per codeword.
        options: default options of the decoders; a code's name can set them.
        option_names: names of the decoder's options, sorted; None if they are not known.
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
        self.options, self.option_names = {}, _option_names(make_decoder)

    @property
    def rate(self):
        """Number of information bits per bit sent."""
        return self.num_info / self.num_bits

    def with_options(self, options):
        """Return a copy of the code with other ``options``."""
        code = copy(self)
        code.options = dict(options)
        return code

    def encode(self, bits):
        """Encode information bits.

        Args:
            bits: (n, num_info) uint8, 0 or 1.

        Returns:
            (n, num_bits) uint8: the bits sent.

        Raises:
            ValueError: bits does not match its description.
        """
        if self._matching is None:
            return self._encoder.encode(bits)
        words = self._encoder.encode(self._matching.with_filler(bits))
        return self._matching.match(words)

    def decoder(self, **options):
        """Make a :class:`Decoder` that takes the LLRs of the bits sent and sets ``bits``.

        Args:
            options: options of the family's decoder, see its class. They override the code's
                ``options``.

        Raises:
            ValueError: the decoder does not have an option or refuses its value.
        """
        given = self.options | options
        check_options(given, self.option_names)
        try:
            decoder = self._make_decoder(**given)
        except TypeError as error:
            what = str(error).partition("() ")[2]    # without the name of a constructor
            raise ValueError(f"parameters: {what or error}") from None
        if isinstance(decoder, HardDecoder):
            return decoder
        return CodeDecoder(as_decoder(decoder), self.num_bits, self._information, self._matching)


class CodeDecoder(DecoderAround):
    """The decoder of a :class:`Code`: wraps a decoder of whole codewords.

    All members of the inner decoder, such as ``algorithm`` and ``isa``, are available here too.

    Attributes:
        decoder: the inner decoder, which belongs to the code's family.
        num_bits: number of bits sent per codeword.
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
        """Compute a-posteriori LLRs of the bits sent; the LLRs of erased codewords are 0.

        Args:
            llr: (n, num_bits) float32, ln P(1)/P(0), C-contiguous; may be a CuPy array if the
                family's decoder supports these.

        Returns:
            (n, num_bits) float32.

        Raises:
            ValueError: llr does not match its description.
            Exception: the GPU failed, as in the inner decoder.
        """
        if self._matching:
            llr = self._matching.recover(llr)
        posterior = self.decoder.decode(llr)
        self.bits = (self._information.of(posterior) > 0).view(np.uint8)
        return self._matching.match(posterior) if self._matching else posterior


class _Columns:
    """Columns of an array on the host or a GPU; contiguous columns are returned as a view."""

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
    """Return the code with a given name.

    Args:
        name: a name in one of the forms in ``FORMS``, such as "wimax:2304:1/2",
            "nr_matched:1000:2000:4", "turbo:6144" or "conv:1000:3/4", or the path of an alist file.
            ``FAMILIES`` and docs/coding.md explain the forms. Options of the decoder may follow the
            name: "conv:1000:3/4:algorithm=viterbi".

    Returns:
        :class:`Code`. The same name gives the same object, except for files and for names with
        options.

    Raises:
        ValueError: the name has none of the forms, the family has no code of these sizes, or an
            option is unknown to all decoders of the family.
        OSError: the file cannot be read.
    """
    family, sizes, options = look_up(name)
    try:
        family.check(options)
        code = _make(family, sizes) if family.in_files else _made(family, sizes)
    except ValueError as error:
        raise ValueError(f"code: got {str(name)!r}; {error}") from None
    return code.with_options(options) if options else code


def _make(family, sizes):
    code = family.make(*sizes)
    if family.decoders:
        code.option_names = family.options
    return code


_made = lru_cache(maxsize=32)(_make)


def _option_names(function):
    """Return the names of a function's keyword arguments, sorted; None if it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):    # a function in C
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return tuple(sorted(p.name for p in parameters
                        if p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)))

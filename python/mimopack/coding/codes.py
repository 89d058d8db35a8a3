# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of all families, found by name: encode bits, decode LLRs.

``families`` defines the built-in families. ``register`` adds another family, which then works
everywhere the built-in ones do: in blocks, the command line, GRC and receivers::

    coding.register(coding.Family(
        "repetition:INFO_BITS:TIMES", "each bit TIMES times", make_repetition,
        ("repetition:100:3",)))
    coding.get("repetition:100:3")
"""

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import numpy as np

from ..specs import parse
from .decoder import DecoderAround, HardDecoder
from .selection import Columns

FAMILIES = {}    # {name: Family}, in the order of menus and documents
# Group of the entry points by which installed packages declare families.
GROUP = "gnuradio.mimopack.codes"


@dataclass(frozen=True, eq=False)
class Family:
    """A family of codes.

    Attributes:
        form: the form of a code's name: the family's name followed by sizes, optional ones in
            brackets, as in "turbo_matched:INFO_BITS:CODED_BITS[:VERSION]".
        summary: description of the codes and their sizes, for documents and command lines.
        make: a function of the sizes in a code's name that returns the :class:`Code`, or raises
            ValueError if there is no such code. A size with a slash, such as a rate, is text; all
            others are integers.
        examples: names of codes, for menus.
        matrix: for LDPC codes, a function of sizes that returns the parity-check matrix; None for
            other codes.
        in_files: whether a code's name is the path of a file. ``form`` then describes the file, and
            the path is the only size.
    """

    form: str
    summary: str
    make: Callable
    examples: tuple = ()
    matrix: Callable | None = None
    in_files: bool = False

    @property
    def name(self):
        """The part of ``form`` before the first colon."""
        return self.form.partition(":")[0]

    def sizes(self, texts):
        """Return the sizes in the types that ``make`` takes.

        Raises:
            ValueError: the sizes do not fit ``form``.
        """
        required = self.form.partition("[")[0].count(":")
        if not required <= len(texts) <= self.form.count(":") or not all(
                text.isdecimal() or "/" in text for text in texts):
            raise ValueError(f"must be {self.form}")
        return tuple(int(text) if text.isdecimal() else text for text in texts)


def register(family):
    """Add a family of codes, so that the names of its codes are known.

    Raises:
        ValueError: another family has the same name.
    """
    if family.name in FAMILIES:
        raise ValueError(f"family: got {family.name!r}, which is registered already")
    FAMILIES[family.name] = family


def find(name):
    """Return the family with a name, or None. An installed package may declare it.

    Raises:
        ValueError: the package that declares it fails.
    """
    for entry in () if name in FAMILIES else metadata.entry_points(group=GROUP, name=name):
        try:
            family = entry.load()
            if FAMILIES.get(family.name) is not family:    # its module may register it too
                register(family)
        except Exception as error:
            raise ValueError(f"its plug-in fails, {entry.value}: {error!r}") from error
    return FAMILIES.get(name)


def forms():
    """Return the forms of all names, files last."""
    families = sorted(FAMILIES.values(), key=lambda family: family.in_files)
    return tuple(family.form for family in families)


def look_up(name):
    """Find the family, sizes and options that the name of a code stands for.

    Args:
        name: a name in one of the ``forms``; options of the decoder may follow as "key=value".

    Returns:
        (family, sizes, options)

    Raises:
        ValueError: the name has none of the forms.
    """
    allowed = f"allowed are {', '.join(forms())}"
    if not isinstance(name, str | Path):
        raise ValueError(f"code: got {name!r}, {allowed}")
    of_files = next(family for family in FAMILIES.values() if family.in_files)
    if Path(name).is_file():
        return of_files, (Path(name),), {}
    try:
        text, positional, options = parse(str(name))
        family = find(text)
        if family and not family.in_files:
            return family, family.sizes(positional), options
    except ValueError as error:
        raise ValueError(f"code: got {str(name)!r}, {error}") from None
    path = Path(":".join([text, *positional]))
    if not path.is_file():
        raise ValueError(f"code: got {str(name)!r}, which is not a file, {allowed}")
    return of_files, (path,), options


def get(name):
    """Return the code with a given name.

    Args:
        name: a name in one of the forms in ``FAMILIES``, such as "wimax:2304:1/2",
            "nr_matched:1000:2000:4", "turbo:6144" or "conv:1000:3/4", or the path of an alist file.
            docs/coding.md explains the forms. Options of the decoder may follow the name:
            "conv:1000:3/4:algorithm=viterbi".

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
        code = family.make(*sizes) if family.in_files else _made(family, sizes)
        return code.with_options(options) if options else code
    except ValueError as error:
        raise ValueError(f"code: got {str(name)!r}; {error}") from None


@lru_cache(maxsize=32)
def _made(family, sizes):
    return family.make(*sizes)


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
        option_names: names of the keyword arguments; None takes them from the signature of
            make_decoder.

    Attributes:
        num_info: number of information bits per codeword.
        num_bits: number of bits sent per codeword.
        options: default options of the decoders; a code's name can set them.
        option_names: names of the decoder's options, sorted; None if they are not known.
    """

    def __init__(self, encoder, make_decoder, matching=None, option_names=None):
        self._encoder, self._make_decoder, self._matching = encoder, make_decoder, matching
        self.num_info, self.num_bits = encoder.num_info, encoder.num_bits
        information = encoder.information
        if matching:
            self.num_info, self.num_bits = matching.info_bits, matching.coded_bits
            information = (information[:self.num_info] if matching.information is None
                           else matching.information)
        self._information = Columns(information)
        self.options = {}
        self.option_names = option_names or keyword_names(make_decoder)

    @property
    def rate(self):
        """Number of information bits per bit sent."""
        return self.num_info / self.num_bits

    def with_options(self, options):
        """Return a copy of the code with other ``options``.

        Raises:
            ValueError: the decoder does not have an option.
        """
        self._check_options(options)
        code = copy(self)
        code.options = dict(options)
        return code

    def encode(self, bits):
        """Encode information bits.

        Args:
            bits: (n, num_info) uint8, 0 or 1.

        Returns:
            (n, num_bits) uint8: the bits sent.
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
        self._check_options(options)
        try:
            decoder = self._make_decoder(**self.options | options)
        except TypeError as error:    # another choice of decoder does not have an option
            reason = str(error).partition("() ")[2]    # without the name of a constructor
            raise ValueError(f"parameters: {reason or error}") from None
        if isinstance(decoder, HardDecoder):
            return decoder
        return CodeDecoder(decoder, self.num_bits, self._information, self._matching)

    def _check_options(self, options):
        for name in options if self.option_names is not None else ():
            if name not in self.option_names:
                raise ValueError(f"{name}: no option of the decoder, allowed are "
                                 f"{', '.join(self.option_names)}")


def keyword_names(*functions):
    """Return the names of the arguments of all functions, sorted; None if a function takes any."""
    parameters = [parameter for function in functions
                  for parameter in inspect.signature(function).parameters.values()]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return tuple(sorted({parameter.name for parameter in parameters}))


class CodeDecoder(DecoderAround):
    """The decoder of a :class:`Code`: wraps a decoder of whole codewords.

    It decodes the LLRs of the bits sent to a-posteriori LLRs of these bits.

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

    def __getattr__(self, name):
        if name == "decoder":    # not made yet
            raise AttributeError(name)
        return getattr(self.decoder, name)

    def _decode(self, llr):
        inner = self.decoder
        posterior = inner.decode(self._matching.recover(llr) if self._matching else llr)
        self.found, self.iterations_taken = inner.found, inner.iterations_taken
        self.erasure_count = inner.erasure_count
        self.bits = (self._information.of(posterior) > 0).view(np.uint8)
        return self._matching.match(posterior) if self._matching else posterior

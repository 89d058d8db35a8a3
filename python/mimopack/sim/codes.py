# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes by name."""

from dataclasses import dataclass
from typing import Any

from .. import coding
from ..checks import integer
from ..specs import parse

ALLOWED = (f"none[:VECTORS], {', '.join(coding.FORMS)}; with parameters of the decoder behind them "
           "(wimax:2304:1/2:factor=0.75)")
UNCODED_VECTORS = 100


@dataclass(frozen=True)
class LinkCode:
    """What a link has of a code; a frame is a codeword.

    Attributes:
        num_info, num_bits, encode: as of ``coding.Code``.
        make_decoder: of (iterations, threads); None where the bits are not coded.
    """

    num_info: int
    num_bits: int
    encode: Any
    make_decoder: Any

    @property
    def rate(self):
        """Information bits per bit sent."""
        return self.num_info / self.num_bits


def make_code(text, bits_per_vector):
    """The :class:`LinkCode` that text names: a name for ``coding.get`` and parameters of the
    decoder, or "none", frames of 100 vectors, or as many as it says.

    Raises:
        ValueError: text names none.
    """
    try:
        name, positional, keywords = parse(text)
        if name == "none" and len(positional) <= 1 and not keywords:
            vectors = int(positional[0]) if positional else UNCODED_VECTORS
            size = integer("vectors", vectors, 1, 10**6) * bits_per_vector
            return LinkCode(size, size, lambda bits: bits, None)
        code = coding.get(":".join([name, *positional]))
        code.decoder(**keywords)    # refuses what it does not know
    except (ValueError, OSError) as error:
        raise ValueError(f"code: got {text!r} ({error}), allowed are {ALLOWED}") from None
    return LinkCode(code.num_info, code.num_bits, code.encode, lambda iterations, threads:
                    code.decoder(**{"iterations": iterations, "threads": threads, **keywords}))

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The code of a link, by name."""

from dataclasses import dataclass

from .. import coding
from ..checks import integer
from ..specs import parse

UNCODED_VECTORS = 100


def allowed():
    """Say what ``make_code`` takes."""
    return (f"none[:VECTORS], {', '.join(coding.FORMS)}; parameters of the decoder "
            "may follow (wimax:2304:1/2:factor=0.75)")


@dataclass(frozen=True)
class Uncoded:
    """In place of a :class:`coding.Code`: bits that are sent as they are. There is no decoder.

    Attributes:
        num_info: bits of a frame.
    """

    num_info: int
    rate = 1.0

    @property
    def num_bits(self):
        """Bits sent of a frame: all."""
        return self.num_info

    def encode(self, bits):
        """The bits."""
        return bits


def make_code(text, bits_per_vector):
    """The code of which a frame is a codeword.

    Args:
        text: a name for ``coding.get``; or "none", frames of 100 vectors, or as many as it says.
        bits_per_vector: bits that a vector carries.

    Returns:
        :class:`coding.Code` or :class:`Uncoded`.

    Raises:
        ValueError: text names none.
    """
    try:
        spec = parse(text)
        if spec.name == "none" and len(spec.positional) <= 1 and not spec.keywords:
            vectors = int(spec.positional[0]) if spec.positional else UNCODED_VECTORS
            return Uncoded(integer("vectors", vectors, 1, 10**6) * bits_per_vector)
        code = coding.get(text)
        code.decoder()    # refuses values of options
        return code
    except (ValueError, OSError) as error:
        raise ValueError(f"code: got {text!r} ({error}), allowed are {allowed()}") from None

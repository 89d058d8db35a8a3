# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The code of a link, by name."""

from dataclasses import dataclass
from pathlib import Path

from .. import coding
from ..checks import integer
from ..specs import parse

UNCODED_VECTORS = 100    # vectors in a frame of "none"


def allowed():
    """Return a description of the names that ``make_code`` takes, for messages."""
    return (f"none[:VECTORS], {', '.join(coding.forms())}; options of the decoder may follow "
            "(wimax:2304:1/2:factor=0.75)")


@dataclass(frozen=True)
class Uncoded:
    """Stands for a :class:`coding.Code` in a link without a code: sends the bits unchanged.

    It has no decoder.

    Attributes:
        num_info: number of bits per frame.
    """

    num_info: int
    rate = 1.0

    @property
    def num_bits(self):
        """Number of bits sent per frame, equal to num_info."""
        return self.num_info

    def encode(self, bits):
        """Return the bits unchanged."""
        return bits


def make_code(text, bits_per_vector):
    """Make the code of a link. Each frame is one of its codewords.

    Args:
        text: a name for ``coding.get``; or "none" for uncoded frames of 100 vectors, "none:500" for
            frames of 500 vectors.
        bits_per_vector: number of bits that a vector carries.

    Returns:
        :class:`coding.Code` or :class:`Uncoded`.

    Raises:
        ValueError: text is not such a name.
    """
    try:
        spec = parse(text)
        if spec.name == "none" and len(spec.positional) <= 1 and not spec.keywords:
            vectors = int(spec.positional[0]) if spec.positional else UNCODED_VECTORS
            return Uncoded(integer("vectors", vectors, 1, 10**6) * bits_per_vector)
        if not coding.find(spec.name) and not Path(spec.name).is_file():
            raise ValueError(f"code: got {text!r}, allowed are {allowed()}")
        code = coding.get(text)
        code.decoder()    # refuses values of options
        return code
    except (ValueError, OSError) as error:
        words = str(error)
        raise ValueError(words if words.startswith("code: got") else
                         f"code: got {text!r}; {words}") from None

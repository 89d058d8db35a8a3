# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes by name."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import integer
from ..coding import ldpc, turbo
from .specs import parse

ALLOWED = (f"none[:VECTORS], {', '.join(ldpc.FORMS)}, turbo:K; with parameters of the decoder "
           "behind them (wimax:2304:1/2:factor=0.75)")
UNCODED_VECTORS = 100


@dataclass(frozen=True)
class Code:
    """A code with its encoder; a frame is a codeword.

    Attributes:
        num_info, num_bits: of a codeword.
        information: positions of the information bits in it.
        sent: positions of the bits that are sent, None for all.
        encode: bits (n, num_info) uint8 to codewords.
        make_decoder: of (iterations, threads); None where the bits are not coded.
    """

    num_info: int
    num_bits: int
    information: Any
    sent: Any
    encode: Any
    make_decoder: Any

    @property
    def num_sent(self):
        return self.num_bits if self.sent is None else len(self.sent)

    @property
    def rate(self):
        """Information bits per bit sent."""
        return self.num_info / self.num_sent


def make_code(text, bits_per_vector):
    """The :class:`Code` that text names, as ``ALLOWED`` says.

    "none" makes frames of 100 vectors, or as many as it says. "nr" sends all but the first
    2 * LIFTING_SIZE bits (TS 38.212 §5.3.2), "turbo" is LTE's of rate 1/3 (TS 36.212 §5.1.3.2),
    both without rate matching.

    Raises:
        ValueError: text names none.
    """
    try:
        name, positional, keywords = parse(text)
        if name == "none" and len(positional) <= 1 and not keywords:
            vectors = _int(positional[0]) if positional else UNCODED_VECTORS
            size = integer("vectors", vectors, 1, 10**6) * bits_per_vector
            return Code(size, size, None, None, lambda bits: bits, None)
        if name == "turbo" and len(positional) == 1:
            return _coded(turbo.TurboEncoder, turbo.TurboDecoder, _int(positional[0]), 0, keywords)
        matrix = ldpc.get(":".join([name, *positional]))
        punctured = 2 * matrix.size if name == "nr" else 0
        return _coded(ldpc.LdpcEncoder, ldpc.LdpcDecoder, matrix, punctured, keywords)
    except (ValueError, TypeError, OSError) as error:
        raise ValueError(f"code: got {text!r} ({error}), allowed are {ALLOWED}") from None


def _int(text):
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is no integer") from None


def _coded(make_encoder, make_decoder, code, punctured, keywords):
    """A Code whose first bits, so many, are punctured; keywords: of the decoder."""
    make_decoder(code, **keywords)    # refuses what it does not know
    encoder = make_encoder(code)
    sent = np.arange(punctured, encoder.num_bits) if punctured else None
    return Code(encoder.num_info, encoder.num_bits, encoder.information, sent, encoder.encode,
                lambda iterations, threads: make_decoder(
                    code, **{"iterations": iterations, "threads": threads, **keywords}))

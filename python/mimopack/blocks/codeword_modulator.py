# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block that encodes information bits and maps the codewords to a MIMO transmitter's vectors."""

import numpy as np

from .. import coding
from .. import constellation as constellations
from ..checks import integer
from ..iterative import CodewordLayout
from .fec_encoder import batch_of_codewords
from .streams import batched_block, vector


def interleaver(seed, num_bits):
    """Return the interleaver of a codeword; None if the seed is None."""
    return None if seed is None else coding.RandomInterleaver(num_bits, seed)


class codeword_modulator(batched_block):
    """Encodes, interleaves and modulates; each item is one codeword.

    ``iterative_receiver`` does the inverse.

    Ports:
        in 0 ``bits``: byte, vlen code.num_info, one bit in the lowest place of each byte.
        out 0 ``x``: complex, vlen vectors*nt: the vectors of a codeword, one after another. A
            vector has nt points of mean energy 1, one per transmit antenna. ``vectors()`` returns
            the number of vectors, which is as many as the codeword's bits need; zeros fill up the
            last one (``iterative.CodewordLayout``).

    Tags pass to the item of their codeword.

    Args:
        code: see ``fec_encoder``.
        num_tx: number of transmit antennas.
        constellation: see the detectors.
        interleaver_seed: seed of ``coding.RandomInterleaver``; None for no interleaver.

    Raises:
        ValueError: an argument does not match its description.
        OSError: a file cannot be read.
    """

    def __init__(self, code="wimax:2304:1/2", num_tx=4, constellation="qam16", interleaver_seed=1):
        self._code, self._points = coding.get(code), constellations.get(constellation)
        num_tx = integer("num_tx", num_tx, 1, 64)
        num_bits = self._code.num_bits
        self._layout = CodewordLayout(num_bits, num_tx * self._points.bits_per_symbol,
                                      interleaver(interleaver_seed, num_bits))
        width = self._layout.vectors * num_tx
        batched_block.__init__(
            self, "codeword_modulator", [vector(np.uint8, self._code.num_info)],
            [vector(np.complex64, width)], batch_of_codewords(8 * width))

    def vectors(self):
        """Return the number of vectors per codeword."""
        return self._layout.vectors

    def work(self, input_items, output_items):
        out = output_items[0]
        words = self._code.encode(input_items[0].reshape(len(out), -1) & 1)
        out[...] = self._points.modulate(self._layout.spread(words)).reshape(out.shape)
        return len(out)

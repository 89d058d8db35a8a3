# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: encode, interleave and modulate information bits for a MIMO transmitter."""

import numpy as np

from .. import coding
from .. import constellation as constellations
from ..checks import integer
from ..iterative import CodewordLayout
from .fec_encoder import batch_of_codewords
from .streams import batched_block, vector


def interleaver(seed, num_bits):
    """Return the interleaver of a codeword, or None if seed is None."""
    return None if seed is None else coding.RandomInterleaver(num_bits, seed)


class codeword_modulator(batched_block):
    """Encode, interleave and modulate one codeword per item; counterpart of ``iterative_receiver``.

    Ports:
        in 0 ``bits``: byte, vlen code.num_info: one bit per byte (the least significant).
        out 0 ``x``: complex, vlen vectors*num_tx: the transmit vectors of a codeword, one after
            another. A vector has one constellation point of mean energy 1 per transmit antenna.
            The method ``vectors`` returns the number of vectors per codeword. The last vector is
            padded with zero bits (``iterative.CodewordLayout``).

    Each input item gives one output item, with its tags.

    Args:
        code: see ``fec_encoder``.
        num_tx: number of transmit antennas, 1..64.
        constellation: see ``constellation.of_layers``.
        interleaver_seed: seed of ``coding.RandomInterleaver``; None for no interleaver.

    Raises:
        ValueError: an argument is invalid.
        OSError: the file of a code cannot be read.
    """

    def __init__(self, code="wimax:2304:1/2", num_tx=4, constellation="qam16", interleaver_seed=1):
        self._code, num_tx = coding.get(code), integer("num_tx", num_tx, 1, 64)
        self._points = constellations.of_layers(constellation, num_tx)
        num_bits = self._code.num_bits
        self._layout = CodewordLayout(num_bits,
                                      constellations.bits_per_vector(self._points, num_tx),
                                      interleaver(interleaver_seed, num_bits))
        width = self._layout.vectors * num_tx
        batched_block.__init__(
            self, "codeword_modulator", [vector(np.uint8, self._code.num_info)],
            [vector(np.complex64, width)], batch_of_codewords(8 * width))

    def vectors(self):
        """Return the number of transmit vectors per codeword."""
        return self._layout.vectors

    def work(self, input_items, output_items):
        out = output_items[0]
        words = self._code.encode(input_items[0].reshape(len(out), -1) & 1)
        out[...] = self._points.modulate(self._layout.spread(words)).reshape(out.shape)
        return len(out)

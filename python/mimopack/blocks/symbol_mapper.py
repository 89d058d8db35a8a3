# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: map bits to transmit vectors of a constellation."""

import numpy as np

from .. import constellation as constellations
from ..checks import integer
from .streams import batched_block, vector

# Target size of a batch per work() call, in bytes of output.
BATCH_BYTES = 2**20


class symbol_mapper(batched_block):
    """Map bits to transmit vectors x of any constellation, for a simulation without a code.

    A vector has one constellation point of mean energy 1 per transmit antenna, with m bits each.
    The bits are in the order of a detector's LLRs.

    Ports:
        in 0 ``bits``: byte, vlen vectors*num_tx*m: one bit per byte (the least significant),
            vector by vector, antenna by antenna, most significant bit of the label first.
        out 0 ``x``: complex, vlen vectors*num_tx: transmit vectors, one after another. Connect it
            to ``rayleigh_channel``.

    Each input item gives one output item, with its tags.

    Args:
        num_tx: number of transmit antennas, 1..64.
        constellation: see ``constellation.of_layers``.
        vectors: number of vectors per item, 1..2^20.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(self, num_tx=4, constellation="qam16", vectors=1):
        width = integer("num_tx", num_tx, 1, 64) * integer("vectors", vectors, 1, 2**20)
        self._points = constellations.of_layers(constellation, num_tx)
        self._bits = constellations.bits_per_vector(self._points, num_tx)
        batched_block.__init__(
            self, "symbol_mapper", [vector(np.uint8, vectors * self._bits)],
            [vector(np.complex64, width)], max(1, BATCH_BYTES // (8 * width)))

    def work(self, input_items, output_items):
        out = output_items[0]
        bits = input_items[0].reshape(-1, self._bits) & 1
        out[...] = self._points.modulate(bits).reshape(out.shape)
        return len(out)

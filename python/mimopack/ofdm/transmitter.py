# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Payload bytes to the samples of each transmit antenna."""

import numpy as np

from .. import constellation as constellations
from . import waveform
from .data_field import coded_bits, group_items
from .parameters import FFT_SIZE, GUARD, NUM_DATA_CARRIERS


class Transmitter:
    """Makes frames of one format.

    Args:
        parameters: :class:`Parameters`.
    """

    def __init__(self, parameters):
        self.parameters = parameters
        self._constellation = constellations.get(parameters.constellation)
        self._preamble = waveform.preamble(parameters.num_tx, parameters.num_ltf)
        self._shift = waveform.cyclic_shift(parameters.num_tx)
        self._pilots = waveform.pilots(parameters.num_tx, parameters.num_symbols)

    def coded_bits(self, payload, symbols_per_channel=1):
        """The bits that a detector should find: :func:`coded_bits`, grouped for block fading."""
        return group_items(coded_bits(self.parameters, payload), symbols_per_channel)

    def layers(self, payload):
        """What each layer sends: complex64 (52 * num_symbols, num_tx), E|x|^2 = 1, item order."""
        return self._constellation.modulate(coded_bits(self.parameters, payload))

    def frame(self, payload):
        """A frame: complex64 (num_tx, frame_samples), mean power of all antennas together 1.

        Raises:
            ValueError: the payload has not ``payload_length`` bytes.
        """
        p = self.parameters
        carriers = np.zeros((p.num_symbols, FFT_SIZE, p.num_tx), np.complex128)
        centre = waveform.CENTRE
        carriers[:, centre + waveform.DATA_CARRIERS] = self.layers(payload).reshape(
            p.num_symbols, NUM_DATA_CARRIERS, p.num_tx)
        carriers[:, centre + waveform.PILOT_CARRIERS] = self._pilots
        carriers *= self._shift / np.sqrt(p.num_tx)
        symbols = waveform.to_samples(carriers.transpose(2, 0, 1))
        data = np.concatenate([symbols[..., -GUARD:], symbols], axis=-1)
        return np.concatenate([self._preamble, data.reshape(p.num_tx, -1)],
                              axis=1).astype(np.complex64)

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transmitters of shared channels: transport blocks to grids and samples."""

import numpy as np

from .. import constellation
from ..checks import integers
from .dmrs import dmrs_symbols, ptrs_symbols
from .ofdm import Ofdm
from .precoding import precoding_matrix, transform_precode
from .resources import ptrs_port, resources
from .transport import TransportCoder, codeword


class PuschTransmitter:
    """Transmitter of one user's PUSCH: TS 38.211 §6.3.1, TS 38.212 §6.2.

        transmitter = PuschTransmitter(config)
        bits = rng.integers(0, 2, (4, transmitter.tb_size), np.uint8)
        grids = transmitter.grids(bits, slots=[0, 1, 2, 3])

    Args:
        config: :class:`PuschConfig`.

    Attributes:
        config: see above.
        tb_size: number of bits in a transport block.
        num_ports: number of antenna ports.
    """

    def __init__(self, config):
        self.config = config
        self._coder = TransportCoder(codeword(config))
        self._constellation = constellation.get(config.constellation)
        self._precoding = precoding_matrix(config)
        self.tb_size = self._coder.codeword.tb_size
        self.num_ports = config.num_antenna_ports

    def grids(self, bits, slots):
        """Compute the grids of slots.

        Args:
            bits: (n, tb_size), 0 or 1: a transport block for each slot.
            slots: (n,) numbers of the slots in their frames.

        Returns:
            (n, num_ports, symbols_per_slot, subcarriers of the grid) complex64. Data have unit mean
            power on each layer.
        """
        layers = self.layer_grids(bits, slots)
        # z = W y
        return np.einsum("pl,nlsk->npsk", self._precoding.astype(np.complex64), layers)

    def layer_grids(self, bits, slots):
        """Compute the grids of slots before precoding: (n, num_layers, symbols, subcarriers)."""
        config, places = self.config, resources(self.config)
        slots = integers("slots", slots, 1, 0, config.carrier.slots_per_frame - 1)
        if len(bits) != len(slots):
            raise ValueError(f"bits: got {len(bits)} transport blocks for {len(slots)} slots, must "
                             "be as many")
        grids = np.zeros((len(slots), config.num_layers, *places.data_mask.shape), np.complex64)
        grids[:, :, places.data_symbols, places.data_subcarriers] = self._data(bits)
        for grid, slot in zip(grids, map(int, slots), strict=True):
            for layer, port in enumerate(config.dmrs_ports):
                reference = dmrs_symbols(config, slot, port)
                grid[layer, reference.symbols[:, None], reference.subcarriers] = reference.values
            if config.ptrs is not None:
                reference, layer = (ptrs_symbols(config, slot),
                                    config.dmrs_ports.index(ptrs_port(config)))
                grid[layer, reference.symbols[:, None], reference.subcarriers] = reference.values
        return grids

    def samples(self, bits, slot=0, fft_size=None):
        """Compute the samples of consecutive slots.

        Args:
            bits: (n, tb_size), a transport block for each slot.
            slot: number of the first slot in its frame.
            fft_size: see :class:`Ofdm`.

        Returns:
            (num_ports, samples) complex64.
        """
        carrier = self.config.carrier
        slots = (slot + np.arange(len(bits))) % carrier.slots_per_frame
        return Ofdm(carrier, fft_size).modulate(self.grids(bits, slots), slot)

    def _data(self, bits):
        """Compute the modulation symbols of each layer: (n, num_layers, num_data)."""
        config = self.config
        symbols = self._constellation.modulate(self._coder.encode(bits))
        # §6.3.1.3: consecutive symbols go to consecutive layers
        layers = symbols.reshape(len(symbols), -1, config.num_layers).transpose(0, 2, 1)
        if config.transform_precoding:
            whole = layers.reshape(*layers.shape[:2], -1, config.num_subcarriers)
            layers = transform_precode(whole).reshape(layers.shape)
        return layers

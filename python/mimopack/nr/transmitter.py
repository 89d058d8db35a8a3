# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transmitters of shared channels: transport blocks to grids and samples."""

import numpy as np

from .. import constellation
from ..checks import integers
from .config import PdschConfig, PuschConfig, read_users
from .dmrs import dmrs_symbols, ptrs_symbols, spread_values
from .ofdm import Ofdm
from .parts import MODULATIONS
from .precoding import pi2_turn, precoding_matrix, transform_precode
from .resources import ptrs_port, resources
from .transport import TransportCoder, codewords


class _Transmitter:
    """The common part of both transmitters.

    Args:
        config: :class:`PuschConfig` or :class:`PdschConfig`.
        precoding: complex (num_ports, num_layers).
    """

    def __init__(self, config, precoding):
        self.config = config
        self.num_ports = len(precoding)
        self._precoding = precoding.astype(np.complex64)
        self._coders = [TransportCoder(word) for word in codewords(config)]
        self.tb_sizes = tuple(coder.codeword.tb_size for coder in self._coders)

    def grids(self, bits, slots):
        """Compute the grids of slots.

        Args:
            bits: (n, tb_size), 0 or 1: a transport block for each slot. With two codewords, a pair
                of such arrays.
            slots: (n,) numbers of the slots in their frames.

        Returns:
            (n, num_ports, symbols_per_slot, subcarriers of the grid) complex64. Data have unit mean
            power on each layer, before precoding.
        """
        config, places = self.config, resources(self.config)
        slots = integers("slots", slots, 1, 0, config.carrier.slots_per_frame - 1)
        layers = np.zeros((len(slots), config.num_layers, *places.data_mask.shape), np.complex64)
        layers[:, :, places.data_symbols, places.data_subcarriers] = self._data(bits, slots)
        for grid, slot in zip(layers, map(int, slots), strict=True):
            for layer, port in enumerate(config.dmrs_ports):
                dmrs_symbols(config, slot, port).write(grid[layer])
            if config.ptrs is not None and not config.transform_precoding:
                layer = config.dmrs_ports.index(ptrs_port(config))
                ptrs_symbols(config, slot).write(grid[layer])
        # z = W y
        return np.einsum("pl,nlsk->npsk", self._precoding, layers)

    def samples(self, bits, slot=0, fft_size=None):
        """Compute the samples of consecutive slots.

        Args:
            bits: as for :meth:`grids`, a transport block for each slot.
            slot: number of the first slot in its frame.
            fft_size: see :class:`Ofdm`.

        Returns:
            (num_ports, samples) complex64.
        """
        carrier = self.config.carrier
        count = len(bits if len(self._coders) == 1 else bits[0])
        slots = (slot + np.arange(count)) % carrier.slots_per_frame
        return Ofdm(carrier, fft_size).modulate(self.grids(bits, slots), slot)

    def _data(self, bits, slots):
        """Compute what each layer sends on the elements with data: (n, num_layers, num_data)."""
        blocks = [bits] if len(self._coders) == 1 else bits
        if len(blocks) != len(self._coders):
            raise ValueError(f"bits: got {len(blocks)} arrays, must be {len(self._coders)}, one "
                             "for each codeword")
        parts = []
        for block, coder in zip(blocks, self._coders, strict=True):
            if len(block) != len(slots):
                raise ValueError(f"bits: got {len(block)} transport blocks for {len(slots)} slots, "
                                 "must be as many")
            word = coder.codeword
            points = constellation.get(MODULATIONS[word.modulation_order])
            symbols = points.modulate(coder.encode(block))
            if word.modulation_order == 1:
                symbols = symbols * pi2_turn(symbols.shape[-1])
            # §6.3.1.3, §7.3.1.3: consecutive symbols go to consecutive layers of the codeword
            parts.append(symbols.reshape(len(slots), -1, word.num_layers).transpose(0, 2, 1))
        layers = np.concatenate(parts, axis=1)
        if self.config.transform_precoding:
            values = np.stack([spread_values(self.config, int(slot), symbols)
                               for slot, (symbols,) in zip(slots, layers, strict=True)])
            layers = transform_precode(values).reshape(len(slots), 1, -1)
        return layers


def _single(config, kind):
    """Return the configuration of the only user."""
    users = read_users(config, kind)
    if len(users) > 1:
        raise ValueError(f"config: got {len(users)} users, must be one")
    return users[0]


class PuschTransmitter(_Transmitter):
    """Transmitter of one user's PUSCH: TS 38.211 §6.3.1, TS 38.212 §6.2.

        transmitter = PuschTransmitter(config)
        bits = rng.integers(0, 2, (4, transmitter.tb_size), np.uint8)
        grids = transmitter.grids(bits, slots=[0, 1, 2, 3])

    Args:
        config: :class:`PuschConfig`, or another form that :func:`read_users` takes, of one user.

    Attributes:
        config: the :class:`PuschConfig`.
        tb_size: number of bits in a transport block.
        num_ports: number of antenna ports.
    """

    def __init__(self, config):
        config = _single(config, PuschConfig)
        super().__init__(config, precoding_matrix(config))
        self.tb_size, = self.tb_sizes


class PdschTransmitter(_Transmitter):
    """Transmitter of one user's PDSCH: TS 38.211 §7.3.1, TS 38.212 §7.2.

    Args:
        config: :class:`PdschConfig`, or another form that :func:`read_users` takes, of one user.
        precoding: complex (antennas, num_layers), which the standard leaves open; None for one
            antenna port per layer.

    Attributes:
        config: the :class:`PdschConfig`.
        tb_sizes: number of bits in a transport block of each codeword, one or two numbers.
        num_ports: number of antennas.

    Raises:
        ValueError: precoding has another number of columns.
    """

    def __init__(self, config, precoding=None):
        config = _single(config, PdschConfig)
        precoding = np.eye(config.num_layers) if precoding is None else np.asarray(precoding)
        if precoding.ndim != 2 or precoding.shape[1] != config.num_layers:
            raise ValueError(f"precoding: got shape {precoding.shape}, must be (antennas, "
                             f"{config.num_layers})")
        super().__init__(config, precoding)

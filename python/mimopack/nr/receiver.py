# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receivers of shared channels: grids and samples to transport blocks."""

from dataclasses import dataclass, field

import numpy as np

from .. import detectors
from ..arrays import is_device_array
from ..checks import integer, integers
from ..constellation import each_layer
from .dmrs import dmrs_symbols
from .estimation import estimate_channel
from .ofdm import Ofdm
from .resources import resources
from .synchronisation import EARLY, corrected, synchronise
from .transport import TransportCoder, codeword

DETECTOR = "softsphere"
ITERATIONS = 1


@dataclass(frozen=True, eq=False)
class TransportBlock:
    """A transport block of one user in one slot.

    Attributes:
        slot: number of the slot, as it was given.
        user: index of the user's configuration.
        bits: (tb_size,) uint8, first bit sent first; decisions also if the CRC is wrong.
        crc_ok: whether the CRC is correct.
        snr_db: power of the user's layers over the power of noise, per antenna, in dB.
        detector: name of the detector.
        iterations: number of passes of detection and decoding.
        soft: combined LLRs of the code blocks, for a later transmission of the same block.
    """

    slot: int
    user: int
    bits: np.ndarray
    crc_ok: bool
    snr_db: float
    detector: str
    iterations: int
    soft: np.ndarray = field(repr=False)

    @property
    def data(self):
        """The bits in bytes, the first bit in the most significant place, zeros at the end."""
        return np.packbits(self.bits).tobytes()


class PuschReceiver:
    """Receiver of the PUSCH of one or several users on the same resource elements.

        receiver = PuschReceiver(config, num_rx=4)
        for block in receiver.process(grid, slots=[0, 1, 2, 3]):
            print(block.slot, block.crc_ok)

    Args:
        config: :class:`PuschConfig`, or a list with one for each user.
        num_rx: number of receive antennas.
        detector: name of a detector with parameters, as ``detectors.create`` takes it.
        iterations: number of passes of detection and decoding.
        backend: backend of detector and decoder.
        threads: number of CPU threads; 0 takes all cores.
        versions: redundancy versions that are combined (HARQ); None for the configuration's own.

    Raises:
        ValueError: users do not have the same resource elements, or share a DMRS port.
    """

    def __init__(self, config, num_rx, detector=DETECTOR, iterations=ITERATIONS, backend="auto",
                 threads=0, versions=None):
        self.configs = list(config) if isinstance(config, (list, tuple)) else [config]
        self.num_rx, self.detector_name = num_rx, detector
        self.iterations = integer("iterations", iterations, 1, 100)
        first = self.configs[0]
        self._resources = resources(first)
        ports = [port for each in self.configs for port in each.dmrs_ports]
        self._users = np.repeat(np.arange(len(self.configs)),
                                [each.num_layers for each in self.configs])
        for index, each in enumerate(self.configs[1:], 1):
            if (each.carrier != first.carrier
                    or not np.array_equal(resources(each).data_mask, self._resources.data_mask)):
                raise ValueError(f"config: user {index} has other resource elements than user 0, "
                                 "must have the same carrier, PRBs, symbols and DMRS positions")
        if len(set(ports)) < len(ports):
            raise ValueError(f"config: got DMRS ports {ports}, must be different for all layers")
        if len(self.configs) > 1 and any(each.transform_precoding for each in self.configs):
            raise ValueError("config: got transform precoding with several users, must be one user")
        self._coders = [TransportCoder(codeword(each), versions, backend=backend, threads=threads)
                        for each in self.configs]
        names = [each.constellation for each in self.configs for _ in range(each.num_layers)]
        self._layers = names
        self.detector = detectors.create(detector, num_tx=len(ports), num_rx=num_rx,
                                         constellation=names, backend=backend, threads=threads)
        self._bits = [points.bits_per_symbol
                      for points in each_layer(self.detector.constellation, len(ports))]

    def process(self, grid, slots=None, channel=None, noise_var=None):
        """Decode slots.

        Args:
            grid: (..., nr, symbols_per_slot, subcarriers) complex: received resource grids. CuPy
                arrays are copied to the host.
            slots: number of each slot in its frame, of shape (...); None for 0, 1, 2, ...
            channel: (..., symbols_per_slot, subcarriers, nr, layers) the true channel, for
                simulations; None to estimate it.
            noise_var: the noise power; None to estimate it.

        Returns:
            list of :class:`TransportBlock`, by slot and user.
        """
        grid = grid.get() if is_device_array(grid) else np.asarray(grid)
        carrier = self.configs[0].carrier
        shape = (self.num_rx, carrier.symbols_per_slot, carrier.num_subcarriers)
        if grid.shape[-3:] != shape:
            raise ValueError(f"grid: got shape {grid.shape}, must be (..., {shape[0]}, {shape[1]}, "
                             f"{shape[2]})")
        grid = grid.reshape(-1, *shape)
        slots = np.arange(len(grid)) if slots is None else np.ravel(slots)
        slots = integers("slots", slots, 1, 0, 2**31 - 1)
        places = self._resources
        received = grid[..., places.subcarriers]
        estimates = []
        for index, slot in enumerate(slots):
            known = self.known_symbols(int(slot) % carrier.slots_per_frame)[
                ..., places.subcarriers]
            estimates.append(estimate_channel(
                received[index], known, np.abs(known).max(axis=0) > 0, self._users))
        symbols = places.data_symbols
        subcarriers = places.data_subcarriers - places.subcarriers[0]
        y = np.moveaxis(received[..., symbols, subcarriers], 1, -1)
        h = np.stack([estimate.h[symbols, subcarriers] for estimate in estimates])
        variance = np.stack([estimate.noise_var + estimate.error_var[symbols, subcarriers]
                             for estimate in estimates])
        llr = self.detector.detect(np.ascontiguousarray(y), h, variance)
        blocks = []
        first = 0
        ends = np.cumsum(self._bits)
        for user, (config, coder) in enumerate(zip(self.configs, self._coders, strict=True)):
            layers = slice(first, first + config.num_layers)
            begin = ends[first] - self._bits[first]
            own = llr[..., begin:ends[layers][-1]]
            first += config.num_layers
            decoded = coder.decode(own.reshape(len(grid), -1))
            for index, slot in enumerate(slots):
                power = np.sum(np.abs(estimates[index].h[..., layers])**2) / (
                    estimates[index].h[..., 0].size)
                blocks.append(TransportBlock(
                    int(slot), user, decoded.bits[index], bool(decoded.crc_ok[index]),
                    float(10 * np.log10(power / estimates[index].noise_var)), self.detector_name, 1,
                    decoded.soft[index]))
        return sorted(blocks, key=lambda block: block.slot)

    def process_samples(self, samples, slot=0, start=None, fft_size=None):
        """Decode consecutive slots of a recording.

        The carrier offset is taken out of the samples; the channel estimate corrects what remains.

        Args:
            samples: (nr, n) complex.
            slot: number of the first slot in its frame.
            start: the sample at which this slot begins; None to find it. A few samples more or less
                do not matter.
            fft_size: see :class:`Ofdm`; samples come at fft_size times the subcarrier spacing.

        Returns:
            list of :class:`TransportBlock`, by slot and user.

        Raises:
            ValueError: there are too few samples for a slot.
        """
        ofdm = Ofdm(self.configs[0].carrier, fft_size)
        samples = samples.get() if is_device_array(samples) else np.asarray(samples)
        if samples.ndim != 2 or len(samples) != self.num_rx:
            raise ValueError(f"samples: got shape {samples.shape}, must be ({self.num_rx}, n)")
        found = synchronise(samples, ofdm, self.known_symbols, slot, start)
        early = int(EARLY * ofdm.prefix_lengths(1)[0])
        grids = ofdm.demodulate(corrected(samples, found, ofdm)[:, found.start:], slot, early)
        return self.process(grids, slot + np.arange(len(grids)))

    def known_symbols(self, slot):
        """Return the DMRS of all layers in a slot: (layers, symbols, subcarriers) complex64."""
        known = np.zeros((len(self._users), *self._resources.data_mask.shape), np.complex64)
        ports = [(config, port) for config in self.configs for port in config.dmrs_ports]
        for row, (config, port) in zip(known, ports, strict=True):
            reference = dmrs_symbols(config, slot, port)
            row[reference.symbols[:, None], reference.subcarriers] = reference.values
        return known

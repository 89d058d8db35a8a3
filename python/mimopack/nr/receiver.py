# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receivers of shared channels: grids and samples to transport blocks."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from .. import detectors
from ..arrays import is_device_array
from ..checks import integer, integers, positive
from ..constellation import each_layer
from .dmrs import dmrs_symbols
from .estimation import ChannelEstimate, estimate_channel
from .ofdm import Ofdm
from .resources import resources
from .synchronisation import EARLY, synchronise
from .transport import TransportCoder, codeword

AUTO = "auto"
MOST_CANDIDATES = 256    # that "auto" enumerates: 4 layers of QPSK, 2 of 16-QAM, 1 of 256-QAM
ITERATIONS = 4
# After 20 iterations of the LDPC decoder, up to 8 % more blocks are wrong; it ends when a block is
# found.
DECODER_ITERATIONS = 40
# A-priori LLR of a bit that is known, and the limit for LLRs from the decoder
CERTAIN = 100.0
FEEDBACK_SCALE = 0.7    # of the decoder's extrinsic LLRs; from 0.5 to 1 all are as good


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


def soft_symbols(points, llr):
    """Return mean and variance of symbols whose bits have given LLRs.

    Args:
        points: :class:`constellation.Constellation` of M points with m bits.
        llr: (..., m) LLRs ln P(1)/P(0).

    Returns:
        ((...) complex64, (...) float32).
    """
    # ln P(b) of both values, without overflow
    one, zero = -np.logaddexp(0, -llr), -np.logaddexp(0, llr)
    bits = points.bits.T.astype(np.float32)    # (m, M)
    probability = np.exp(one @ bits + zero @ (1 - bits))
    mean = probability @ points.points
    power = probability @ np.abs(points.points)**2
    return mean.astype(np.complex64), np.maximum(power - np.abs(mean)**2, 0).astype(np.float32)


class _User:
    """A user's part of a receiver.

    Attributes:
        layers, bits: slices of the user's layers, and of their bits in a vector.
        points: the constellation.
        coder: :class:`TransportCoder`.
    """

    def __init__(self, first_layer, first_bit, config, points, coder):
        self.layers = slice(first_layer, first_layer + config.num_layers)
        self.bits = slice(first_bit, first_bit + config.num_layers * points.bits_per_symbol)
        self.points, self.coder = points, coder


class _Slot:
    """A slot between two passes.

    Attributes:
        number: number of the slot.
        received: (nr, symbols, subcarriers) of the allocation.
        known: (layers, symbols, subcarriers), the DMRS.
        estimate: :class:`ChannelEstimate`.
        blocks: the :class:`TransportBlock` of each user.
        posterior: (vectors, bits) the decoder's a-posteriori LLRs.
        prior: (vectors, bits) the decoder's extrinsic LLRs; None before the first pass.
    """

    def __init__(self, number, received, known, users):
        self.number, self.received, self.known = number, received, known
        self.estimate = self.posterior = self.prior = self._signal = None
        self.blocks = [None] * users

    def snr_db(self, layers):
        """Return the power of layers over that of noise, by the first estimate."""
        if self._signal is None:
            power = np.mean(np.abs(self.estimate.h)**2, axis=(0, 1, 2))
            self._signal = power / self.estimate.noise_var
        return float(10 * np.log10(max(self._signal[layers].sum(), 1e-30)))

    def lacks(self, user):
        """Return whether the transport block of a user is not yet decoded."""
        return self.blocks[user] is None or not self.blocks[user].crc_ok


class PuschReceiver:
    """Receiver of the PUSCH of one or several users on the same resource elements.

        receiver = PuschReceiver(config, num_rx=4)
        for block in receiver.process(grid, slots=[0, 1, 2, 3]):
            print(block.slot, block.crc_ok)

    Args:
        config: :class:`PuschConfig`, or a list with one for each user.
        num_rx: number of receive antennas.
        detector: name of a detector with parameters, as ``detectors.create`` takes it. "auto" is
            omap, which is exact, if a vector has up to 256 candidates, otherwise nway with
            log-sum LLRs: the lowest block error rates of all detectors.
        iterations: maximum number of passes of detection and decoding. From the second pass on, the
            decoder's LLRs improve the channel estimate, and are the detector's a-priori LLRs if it
            takes them. Slots whose transport blocks all have correct CRCs are ready.
        backend: backend of detector and decoder.
        threads: number of CPU threads; 0 takes all cores.
        versions: redundancy versions that are combined (HARQ); None for the configuration's own.

    Raises:
        ValueError: users do not have the same resource elements, or share a DMRS port.
    """

    def __init__(self, config, num_rx, detector=AUTO, iterations=ITERATIONS, backend="auto",
                 threads=0, versions=None):
        self.configs = list(config) if isinstance(config, (list, tuple)) else [config]
        self.num_rx = num_rx
        self.iterations = integer("iterations", iterations, 1, 100)
        first = self.configs[0]
        self._resources = resources(first)
        ports = [port for each in self.configs for port in each.dmrs_ports]
        self._owners = np.repeat(np.arange(len(self.configs)),
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
        names = [self.configs[owner].constellation for owner in self._owners]
        if detector == AUTO:
            bits = sum(self.configs[owner].modulation_order for owner in self._owners)
            detector = "omap" if 2**bits <= MOST_CANDIDATES else "nway:llr_method=logsum"
        self.detector_name = detector
        create = partial(detectors.create, detector, num_tx=len(ports), num_rx=num_rx,
                         constellation=names, backend=backend, threads=threads)
        self.detector = create()
        self._feedback = self.detector.takes_feedback()
        if self._feedback:
            self.detector = create(extrinsic=True)
        layers = each_layer(self.detector.constellation, len(ports))
        self._users, layer, bit = [], 0, 0
        for each in self.configs:
            coder = TransportCoder(codeword(each), versions, iterations=DECODER_ITERATIONS,
                                   backend=backend, threads=threads)
            self._users.append(_User(layer, bit, each, layers[layer], coder))
            layer, bit = self._users[-1].layers.stop, self._users[-1].bits.stop

    def process(self, grid, slots=None, channel=None, noise_var=None):
        """Decode slots.

        Args:
            grid: (..., nr, symbols_per_slot, subcarriers) complex: received resource grids. CuPy
                arrays are copied to the host.
            slots: number of each slot in its frame, of shape (...); None for 0, 1, 2, ...
            channel: (..., symbols_per_slot, subcarriers, nr, layers) the true channel, for
                simulations; None to estimate it.
            noise_var: the true noise power, with ``channel``.

        Returns:
            list of :class:`TransportBlock`, by slot and user.

        Raises:
            ValueError: an argument does not match its description.
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
        if len(slots) != len(grid):
            raise ValueError(f"slots: got {len(slots)}, must be {len(grid)}, one for each grid")
        subcarriers = self._resources.subcarriers
        work = []
        for index, number in enumerate(map(int, slots)):
            known = self.known_symbols(number % carrier.slots_per_frame)[..., subcarriers]
            slot = _Slot(number, grid[index][..., subcarriers], known, len(self._users))
            if channel is None:
                slot.estimate = estimate_channel(
                    slot.received, known, np.abs(known).max(axis=0) > 0, self._owners)
            else:
                slot.estimate = true_channel(channel[index][:, subcarriers], noise_var)
            work.append(slot)
        for iteration in range(1, self.iterations + 1):
            active = [slot for slot in work if any(map(slot.lacks, range(len(self._users))))]
            if not active:
                break
            if iteration > 1 and channel is None:
                for slot in active:
                    self._refine(slot)
            llr = self._detect(active, iteration)
            for user in range(len(self._users)):
                self._decode(user, active, llr, iteration)
        return [block for slot in work for block in slot.blocks]

    def _detect(self, active, iteration):
        """Return LLRs (slots, vectors, bits), without those that the prior has."""
        symbols = self._resources.data_symbols
        places = symbols, self._resources.data_subcarriers - self._resources.subcarriers[0]
        y = np.stack([np.ascontiguousarray(slot.received[:, places[0], places[1]].T)
                      for slot in active])
        h = np.stack([slot.estimate.h[places] for slot in active])
        variance = np.stack([slot.estimate.noise_var + slot.estimate.error_var[places]
                             for slot in active])
        prior = None
        if iteration > 1 and self._feedback:
            prior = np.stack([slot.prior for slot in active])
        return self.detector.detect(y, h, variance, prior)

    def _decode(self, user, active, llr, iteration):
        """Decode the blocks of a user that are not yet decoded."""
        part, feeds_back = self._users[user], iteration < self.iterations
        rows = [row for row, slot in enumerate(active) if slot.lacks(user)]
        if not rows:
            return
        own = np.ascontiguousarray(llr[rows][..., part.bits])
        decoded = part.coder.decode(own.reshape(len(rows), -1), posterior=feeds_back)
        for index, row in enumerate(rows):
            slot = active[row]
            slot.blocks[user] = TransportBlock(
                slot.number, user, decoded.bits[index], bool(decoded.crc_ok[index]),
                slot.snr_db(part.layers), self.detector_name, iteration, decoded.soft[index])
            if not feeds_back:
                continue
            if slot.prior is None:
                slot.prior, slot.posterior = np.zeros((2, *llr.shape[1:]), np.float32)
            if decoded.crc_ok[index]:
                signs = 2.0 * part.coder.encode(decoded.bits[index]) - 1
                posterior = extrinsic = (CERTAIN * signs).reshape(own[index].shape)
            else:
                posterior = decoded.posterior[index].reshape(own[index].shape)
                extrinsic = np.clip(FEEDBACK_SCALE * (posterior - own[index]), -CERTAIN, CERTAIN)
            slot.posterior[:, part.bits] = posterior
            slot.prior[:, part.bits] = extrinsic

    def _refine(self, slot):
        """Estimate the channel of a slot again, with the decoder's symbols."""
        known, estimate = slot.known.copy(), slot.estimate
        symbols = self._resources.data_symbols
        places = symbols, self._resources.data_subcarriers - self._resources.subcarriers[0]
        # Noise, and what the symbols' variance adds to it
        noise = np.full(known.shape[1:], estimate.noise_var, np.float32)
        for part in self._users:
            llr = slot.posterior[:, part.bits].reshape(len(symbols), -1,
                                                       part.points.bits_per_symbol)
            means, variances = soft_symbols(part.points, llr)
            known[part.layers, places[0], places[1]] = means.T
            powers = np.mean(np.abs(estimate.h[..., part.layers][places])**2, axis=1)
            noise[places] += np.sum(powers * variances, axis=1)
        weight = estimate.noise_var / noise
        weight[np.abs(known).max(axis=0) == 0] = 0
        slot.estimate = estimate_channel(
            slot.received, known, weight, self._owners, noise=estimate.noise_var,
            cfo=estimate.cfo, doppler=estimate.doppler, profile=estimate.profile)

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
        grids = ofdm.demodulate(samples[:, found.start:], slot, early, found.cfo)
        return self.process(grids, slot + np.arange(len(grids)))

    def known_symbols(self, slot):
        """Return the DMRS of all layers in a slot: (layers, symbols, subcarriers) complex64."""
        known = np.zeros((len(self._owners), *self._resources.data_mask.shape), np.complex64)
        ports = [(config, port) for config in self.configs for port in config.dmrs_ports]
        for row, (config, port) in zip(known, ports, strict=True):
            reference = dmrs_symbols(config, slot, port)
            row[reference.symbols[:, None], reference.subcarriers] = reference.values
        return known


def true_channel(h, noise_var):
    """Return the :class:`ChannelEstimate` of a channel that is known: (symbols, K, nr, layers)."""
    return ChannelEstimate(
        np.asarray(h, np.complex64), np.zeros(h.shape[:2], np.float32),
        positive("noise_var", noise_var), np.zeros(h.shape[-1]), 0.0,
        np.zeros((h.shape[2], 0), np.complex64), 0.0, np.zeros(0))

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receivers of shared channels: grids and samples to transport blocks."""

import math
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from .. import _core, constellation, detectors
from ..arrays import Constant, array_module, is_device_array
from ..checks import integer, integers, positive, shown
from ..cuda import estimation
from ..cuda.device import cupy
from .config import PdschConfig, PuschConfig, read_users
from .dmrs import (
    dmrs_sequence,
    dmrs_symbols,
    ptrs_sequence,
    ptrs_symbols,
    spread_rows,
    spread_values,
)
from .estimation import ChannelEstimate, estimate_channel
from .graph import Graphs
from .noise import noise_covariance, whiten
from .parts import MODULATIONS
from .phase import combine, symbol_phases
from .precoding import equalise_spread, pi2_turn, transform_precode
from .resources import ptrs_port, resources
from .stream import GridStream
from .tracking import Channels, Tracker, on_host
from .transport import LlrOrder, TransportCoder, codewords

AUTO = "auto"
MOST_CANDIDATES = 256    # that "auto" enumerates: 4 layers of QPSK, 2 of 16-QAM, 1 of 256-QAM
ITERATIONS = 4
# After 20 iterations of the LDPC decoder, up to 8 % more blocks are wrong; it ends when a block is
# found.
DECODER_ITERATIONS = 40
# A-priori LLR of a bit that is known, and the limit for LLRs from the decoder
CERTAIN = 100.0
FEEDBACK_SCALE = 0.7    # of the decoder's extrinsic LLRs; from 0.5 to 1 all are as good
LEAST_NOISE = 1e-30    # power
LEAST_POWER = 1e-10    # over that of noise, in an SNR
# Amplitude that a layer without data keeps where others have data: detectors need a full rank.
UNUSED_LAYER = 0.01


@dataclass(frozen=True, eq=False)
class TransportBlock:
    """A transport block of one user in one slot.

    Attributes:
        slot: number of the slot, as it was given.
        user: index of the user's configuration.
        codeword: 0, or 1 for the second codeword of a PDSCH.
        bits: (tb_size,) uint8, first bit sent first; decisions also if the CRC is wrong.
        crc_ok: whether the CRC is correct.
        snr_db: power of the block's layers over the power of noise and interference, per antenna,
            in dB; -100 or more.
        detector: name of the detector.
        iterations: number of passes of detection and decoding.
        soft: (code blocks, bits of a coded block) float32, their combined LLRs, for a later
            transmission of the same transport block.
    """

    slot: int
    user: int
    codeword: int
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


class _Word:
    """A codeword of a user, as a part of the vectors.

    Attributes:
        user, number: index of the user, and of the codeword among the user's.
        layers, bits: slices of the codeword's layers, and of their bits in a vector.
        vectors: indices of the vectors that contain the codeword, or a slice.
        turn: factors of pi/2-BPSK in these vectors, which make it BPSK; 1 for other modulations.
        points: the constellation.
        coder: :class:`TransportCoder`.
        orders: the :class:`LlrOrder` of LLRs of vectors as they are mapped, and of those in the
            order of subcarriers.
    """

    def __init__(self, user, number, first_layer, first_bit, vectors, coder):
        word = coder.codeword
        self.user, self.number, self.vectors, self.coder = user, number, vectors, coder
        self.points = constellation.get(MODULATIONS[word.modulation_order])
        self.turn = pi2_turn(word.num_coded_bits).conj() if word.modulation_order == 1 else 1
        self.layers = slice(first_layer, first_layer + word.num_layers)
        self.bits = slice(first_bit, first_bit + word.num_layers * word.modulation_order)

    def symbols(self, llr):
        """Return mean and variance of the symbols of vectors: two arrays (vectors, layers)."""
        return soft_symbols(self.points, llr[:, self.bits].reshape(
            len(llr), -1, self.points.bits_per_symbol))


class ReceivedSlot:
    """A slot between the steps of a receiver.

    Args:
        number: number of the slot.
        powers: (layers,) power of each layer over that of noise, by the first estimate: a linear
            ratio.
        received: (nr, symbols, subcarriers) of the allocation, whitened.
        estimate: :class:`ChannelEstimate`.

    Attributes:
        number, powers, received, estimate: see above.
        blocks: {codeword: its :class:`TransportBlock`}.
        turn: (layers, symbols) what the channel's phase changes by, None if it stays.
        posterior: (vectors, bits) the decoder's a-posteriori LLRs, None before the first pass.
        prior: (vectors, bits) the decoder's extrinsic LLRs.
    """

    def __init__(self, number, powers, received=None, estimate=None):
        self.number, self.powers = number, powers
        self.received, self.estimate, self.blocks = received, estimate, {}
        self.turn = self.posterior = self.prior = None

    def move_to_host(self):
        """Copy arrays from a GPU for the next pass."""
        if is_device_array(self.received):
            self.received, found = self.received.get(), self.estimate
            self.estimate = replace(found, h=found.h.get(), error_var=found.error_var.get())

    def lacks(self, word):
        """Return whether the transport block of a codeword is not yet decoded."""
        return word not in self.blocks or not self.blocks[word].crc_ok


class _Receiver:
    """The receiver of shared channels with the same resource elements.

    The arguments are those of :class:`PuschReceiver`; ``kind`` is the class of configurations.

    Attributes:
        seconds: {"estimation", "detection", "decoding": seconds} of the last ``process``, and
            {"graph": seconds} of a first pass by a CUDA graph.
    """

    def __init__(self, config, num_rx, detector=AUTO, iterations=ITERATIONS, backend="auto",
                 threads=0, versions=None):
        self.configs = configs = self._checked_users(config)
        self.num_rx = integer("num_rx", num_rx, 1, 256)
        self.iterations, self.seconds = integer("iterations", iterations, 1, 100), Counter()
        self._threads = threads
        self._spreads, self._feeds_back = configs[0].transform_precoding, False
        # Of several users, each may have PT-RS on other elements: there, some layers have no data.
        self._signals = not self._spreads and len(configs) > 1 and any(
            each.ptrs is not None for each in configs)
        self._resources = places = resources(
            replace(configs[0], ptrs=None) if self._signals else configs[0])
        # The part of the grid from the first to the last allocated subcarrier
        self._band = slice(places.subcarriers[0], places.subcarriers[-1] + 1)
        self._data = places.data_symbols, places.data_subcarriers - self._band.start
        self._places = tuple(map(Constant, self._data))
        # The symbols with data if they are data from end to end, in order; else None
        rows, width = np.unique(places.data_symbols), self._band.stop - self._band.start
        in_order = not self._spreads and not self._signals and np.array_equal(
            self._data[1], np.tile(np.arange(width), len(rows)))
        self._rows = Constant(rows) if in_order else None
        self._follows_phase = any(each.ptrs is not None for each in configs)
        self._owners = np.repeat(np.arange(len(configs)), [each.num_layers for each in configs])
        self._words, layer, bit = [], 0, 0
        for user, config in enumerate(configs):
            vectors = resources(config).spread_places if self._spreads else slice(None)
            if self._signals:
                vectors = np.flatnonzero(resources(config).data_mask[
                    places.data_symbols, places.data_subcarriers])
            for number, word in enumerate(codewords(config)):
                coder = TransportCoder(word, versions, iterations=DECODER_ITERATIONS,
                                       backend=backend, threads=threads)
                self._words.append(_Word(user, number, layer, bit, vectors, coder))
                layer, bit = self._words[-1].layers.stop, self._words[-1].bits.stop
        mapped = np.arange(places.num_data)
        turned = mapped
        if in_order:
            turned = mapped.reshape(width, len(rows)).T.ravel()
            # Of each value of a slot's vectors, in the order of subcarriers
            self._turned = Constant((
                np.arange(width)[:, None, None] + width * rows[:, None]
                + width * configs[0].carrier.symbols_per_slot * np.arange(num_rx)).ravel().astype(
                    np.int32))
        for word in self._words:
            word.orders = [LlrOrder((bit * vectors[word.vectors, None] + np.arange(
                word.bits.start, word.bits.stop)).ravel(), bit * len(mapped))
                for vectors in (mapped, turned)]
        self.num_layers, self.num_vectors, self.bits_per_vector = layer, places.num_data, bit
        self.vector_size = layer if self._spreads else num_rx
        self._tracker = Tracker(self._known, self._alone, self._owners, self._prefix, threads)
        self._backend, self._sequences = backend, None
        self._graphs = Graphs(self._queue, threads)
        self.detector, self.detector_name = None, ""
        if detector is None:
            return
        if detector == AUTO:
            detector = "omap" if 2**bit <= MOST_CANDIDATES else "nway:llr_method=logsum"
            if self._spreads and layer > 1:    # which the equaliser has separated
                detector = "mmse"
        self.detector_name = detectors.look_up(detector).label
        names = [word.points.name for word in self._words for _ in range(
            word.layers.start, word.layers.stop)]
        create = partial(detectors.create, detector, num_tx=layer, num_rx=self.vector_size,
                         constellation=names, backend=backend, threads=threads)
        self.detector = create()
        self._feeds_back = not self._spreads and self.detector.takes_feedback(
            **self.detector.given)
        if self._feeds_back:
            self.detector = create(extrinsic=True)

    def _checked_users(self, config):
        """Return the configurations of users that can be received together."""
        configs = read_users(config, self.kind)
        first = configs[0]
        for index, each in enumerate(configs[1:], 1):
            if each.carrier != first.carrier or not np.array_equal(*(
                    resources(replace(one, ptrs=None)).data_mask for one in (each, first))):
                raise ValueError(f"config: user {index} has other resource elements than user 0, "
                                 "must have the same carrier, PRBs, symbols and DMRS positions")
        ports = [port for each in configs for port in each.dmrs_ports]
        signals = {(port, dmrs_sequence(each, 0, int(resources(each).dmrs_symbols[0])).tobytes())
                   for each in configs for port in each.dmrs_ports}
        if len(signals) < len(ports):
            raise ValueError(f"config: got DMRS ports {ports}, must be different for all layers "
                             "with the same dmrs.n_id and dmrs.n_scid (TS 38.211 §6.4.1.1)")
        if len({each.transform_precoding for each in configs}) > 1:
            raise ValueError("config: got users with and without transform precoding, must be the "
                             "same for all")
        return configs

    def process(self, grid, slots=None, channel=None, noise_var=None, rv=None, earlier=None):
        """Decode slots.

        Args:
            grid: (..., nr, symbols_per_slot, subcarriers) complex: received resource grids. CuPy
                arrays stay on their GPU in the first pass, unless there are PT-RS or transform
                precoding.
            slots: number of each slot in its frame, of shape (...); None for 0, 1, 2, ...
            channel: (..., symbols_per_slot, subcarriers, nr, layers) the true channel, for
                simulations; None to estimate it.
            noise_var: the true noise power of all slots, a number, with ``channel``.
            rv: redundancy version of these slots, one of ``versions``; None for the
                configuration's own.
            earlier: the result of ``process`` for earlier transmissions of the same blocks, whose
                soft bits are combined with these slots' (HARQ).

        Returns:
            list of :class:`TransportBlock`, by slot, user and codeword.

        Raises:
            ValueError: an argument does not match its description.
        """
        if self.detector is None:
            raise ValueError("detector: got None, must be a detector to process slots")
        self.seconds, begin = Counter(), time.perf_counter()
        grid, slots = self._checked(grid, slots)
        blocks = None
        if channel is None and self._stays_on_gpu(grid):
            if earlier is None:
                blocks = self._replayed(grid, slots, rv)
            if blocks is None and not is_device_array(grid):
                grid = cupy().asarray(grid)
        if blocks is None:
            return self._in_passes(begin, grid, slots, channel, noise_var, rv, earlier)
        self._spent("graph", begin)
        if self.iterations > 1:
            words = len(self._words)
            wrong = [row for row in range(len(slots)) if not all(
                block.crc_ok for block in blocks[row * words:(row + 1) * words])]
            if wrong:
                again = self._in_passes(time.perf_counter(), grid[wrong], slots[wrong], rv=rv)
                for index, row in enumerate(wrong):
                    blocks[row * words:(row + 1) * words] = again[index * words:(index + 1) * words]
        return blocks

    def _in_passes(self, begin, grid, slots, channel=None, noise_var=None, rv=None, earlier=None):
        """Decode slots without CUDA graphs; ``begin`` is the time at which the first step began."""
        work, channels = self._estimated(grid, slots, channel, noise_var)
        soft = None
        if earlier is not None:
            if len(earlier) != len(work) * len(self._words):
                raise ValueError(f"earlier: got {len(earlier)} blocks, must be "
                                 f"{len(work) * len(self._words)}, those of as many slots")
            soft = [earlier[word::len(self._words)] for word in range(len(self._words))]
        for iteration in range(1, self.iterations + 1):
            rows = [row for row, slot in enumerate(work)
                    if any(map(slot.lacks, range(len(self._words))))]
            if not rows:
                break
            active = [work[row] for row in rows]
            if iteration > 1:
                for slot in active:
                    slot.move_to_host()
                    if channel is None:
                        self._refine(slot)
                channels = Channels.of([slot.received for slot in active],
                                       [slot.estimate for slot in active])
            begin = self._spent("estimation", begin)
            y, h, variance = self.vectors(active, channels)
            prior = None
            if self._feeds_back and active[0].prior is not None:
                prior = np.stack([slot.prior for slot in active]).reshape(*y.shape[:-1], -1)
            llr, turned = self._detect(y, h, variance, prior)
            begin = self._spent("detection", begin)
            combined = [soft and [soft[word][row].soft for row in rows]
                        for word in range(len(self._words))]
            for word, before in enumerate(combined):
                self._decode(word, active, llr, iteration, rv, before, turned)
            if iteration < self.iterations:
                if turned and any(slot.lacks(word) for slot in active
                                  for word in range(len(self._words))):
                    llr = llr.reshape(len(y), y.shape[2], y.shape[1], -1).swapaxes(1, 2).reshape(
                        llr.shape)
                for word, before in enumerate(combined):
                    self._feed_back(word, active, llr, rv, before)
            begin = self._spent("decoding", begin)
        return self._blocks(work)

    def _detect(self, y, h, variance, prior=None):
        """Return LLRs (slots, num_vectors, bits), and whether vectors of a subcarrier go together.

        Args:
            y, h, variance: as from :meth:`vectors`.
            prior: a-priori LLRs of the same vectors, or None.
        """
        # Detectors are fastest if vectors with the same channel are neighbours.
        turned = h.ndim == 5 and h.shape[1] == 1
        if turned:
            y, h, variance, prior = (part if part is None else part.swapaxes(1, 2)
                                     for part in (y, h, variance, prior))
        llr = self.detector.detect(y, h, variance, prior)
        return llr.reshape(len(y), self.num_vectors, -1), turned

    def _stays_on_gpu(self, grid):
        """Return whether the first pass is for a GPU: that of CuPy arrays, or backend "cuda"."""
        return is_device_array(grid) or (self._backend == "cuda" and not self._spreads
                                         and not self._follows_phase)

    def _replayed(self, grid, slots, rv):
        """Return the blocks of slots by a CUDA graph; None if the graph does not hold for them.

        There is no graph before the profile is learned, nor when it has to be learned again, nor if
        ports that share resource elements have different sequences. If the noise of a slot jumps,
        the graph's result does not count.
        """
        profile, coders = self._tracker.profile, [word.coder for word in self._words]
        in_frame = self._in_frame(slots)
        if profile is None or self._frame_sequences() is None:
            return None
        if not is_device_array(grid):
            grid = np.ascontiguousarray(grid, np.complex64)
        found = self._graphs.run(
            grid, in_frame, rv, profile, self.detector, self.detector.label,
            *((coder.decoder, coder.decoder.iterations) for coder in coders))
        if found is None or not self._tracker.accepts(found[0][0]):
            return None
        (_, powers, *decoded), soft = found
        work = [ReceivedSlot(number, own) for number, own in zip(
            slots.tolist(), powers, strict=True)]
        for index, coder in enumerate(coders):
            bits, *checks = decoded[3 * index:3 * index + 3]
            crc_ok = coder.checks(*checks)[0].tolist()
            self._keep(index, work, bits, crc_ok, soft[index], 1)
        return self._blocks(work)

    def _frame_sequences(self):
        """Return the sequences of the DMRS of a frame's slots as a Constant; None without."""
        if self._sequences is None:
            found = self._tracker.sequences(self.configs[0].carrier.slots_per_frame)
            self._sequences = found if found is None else Constant(found)
        return self._sequences

    def _queue(self, grid, slots, rv):
        """Queue the first pass of slots on a GPU, see :class:`Graphs`."""
        h, error, noise, received = self._tracker.queue(
            grid[..., self._band], slots, self._frame_sequences().beside(grid))
        llr, turned = self._detect(*self.vectors([], Channels(received, h, error, noise, [])))
        read, kept = [noise, layer_powers(h) / noise[:, None]], []
        for word in self._words:
            *decoded, soft = word.coder.queue(llr.reshape(len(llr), -1), rv, word.orders[turned])
            read += decoded
            kept.append(soft)
        return read, kept

    def estimate(self, grid, slots=None, channel=None, noise_var=None):
        """Estimate the channels of slots: the first step of :meth:`process`, with its arguments.

        Returns:
            (list of :class:`ReceivedSlot`, their :class:`Channels`).
        """
        return self._estimated(*self._checked(grid, slots), channel, noise_var)

    def _checked(self, grid, slots):
        """Return grids (slots, nr, symbols, subcarriers) and the numbers of their slots."""
        if is_device_array(grid) and (self._spreads or self._follows_phase):
            grid = grid.get()
        elif not is_device_array(grid):
            grid = np.asarray(grid)
        carrier = self.configs[0].carrier
        shape = (self.num_rx, carrier.symbols_per_slot, carrier.num_subcarriers)
        if grid.shape[-3:] != shape:
            raise ValueError(f"grid: got shape {grid.shape}, must be (..., {shape[0]}, {shape[1]}, "
                             f"{shape[2]})")
        grid = grid.reshape(-1, *shape)
        if not len(grid):
            raise ValueError("grid: got no slot, must be one or more")
        slots = np.arange(len(grid)) if slots is None else np.ravel(slots)
        slots = integers("slots", slots, 1, 0, 2**31 - 1)
        if len(slots) != len(grid):
            raise ValueError(f"slots: got {len(slots)}, must be {len(grid)}, one for each grid")
        # The sum is computed faster than it is checked whether each value is finite.
        if not is_device_array(grid) and not np.isfinite(grid.sum()):
            for row, antenna, *_ in np.argwhere(~np.isfinite(grid))[:1]:
                raise ValueError(f"grid: got a value that is not finite in slot {slots[row]}, "
                                 f"antenna {antenna}")
        return grid, slots

    def _estimated(self, grid, slots, channel, noise_var):
        """Do what :meth:`estimate` does with checked grids and slots."""
        if channel is None and noise_var is not None:
            raise ValueError(f"noise_var: got {shown(noise_var)}, must be None without channel")
        if channel is not None:
            channel = np.asarray(channel)
            wanted = len(grid), *grid.shape[2:], self.num_rx, len(self._owners)
            if channel.shape[-4:] != wanted[1:] or channel.size != math.prod(wanted):
                raise ValueError(f"channel: got shape {channel.shape}, must be {wanted}, or with "
                                 "the leading dimensions of grid")
            channel = channel.reshape(wanted)
        received = grid[..., self._band].astype(np.complex64, copy=False)
        if channel is None:
            channels = self._tracker.estimate(received, self._in_frame(slots))
            if not channels.noise_var.all():    # slots of zeros
                channels = replace(
                    channels, noise_var=np.maximum(channels.noise_var, LEAST_NOISE),
                    estimates=[replace(found, noise_var=max(found.noise_var, LEAST_NOISE))
                               for found in channels.estimates])
        else:
            channels = Channels.of(list(received), [
                true_channel(h[:, self._band], noise_var) for h in channel])
        work = [ReceivedSlot(number, None, own, estimate) for number, own, estimate in zip(
            slots.tolist(), channels.received, channels.estimates, strict=True)]
        if channel is None and self._follows_phase:
            for slot in work:
                self._follow(slot)
            channels = Channels.of([slot.received for slot in work],
                                   [slot.estimate for slot in work])
        powers = on_host(layer_powers(channels.h)) / channels.noise_var[:, None]
        for slot, own in zip(work, powers, strict=True):
            slot.powers = own
        return work, channels

    def vectors(self, slots, channels):
        """Return the received vectors of slots with their channels: what a detector takes.

        Args:
            slots, channels: as from :meth:`estimate`.

        Returns:
            y (slots, ..., vector_size), h (slots, ..., vector_size, layers) and the noise power
            (slots, ...), with num_vectors vectors of a slot in the order in which symbols are
            mapped to resource elements. The shapes of h and noise broadcast to that of y. The noise
            contains the error of the channel estimate.
        """
        if self._spreads:
            return self._despread(slots)
        xp, received = array_module(channels.received), channels.received
        noise_var = xp.asarray(channels.noise_var, np.float32)[:, None, None]
        h, variance = channels.h, channels.error_var + noise_var
        if self._rows is None:
            symbols, subcarriers = (each.beside(received) for each in self._places)
            of_h = symbols if h.shape[1] > 1 else symbols * 0
            h, variance = h[:, of_h, subcarriers], variance[:, of_h, subcarriers]
            y = received[:, :, symbols, subcarriers].swapaxes(1, 2)
            return *(self._without_signals(slots, y, h) if self._signals else (y, h)), variance
        rows = self._rows.beside(received)
        if h.shape[1] > 1:
            return xp.moveaxis(received[:, :, rows], 1, 3), h[:, rows], variance[:, rows]
        flat, width = received.reshape(len(received), -1), received.shape[3]
        if xp is np:
            y = _core.interleave(flat, self._turned.values[:len(rows) * self.num_rx], width,
                                 self._threads)
        else:
            y = flat.take(self._turned.beside(received), axis=1)
        return y.reshape(len(y), width, len(rows), self.num_rx).swapaxes(1, 2), h, variance

    def decode(self, llr, slots):
        """Decode LLRs of slots: the last step of :meth:`process`.

        Args:
            llr: (slots, num_vectors, bits_per_vector) floating-point, ln P(1)/P(0). The dimension
                of vectors may be several, as those of :meth:`vectors` are.
            slots: list of :class:`ReceivedSlot`. Only ``number`` and ``powers`` are read.

        Returns:
            list of :class:`TransportBlock`, by slot, user and codeword.
        """
        wanted = len(slots), self.num_vectors, self.bits_per_vector
        if llr.shape[:1] != wanted[:1] or llr.size != math.prod(wanted):
            raise ValueError(f"llr: got shape {llr.shape}, must be {wanted}")
        for word in range(len(self._words)):
            self._decode(word, slots, llr, 1, None, None)
        return self._blocks(slots)

    def _in_frame(self, number):
        """Return the number of a slot in its frame; numbers may count on from frame to frame."""
        return number % self.configs[0].carrier.slots_per_frame

    def _blocks(self, slots):
        return [slot.blocks[word] for slot in slots for word in range(len(self._words))]

    def _spent(self, stage, begin):
        """Count the time since ``begin`` for a stage; return the time now."""
        now = time.perf_counter()
        self.seconds[stage] += now - begin
        return now

    def _alone(self, received, known):
        """Estimate the channel of a slot without others, and whiten it if there is interference."""
        weight = np.abs(known).max(axis=0) > 0
        estimate = partial(estimate_channel, known=known, weight=weight, users=self._owners,
                           prefix=self._prefix)
        found = estimate(received)
        covariance = noise_covariance(found.residual, found.degrees)
        if not np.allclose(covariance, covariance[0, 0] * np.eye(self.num_rx)):
            received = whiten(received, covariance)
            found = estimate(received)
        return received, found

    def _known(self, slot):
        """Return the DMRS within the allocation."""
        return self.known_symbols(slot)[..., self._band]

    @property
    def _prefix(self):
        return 0.25 if self.configs[0].carrier.cyclic_prefix == "extended" else 144 / 2048

    def _phases(self, slot, user):
        """Return the phase of each symbol of a user, relative to the channel estimate."""
        config, number = self.configs[user], self._in_frame(slot.number)
        if config.ptrs is None:
            return np.zeros(slot.received.shape[1])
        if self._spreads:
            symbols = resources(config).ptrs_symbols
            seen = self._equalised(slot)[0][user, spread_rows(config)]
            seen = seen[:, config.ptrs.samples(config.num_subcarriers)]
            sent = ptrs_sequence(config, number)
        else:
            reference = ptrs_symbols(config, number)
            symbols, sent = reference.symbols, reference.values
            places = symbols[:, None], reference.subcarriers - self._band.start
            seen = combine(
                np.moveaxis(slot.received[:, places[0], places[1]], 0, -1), slot.estimate.h[places],
                slot.estimate.noise_var, self._ptrs_layer(user),
                np.flatnonzero(self._owners != user))
        return symbol_phases(seen, sent, symbols, self._resources.dmrs_symbols,
                             slot.received.shape[1])

    def _follow(self, slot):
        """Correct the phases of a slot's symbols by PT-RS: of a user alone in the received symbols.

        Those of several users are corrected in their channels.
        """
        phases = np.stack([self._phases(slot, user) for user in range(len(self.configs))])
        if len(phases) == 1:
            slot.received = slot.received * np.exp(-1j * phases[0])[:, None]
        else:
            slot.turn = np.exp(1j * phases)[self._owners].astype(np.complex64)
            slot.estimate = replace(
                slot.estimate, h=slot.estimate.h * slot.turn.T[:, None, None])

    def _without_signals(self, slots, y, h):
        """Take the PT-RS out of vectors; return them and their channels without unused layers."""
        sent = np.stack([
            self._ptrs(self._in_frame(slot.number))[:, self._data[0], self._data[1]].T
            for slot in slots])
        amplitudes = np.full((self.num_vectors, self.num_layers), UNUSED_LAYER, np.float32)
        for word in self._words:
            amplitudes[word.vectors, word.layers] = 1
        return y - (h @ sent[..., None])[..., 0], h * amplitudes[:, None]

    def _ptrs(self, slot):
        """Return the PT-RS of all layers within the allocation: (layers, symbols, subcarriers)."""
        sent = np.zeros((len(self._owners), *self._resources.data_mask.shape), np.complex64)
        for user, config in enumerate(self.configs):
            if config.ptrs is not None:
                reference, layer = ptrs_symbols(config, slot), self._ptrs_layer(user)
                sent[layer, reference.symbols[:, None], reference.subcarriers] = reference.values
        return sent[..., self._band]

    def _ptrs_layer(self, user):
        """Return the layer, of all users', that has a user's PT-RS."""
        config = self.configs[user]
        own = np.flatnonzero(self._owners == user)
        return own[config.dmrs_ports.index(ptrs_port(config))]

    def _despread(self, active):
        """Return the vectors of DFT-spread layers: what the equaliser leaves, with a diagonal h."""
        y, h = [], []
        for slot in active:
            z, variance = self._equalised(slot)
            scale = np.broadcast_to(1 / np.sqrt(variance), z.shape).reshape(len(z), -1)
            z = z.reshape(scale.shape) * scale
            for word, layer in zip(self._words, z, strict=True):
                layer[word.vectors] *= word.turn
            y.append(z.T)
            h.append(scale.T[..., None] * np.eye(len(z), dtype=np.float32))
        return np.stack(y), np.stack(h).astype(np.complex64), np.ones((len(y), 1), np.float32)

    def _equalised(self, slot):
        """Return the values of all layers before spreading, see :func:`equalise_spread`."""
        shape = -1, self.configs[0].num_subcarriers
        h = slot.estimate.h[self._data].reshape(*shape, self.num_rx, self.num_layers)
        y = slot.received[:, self._data[0], self._data[1]].T.reshape(h.shape[:-1])
        noise = (slot.estimate.noise_var + slot.estimate.error_var[self._data]).reshape(shape)
        known = [self._spread_symbols(word, slot, slot.prior) for word in self._words]
        return equalise_spread(y, h, noise, *map(np.stack, zip(*known, strict=True)))

    def _spread_symbols(self, word, slot, llr):
        """Return what is known of the values that transform precoding spreads.

        Args:
            word: :class:`_Word`.
            slot: :class:`ReceivedSlot`.
            llr: (vectors, bits) LLRs; None if nothing is known.

        Returns:
            (their mean (OFDM symbols, M_sc), mean variance of each OFDM symbol (OFDM symbols, 1)).
        """
        config = self.configs[word.user]
        means, variances = np.zeros(len(word.vectors)), np.ones(len(word.vectors))
        if llr is not None:
            means, variances = (part[word.vectors, 0] for part in word.symbols(llr))
        mean = spread_values(config, self._in_frame(slot.number),
                             means * np.conj(word.turn))
        variance = np.zeros(mean.size)
        variance[word.vectors] = variances
        return mean, variance.reshape(mean.shape).mean(axis=1, keepdims=True)

    def _decode(self, number, active, llr, iteration, rv, soft, turned=False):
        """Decode the blocks of a codeword that are not yet decoded.

        turned: whether vectors are in the order of subcarriers, those of a subcarrier together.
        """
        word = self._words[number]
        rows = [row for row, slot in enumerate(active) if slot.lacks(number)]
        if not rows:
            return
        decoded = self._decoded(word, rows, llr, rv, soft, turned=turned)
        self._keep(number, [active[row] for row in rows], decoded.bits, decoded.crc_ok.tolist(),
                   decoded.soft, iteration)

    def _keep(self, number, slots, bits, crc_ok, soft, iteration):
        """Keep the transport blocks of a codeword in slots."""
        word = self._words[number]
        for slot, *own in zip(slots, bits, crc_ok, soft, strict=True):
            # In this order, the maximum is no NaN.
            snr = 10 * math.log10(max(LEAST_POWER, slot.powers[word.layers].sum()))
            slot.blocks[number] = TransportBlock(
                slot.number, word.user, word.number, *own[:2], snr, self.detector_name, iteration,
                own[2])

    def _decoded(self, word, rows, llr, rv, soft, posterior=False, turned=False):
        """Return the :class:`DecodedBlocks` of a codeword in some of the slots."""
        xp = array_module(llr)
        llr = llr if len(rows) == len(llr) else llr[rows]
        if soft is not None:
            soft = xp.stack([xp.asarray(soft[row]) for row in rows])
        return word.coder.decode(llr.reshape(len(rows), -1), rv, soft, posterior,
                                 word.orders[turned])

    def _feed_back(self, number, active, llr, rv, soft):
        """Set the LLRs of a codeword for the next pass of slots that are not ready."""
        word = self._words[number]
        rows = [row for row, slot in enumerate(active)
                if any(map(slot.lacks, range(len(self._words))))]
        wrong = [row for row in rows if active[row].lacks(number)]
        posteriors = wrong and on_host(self._decoded(word, wrong, llr, rv, soft, True).posterior)
        for row in rows:
            slot = active[row]
            if slot.prior is None:
                slot.prior, slot.posterior = np.zeros((2, *llr.shape[1:]), np.float32)
            own = on_host(llr[row])[word.vectors, word.bits]
            if row in wrong:
                posterior = posteriors[wrong.index(row)].reshape(own.shape)
                extrinsic = np.clip(FEEDBACK_SCALE * (posterior - own), -CERTAIN, CERTAIN)
            else:
                signs = 2.0 * word.coder.encode(slot.blocks[number].bits, rv) - 1
                posterior = extrinsic = (CERTAIN * signs).reshape(own.shape)
            slot.posterior[word.vectors, word.bits] = posterior
            slot.prior[word.vectors, word.bits] = extrinsic

    def _refine(self, slot):
        """Estimate the channel of a slot again, with the decoder's symbols."""
        known = self._known(self._in_frame(slot.number))
        estimate = slot.estimate
        # Noise, and what the symbols' variance adds to it
        noise = np.full(known.shape[1:], estimate.noise_var, np.float32)
        for word in self._words:
            if self._spreads:
                mean, variance = self._spread_symbols(word, slot, slot.posterior)
                means = transform_precode(mean).reshape(-1, 1)
                variances = np.broadcast_to(variance, mean.shape).reshape(-1, 1)
            else:
                means, variances = word.symbols(slot.posterior)
                silent = np.ones(len(means), bool)
                silent[word.vectors] = False
                means[silent], variances[silent] = 0, 0
            known[word.layers, self._data[0], self._data[1]] = means.T
            powers = np.mean(np.abs(estimate.h[..., word.layers][self._data])**2, axis=1)
            noise[self._data] += np.sum(powers * variances, axis=1)
        if self._signals:
            known += self._ptrs(self._in_frame(slot.number))
        if slot.turn is not None:
            known *= slot.turn[..., None]
        weight = estimate.noise_var / noise
        weight[np.abs(known).max(axis=0) == 0] = 0
        slot.estimate = estimate_channel(
            slot.received, known, weight, self._owners, self._prefix, noise=estimate.noise_var,
            cfo=estimate.cfo, doppler=estimate.doppler, profile=estimate.profile)
        if slot.turn is not None:
            slot.estimate = replace(
                slot.estimate, h=slot.estimate.h * slot.turn.T[:, None, None])

    def process_samples(self, samples, slot=None, start=None, fft_size=None):
        """Decode consecutive slots of a recording.

        Timing and carrier offset are followed as in :class:`GridStream`; the channel estimate
        corrects what remains. Slots before the first one with DMRS are left out.

        Args:
            samples: (nr, n) complex.
            slot: number of the first slot in its frame; None to find it from its DMRS.
            start: the sample at which this slot begins; None to find it. A few samples more or less
                do not matter.
            fft_size: see :class:`GridStream`; samples come at fft_size times the subcarrier
                spacing.

        Returns:
            list of :class:`TransportBlock`, by slot, user and codeword.

        Raises:
            ValueError: there are too few samples for a slot, they have no DMRS of the
                configuration, or one of them is not finite.
        """
        samples = on_host(samples)
        if not np.isfinite(samples).all():
            antenna, sample = np.argwhere(~np.isfinite(samples))[0]
            raise ValueError(f"samples: got {samples[antenna, sample]} from antenna {antenna} at "
                             f"sample {sample}, must be finite")
        stream = GridStream(self.known_symbols, self.configs[0].carrier, self.num_rx, slot, start,
                            fft_size)
        slots = stream.process(samples) + stream.finish()
        if not slots:
            raise ValueError(f"samples: got {stream.samples} without a slot that shows its DMRS, "
                             "must be at least a slot; check n_cell_id, n_size_grid, "
                             "subcarrier_spacing_khz, num_prb, dmrs, sample rate and antennas")
        self._tracker.forget()
        return self.process(np.stack([one.grid for one in slots]), [one.number for one in slots])

    def known_symbols(self, slot):
        """Return the DMRS of all layers in a slot: (layers, symbols, subcarriers) complex64."""
        known = np.zeros((len(self._owners), *self._resources.data_mask.shape), np.complex64)
        ports = [(config, port) for config in self.configs for port in config.dmrs_ports]
        for row, (config, port) in zip(known, ports, strict=True):
            reference = dmrs_symbols(config, slot, port)
            row[reference.symbols[:, None], reference.subcarriers] = reference.values
        return known


class PuschReceiver(_Receiver):
    """Receiver of the PUSCH of one or several users on the same resource elements.

        receiver = PuschReceiver(config, num_rx=4)
        for block in receiver.process(grid, slots=[0, 1, 2, 3]):
            print(block.slot, block.crc_ok)

    Several users are detected together, each with its own modulation and its own PT-RS. They may
    have the same DMRS ports with other sequences (n_id, n_scid).

    With any other detector, such as a function of arrays, one pass is three steps:

        receiver = PuschReceiver(config, num_rx=4, detector=None)
        slots, channels = receiver.estimate(grid, slots=[0, 1, 2, 3])
        llr = detect(*receiver.vectors(slots, channels))    # (slots, num_vectors, bits_per_vector)
        blocks = receiver.decode(llr, slots)

    Args:
        config: :class:`PuschConfig`, a list with one for each user, or another form that
            :func:`read_users` takes.
        num_rx: number of receive antennas.
        detector: a detector: a name with parameters, or a class or an object, as
            ``detectors.look_up`` takes it. "auto" is
            omap, which is exact, if a vector has up to 256 candidates, otherwise nway with
            log-sum LLRs: the lowest block error rates of all detectors. None makes a receiver for
            the three steps alone.
        iterations: maximum number of passes of detection and decoding. From the second pass on, the
            decoder's LLRs improve the channel estimate, and are the detector's a-priori LLRs if it
            takes them. Slots whose transport blocks all have correct CRCs are ready.
        backend: backend of detector and decoder.
        threads: number of CPU threads; 0 takes all cores.
        versions: redundancy versions that are combined (HARQ); None for the configuration's own.

    Attributes:
        configs: list with the configuration of each user.
        num_layers, num_vectors, bits_per_vector: number of layers of all users, of vectors in a
            slot (resource elements with data of any user), and of LLRs of a vector.
        vector_size: number of values in a vector: num_rx; with transform precoding, the number of
            users, whose layers a linear equaliser has separated.

    Raises:
        ValueError: users do not have the same resource elements, or have the same DMRS.
    """

    kind = PuschConfig


class PdschReceiver(_Receiver):
    """Receiver of a PDSCH whose configuration is known.

    The channel that it estimates contains the transmitter's precoding.

    Args:
        config: :class:`PdschConfig`, a list with one for each user who is sent to on the same
            resource elements, or another form that :func:`read_users` takes.

    The others are those of :class:`PuschReceiver`.
    """

    kind = PdschConfig


def receiver_for(config, num_rx, **options):
    """Make a :class:`PuschReceiver` or :class:`PdschReceiver`, as the configuration says.

    Args:
        config: any form that :func:`read_users` takes.
        num_rx, options: arguments of both classes.
    """
    users = read_users(config)
    receiver = PdschReceiver if isinstance(users[0], PdschConfig) else PuschReceiver
    return receiver(users, num_rx, **options)


def layer_powers(h):
    """Return the mean power of each layer: (slots, layers), from h of slots."""
    if is_device_array(h):
        return estimation.powers(h)
    layers = h.shape[-1]
    parts = h.reshape(len(h), -1, layers).view(np.float32)    # real and imaginary ones in turns
    powers = np.einsum("snp,snp->sp", parts, parts).reshape(len(h), layers, 2).sum(axis=2)
    return powers / parts.shape[1]


def true_channel(h, noise_var):
    """Return the :class:`ChannelEstimate` of a channel that is known: (symbols, K, nr, layers)."""
    return ChannelEstimate(
        np.asarray(h, np.complex64), np.zeros(h.shape[:2], np.float32),
        positive("noise_var", noise_var), np.zeros(h.shape[-1]), 0.0,
        np.zeros((h.shape[2], 0), np.complex64), 0.0, np.zeros(0))

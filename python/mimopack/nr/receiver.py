# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receivers of shared channels: grids and samples to transport blocks."""

import math
import time
from collections import Counter
from functools import partial

import numpy as np

from .. import _core, detectors
from ..arrays import array_module, is_device_array, on_host
from ..checks import integer, integers, shown
from ..cuda import estimation
from ..cuda.device import cupy
from .config import PdschConfig, PuschConfig, read_users
from .decoding import BlockDecoder
from .estimation import true_channel
from .feedback import estimate_again, feed_back
from .graph import FirstPass
from .layout import SlotLayout, users_together
from .phase import follow_phases, without_ptrs
from .slot import ReceivedSlot
from .spreading import despread
from .stream import GridStream
from .tracking import Channels, Tracker, layer_powers

AUTO = "auto"
MOST_CANDIDATES = 256    # that "auto" enumerates: 4 layers of QPSK, 2 of 16-QAM, 1 of 256-QAM
ITERATIONS = 4


class _Receiver:
    """The receiver of shared channels with the same resource elements.

    Arguments and attributes are those of :class:`PuschReceiver`; ``kind`` is the class of
    configurations.
    """

    def __init__(self, config, num_rx, detector=AUTO, iterations=ITERATIONS, backend="auto",
                 threads=0, versions=None):
        self.num_rx = integer("num_rx", num_rx, 1, 256)
        self._layout = layout = SlotLayout(users_together(config, self.kind), num_rx, threads)
        self.configs, self.num_layers = layout.configs, layout.num_layers
        self.num_vectors, self.vector_size = layout.num_vectors, layout.vector_size
        self.bits_per_vector = layout.bits_per_vector
        self.iterations, self.seconds = integer("iterations", iterations, 1, 100), Counter()
        self._backend, self._threads = backend, threads
        self.detector, self.detector_name, self._feeds_back = None, "", False
        if detector is not None:
            self._make_detector(detector, backend, threads)
        self._tracker = Tracker(layout.known, layout.owners, layout.prefix, threads)
        self._decoders = [BlockDecoder(word, self.detector_name, versions, backend, threads)
                          for word in layout.words]
        self._first_pass = FirstPass(layout, self._tracker, self._decoders, self._detect, threads)

    def _make_detector(self, detector, backend, threads):
        if detector == AUTO:
            detector = ("omap" if 2**self.bits_per_vector <= MOST_CANDIDATES
                        else "nway:llr_method=logsum")
            if self._layout.spreads and self.num_layers > 1:    # which the equaliser has separated
                detector = "mmse"
        self.detector_name = detectors.look_up(detector).label
        names = [word.points.name for word in self._layout.words
                 for _ in range(word.codeword.num_layers)]
        create = partial(detectors.create, detector, num_tx=self.num_layers,
                         num_rx=self.vector_size, constellation=names, backend=backend,
                         threads=threads)
        self.detector = create()
        self._feeds_back = not self._layout.spreads and self.detector.takes_feedback(
            **self.detector.given)
        if self._feeds_back:
            self.detector = create(extrinsic=True)

    def known_symbols(self, slot):
        """Return the DMRS of all layers in a slot: (layers, symbols, subcarriers) complex64."""
        return self._layout.known_symbols(slot)

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
        work = None
        if channel is None and self._stays_on_gpu(grid):
            if earlier is None:
                work = self._first_pass.run(grid, slots, rv, self.detector, self.detector.label)
            if work is None and not is_device_array(grid):
                grid = cupy().asarray(grid)
        if work is None:
            self._require_finite(grid, slots)
            work = self._in_passes(begin, grid, slots, channel, noise_var, rv, earlier)
        else:
            begin = self._spent("graph", begin)
            wrong = [row for row, slot in enumerate(work) if not slot.is_decoded]
            if self.iterations > 1 and wrong:
                again = self._in_passes(begin, grid[wrong], slots[wrong], rv=rv)
                for row, slot in zip(wrong, again, strict=True):
                    work[row] = slot
        return self._blocks(work)

    def _stays_on_gpu(self, grid):
        """Return whether the first pass is for a GPU: that of CuPy arrays, or backend "cuda"."""
        return is_device_array(grid) or (self._backend == "cuda" and not self._layout.spreads
                                         and not self._layout.has_ptrs)

    def _in_passes(self, begin, grid, slots, channel=None, noise_var=None, rv=None, earlier=None):
        """Decode slots without CUDA graphs; return a list of :class:`ReceivedSlot`.

        ``begin`` is the time at which the first step began.
        """
        work, channels = self._estimated(grid, slots, channel, noise_var)
        if earlier is not None:
            words = self._layout.words
            if len(earlier) != len(work) * len(words):
                raise ValueError(f"earlier: got {len(earlier)} blocks, must be "
                                 f"{len(work) * len(words)}, those of as many slots")
            soft = iter(block.soft for block in earlier)
            for slot in work:
                slot.earlier = {word: next(soft) for word in words}
        for iteration in range(1, self.iterations + 1):
            active = [slot for slot in work if not slot.is_decoded]
            if not active:
                break
            if iteration > 1:
                for slot in active:
                    slot.move_to_host()
                    if channel is None:
                        estimate_again(self._layout, slot)
                channels = Channels.of([slot.received for slot in active],
                                       [slot.estimate for slot in active])
            begin = self._spent("estimation", begin)
            y, h, variance = self.vectors(active, channels)
            prior = None
            if self._feeds_back and active[0].prior is not None:
                prior = np.stack([slot.prior for slot in active]).reshape(*y.shape[:-1], -1)
            llr, by_subcarrier = self._detect(y, h, variance, prior)
            begin = self._spent("detection", begin)
            for decoder in self._decoders:
                decoder.decode(active, llr, iteration, rv, by_subcarrier)
            if iteration < self.iterations and not all(slot.is_decoded for slot in active):
                if by_subcarrier:
                    llr = llr.reshape(len(y), y.shape[2], y.shape[1], -1).swapaxes(1, 2).reshape(
                        llr.shape)
                for decoder in self._decoders:
                    feed_back(decoder, active, llr, rv)
            begin = self._spent("decoding", begin)
        return work

    def _detect(self, y, h, variance, prior=None):
        """Return LLRs (slots, num_vectors, bits), and whether they are in the order of subcarriers.

        Args:
            y, h, variance: as from :meth:`vectors`.
            prior: a-priori LLRs of the same vectors, or None.
        """
        # Detectors are fastest if vectors with the same channel are neighbours.
        by_subcarrier = h.ndim == 5 and h.shape[1] == 1
        if by_subcarrier:
            y, h, variance, prior = (part if part is None else part.swapaxes(1, 2)
                                     for part in (y, h, variance, prior))
        llr = self.detector.detect(y, h, variance, prior)
        return llr.reshape(len(y), self.num_vectors, -1), by_subcarrier

    def estimate(self, grid, slots=None, channel=None, noise_var=None):
        """Estimate the channels of slots: the first step of :meth:`process`, with its arguments.

        Returns:
            (list of :class:`ReceivedSlot`, their :class:`Channels`).
        """
        grid, slots = self._checked(grid, slots)
        self._require_finite(grid, slots)
        return self._estimated(grid, slots, channel, noise_var)

    def _checked(self, grid, slots):
        """Return grids (slots, nr, symbols, subcarriers) and the numbers of their slots."""
        if is_device_array(grid) and (self._layout.spreads or self._layout.has_ptrs):
            grid = grid.get()
        grid = array_module(grid).ascontiguousarray(grid, np.complex64)
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
        return grid, slots

    def _require_finite(self, grid, slots):
        if is_device_array(grid):
            total = estimation.powers(grid.reshape(-1, grid.shape[-1], 1)).get()
        else:    # Powers are computed faster than it is checked whether each value is finite.
            total = _core.powers(grid.reshape(-1, grid[0, 0].size), 1, self._threads)
        if not np.isfinite(total).all():
            grid = on_host(grid)
            for row, antenna, *_ in np.argwhere(~np.isfinite(grid))[:1]:
                raise ValueError(f"grid: got a value that is not finite in slot {slots[row]}, "
                                 f"antenna {antenna}")

    def _estimated(self, grid, slots, channel, noise_var):
        """Do what :meth:`estimate` does with checked grids and slots."""
        if channel is None and noise_var is not None:
            raise ValueError(f"noise_var: got {shown(noise_var)}, must be None without channel")
        if channel is not None:
            channel = np.asarray(channel)
            wanted = len(grid), *grid.shape[2:], self.num_rx, self.num_layers
            if channel.shape[-4:] != wanted[1:] or channel.size != math.prod(wanted):
                raise ValueError(f"channel: got shape {channel.shape}, must be {wanted}, or with "
                                 "the leading dimensions of grid")
            channel = channel.reshape(wanted)
        received = grid[..., self._layout.band].astype(np.complex64, copy=False)
        if channel is None:
            channels = self._tracker.estimate(received, self._layout.in_frame(slots))
        else:
            channels = Channels.of(list(received), [
                true_channel(h[:, self._layout.band], noise_var) for h in channel])
        work = [ReceivedSlot(number, None, own, estimate) for number, own, estimate in zip(
            slots.tolist(), channels.received, channels.estimates, strict=True)]
        if channel is None and self._layout.has_ptrs:
            for slot in work:
                follow_phases(self._layout, slot)
            channels = Channels.of([slot.received for slot in work],
                                   [slot.estimate for slot in work])
        powers = on_host(layer_powers(channels.h, self._threads)) / channels.noise_var[:, None]
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
        if self._layout.spreads:
            return despread(self._layout, slots)
        y, h, variance = self._layout.vectors(channels)
        if self._layout.has_gaps:
            y, h = without_ptrs(self._layout, slots, y, h)
        return y, h, variance

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
        slots = [ReceivedSlot(slot.number, slot.powers) for slot in slots]
        for decoder in self._decoders:
            decoder.decode(slots, llr, 1)
        return self._blocks(slots)

    def _blocks(self, slots):
        return [slot.blocks[word] for slot in slots for word in self._layout.words]

    def _spent(self, stage, begin):
        """Count the time since ``begin`` for a stage; return the time now."""
        now = time.perf_counter()
        self.seconds[stage] += now - begin
        return now

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
        self.restart()
        return self.process(np.stack([one.grid for one in slots]), [one.number for one in slots])

    def restart(self):
        """Forget what was learned: the next slots are those of another channel."""
        self._tracker.forget()


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
        seconds: {"estimation", "detection", "decoding": seconds} of the last ``process``, and
            {"graph": seconds} of a first pass by a CUDA graph.

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

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cut a stream of samples into the grids of slots."""

from dataclasses import dataclass

import numpy as np

from ..checks import integer
from .ofdm import Ofdm
from .synchronisation import CP_SLOTS, EARLY, synchronise


@dataclass(frozen=True, eq=False)
class SlotGrid:
    """The received grid of a slot.

    Attributes:
        number: number of the slot; the first one's is the number of the slot in its frame.
        start: the sample of the stream at which the slot begins.
        grid: (nr, symbols_per_slot, subcarriers) complex64.
    """

    number: int
    start: int
    grid: np.ndarray


class GridStream:
    """Cut the samples of consecutive slots, which come in pieces, into grids.

        stream = GridStream(receiver.known_symbols, config.carrier, num_rx=4)
        for samples in pieces:
            slots = stream.process(samples)    # SlotGrid objects
        slots = stream.finish()

    The stream waits for the samples of 20 slots, finds the first slot and the carrier offset in
    them, and keeps both.

    Args:
        known: function that returns the DMRS of a slot, (layers, symbols, subcarriers of the grid),
            given its number in the frame.
        carrier: :class:`Carrier`.
        num_rx: number of receive antennas.
        slot: number of the first slot in its frame.
        start: the sample at which this slot begins; None to find it.
        fft_size: see :class:`Ofdm`.

    Attributes:
        num_rx: see above.
        sample_rate: samples per second.
        samples, slots: numbers of samples taken and of slots found.
    """

    def __init__(self, known, carrier, num_rx, slot=0, start=None, fft_size=None):
        self._ofdm = Ofdm(carrier, fft_size)
        self._known = known
        self.num_rx, self.sample_rate = integer("num_rx", num_rx, 1, 256), self._ofdm.sample_rate
        self._slot = integer("slot", slot, 0, carrier.slots_per_frame - 1)
        self._start = None if start is None else integer("start", start, 0, 2**62)
        self._search = sum(self._ofdm.slot_length(slot + n) for n in range(CP_SLOTS + 1))
        self._early = int(EARLY * self._ofdm.prefix_lengths(1)[0])
        self.samples = self.slots = 0
        self.restart()

    def restart(self, first=0):
        """Drop the samples of an incomplete slot; the next sample is number ``first``.

        The next slot is then found again, and counts as the first one. ``start`` holds for a stream
        from sample 0 on.
        """
        self._at, self._waiting = first, np.zeros((self.num_rx, 0), np.complex64)
        self._begin = None if first else self._start
        self._found, self._next = None, self._slot

    def process(self, samples):
        """Take samples (nr, n) complex; return the :class:`SlotGrid` objects that they complete."""
        samples = np.asarray(samples)
        if samples.ndim != 2 or len(samples) != self.num_rx:
            raise ValueError(f"samples: got shape {samples.shape}, must be ({self.num_rx}, n)")
        self.samples += samples.shape[1]
        self._waiting = np.concatenate([self._waiting, samples], axis=1)
        return self._cut(self._search)

    def finish(self):
        """Return the :class:`SlotGrid` objects that remain at the end of the stream."""
        slots = self._cut(self._ofdm.slot_length(self._next))
        self.restart(self._at + self._waiting.shape[1])
        return slots

    def _cut(self, least):
        """Cut off the whole slots; ``least`` samples must wait before the first is looked for."""
        if self._found is None:
            if self._waiting.shape[1] < (self._begin or 0) + least:
                return []
            self._found = synchronise(self._waiting, self._ofdm, self._known, self._next,
                                      self._begin)
            self._drop(self._found.start)
        slots = []
        if self._waiting.shape[1] >= self._ofdm.slot_length(self._next):
            for grid in self._ofdm.demodulate(self._waiting, self._next, self._early,
                                              self._found.cfo):
                slots.append(SlotGrid(self._next, self._at, grid))
                self._drop(self._ofdm.slot_length(self._next))
                self._next += 1
        self.slots += len(slots)
        return slots

    def _drop(self, count):
        self._at += count
        self._waiting = self._waiting[:, count:]

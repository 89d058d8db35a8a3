# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cut a stream of samples into the grids of slots."""

from dataclasses import dataclass

import numpy as np

from ..checks import integer
from .ofdm import Ofdm
from .synchronisation import (
    CP_SLOTS,
    DMRS_SHOW,
    EARLY,
    DmrsPairs,
    find,
    prefix_sum,
    shows_prefixes,
    significance,
    slot_grids,
)

GROUP = CP_SLOTS    # slots that are cut with the same timing and carrier offset
_MEMORY = 200       # slots over which the clocks' difference is averaged
_PREFIXES = 4       # after so many slots, prefixes are correlated again for the carrier offset
_SILENCE = 100      # after so many slots without DMRS, the next slot is found anew
_FORGET = 0.9       # weight of earlier prefixes each time
_FASTEST = 1e-3     # change of the delay in a slot, in symbols: clocks that differ by 67 ppm
_MARGIN = 1 / 32    # of a symbol: a group begins at most so much earlier or later than expected


@dataclass(frozen=True, eq=False)
class SlotGrid:
    """The received grid of a slot.

    Attributes:
        number: number of the slot. It counts on from frame to frame; the remainder by the number of
            slots in a frame is the number in the frame.
        start: the sample of the stream at which the slot begins.
        grid: (nr, symbols_per_slot, subcarriers) complex64.
    """

    number: int
    start: int
    grid: np.ndarray


class _Clock:
    """Fits a straight line to the delays of slots by least squares.

    All slots count until there are ``_MEMORY``, later ones with a fixed gain (alpha-beta filter
    with expanding memory; E. Brookner, "Tracking and Kalman Filtering Made Easy", 1998, ch. 1).

    Args:
        fft_size: number of samples per symbol.
        period: see :class:`DmrsPairs`.

    Attributes:
        delay, rate: delay of the last slot in samples, and its change per slot.
    """

    def __init__(self, fft_size, period):
        self._period, self._fastest = period, _FASTEST * fft_size
        self._count, self.delay, self.rate = 0, 0.0, 0.0

    def add(self, delay):
        """Take the delay of the next slot, or None if it is unknown."""
        self.delay += self.rate
        if delay is None:
            return
        self._count = n = min(self._count + 1, _MEMORY)
        error = (delay - self.delay + self._period / 2) % self._period - self._period / 2
        self.delay += 2 * (2 * n - 1) / (n * (n + 1)) * error
        if n > 1:
            rate = self.rate + 6 / (n * (n + 1)) * error
            self.rate = max(-self._fastest, min(rate, self._fastest))


class GridStream:
    """Cut the samples of consecutive slots, which come in pieces, into grids.

        stream = GridStream(receiver.known_symbols, config.carrier, num_rx=4)
        for samples in pieces:
            slots = stream.process(samples)    # SlotGrid objects
        slots = stream.finish()

    The stream finds the first slot with DMRS and the carrier offset in the samples of 22 slots;
    what comes before is dropped. From then on it follows both: the prefixes show the carrier
    offset, and the DMRS the mean delay. The clocks of transmitter and receiver may differ by 60
    ppm. The grids of all slots have the mean delay of the first one; what is less than a sample is
    taken out as a phase. After a pause of 100 slots without DMRS, the next slot is found in the
    same way. A stream of fewer than 22 slots is cut even if DMRS are hard to see.

    Samples that are not finite count as 0.

    Args:
        known: function that returns the DMRS of a slot, (layers, symbols, subcarriers of the grid),
            given its number in the frame.
        carrier: :class:`Carrier`.
        num_rx: number of receive antennas.
        slot: number of the first slot in its frame; None to find it from its DMRS. If all slots
            have the same DMRS (transform precoding without hopping), this finds slot 0. Without
            ``start``, DMRS that clearly show another number overrule a given one.
        start: the sample at which this slot begins; None to find it.
        fft_size: see :class:`Ofdm`.

    Attributes:
        num_rx: see above.
        sample_rate: samples per second.
        samples, slots: numbers of samples taken and of slots found.
    """

    def __init__(self, known, carrier, num_rx, slot=None, start=None, fft_size=None):
        self._ofdm = Ofdm(carrier, fft_size)
        self._pairs = DmrsPairs(known, self._ofdm)
        self.num_rx, self.sample_rate = integer("num_rx", num_rx, 1, 256), self._ofdm.sample_rate
        self._frame = carrier.slots_per_frame
        self._slot = None if slot is None else integer("slot", slot, 0, self._frame - 1)
        self._start = None if start is None else integer("start", start, 0, 2**62)
        self._search = sum(self._ofdm.slot_length(n) for n in range(CP_SLOTS + 2))
        self._mean = sum(map(self._ofdm.slot_length, range(self._frame))) // self._frame
        self._early = int(EARLY * self._ofdm.prefix_lengths(1)[0])
        self._margin = int(_MARGIN * self._ofdm.fft_size)
        self.samples = self.slots = 0
        self.restart()

    def restart(self, first=0):
        """Drop the samples of an incomplete slot; the next sample is number ``first``.

        The next slot is then found again. ``slot`` and ``start`` hold for a stream from sample 0
        on. Otherwise, DMRS show the slot's number in the frame (if all slots have the same, it is
        ``slot``); it is the next such number.
        """
        self._at, self._waiting = first, np.zeros((self.num_rx, 0), np.complex64)
        if first == 0:
            self._next = None    # nothing is known of slot numbers
        self._search_again()

    def process(self, samples):
        """Take samples (nr, n) complex; return the :class:`SlotGrid` objects that they complete."""
        samples = np.asarray(samples)
        if samples.ndim != 2 or len(samples) != self.num_rx:
            raise ValueError(f"samples: got shape {samples.shape}, must be ({self.num_rx}, n)")
        if not np.isfinite(np.sum(samples)):
            samples = np.where(np.isfinite(samples), samples, 0)
        self.samples += samples.shape[1]
        self._waiting = np.concatenate([self._waiting, samples], axis=1)
        return self._cut(self._search, self._margin)

    def finish(self):
        """Return the :class:`SlotGrid` objects that remain at the end of the stream."""
        # Slots of other numbers may have longer prefixes.
        slots = self._cut(max(map(self._ofdm.slot_length, range(self._frame))), 0)
        self.restart(self._at + self._waiting.shape[1])
        return slots

    def _cut(self, least, margin):
        """Cut off the whole slots.

        Args:
            least: so many samples must wait before the first slot is looked for.
            margin: so many must wait after a slot.
        """
        slots = []
        while True:
            waiting = self._waiting.shape[1]
            if self._clock is None:
                begin = self._start if self._is_first() else None
                if waiting < (begin or 0) + least:
                    break
                self._find(begin)
            elif waiting >= self._ofdm.slot_length(self._next) + margin:
                slots += self._cut_group(margin)
            else:
                break
        self.slots += len(slots)
        return slots

    def _search_again(self):
        """Find the next slot anew, from the sample that comes next on."""
        self._clock, self._searched_from = None, self._at

    def _is_first(self):
        """Return whether the samples that wait are the first ones of the stream."""
        return self._next is None and self._at == 0

    def _find(self, begin):
        """Find the first slot with DMRS in the samples that wait, or drop some without any."""
        found, skipped = self._look(begin)
        self._drop(skipped)
        if found is None:
            return
        if self._next is None:
            self._next = found.slot
        else:
            self._next += (self._at - self._searched_from) // self._mean
            self._next += (found.slot - self._next) % self._frame
        self._cfo, self._prefixes, self._prefixes_due = found.cfo, 0, self._next
        self._clock = _Clock(self._ofdm.fft_size, self._pairs.period)
        self._late, self._first_delay, self._moved = np.zeros(GROUP), None, 0
        # If the first group shows no DMRS, the place was wrong. A start that was given is right.
        self._shown, self._silent = [], -np.inf if begin is not None else _SILENCE - GROUP

    def _look(self, begin):
        """Return (:class:`Synchronisation` or None, number of samples to drop)."""
        samples, ofdm = self._waiting[:, :(begin or 0) + self._search], self._ofdm
        is_full = samples.shape[1] >= self._search
        # The next look sees most of a slot of which this one sees too little.
        nothing = None, min(self._search // 2, samples.shape[1])
        if begin is None and is_full and not shows_prefixes(samples, ofdm):
            return nothing
        numbers = [None] if self._slot is None or not self._is_first() else [self._slot, None]
        best = None
        for number in numbers:
            found = find(samples, ofdm, self._pairs, number, begin, self._slot or 0)
            if found is None:
                return nothing
            is_whole = samples.shape[1] >= found.start + ofdm.slot_length(found.slot)
            if begin is not None or not is_whole:
                return found, found.start
            power, first = significance([
                self._pairs.correlation(grid, found.slot + index)
                for index, grid in enumerate(slot_grids(samples, ofdm, found))])
            if best is None or power > 2 * best[0]:    # the given number is likely
                best = power, first, found
        power, first, found = best
        if power > DMRS_SHOW:
            if first == 0:
                return found, found.start
            # What came before disturbs: look again from half a slot before the first one on.
            return None, found.start + first * self._mean - self._mean // 2
        return (found, found.start) if self._is_first() and not is_full else nothing

    def _cut_group(self, margin):
        """Cut off the slots of a group that are complete."""
        waiting = self._waiting[:, :self._waiting.shape[1] - margin]
        length = sum(self._ofdm.slot_length(self._next + n) for n in range(len(self._late)))
        grids = self._ofdm.demodulate(waiting[:, :length], self._next, self._early, self._cfo,
                                      self._late)
        delays = []
        for index, (grid, late) in enumerate(zip(grids, self._late, strict=False)):
            correlation = self._pairs.correlation(grid, self._next + index)
            self._shown.append(correlation)
            delays.append(delay := self._pairs.delay(correlation))
            self._clock.add(None if delay is None else delay + late + self._moved)
        if self._first_delay is None:    # the first slots, which were taken to be in time
            late = self._clock.rate * np.arange(len(grids))
            self._first_delay = self._clock.delay - late[-1]
            grids = self._ofdm.demodulate(waiting[:, :length], self._next, self._early, self._cfo,
                                          late)
        slots = []
        for grid, delay in zip(grids, delays, strict=True):
            slots.append(SlotGrid(self._next, self._at, grid))
            self._late = self._late[1:]
            if delay is not None and self._next >= self._prefixes_due:
                self._prefixes_due = self._next + _PREFIXES
                self._prefixes = _FORGET * self._prefixes + prefix_sum(
                    self._waiting, self._ofdm, self._next)
            step = 0 if len(self._late) else self._begin_group()
            self._drop(self._ofdm.slot_length(self._next) + step)
            self._next += 1
        if self._silent >= _SILENCE:
            self._search_again()
        return slots

    def _begin_group(self):
        """Return by how many samples the next group is late; correct the carrier offset."""
        late = self._clock.delay - self._first_delay - self._moved
        late = late + self._clock.rate * np.arange(1, GROUP + 1)
        step = int(np.clip(round(late[0]), -self._margin, self._margin))
        self._moved, self._late = self._moved + step, late - step
        # The angle of what remains, so that the offset can grow over half a subcarrier spacing
        turn = np.exp(-2j * np.pi * self._cfo)
        self._cfo += float(np.angle(self._prefixes * turn) / (2 * np.pi))
        shows_dmrs = significance(self._shown)[0] > DMRS_SHOW
        self._shown, self._silent = [], 0 if shows_dmrs else self._silent + GROUP
        return step

    def _drop(self, count):
        self._at += count
        self._waiting = self._waiting[:, count:]

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Streaming frame synchronisation: detection, timing and carrier offset over all antennas."""

from dataclasses import dataclass

import numpy as np

from ..checks import integer, positive
from .acquisition import PreambleAcquirer, rotation
from .parameters import FFT_SIZE, GUARD, MAX_RX, STF, SYMBOL, Parameters

_BLOCK = 16
# The short training field is ten blocks long; a window of six products spans seven of them.
_WINDOW = 6
# After the first window above the threshold, the best is looked for in so many; where it is the
# last of them, the search goes on from there, so many times in all.
_REGION = 10
_SEARCHES = 4
# The short field is over so many windows later: then the metric must have fallen to a share. That
# of another periodic signal has not.
_FALL = 12
_FALLEN = 0.3
# A preamble is over for the detector when its windows hold nothing but long training.
_SKIP = STF + 80
_SLICE = 1 << 16
# Sum of a block's real and imaginary parts, scaled so that its square is the direct current's
# energy.
_DIRECT = np.tile(np.eye(2, dtype=np.float32), (_BLOCK, 1)) / np.float32(np.sqrt(_BLOCK))


@dataclass(frozen=True)
class Frame:
    """What the synchroniser found.

    Attributes:
        number: counts the frames of a stream, truncated ones included.
        start: sample of the stream at which the short training field begins (first path).
        cfo: carrier offset in Hz, already taken out of ``symbols``.
        truncated: whether the stream ended, or another frame began, before its last sample.
        num_samples: samples from start that belong to it.
        symbols: complex64 (num_rx, num_fft_items, 64), cyclic prefixes removed: the first LTF
            twice, the other LTFs, the data symbols. No items where truncated.
        parameters: its format.
    """

    number: int
    start: int
    cfo: float
    truncated: bool
    num_samples: int
    symbols: np.ndarray
    parameters: Parameters


class FrameSync:
    """Find frames in a stream of samples of several antennas, cut anywhere into chunks.

    Detection: the correlation of the samples with those 16 later, summed over 96 samples and all
    antennas and divided by the energies of both, where it exceeds ``threshold`` (Schmidl and Cox,
    IEEE Trans. Commun. 45 (12), 1997, over all antennas; evaluated on every 16th sample, since
    the short training field leaves it three of them). The samples' mean, a receiver's direct
    current, is left out, and 192 samples later the correlation must have fallen, as that of a
    tone has not. A long training field must follow: its two halves must agree, and the response
    to it must be as short as a channel's. The carrier offset comes from both fields (to +-600
    kHz), the timing from the channels of all layers.

    A preamble inside the span of a frame breaks that frame off: it is reported as truncated, and
    the new one is followed. Results do not depend on how the stream is cut, nor on the scale of the
    samples between rms 1e-9 and 1e7; the squares of squares of others leave single precision.

    Args:
        parameters: :class:`Parameters` of the frames.
        num_rx: receive antennas, 1..256.
        threshold: 0.2..0.95. A frame's correlation is near SNR / (1 + SNR), that of noise exceeds
            t with probability exp(-96 num_rx t^2); 0.35 leaves one alarm of noise in a
            million samples to the long training field, which lets none pass in tests.

    Raises:
        ValueError: an argument is not as above.

    ``samples_seen``, ``frames_found`` (complete) and ``frames_truncated`` count.
    """

    def __init__(self, parameters, num_rx, threshold=0.35):
        num_rx = integer("num_rx", num_rx, 1, MAX_RX)
        threshold = positive("threshold", threshold)
        if not 0.2 <= threshold <= 0.95:
            raise ValueError(f"threshold: got {threshold}, allowed are 0.2..0.95")
        self.parameters = parameters
        self.num_rx = num_rx
        self._threshold = threshold
        self._acquirer = PreambleAcquirer(parameters.num_tx, parameters.num_ltf)
        self.reset()

    def reset(self):
        """Forget the stream and the counts."""
        self.samples_seen = 0
        self.frames_found = 0
        self.frames_truncated = 0
        self._samples_before = 0    # of earlier streams
        self._buffer = np.zeros((self.num_rx, 0), np.complex64)
        self._origin = 0
        self._fill = 0
        # Per block of 16 samples: energy, and correlation with the next block.
        self._energy = np.zeros(0, np.float32)
        self._lag16 = np.zeros(0, np.complex64)
        self._next_window = 0
        self._pending = None

    def process(self, samples):
        """Take the next samples.

        Args:
            samples: (num_rx, n) complex, any n.

        Returns:
            list of :class:`Frame`, in the order of the stream, for which all samples have come.

        Raises:
            ValueError: another shape.
        """
        samples = np.asarray(samples)
        if samples.ndim != 2 or samples.shape[0] != self.num_rx:
            raise ValueError(f"samples: got shape {samples.shape}, must be ({self.num_rx}, n)")
        frames = []
        for begin in range(0, samples.shape[1], _SLICE):
            part = samples[:, begin:begin + _SLICE]
            self.samples_seen += part.shape[1]
            self._append(part)
            frames += self._advance()
        return frames

    def finish(self):
        """The stream has ended: returns what was still open, as truncated, and starts anew.

        Counts stay; sample 0 is the next sample.
        """
        windows = _SEARCHES * _REGION + _FALL + _WINDOW + 1
        padding = _BLOCK * windows + self._acquirer.samples_needed + FFT_SIZE
        self._append(np.zeros((self.num_rx, padding), np.complex64))
        frames = self._advance(self._origin + self._fill - padding)
        if self._pending is not None:
            frames.append(self._close(self._origin + self._fill - padding))
        self.restart()
        return frames

    def restart(self):
        """Forget the stream, but not the counts; sample 0 is the next sample."""
        counts = self.samples_seen, self.frames_found, self.frames_truncated
        self.reset()
        self.samples_seen, self.frames_found, self.frames_truncated = counts
        self._samples_before = self.samples_seen

    def resume(self, samples_seen):
        """After a failure: give up what is open and go on behind samples_seen samples."""
        truncated = self._pending is not None
        position = samples_seen - self._samples_before
        before = self._samples_before
        self.restart()
        self.samples_seen, self._samples_before = samples_seen, before
        self.frames_truncated += truncated
        self._next_window = position // _BLOCK
        self._origin = self._next_window * _BLOCK
        self._fill = position - self._origin
        self._buffer = np.zeros((self.num_rx, self._fill), np.complex64)

    def _format(self, acquisition):
        """The format of the frame at hand: here a signal field would be read."""
        return self.parameters

    def _append(self, samples):
        needed = self._fill + samples.shape[1]
        if needed > self._buffer.shape[1]:
            self._drop()
            needed = self._fill + samples.shape[1]
        if needed > self._buffer.shape[1]:
            grown = np.empty((self.num_rx, 2 * needed + _SLICE), np.complex64)
            grown[:, :self._fill] = self._buffer[:, :self._fill]
            self._buffer = grown
        self._buffer[:, self._fill:needed] = samples
        self._fill = needed
        # Where samples are not finite the correlation is not either, and nothing is found.
        with np.errstate(all="ignore"):
            self._correlate()

    def _drop(self):
        """Give up samples that nothing refers to any more, in whole blocks."""
        keep = self._next_window * _BLOCK
        if self._pending is not None:
            keep = min(keep, self._pending[0].start, self._pending[0].window)
        blocks = (keep - self._origin) // _BLOCK
        if blocks > 0:
            begin = blocks * _BLOCK
            left = self._fill - begin
            # Copy by way of a new array: the two ranges may overlap.
            self._buffer[:, :left] = self._buffer[:, begin:self._fill].copy()
            self._fill = left
            self._origin += begin
            self._energy = self._energy[blocks:]
            self._lag16 = self._lag16[blocks:]

    def _correlate(self):
        """Energy of the new blocks of samples, and their correlation with the next ones."""
        done, blocks = self._energy.size, self._fill // _BLOCK
        if blocks == done:
            return
        view = self._buffer[:, :blocks * _BLOCK].reshape(self.num_rx, blocks, _BLOCK)
        first = self._lag16.size
        pairs = view[:, first:]
        new = pairs[:, done - first:]
        real = new.view(np.float32)
        energy = np.einsum("rjk,rjk->j", real, real)
        lag16 = np.einsum("rjk,rjk->j", pairs[:, :-1], pairs[:, 1:].conj())
        # A receiver's direct current correlates as well as a preamble, which has none: without it.
        direct = (pairs.view(np.float32) @ _DIRECT).view(np.complex64)[..., 0]
        lag16 -= np.einsum("rj,rj->j", direct[:, :-1], direct[:, 1:].conj())
        direct = direct[:, done - first:]
        energy -= np.sum(direct.real**2 + direct.imag**2, axis=0)
        self._energy = np.concatenate([self._energy, np.maximum(energy, 0)])
        self._lag16 = np.concatenate([self._lag16, lag16])

    def _advance(self, end=None):
        """Follow the stream as far as its samples allow; end: where it ends, if it does."""
        available = self._origin + self._fill
        first = self._next_window - self._origin // _BLOCK
        with np.errstate(all="ignore"):
            sums = _sliding_sum(self._lag16[first:])
            energy = _sliding_sum(self._energy[first:])
            product = energy[:-1] * energy[1:]
            power = sums.real**2 + sums.imag**2
            metric = np.where(product > 0, power / product, 0)
        tested = max(metric.size - _FALL, 0)
        before, after = metric[:tested], metric[_FALL:]
        hits = np.flatnonzero((before > self._threshold**2) & (after < _FALLEN * before))
        base = self._next_window
        frames = []
        while True:
            hit = np.searchsorted(hits, self._next_window - base)
            found = hit < hits.size
            # never back to windows of the preamble that is followed already
            window = base + int(hits[hit]) if found else max(base + tested, self._next_window)
            needed = window * _BLOCK + self._acquirer.samples_needed
            best = window
            if found and needed <= available:
                best, end_of_search = _strongest(power, window - base)
                best += base
                needed = max((base + end_of_search + _WINDOW) * _BLOCK,
                             best * _BLOCK + self._acquirer.samples_needed)
            if self._pending is not None and needed > self._pending[1]:
                if available < self._pending[1]:
                    break
                frames.append(self._close(end))
                continue
            self._next_window = window
            if not found or needed > available:
                break
            acquisition = None
            if metric[best - base + _FALL] < _FALLEN * metric[best - base]:
                acquisition = self._acquire(best, sums[best - base])
            if acquisition is None:
                self._next_window = best + 3
                continue
            if self._pending is not None:
                frames.append(self._close(acquisition.start))
            parameters = self._format(acquisition)
            last = (acquisition.window + 2 * FFT_SIZE + GUARD
                    + SYMBOL * (parameters.num_fft_items - 2) - GUARD)
            self._pending = acquisition, last, parameters
            self._next_window = max(best + 3, -(-(acquisition.start + _SKIP) // _BLOCK))
        return frames

    def _acquire(self, window, lag16):
        begin = window * _BLOCK - self._origin
        samples = self._buffer[:, begin:begin + self._acquirer.samples_needed]
        with np.errstate(all="ignore"):
            found = self._acquirer.acquire(samples, lag16)
        if found is None:
            return None
        found = found.shifted(window * _BLOCK)
        return found if found.window >= self._origin else None

    def _close(self, end):
        """Make a Frame of the pending one; truncated where the stream breaks off before it ends."""
        acquisition, last, parameters = self._pending
        self._pending = None
        number = self.frames_found + self.frames_truncated
        truncated = end is not None and end < last
        if truncated:
            self.frames_truncated += 1
            symbols = np.zeros((self.num_rx, 0, FFT_SIZE), np.complex64)
            num_samples = end - acquisition.start
        else:
            self.frames_found += 1
            symbols = self._symbols(acquisition, parameters)
            num_samples = parameters.frame_samples
        return Frame(number, acquisition.start, acquisition.cfo, truncated, num_samples, symbols,
                     parameters)

    def _symbols(self, acquisition, parameters):
        items = parameters.num_fft_items
        begin = acquisition.window - self._origin
        turn = rotation(acquisition.cfo, 2 * FFT_SIZE)
        symbols = np.empty((self.num_rx, items, FFT_SIZE), np.complex64)
        ltf1 = self._buffer[:, begin:begin + 2 * FFT_SIZE] * turn
        symbols[:, :2] = ltf1.reshape(-1, 2, FFT_SIZE)
        begin += 2 * FFT_SIZE + GUARD
        rest = np.lib.stride_tricks.as_strided(
            self._buffer[:, begin:], (self.num_rx, items - 2, FFT_SIZE),
            (self._buffer.strides[0], SYMBOL * 8, 8), writeable=False)
        offsets = 2 * FFT_SIZE + GUARD + SYMBOL * np.arange(items - 2)
        step = np.exp(-2j * np.pi * acquisition.cfo / self.parameters.sample_rate * offsets)
        turns = (step[:, None] * turn[:FFT_SIZE]).astype(np.complex64)
        np.multiply(rest, turns, out=symbols[:, 2:])
        return symbols


def _strongest(power, window):
    """(best window at or shortly behind one, end of the windows that were to be looked at)."""
    for _ in range(_SEARCHES):
        end = window + _REGION
        best = window + int(np.argmax(power[window:end]))
        if best < end - 1 or end > power.size:
            break
        window = best
    return best, end


def _sliding_sum(values):
    """Sums of _WINDOW neighbours, each from its own values only: the same for every cut."""
    size = max(values.size - _WINDOW + 1, 0)
    total = np.zeros(size, values.dtype)
    for i in range(_WINDOW):
        total += values[i:i + size]
    return total

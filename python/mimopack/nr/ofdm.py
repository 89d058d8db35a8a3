# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""OFDM modulation and demodulation of grids: TS 38.211 §5.3.1 and §5.4."""

import numpy as np

from .. import _core
from ..arrays import array_module, packed
from ..checks import integer

SMALLEST_FFT = 128
OCCUPIED = 0.85    # largest share of an FFT's bins that a grid fills, if the FFT size is not given


class Ofdm:
    """OFDM of a carrier, on consecutive slots.

    Subcarrier k of the grid is at (k - K/2) times the subcarrier spacing, K being the number of
    subcarriers. FFTs are unitary: noise has the same variance per sample and per resource element.

    Args:
        carrier: :class:`Carrier`.
        fft_size: number of samples in a symbol without its prefix, a multiple of 128; None for the
            smallest power of two of which the grid fills at most 85 %.

    Attributes:
        carrier, fft_size: see above.
        sample_rate: samples per second.

    Raises:
        ValueError: the FFT size does not fit.
    """

    def __init__(self, carrier, fft_size=None):
        self.carrier = carrier
        if fft_size is None:
            fft_size = SMALLEST_FFT
            while fft_size * OCCUPIED < carrier.num_subcarriers:
                fft_size *= 2
        self.fft_size = integer("fft_size", fft_size, carrier.num_subcarriers, 2**16)
        if self.fft_size % SMALLEST_FFT:
            raise ValueError(f"fft_size: got {fft_size}, must be a multiple of {SMALLEST_FFT}, so "
                             "that prefixes are whole samples (TS 38.211 §5.3.1)")
        self.sample_rate = 1e3 * carrier.subcarrier_spacing_khz * self.fft_size

    def prefix_lengths(self, slot):
        """Return the number of samples in each symbol's cyclic prefix: int (symbols_per_slot,).

        The first symbol of each half subframe has a longer prefix.

        Args:
            slot: number of the slot, counted from the beginning of any subframe.
        """
        carrier = self.carrier
        if carrier.cyclic_prefix == "extended":
            return np.full(carrier.symbols_per_slot, self.fft_size // 4)
        count = carrier.symbols_per_slot
        in_subframe = slot % (1 << carrier.mu) * count + np.arange(count)
        longer = in_subframe % (7 << carrier.mu) == 0
        return self.fft_size * 9 // 128 + longer * ((self.fft_size << carrier.mu) // 128)

    def slot_length(self, slot):
        """Return the number of samples in a slot."""
        return int(self.prefix_lengths(slot).sum()) + (
            self.carrier.symbols_per_slot * self.fft_size)

    def symbol_starts(self, slot, num_slots):
        """Return where symbols begin, after their prefixes: int (num_slots, symbols_per_slot).

        Args:
            slot: number of the first slot, which begins at sample 0.
            num_slots: number of consecutive slots.
        """
        prefixes = np.array([self.prefix_lengths(slot + n) for n in range(num_slots)])
        lengths = prefixes.reshape(-1) + self.fft_size
        return (np.cumsum(lengths) - self.fft_size).reshape(prefixes.shape)

    def modulate(self, grid, slot=0):
        """Compute the samples of consecutive slots.

        Args:
            grid: (slots, ..., symbols_per_slot, K) complex.
            slot: number of the first slot.

        Returns:
            (..., samples) complex64.
        """
        grid = np.asarray(grid)
        starts = self.symbol_starts(slot, len(grid))
        last = slot + len(grid) - 1
        samples = np.zeros((*grid.shape[1:-2], starts[-1, 0] - self.prefix_lengths(last)[0]
                            + self.slot_length(last)), np.complex64)
        bins = np.zeros((*grid.shape[:-1], self.fft_size), np.complex64)
        bins[..., self._bins()] = grid
        symbols = np.fft.ifft(bins, norm="ortho").astype(np.complex64)
        for n in range(len(grid)):
            phases = self._phases(slot + n)
            prefixes = self.prefix_lengths(slot + n)
            for symbol, (start, prefix) in enumerate(zip(starts[n], prefixes, strict=True)):
                body = symbols[n, ..., symbol, :] * np.conj(phases[symbol])
                samples[..., start:start + self.fft_size] = body
                samples[..., start - prefix:start] = body[..., self.fft_size - prefix:]
        return samples

    def demodulate(self, samples, slot=0, early=0, cfo=0.0, late=None):
        """Compute the grids of consecutive slots from their samples.

        Args:
            samples: (..., n) complex, NumPy or CuPy; the first slot begins at sample 0. Samples
                after the last whole slot are left out.
            slot: number of the first slot.
            early: number of samples by which FFTs begin before the end of the prefix, so that a
                window which is too late by fewer samples does not reach into the next symbol. The
                phase that follows from it is taken out.
            cfo: carrier frequency offset in subcarrier spacings, to be taken out. The phase is 0
                at sample 0.
            late: by how many samples each slot is late, which can be parts of one, to be taken out
                as a phase: a sequence of at least as many numbers as slots. None for 0.

        Returns:
            (slots, ..., symbols_per_slot, K) complex64.
        """
        xp = array_module(samples)
        num_slots, length = 0, 0
        while length + self.slot_length(slot + num_slots) <= samples.shape[-1]:
            length += self.slot_length(slot + num_slots)
            num_slots += 1
        if not num_slots:
            raise ValueError(f"samples: got {samples.shape[-1]}, must be at least a slot of "
                             f"{self.slot_length(slot)}")
        early = integer("early", early, 0, int(self.prefix_lengths(1).min()))
        starts = self.symbol_starts(slot, num_slots) - early
        rows = packed("samples", samples, "c", np.complex64).reshape(-1, samples.shape[-1])
        if xp is np and self.fft_size & (self.fft_size - 1) == 0:
            bins = self._spectra(rows, starts, cfo)
        else:
            if cfo:
                turns = xp.arange(length) * (cfo / self.fft_size)
                rows = rows[:, :length] * xp.exp(-2j * np.pi * turns).astype(np.complex64)
            windows = rows[:, xp.asarray(starts[..., None] + np.arange(self.fft_size))]
            bins = xp.moveaxis(xp.fft.fft(windows)[..., self._bins()], 0, 1)
        shifts = np.full(1, early) if late is None else early + np.asarray(late)[:num_slots]
        count = self.carrier.num_subcarriers
        frequencies = (np.arange(count) - count // 2) / self.fft_size
        ramp = np.exp(2j * np.pi * np.multiply.outer(shifts, frequencies))
        ramp = ramp[:, None] / np.sqrt(self.fft_size)
        phases = np.stack([self._phases(slot + n) for n in range(num_slots)])
        turn = (phases[..., None] * ramp).astype(np.complex64)[:, None]
        grids = (bins * xp.asarray(turn)).astype(np.complex64, copy=False)
        return grids.reshape(num_slots, *samples.shape[:-1], *grids.shape[2:])

    def _spectra(self, rows, starts, cfo):
        """Compute the FFTs (slots, rows, symbols_per_slot, K) of windows, by the Wi-Fi receiver's.

        They take a fifth of the time of NumPy's.
        """
        slots = len(starts)
        return _core.wifi.spectra(
            [rows] * slots, cfo=np.full(slots, cfo / self.fft_size), starts=starts,
            fft=self.fft_size, bins=self._bins(), direct=np.zeros((slots, len(rows)), np.complex64))

    def _bins(self):
        """Return the FFT bin of each subcarrier."""
        count = self.carrier.num_subcarriers
        return (np.arange(count) - count // 2) % self.fft_size

    def _phases(self, slot):
        """Return the phase of the carrier at each symbol, after its prefix: TS 38.211 §5.4.

        A transmitter that mixes without a break must turn each symbol back by this phase, because
        the standard's carrier begins anew with each symbol. Time is counted from the beginning of
        the subframe.
        """
        if self.carrier.carrier_frequency_hz is None:
            return np.ones(self.carrier.symbols_per_slot)
        in_subframe = slot % (1 << self.carrier.mu)
        starts = self.symbol_starts(0, in_subframe + 1)[-1]
        turns = self.carrier.carrier_frequency_hz * starts / self.sample_rate
        return np.exp(2j * np.pi * (turns % 1))

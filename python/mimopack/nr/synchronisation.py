# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slot timing and carrier offset of samples, from cyclic prefixes and DMRS."""

from dataclasses import dataclass

import numpy as np

# Slots that are searched at most
CP_SLOTS, _DMRS_SLOTS = 20, 4
# A start of a slot must correlate this well in its prefixes, relative to the best one, for its DMRS
# to be compared.
_LEAST_SHARE = 0.5
_FIRST_PATH = 0.1    # power of the first path that counts, relative to the strongest
_LONGEST_DELAY = 1 / 16    # of a symbol, from where the prefixes say that the slot begins
EARLY = 0.25         # part of the prefix by which FFTs begin before a symbol's start


@dataclass(frozen=True)
class Synchronisation:
    """Where the slots of a recording begin.

    Attributes:
        start: the sample at which the first slot begins, with its prefix.
        cfo: carrier offset in subcarrier spacings, -0.5 to 0.5.
    """

    start: int
    cfo: float


def prefix_correlation(samples, ofdm, slot, num_slots):
    """Correlate the prefix of each symbol with the end of the symbol.

    Args:
        samples: (nr, n) complex.
        ofdm: :class:`Ofdm`.
        slot: number of the first slot.
        num_slots: number of consecutive slots whose correlations are added.

    Returns:
        complex128 (starts,): the sum if the first slot begins at sample 0, 1, ... Its phase is 2 pi
        times the carrier offset in subcarrier spacings.
    """
    size = ofdm.fft_size
    products = np.sum(np.conj(samples[:, :-size]) * samples[:, size:], axis=0, dtype=complex)
    sums = np.concatenate([[0], np.cumsum(products)])
    starts = ofdm.symbol_starts(slot, num_slots).ravel()
    prefixes = np.concatenate([ofdm.prefix_lengths(slot + n) for n in range(num_slots)])
    count = len(sums) - starts[-1]
    return sum(sums[end:end + count] - sums[end - prefix:end - prefix + count]
               for end, prefix in zip(starts, prefixes, strict=True))


def synchronise(samples, ofdm, known, slot, start=None):
    """Find the first slot and the carrier offset.

    The cyclic prefixes give the carrier offset and the starts of symbols, the DMRS which of them
    begins the slot.

    Args:
        samples: (nr, n) complex.
        ofdm: :class:`Ofdm`.
        known: function that returns the DMRS of a slot, (layers, symbols, subcarriers of the grid),
            given its number.
        slot: number of the first slot in its frame.
        start: the sample at which this slot begins, if it is known.

    Returns:
        :class:`Synchronisation`.

    Raises:
        ValueError: there are too few samples for a slot.
    """
    length = ofdm.slot_length(slot)
    offset = start or 0
    whole = samples.shape[1] - offset
    if whole < length:
        raise ValueError(f"samples: got {samples.shape[1]}, must be at least a slot of {length} "
                         f"from sample {offset} on")
    num_slots = 1
    while (num_slots < CP_SLOTS
           and sum(ofdm.slot_length(slot + n) for n in range(num_slots + 2)) <= whole):
        num_slots += 1
    correlation = prefix_correlation(samples[:, offset:], ofdm, slot, num_slots)
    if start is not None:
        return Synchronisation(start, float(np.angle(correlation[0]) / (2 * np.pi)))
    correlation = correlation[:length]
    best = None
    for candidate in _maxima(np.abs(correlation), ofdm.fft_size // 2):
        cfo = float(np.angle(correlation[candidate]) / (2 * np.pi))
        power = delay_powers(samples, ofdm, known, slot, Synchronisation(candidate, cfo))
        if best is None or power.max() > best[0]:
            best = power.max(), candidate, cfo, power
    _, candidate, cfo, power = best
    first = np.flatnonzero(power > _FIRST_PATH * power.max())[0]
    delay = (first - len(power) // 2) / (2 * ofdm.carrier.num_subcarriers) * ofdm.fft_size
    return Synchronisation(max(int(candidate + np.floor(delay)), 0), cfo)


def _maxima(values, apart):
    """Return the places of the largest values, the largest first, at least ``apart`` apart."""
    values, found = values.copy(), []
    least = _LEAST_SHARE * values.max()
    while (place := int(np.argmax(values))) is not None and values[place] >= max(least, 1e-300):
        found.append(place)
        values[max(0, place - apart):place + apart] = 0
    return found


def delay_powers(samples, ofdm, known, slot, synchronisation):
    """Return the power of DMRS by delay, over all layers and antennas, relative to all power.

    Args:
        synchronisation: the assumed :class:`Synchronisation`.

    Others are those of :func:`synchronise`.

    Returns:
        (delays,) from -1/16 to 1/16 of a symbol without prefix. Farther on, the ports and
        subcarriers of DMRS are ambiguous.
    """
    carrier = ofdm.carrier
    early = int(EARLY * ofdm.prefix_lengths(1)[0])
    end = synchronisation.start + sum(ofdm.slot_length(slot + n) for n in range(_DMRS_SLOTS))
    grids = ofdm.demodulate(samples[:, synchronisation.start:end], slot, early,
                            synchronisation.cfo)
    step = 2 * carrier.num_subcarriers
    delays = np.arange(-int(_LONGEST_DELAY * step), int(_LONGEST_DELAY * step) + 1)
    powers = np.zeros(len(delays))
    for index, grid in enumerate(grids):
        reference = known((slot + index) % carrier.slots_per_frame)
        symbols = np.flatnonzero(np.abs(reference).max(axis=(0, 2)))
        matched = np.einsum("plk,rlk->prlk", reference[:, symbols].conj(), grid[:, symbols])
        gains = np.fft.ifft(matched, step)[..., delays]
        powers += np.sum(np.abs(gains)**2, axis=(0, 1, 2)) / max(
            np.sum(np.abs(grid[:, symbols])**2), 1e-300)
    return powers

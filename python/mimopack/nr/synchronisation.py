# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slot timing and carrier offset of samples, from cyclic prefixes and DMRS.

``samples`` are (nr, n) complex, ``ofdm`` is an :class:`Ofdm`, ``pairs`` :class:`DmrsPairs`,
``found`` a :class:`Synchronisation`.
"""

from dataclasses import dataclass, replace

import numpy as np

CP_SLOTS = 20        # slots that are searched at most
_DMRS_SLOTS = 4      # and so many of them, those with the clearest DMRS, for the first path
# A start of a slot must correlate this well in its prefixes, relative to the best one, for its DMRS
# to be compared.
_LEAST_SHARE = 0.5
_FIRST_PATH = 0.1    # power of the first path that counts, relative to the strongest
_LONGEST_DELAY = 1 / 16    # of a symbol, from where the prefixes say that the slot begins
EARLY = 0.25         # part of the prefix by which FFTs begin before a symbol's start
# Power of a sum over its expectation in noise: of the DMRS of a slot whose place is known; of
# prefixes at the best of all starts; and of DMRS at the best start, with the best slot number.
_SIGNIFICANCE, _PREFIXES_SHOW, DMRS_SHOW = 10, 10, 16
# An earlier slot is the first one if the significance from there on is smaller by at most so much,
# or by this share of it.
_LESS, _LESS_SHARE = 6, 0.03
_TIE = 1e-3          # relative difference of two slots' correlations that counts as none


@dataclass(frozen=True)
class Synchronisation:
    """The time of a recording's first slot, its number, and the carrier offset.

    Attributes:
        start: the sample at which the first slot begins, with its prefix.
        cfo: carrier offset in subcarrier spacings, -0.5 to 0.5.
        slot: number of the first slot in its frame.
    """

    start: int
    cfo: float
    slot: int


class DmrsPairs:
    """Products of DMRS on subcarriers a few apart: they show the slot's number and the delay.

    The distance is 4 subcarriers with DMRS type 1 and 6 with type 2. The signs by which ports on
    the same subcarriers differ are the same there. The phase of the product of one received symbol
    with the conjugate of the other depends on the DMRS and on the delay alone.

    Args:
        known: see :func:`synchronise`.
        ofdm: :class:`Ofdm`.

    Attributes:
        period: number of samples after which delays are ambiguous.
        symbols: indices of the symbols with DMRS.
    """

    def __init__(self, known, ofdm):
        self._known, self._weights = known, {}
        self._slots = ofdm.carrier.slots_per_frame
        reference = np.abs(known(0))
        self.symbols = np.flatnonzero(reference.max(axis=(0, 2)))
        self._apart = 4 if np.any(reference[..., :-4] * reference[..., 4:]) else 6
        self.period = ofdm.fft_size / self._apart

    def products(self, grid):
        """Return the products (nr, elements) of a grid (nr, symbols_per_slot, subcarriers)."""
        received = grid[:, self.symbols]
        pairs = received[..., :-self._apart].conj() * received[..., self._apart:]
        return pairs.reshape(len(grid), -1)

    def dmrs(self, slot):
        """Return the DMRS of a slot: (layers, symbols with DMRS, subcarriers)."""
        return self._known(slot % self._slots)[:, self.symbols]

    def weights(self, slot):
        """Return the products' conjugate (elements,) as the DMRS of a slot make them."""
        slot %= self._slots
        if slot not in self._weights:
            sent = self.dmrs(slot)
            pairs = sent[..., :-self._apart] * sent[..., self._apart:].conj()
            self._weights[slot] = pairs.sum(axis=0).ravel()
        return self._weights[slot]

    def correlation(self, grid, slot):
        """Correlate the products of a grid with those of the slot's DMRS.

        Returns:
            complex: its squared magnitude has the mean 1 in noise, and is 0 without a signal.
        """
        products, weights = self.products(grid), self.weights(slot)
        noise = np.sum((products.real**2 + products.imag**2) @ np.abs(weights)**2)
        return complex(np.sum(products @ weights) / np.sqrt(noise)) if noise > 0 else 0j

    def delay(self, correlation):
        """Return the mean delay in samples, or None if the correlation shows no DMRS."""
        if not abs(correlation)**2 > _SIGNIFICANCE:
            return None
        return -np.angle(correlation) / (2 * np.pi) * self.period


def significance(correlations):
    """Return how clearly consecutive slots show DMRS, and the first slot that does.

    Args:
        correlations: sequence of :meth:`DmrsPairs.correlation` of each slot.

    Returns:
        (power, index): the power of the sum over those consecutive slots that show DMRS best, over
        its expectation in noise, and the first one of them.
    """
    sums = np.concatenate([[0], np.cumsum(correlations)])
    begins, ends = np.triu_indices(len(sums), 1)
    powers = np.abs(sums[ends] - sums[begins])**2 / (ends - begins)
    least = powers.max() - max(_LESS, _LESS_SHARE * powers.max())
    return float(powers.max()), int(begins[powers >= least].min())


def shows_prefixes(samples, ofdm):
    """Return whether samples (nr, n) of at least ``CP_SLOTS`` slots may hold OFDM symbols."""
    correlation, noise = prefix_correlation(samples, ofdm, 0, CP_SLOTS)
    return bool(np.max(np.abs(correlation))**2 > _PREFIXES_SHOW * noise)


def prefix_correlation(samples, ofdm, slot, num_slots):
    """Correlate the prefix of each symbol of consecutive slots with the end of the symbol.

    Returns:
        (correlation, noise): complex128 (starts,), the sum if the first slot begins at sample 0, 1,
        ..., at most a slot later; and its mean power in noise. Its phase is 2 pi times the carrier
        offset in subcarrier spacings.
    """
    size = ofdm.fft_size
    products = np.sum(np.conj(samples[:, :-size]) * samples[:, size:], axis=0, dtype=complex)
    sums = np.concatenate([[0], np.cumsum(products)])
    starts = ofdm.symbol_starts(slot, num_slots).ravel()
    prefixes = np.concatenate([ofdm.prefix_lengths(slot + n) for n in range(num_slots)])
    count = min(len(sums) - starts[-1], ofdm.slot_length(slot))
    correlation = sum(sums[end:end + count] - sums[end - prefix:end - prefix + count]
                      for end, prefix in zip(starts, prefixes, strict=True))
    return correlation, prefixes.sum() * np.vdot(products, products).real / len(products)


def prefix_sum(samples, ofdm, slot):
    """Return the correlation of :func:`prefix_correlation` for a slot that begins at sample 0."""
    starts, prefixes = ofdm.symbol_starts(slot, 1)[0], ofdm.prefix_lengths(slot)
    ends = np.concatenate([start + np.arange(-prefix, 0) for start, prefix in zip(
        starts, prefixes, strict=True)])
    return np.vdot(samples[:, ends], samples[:, ends + ofdm.fft_size])


def synchronise(samples, ofdm, known, slot=None, start=None):
    """Find the first slot and the carrier offset.

    The cyclic prefixes give the carrier offset and the starts of symbols, the DMRS which of them
    begins the slot.

    Args:
        samples: (nr, n) complex.
        ofdm: :class:`Ofdm`.
        known: function that returns the DMRS of a slot, (layers, symbols, subcarriers of the grid),
            given its number.
        slot: number of the first slot in its frame; None to find it, see :func:`find_slot`.
        start: the sample at which this slot begins, if it is known.

    Returns:
        :class:`Synchronisation`.

    Raises:
        ValueError: there are too few samples for a slot, or they are all 0.
    """
    found = find(samples, ofdm, DmrsPairs(known, ofdm), slot, start)
    if found is None:
        raise ValueError("samples: got no signal, must be more than zeros")
    return found


def find(samples, ofdm, pairs, slot=None, start=None, expected=0):
    """Do what :func:`synchronise` does, or return None if samples have no signal."""
    if slot is None:
        slot = find_slot(samples, ofdm, pairs, start, expected)
    candidates = _candidates(samples, ofdm, slot, start)
    if start is not None:
        return candidates[0]
    best = None
    for found in candidates:
        power = delay_powers(samples, ofdm, pairs, found)
        if best is None or power.max() > best[0]:
            best = power.max(), found, power
    if best is None:
        return None
    _, found, power = best
    first = np.flatnonzero(power >= _FIRST_PATH * power.max())[0]
    delay = (first - len(power) // 2) / (2 * ofdm.carrier.num_subcarriers) * ofdm.fft_size
    return replace(found, start=max(int(found.start + np.floor(delay)), 0))


def slot_grids(samples, ofdm, found):
    """Return the grids (slots, nr, symbols, subcarriers) of the first ``CP_SLOTS`` slots."""
    length = sum(ofdm.slot_length(found.slot + n) for n in range(CP_SLOTS))
    return ofdm.demodulate(samples[:, found.start:found.start + length], found.slot,
                           int(EARLY * ofdm.prefix_lengths(1)[0]), found.cfo)


def _candidates(samples, ofdm, slot, start):
    """Return what the prefixes allow: a list of :class:`Synchronisation`, the best one first."""
    length, offset = ofdm.slot_length(slot), start or 0
    whole = samples.shape[1] - offset
    if whole < length:
        raise ValueError(f"samples: got {samples.shape[1]}, must be at least a slot of {length} "
                         f"from sample {offset} on")
    num_slots = 1
    while (num_slots < CP_SLOTS
           and sum(ofdm.slot_length(slot + n) for n in range(num_slots + 2)) <= whole):
        num_slots += 1
    correlation, _ = prefix_correlation(samples[:, offset:], ofdm, slot, num_slots)
    places = [0] if start is not None else _maxima(np.abs(correlation), ofdm.fft_size // 2)
    return [Synchronisation(offset + place, float(np.angle(correlation[place]) / (2 * np.pi)), slot)
            for place in places]


def find_slot(samples, ofdm, pairs, start=None, expected=0):
    """Find the number of the first slot in its frame from its DMRS, which differ between slots.

    It is ``expected`` if all slots have the same DMRS.
    """
    carrier = ofdm.carrier
    frame = carrier.slots_per_frame
    # Slots whose numbers are equal modulo ``kinds`` have the same prefixes.
    kinds, best = max(1, (1 << carrier.mu) // 2), np.zeros(frame)
    for kind in range(kinds):
        for found in _candidates(samples, ofdm, kind, start):
            if samples.shape[1] < found.start + ofdm.slot_length(kind):
                continue
            sums = np.zeros(frame, complex)
            for index, grid in enumerate(slot_grids(samples, ofdm, found)):
                weights = np.stack([pairs.weights(slot + index) for slot in range(
                    kind, frame, kinds)])
                power = max(np.mean(np.abs(grid)**2), 1e-30)
                sums[kind::kinds] += weights @ pairs.products(grid).sum(axis=0) / power
            best = np.maximum(best, np.abs(sums))
    order = (expected + np.arange(frame)) % frame
    return int(order[np.flatnonzero(best[order] >= (1 - _TIE) * best.max())[0]])


def _maxima(values, apart):
    """Return the places of the largest values, the largest first, at least ``apart`` apart."""
    values, found = values.copy(), []
    least = _LEAST_SHARE * values.max()
    while values.max() >= max(least, 1e-300):
        place = int(np.argmax(values))
        found.append(place)
        values[max(0, place - apart):place + apart] = 0
    return found


def delay_powers(samples, ofdm, pairs, found):
    """Return the power of DMRS by delay, over all layers and antennas, relative to all power.

    The slots are those that show their DMRS best. Delays are from -1/16 to 1/16 of a symbol without
    prefix. Farther on, the ports and subcarriers of DMRS are ambiguous.
    """
    grids = slot_grids(samples, ofdm, found)
    shown = [abs(pairs.correlation(grid, found.slot + index)) for index, grid in enumerate(grids)]
    step = 2 * ofdm.carrier.num_subcarriers
    delays = np.arange(-int(_LONGEST_DELAY * step), int(_LONGEST_DELAY * step) + 1)
    powers = np.zeros(len(delays))
    for index in np.argsort(shown)[-_DMRS_SLOTS:]:
        reference, received = pairs.dmrs(found.slot + index), grids[index][:, pairs.symbols]
        matched = np.einsum("plk,rlk->prlk", reference.conj(), received)
        gains = np.fft.ifft(matched, step)[..., delays]
        powers += np.sum(np.abs(gains)**2, axis=(0, 1, 2)) / max(
            np.sum(np.abs(received)**2), 1e-300)
    return powers

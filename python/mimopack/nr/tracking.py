# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel estimates of consecutive slots, which share a power-delay profile.

To learn a profile takes most of the time of :func:`estimate_channel`, but the profile of a user
hardly changes in a second. A :class:`ProfileFilter` learns it from several slots at once. A
:class:`Tracker` decides when to learn.
"""

import statistics
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..arrays import Constant, array_module, is_device_array, on_host
from ..cuda import estimation
from .estimation import LEAST_NOISE, ChannelEstimate, estimate_channel
from .noise import noise_covariance, whiten
from .profile_filter import ProfileFilter

# A profile is learned from up to so many slots, and from no fewer than LEAST_SLOTS.
MOST_SLOTS, LEAST_SLOTS = 8, 5
# After so many slots, the profile is learned again if the noise, averaged over AVERAGED slots, has
# risen by this factor since: paths that moved count as noise.
LAST_SLOT, NOISE_RISE, AVERAGED = 1000, 1.1, 100
# After AVERAGED slots it is learned again if this average has risen or fallen by this factor: the
# slots from which it was learned had a burst, or no signal.
NOISE_CHANGE = 2.0
# A slot with this multiple of the noise before it is estimated alone: its profile may have changed.
NOISE_JUMP = 2.0


@dataclass(frozen=True, eq=False)
class Channels:
    """The channels of a batch of slots.

    Attributes:
        received: (slots, nr, symbols, subcarriers), whitened.
        h, error_var: as in :class:`ChannelEstimate`, for all slots; with one symbol if all are the
            same.
        noise_var: (slots,), on the host unless it is only queued.
        estimates: list of the :class:`ChannelEstimate` of each slot.
    """

    received: np.ndarray
    h: np.ndarray
    error_var: np.ndarray
    noise_var: np.ndarray
    estimates: list

    @classmethod
    def of(cls, received, estimates):
        """Return those of slots that were estimated one by one, beside their received symbols."""
        xp = array_module(received[0])
        return cls(xp.stack(received), *(xp.stack([xp.asarray(getattr(one, name))
                                                   for one in estimates])
                                         for name in ("h", "error_var")),
                   np.array([one.noise_var for one in estimates]), estimates)


def layer_powers(h, threads=1):
    """Return the mean power of each layer: (slots, layers), from h of slots."""
    if is_device_array(h):
        return estimation.powers(h)
    rows = np.ascontiguousarray(h.reshape(len(h), -1), np.complex64)
    return _core.powers(rows, h.shape[-1], threads) * (h.shape[-1] / rows.shape[1])


def estimate_alone(received, known, users, prefix):
    """Do what :func:`estimate_channel` does with DMRS, and whiten a slot if there is interference.

    Returns:
        (received symbols, whitened; :class:`ChannelEstimate`).
    """
    weight = np.abs(known).max(axis=0) > 0
    found = estimate_channel(received, known, weight, users, prefix)
    covariance = noise_covariance(found.residual, found.degrees)
    if not np.allclose(covariance, covariance[0, 0] * np.eye(len(received))):
        received = whiten(received, covariance)
        found = estimate_channel(received, known, weight, users, prefix)
    return received, found


class Tracker:
    """Estimates the channel of consecutive slots, with the same profile as long as it holds.

    Slots are estimated alone until there are ``LEAST_SLOTS``, and if ports that share resource
    elements have different sequences. If the noise has changed, the profile is learned again from
    the next ``MOST_SLOTS``.

    Args:
        known_symbols: function that returns the DMRS (ports, symbols, subcarriers) of the slot with
            a number.
        users, prefix, threads: see :class:`ProfileFilter`.
    """

    def __init__(self, known_symbols, users, prefix, threads=1):
        self._known_symbols, self._threads = known_symbols, threads
        self._users, self._prefix = users, prefix
        self._known = self._places = self._filter = self._recent = None
        self._sequences, self._age, self._noise, self._mean, self._least = {}, 0, 0.0, 0.0, 0.0

    def forget(self):
        """Forget the profile: the next slots are those of another recording."""
        self._filter = self._recent = None
        self._age, self._noise = 0, 0.0

    def estimate(self, received, slots):
        """Estimate the channel of slots.

        Args:
            received: (slots, nr, symbols, subcarriers), NumPy or CuPy.
            slots: (slots,) their numbers in the frame.

        Returns:
            :class:`Channels`.
        """
        sequences = [self._sequence(slot) for slot in slots.tolist()]
        if any(sequence is None for sequence in sequences):
            return _joined([self._single(*slot) for slot in zip(received, slots, strict=True)])
        xp = array_module(received)
        pilots = self._pilots(received, xp.stack(
            [sequence.beside(received) for sequence in sequences]))
        results, first, since = [], 0, 0
        if self._is_old and self._recent is not None and len(self._recent) == MOST_SLOTS:
            self._filter = None
        while first < len(slots):
            if self._filter is None and not self._learn(pilots[first:]):
                results += [self._single(*slot) for slot in zip(
                    received[first:], slots[first:], strict=True)]
                break
            results += self._track(received[first:], slots[first:], pilots[first:])
            first = sum(len(channels.estimates) for channels in results)
            if self._filter is None and not self._age:    # another profile
                since = first
        keeps = self._filter is None or self._is_old
        self._recent = self._latest(pilots[since:]) if keeps else None
        return _joined(results)

    @property
    def profile(self):
        """The :class:`ProfileFilter` for the next slots; None if it has to be learned."""
        return None if self._is_old else self._filter

    @property
    def _is_old(self):
        """Tell whether the profile must be learned again."""
        if self._filter is None:
            return False
        if self._mean > NOISE_RISE * self._least and (
                self._age >= LAST_SLOT or not self._filter.modes):
            return True
        return self._age >= AVERAGED and (self._mean > NOISE_CHANGE * self._least
                                          or NOISE_CHANGE * self._mean < self._filter.noise)

    def _count(self, noise):
        """Count slots with these noise powers."""
        self._age, self._noise = self._age + len(noise), statistics.median(noise.tolist())
        self._mean += min(1.0, len(noise) / AVERAGED) * (self._noise - self._mean)
        self._least = min(self._least, self._mean)

    def queue(self, received, slots, sequences):
        """Queue the estimate of slots with the learned profile; all arrays are on a GPU.

        Args:
            received, slots: see :meth:`estimate`.
            sequences: :meth:`sequences` of the frame.

        Returns:
            (h, error_var, noise_var, factors), see :meth:`ProfileFilter.estimate`.
        """
        return self._filter.estimate(self._pilots(received, sequences.take(slots, axis=0)))

    def accepts(self, noise):
        """Return whether estimates of :meth:`queue` with such noise hold; if so, count them."""
        if noise.max() > NOISE_JUMP * self._noise:
            return False
        self._recent = None
        self._count(noise)
        return True

    def sequences(self, count):
        """Return the conjugate sequences of the DMRS of slots 0 ... count - 1: (count, elements).

        They are None if ports that share resource elements have different ones.
        """
        sequences = [self._sequence(slot) for slot in range(count)]
        if any(sequence is None for sequence in sequences):
            return None
        return np.stack([sequence.values for sequence in sequences])

    def _pilots(self, received, sequences):
        received = received.reshape(*received.shape[:2], -1)
        if is_device_array(received):
            return received.take(self._places.beside(received), axis=2) * sequences[:, None]
        return _core.pilots(np.ascontiguousarray(received, np.complex64),
                            self._places.values, sequences, self._threads)

    def _latest(self, pilots):
        """Return the last slots of those before and these, on the host."""
        pilots = on_host(pilots[-MOST_SLOTS:])
        joined = pilots if self._recent is None else np.concatenate([self._recent, pilots])
        return joined[-MOST_SLOTS:].copy()

    def _learn(self, pilots):
        """Learn the profile from the slots before and the next ones; return whether it is known."""
        pilots = self._latest(pilots[:MOST_SLOTS])
        if len(pilots) < LEAST_SLOTS:
            return False
        self._filter = ProfileFilter(pilots, self._known, self._users, self._prefix,
                                     self._threads)
        self._noise, self._age, self._recent = self._filter.noise, 0, None
        self._mean = self._least = self._noise
        return True

    def _track(self, received, slots, pilots):
        """Return a list of :class:`Channels`, until the profile is another one."""
        of = self._filter
        h, error, noise, factors = of.estimate(pilots)
        given, received = received, _multiplied(factors, received)
        noise = np.maximum(on_host(noise), LEAST_NOISE)
        degrees = of.degrees(noise)
        xp, symbols = array_module(received), received.shape[2]
        nothing = np.zeros((received.shape[1], 0), np.complex64)
        wide = xp.broadcast_to(h, (len(h), symbols, *h.shape[2:]))
        wide_error = xp.broadcast_to(error, (len(h), symbols, error.shape[2]))
        estimates = [ChannelEstimate(
            wide[slot], wide_error[slot], float(noise[slot]), of.cfo, of.doppler, nothing,
            float(degrees[slot]), of.profile) for slot in range(len(slots))]
        for slot in np.flatnonzero(noise > NOISE_JUMP * self._noise).tolist():
            if noise[slot] > NOISE_JUMP * self._noise:
                single = self._single(given[slot], slots[slot])
                if single.noise_var[0] * NOISE_JUMP < noise[slot]:
                    self._filter, self._age = None, 0
                    before = slice(0, slot)
                    return [Channels(received[before], h[before], error[before], noise[before],
                                     estimates[before]), single]
                self._noise = float(noise[slot])
        self._count(noise)
        return [Channels(received, h, error, noise, estimates)]

    def _single(self, received, slot):
        xp = array_module(received)
        whitened, estimate = estimate_alone(on_host(received), self._known_symbols(int(slot)),
                                            self._users, self._prefix)
        return Channels.of([xp.asarray(whitened)], [estimate])

    def _sequence(self, slot):
        """Return the conjugate sequence of a slot's DMRS; None if ports have different ones."""
        if slot not in self._sequences:
            known = self._known_symbols(slot)
            mask = np.abs(known).max(axis=0) > 0
            first = np.take_along_axis(known, np.argmax(known != 0, axis=0)[None], axis=0)[0]
            sequence = np.where(mask, first / np.where(mask, np.abs(first), 1), 0).conj()
            common = known * sequence
            if self._known is None:
                self._known, self._places = common, Constant(
                    np.flatnonzero(mask).astype(np.int32))
            same = np.allclose(common, self._known, atol=1e-5)
            self._sequences[slot] = Constant(sequence[mask].astype(np.complex64)) if same else None
        return self._sequences[slot]


def _multiplied(factors, received):
    """Return received symbols multiplied by a matrix for each slot; by none if it is None."""
    if factors is None:
        return received
    if is_device_array(received):
        return estimation.whitened(factors, received)
    return (factors @ received.reshape(*received.shape[:2], -1)).reshape(received.shape)


def _joined(channels):
    """Return one :class:`Channels` of a list."""
    if len(channels) == 1:
        return channels[0]
    return Channels.of([one for each in channels for one in each.received],
                       [one for each in channels for one in each.estimates])

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel estimates of consecutive slots, which share a power-delay profile.

To learn a profile takes most of the time of :func:`estimate_channel`, but the profile of a user
hardly changes in a second. A :class:`ProfileFilter` learns it from several slots at once. The gains
of each slot then follow by matrix products, since the DMRS of all slots differ only by a sequence
that all ports of a resource element share. A :class:`Tracker` decides when to learn.
"""

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..arrays import Constant, array_module, is_device_array, on_host
from ..cuda import estimation
from .estimation import (
    LEAST_NOISE,
    ChannelEstimate,
    SlotModel,
    estimate_channel,
    estimate_motion,
    time_basis,
)
from .noise import noise_covariance, noise_forms, whiten

# A profile is learned from up to so many slots, and from no fewer than LEAST_SLOTS.
MOST_SLOTS, LEAST_SLOTS = 8, 5
# After so many slots, the profile is learned again if the noise, averaged over AVERAGED slots, has
# risen by this factor since: paths that moved count as noise.
LAST_SLOT, NOISE_RISE, AVERAGED = 1000, 1.1, 100
# A slot with this multiple of the noise before it is estimated alone: its profile may have changed.
NOISE_JUMP = 2.0
NOISE_STEPS = 4    # of the noise power of a slot
_PRECISION = 3e-7    # least noise relative to the received power, in single precision
_LEAST_MODE = 0.01    # power of a mode that is kept, relative to the noise


class ProfileFilter:
    """Linear MMSE estimation of the channel of slots with a common power-delay profile.

    The model is that of :mod:`estimation`. The eigenvectors of the gains' matrix are its modes,
    which the DMRS show independently of each other. Their strength depends on the noise, they do
    not.

    Args:
        pilots: (slots, nr, elements) complex, received symbols of the elements with DMRS, times the
            conjugate of their sequence, symbol by symbol.
        known: (ports, symbols, subcarriers), the DMRS times the conjugate of their sequence.
        users, prefix: see :func:`estimate_channel`.
        threads: number of CPU threads; 0 takes all cores.

    Attributes:
        noise: noise power of the slots from which the profile was learned.
        cfo, doppler, profile: as in :class:`ChannelEstimate`.
    """

    def __init__(self, pilots, known, users, prefix, threads=1):
        self._threads = threads
        weight = np.abs(known).max(axis=0) > 0
        symbols, subcarriers = weight.shape
        received = np.zeros((pilots.shape[0] * pilots.shape[1], symbols, subcarriers), complex)
        received[:, weight] = pilots.reshape(len(received), -1)
        self.cfo, self.doppler = estimate_motion(received, known, weight, users, prefix)
        turn = np.exp(2j * np.pi * np.multiply.outer(self.cfo, np.arange(symbols)))
        basis = time_basis(self.doppler, symbols)
        model = SlotModel(received, known * turn[..., None], weight, basis, users, prefix)
        self.profile, self.noise, kept = model.learn()
        self._turn = Constant(turn.T[:, None, None].astype(np.complex64))
        self._basis = Constant(basis.astype(np.complex64))
        self._shape = basis.shape[1], subcarriers, len(known)
        self._is_constant = basis.shape[1] == 1 and not self.cfo.any()
        in_time = basis[:1] if self._is_constant else basis
        place, column = np.nonzero(weight)
        self._parts, values, spread, left_out = [], [], [], 0.0
        for ports in model.groups:
            own = kept[np.isin(model.port[kept], ports)]
            scale = np.sqrt(self.profile[model.profile[own]])
            eigen, vectors = np.linalg.eigh(scale[:, None] * model.gram(own) * scale)
            used = eigen > _LEAST_MODE * self.noise
            mixing = scale[:, None] * vectors
            # What the gains do to the DMRS: (elements, gains)
            elements = np.flatnonzero(np.abs(known[ports]).max(axis=0)[weight] > 0)
            first, second = place[elements], column[elements]
            sent = known[ports][:, first, second] * turn[ports][:, first]
            sent = sent[np.searchsorted(ports, model.port[own])]
            sent = sent * basis[first].T[model.component[own]]
            waves = np.exp(-2j * np.pi / model.count * np.outer(
                model.step[own], np.arange(subcarriers)))
            analysis = (mixing[:, used].T @ (sent * waves[:, second])).conj()
            # What the modes do to the channel: (modes, T, subcarriers, ports)
            synthesis = np.zeros((len(own), self._shape[0], subcarriers, len(ports)), complex)
            for port, name in enumerate(ports):
                mine = np.flatnonzero(model.port[own] == name)
                synthesis[mine, model.component[own[mine]], :, port] = waves[mine]
            synthesis = np.tensordot(mixing[:, used], synthesis, axes=(0, 0))
            power = np.abs(np.einsum("lt,mtkp->mlkp", in_time, synthesis))**2
            power = power.sum(axis=3)
            # All modes together have the power of all gains.
            whole = in_time[:, model.component[own]]**2 @ scale**2
            left_out = left_out + np.maximum(whole[:, None] - power.sum(axis=0), 0)
            values.append(eigen[used])
            spread.append(power)
            # There is no mode at all if the slots hold nothing but noise.
            synthesis = synthesis.reshape(
                np.count_nonzero(used), self._shape[0] * subcarriers * len(ports))
            self._parts.append([Constant(np.ascontiguousarray(values, dtype)) for values, dtype in (
                (ports, np.int32), (elements, np.int32), (analysis, np.complex64),
                (synthesis, np.complex64))])
        self._values = Constant(np.concatenate(values).astype(np.float32))
        self._spread = Constant(np.concatenate(spread).astype(np.float32))
        self._left_out = Constant(np.asarray(left_out, np.float32))
        self._count = len(place)
        self._products = list(self._host_products(pilots.shape[1]))

    def _host_products(self, antennas):
        """Yield the matrices of each part as products for the host, whose results are in order."""
        places = np.arange(self._shape[0] * self._shape[1])[:, None] * antennas * self._shape[2]
        first = 0
        for part in self._parts:
            ports, elements, analysis, synthesis = (one.values for one in part)
            modes = np.arange(first, first + len(analysis), dtype=np.int32)
            yield (_core.Product(np.ascontiguousarray(analysis.T), elements, modes),
                   _core.Product(synthesis, modes, (places + ports).ravel().astype(np.int32)))
            first += len(modes)

    def estimate(self, pilots):
        """Estimate the channel of slots; on a GPU, only queue the work.

        Args:
            pilots: see above.

        Returns:
            (h, error_var, noise_var, factors): the first three as in :class:`ChannelEstimate`, for
            all slots, with only one symbol if all are the same. factors (slots, nr, nr) whiten the
            received symbols; None if the noise of all slots is white, which remains unknown on a
            GPU. All are on the device of the pilots.
        """
        if is_device_array(pilots):
            return self._on_gpu(pilots)
        slots, antennas, _ = pilots.shape
        rows, modes = slots * antennas, len(self._values.values)
        seen = np.empty((slots, antennas, modes), np.complex64)
        flat = np.ascontiguousarray(pilots.reshape(rows, -1), np.complex64)
        for analysis, _ in self._products:
            analysis.run(flat, np.arange(rows) * modes, seen, threads=self._threads)
        noise, shrunk, share, factors = self._gains(seen, pilots)
        waves = np.empty((slots, *self._shape[:2], antennas, self._shape[2]), np.complex64)
        starts = np.add.outer(np.arange(slots) * waves[0].size,
                              np.arange(antennas) * self._shape[2]).ravel()
        flat = np.ascontiguousarray(shrunk.reshape(rows, modes), np.complex64)
        for _, synthesis in self._products:
            synthesis.run(flat, starts, waves, threads=self._threads)
        if not self._is_constant:
            waves = np.tensordot(self._basis.values, waves, axes=(1, 1)).swapaxes(0, 1)
            waves = waves * self._turn.values
        left_out, spread = self._left_out.values, self._spread.values
        error = share @ spread.reshape(len(spread), left_out.size)
        return waves, error.reshape(slots, *left_out.shape) + left_out, noise, factors

    def _on_gpu(self, pilots):
        """Queue :meth:`estimate` on a GPU."""
        ports, elements, analysis, synthesis = zip(*(
            [one.beside(pilots) for one in part] for part in self._parts), strict=True)
        values, (components, subcarriers, layers) = self._values.beside(pilots), self._shape
        mean = estimation.project(pilots, list(zip(elements, analysis, strict=True)), len(values))
        noise, share, factors = estimation.gains(
            mean, estimation.energies(pilots), values, self._count, NOISE_STEPS, _PRECISION,
            self.noise)
        waves = estimation.synthesise(mean, list(zip(ports, synthesis, strict=True)),
                                      components * subcarriers, layers)
        waves = waves.reshape(len(pilots), components, subcarriers, -1, layers)
        if not self._is_constant:
            basis = self._basis.beside(pilots)
            waves = sum(basis[:, index, None, None, None] * waves[:, index, None]
                        for index in range(components)) * self._turn.beside(pilots)
        left_out = self._left_out.beside(pilots)
        error = estimation.errors(share, self._spread.beside(pilots), left_out)
        return waves, error.reshape(len(pilots), *left_out.shape), noise, factors

    def _gains(self, seen, pilots):
        """Return the noise power of slots, the modes' mean and relative error, and the factors."""
        values = self._values.values
        energy = pilots @ pilots.conj().swapaxes(1, 2)
        noise, shrunk = self._shrunk(seen, energy)
        cross = shrunk @ seen.conj().swapaxes(1, 2)
        left = (energy - cross - cross.conj().swapaxes(1, 2)
                + (shrunk * values) @ shrunk.conj().swapaxes(1, 2))
        factors = self._whitening(left, noise, energy)
        if factors is not None:
            noise, shrunk = self._shrunk(factors @ seen, factors @ energy
                                         @ factors.conj().swapaxes(1, 2))
        return noise, shrunk, noise[:, None] / (values + noise[:, None]), factors

    def degrees(self, noise):
        """Return the degrees of freedom of slots with a noise power (slots,), on the host."""
        values = self._values.values
        return np.sum(values / (values + noise[:, None]), axis=1)

    def _whitening(self, left, noise, energy):
        """Return the factors that whiten the residuals, whose products are given; or None."""
        slots, antennas = left.shape[:2]
        free = np.maximum(self._count - self.degrees(noise), 1)[:, None, None]
        least = _PRECISION * np.trace(energy, axis1=1, axis2=2).real[:, None, None]
        forms = noise_forms((left + least * np.eye(antennas)) / free, free[:, 0, 0])
        if all(form is None for form in forms):
            return None
        factors = np.tile(np.eye(antennas, dtype=np.complex64), (slots, 1, 1))
        for factor, form in zip(factors, forms, strict=True):
            if form is not None:
                # Noise power and channel power change by the same factor: the profile holds.
                form = np.linalg.inv(np.linalg.cholesky(form))
                factor[...] = form / np.sqrt(np.mean(np.abs(form)**2) * antennas)
        return factors

    def _shrunk(self, seen, energy):
        """Return the most likely noise power of each slot, and the modes' mean with it."""
        antennas, values = seen.shape[1], self._values.values
        power = np.sum(seen.real**2 + seen.imag**2, axis=1)
        total = np.trace(energy, axis1=1, axis2=2).real
        noise = np.full(len(seen), self.noise, np.float32)
        for _ in range(NOISE_STEPS):
            weight = 1 / (values + noise[:, None])
            rest = total - np.sum(power * weight * (1 + noise[:, None] * weight), axis=1)
            freedom = self._count - np.sum(values * weight, axis=1)
            noise = np.maximum(rest / (antennas * freedom), _PRECISION * total / self._count)
        return noise, seen * (1 / (values + noise[:, None]))[:, None]


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


def layer_powers(h):
    """Return the mean power of each layer: (slots, layers), from h of slots."""
    if is_device_array(h):
        return estimation.powers(h)
    layers = h.shape[-1]
    parts = h.reshape(len(h), -1, layers).view(np.float32)    # real and imaginary ones in turns
    powers = np.einsum("snp,snp->sp", parts, parts).reshape(len(h), layers, 2).sum(axis=2)
    return powers / parts.shape[1]


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
    elements have different sequences. An old profile is learned again from the next ``MOST_SLOTS``
    if the noise has risen.

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
        return self._age >= LAST_SLOT and self._mean > NOISE_RISE * self._least

    def _count(self, noise):
        """Count slots with these noise powers."""
        self._age, self._noise = self._age + len(noise), float(np.median(noise))
        self._mean += min(1.0, len(noise) / AVERAGED) * (self._noise - self._mean)
        self._least = min(self._least, self._mean)

    def queue(self, received, slots, sequences):
        """Queue the estimate of slots with the learned profile; all arrays are on a GPU.

        Args:
            received, slots: see :meth:`estimate`.
            sequences: :meth:`sequences` of the frame.

        Returns:
            (h, error_var, noise_var, received symbols, whitened).
        """
        pilots = self._pilots(received, sequences.take(slots, axis=0))
        *found, factors = self._filter.estimate(pilots)
        return *found, _multiplied(factors, received)

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
        places = self._places.beside(received)
        return received.reshape(*received.shape[:2], -1).take(places, axis=2) * sequences[:, None]

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
                self._known, self._places = common, Constant(np.flatnonzero(mask))
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

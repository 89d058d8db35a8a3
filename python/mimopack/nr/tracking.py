# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel estimates of consecutive slots, which share a power-delay profile.

To learn a profile takes most of the time of :func:`estimate_channel`, but the profile of a user
hardly changes in a second. A :class:`ProfileFilter` learns it from several slots at once. The gains
of each slot then follow by matrix products, since the DMRS of all slots differ only by a sequence
that all ports of a resource element share. A :class:`Tracker` decides when to learn.
"""

import numpy as np

from .estimation import ChannelEstimate, SlotModel, estimate_motion, time_basis
from .noise import noise_forms

# A profile is learned from up to so many slots, and from no fewer than LEAST_SLOTS.
MOST_SLOTS, LEAST_SLOTS = 8, 5
LAST_SLOT = 1000    # after so many slots, the profile is learned again
# A slot with this multiple of the noise before it is estimated alone: its profile may have changed.
NOISE_JUMP = 2.0
NOISE_STEPS = 4    # of the noise power of a slot
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

    Attributes:
        noise: noise power of the slots from which the profile was learned.
        cfo, doppler, profile: as in :class:`ChannelEstimate`.
    """

    def __init__(self, pilots, known, users, prefix):
        weight = np.abs(known).max(axis=0) > 0
        symbols, subcarriers = weight.shape
        received = np.zeros((pilots.shape[0] * pilots.shape[1], symbols, subcarriers), complex)
        received[:, weight] = pilots.reshape(len(received), -1)
        self.cfo, self.doppler = estimate_motion(received, known, weight, users, prefix)
        turn = np.exp(2j * np.pi * np.multiply.outer(self.cfo, np.arange(symbols)))
        model = SlotModel(received, known * turn[..., None], weight,
                          time_basis(self.doppler, symbols), users, prefix)
        self.profile, self.noise, kept = model.learn()
        self._turn, self._basis = turn.T.astype(np.complex64), model.basis.astype(np.float32)
        self._shape = model.basis.shape[1], subcarriers, len(known)
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
            sent = sent * model.basis[first].T[model.component[own]]
            waves = np.exp(-2j * np.pi / model.count * np.outer(
                model.step[own], np.arange(subcarriers)))
            analysis = (mixing[:, used].T @ (sent * waves[:, second])).conj()
            # What the modes do to the channel: (modes, T, subcarriers, ports)
            synthesis = np.zeros((len(own), self._shape[0], subcarriers, len(ports)), complex)
            for port, name in enumerate(ports):
                mine = np.flatnonzero(model.port[own] == name)
                synthesis[mine, model.component[own[mine]], :, port] = waves[mine]
            synthesis = np.tensordot(mixing, synthesis, axes=(0, 0))
            power = np.abs(np.einsum("lt,mtkp->mlkp", model.basis, synthesis))**2
            power = power.sum(axis=3)
            left_out = left_out + power[~used].sum(axis=0)
            values.append(eigen[used])
            spread.append(power[used])
            self._parts.append((ports, elements, analysis.T.astype(np.complex64),
                                synthesis[used].reshape(used.sum(), -1).astype(np.complex64)))
        self._values = np.concatenate(values).astype(np.float32)
        self._left_out = np.asarray(left_out, np.float32)
        self._spread = np.concatenate(spread).reshape(len(self._values), -1).astype(np.float32)
        self._count = len(place)

    def estimate(self, pilots):
        """Estimate the channel of slots.

        Args:
            pilots: see above.

        Returns:
            (list of :class:`ChannelEstimate` without residuals, list of the factors (nr, nr) that
            whiten the received symbols of each slot; None where the noise is white).
        """
        slots, antennas, _ = pilots.shape
        seen = np.concatenate([pilots[..., elements] @ analysis
                               for _, elements, analysis, _ in self._parts], axis=2)
        energy = pilots @ pilots.conj().swapaxes(1, 2)
        noise, shrunk = self._shrunk(seen, energy)
        cross = shrunk @ seen.conj().swapaxes(1, 2)
        left = (energy - cross - cross.conj().swapaxes(1, 2)
                + (shrunk * self._values) @ shrunk.conj().swapaxes(1, 2))
        degrees = np.sum(self._values / (self._values + noise[:, None]), axis=1)
        factors = [None] * slots
        free = np.maximum(self._count - degrees, 1)
        for slot, form in enumerate(noise_forms(left / free[:, None, None], free)):
            if form is not None:
                # Noise power and channel power change by the same factor: the profile holds.
                inverse = np.linalg.inv(np.linalg.cholesky(form))
                inverse /= np.sqrt(np.mean(np.abs(inverse)**2) * antennas)
                factors[slot] = inverse = inverse.astype(np.complex64)
                seen[slot] = inverse @ seen[slot]
                energy[slot] = inverse @ energy[slot] @ inverse.conj().T
        if any(factor is not None for factor in factors):
            noise, shrunk = self._shrunk(seen, energy)
        waves = np.empty((slots, antennas, *self._shape), np.complex64)
        first = 0
        for ports, _, _, synthesis in self._parts:
            own = shrunk[..., first:first + len(synthesis)]
            waves[..., ports] = (own.reshape(-1, len(synthesis)) @ synthesis).reshape(
                slots, antennas, *self._shape[:2], -1)
            first += len(synthesis)
        h = self._in_time(np.moveaxis(waves, 1, 3))
        error = (noise[:, None] / (self._values + noise[:, None])) @ self._spread
        error = error.reshape(slots, *self._left_out.shape) + self._left_out
        nothing = np.zeros((antennas, 0), np.complex64)
        return [ChannelEstimate(*parts, self.cfo, self.doppler, nothing, count, self.profile)
                for *parts, count in zip(h, error, noise.tolist(), degrees.tolist(), strict=True)
                ], factors

    def _in_time(self, waves):
        """Return h (slots, symbols, subcarriers, nr, ports) of components in time."""
        constant = self._shape[0] == 1 and not self.cfo.any()
        if constant:
            h = np.ascontiguousarray(waves[:, 0])[:, None]
            return np.broadcast_to(h, (len(h), len(self._basis), *h.shape[2:]))
        h = np.tensordot(self._basis, waves, axes=(1, 1)).swapaxes(0, 1)
        return h * self._turn[:, None, None]

    def _shrunk(self, seen, energy):
        """Return the most likely noise power of each slot, and the modes' mean with it."""
        antennas = seen.shape[1]
        power = np.sum(seen.real**2 + seen.imag**2, axis=1)
        total = np.trace(energy, axis1=1, axis2=2).real
        noise = np.full(len(seen), self.noise, np.float32)
        for _ in range(NOISE_STEPS):
            weight = 1 / (self._values + noise[:, None])
            rest = total - np.sum(power * weight * (1 + noise[:, None] * weight), axis=1)
            freedom = self._count - np.sum(self._values * weight, axis=1)
            noise = np.maximum(rest / (antennas * freedom), 1e-9 * total / self._count)
        return noise, seen * (1 / (self._values + noise[:, None]))[:, None]


class Tracker:
    """Estimates the channel of consecutive slots, with the same profile as long as it holds.

    Slots are estimated alone until there are ``LEAST_SLOTS``, and if ports that share resource
    elements have different sequences.

    Args:
        known_symbols: function that returns the DMRS (ports, symbols, subcarriers) of the slot with
            a number.
        alone: function of (received, known) that returns a slot's (received symbols, whitened;
            :class:`ChannelEstimate`).
        users, prefix: see :func:`estimate_channel`.
    """

    def __init__(self, known_symbols, alone, users, prefix):
        self._known_symbols, self._alone = known_symbols, alone
        self._users, self._prefix = users, prefix
        self._known = self._filter = self._recent = None
        self._sequences, self._age, self._noise = {}, 0, 0.0

    def estimate(self, received, slots):
        """Estimate the channel of slots.

        Args:
            received: (slots, nr, symbols, subcarriers).
            slots: (slots,) their numbers in the frame.

        Returns:
            list of (received symbols of a slot, whitened; its :class:`ChannelEstimate`).
        """
        sequences = [self._sequence(slot) for slot in slots]
        if any(sequence is None for sequence in sequences):
            return [self._single(*slot) for slot in zip(received, slots, strict=True)]
        mask = np.abs(self._known).max(axis=0) > 0
        pilots = received[..., mask] * np.stack(sequences)[:, None]
        results, since = [], 0
        while len(results) < len(slots):
            first = len(results)
            if self._filter is None and not self._learn(pilots[first:]):
                results += [self._single(*slot) for slot in zip(
                    received[first:], slots[first:], strict=True)]
                break
            part = slice(first, min(len(slots), first + LAST_SLOT - self._age))
            results += self._track(received[part], slots[part], pilots[part])
            if self._recent is None:    # another profile
                since = len(results)
        self._recent = self._joined(pilots[since:])
        return results

    def _joined(self, pilots):
        joined = pilots if self._recent is None else np.concatenate([self._recent, pilots])
        return joined[-MOST_SLOTS:].copy()

    def _learn(self, pilots):
        """Learn the profile from the slots before and the next ones; return whether it is known."""
        pilots = self._joined(pilots[:MOST_SLOTS])
        if len(pilots) < LEAST_SLOTS:
            return False
        self._filter = ProfileFilter(pilots, self._known, self._users, self._prefix)
        self._noise, self._age = self._filter.noise, 0
        return True

    def _track(self, received, slots, pilots):
        """Return the results of the first slots, until the profile is another one."""
        estimates, factors = self._filter.estimate(pilots)
        self._age += len(slots)
        results = []
        for slot, (estimate, factor) in enumerate(zip(estimates, factors, strict=True)):
            symbols = received[slot]
            if estimate.noise_var > NOISE_JUMP * self._noise:
                single = self._single(symbols, slots[slot])
                if single[1].noise_var * NOISE_JUMP < estimate.noise_var:
                    self._filter = self._recent = None
                    return [*results, single]
            self._noise = estimate.noise_var
            if factor is not None:
                symbols = np.tensordot(factor, symbols, axes=1)
            results.append((symbols, estimate))
        if self._age >= LAST_SLOT:
            self._filter = None
        return results

    def _single(self, received, slot):
        return self._alone(received, self._known_symbols(slot))

    def _sequence(self, slot):
        """Return the conjugate sequence of a slot's DMRS; None if ports have different ones."""
        if slot not in self._sequences:
            known = self._known_symbols(slot)
            mask = np.abs(known).max(axis=0) > 0
            first = np.take_along_axis(known, np.argmax(known != 0, axis=0)[None], axis=0)[0]
            sequence = np.where(mask, first / np.where(mask, np.abs(first), 1), 0).conj()
            common = known * sequence
            if self._known is None:
                self._known = common
            same = np.allclose(common, self._known, atol=1e-5)
            self._sequences[slot] = sequence[mask].astype(np.complex64) if same else None
        return self._sequences[slot]

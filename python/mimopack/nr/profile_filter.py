# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel estimates of slots by matrices that are made once from their power-delay profile.

The gains of each slot follow by matrix products, since the DMRS of all slots differ only by a
sequence that all ports of a resource element share.
"""

import numpy as np

from .. import _core
from ..arrays import Constant, is_device_array
from ..cuda import estimation
from ..cuda.graphs import side_by_side
from .estimation import SlotModel, estimate_motion, time_basis
from .noise import noise_forms

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
        modes: number of modes; 0 if these slots had no signal.
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
        self.modes = len(self._values.values)
        self._spread = Constant(np.concatenate(spread).astype(np.float32))
        self._left_out = Constant(np.asarray(left_out, np.float32))
        self._count = len(place)
        self._analysis, self._synthesis, self._errors = self._host_products(pilots.shape[1])

    def _host_products(self, antennas):
        """Return the products for the host: both matrices of all parts, and the error of the modes.

        A complex column of the errors' matrix holds two real ones; the last may hold one and zeros.
        """
        places = np.arange(self._shape[0] * self._shape[1])[:, None] * antennas * self._shape[2]
        there, back, first = [], [], 0
        for part in self._parts:
            ports, elements, analysis, synthesis = (one.values for one in part)
            modes = np.arange(first, first + len(analysis), dtype=np.int32)
            there.append((np.ascontiguousarray(analysis.T), elements, modes))
            back.append((synthesis, modes, (places + ports).ravel().astype(np.int32)))
            first += len(modes)
        size = self._left_out.values.size
        spread = np.zeros((first, size + size % 2), np.float32)
        spread[:, :size] = self._spread.values.reshape(first, size)
        modes, pairs = (np.arange(count, dtype=np.int32) for count in (first, -(-size // 2)))
        errors = _core.Product([(spread.view(np.complex64), modes, pairs)])
        return _core.Product(there), _core.Product(back), errors

    def estimate(self, pilots):
        """Estimate the channel of slots; on a GPU, only queue the work.

        Args:
            pilots: see above; complex64, C-contiguous.

        Returns:
            (h, error_var, noise_var, factors): the first three as in :class:`ChannelEstimate`, for
            all slots, with only one symbol if all are the same. factors (slots, nr, nr) whiten the
            received symbols; None if the noise of all slots is white, which remains unknown on a
            GPU. All are on the device of the pilots.
        """
        if is_device_array(pilots):
            return self._on_gpu(pilots)
        slots, antennas, _ = pilots.shape
        rows, modes = slots * antennas, self.modes
        seen = np.empty((slots, antennas, modes), np.complex64)
        self._analysis.run(pilots.reshape(rows, -1), np.arange(rows) * modes, seen,
                           threads=self._threads)
        noise, shrunk, share, factors = self._gains(seen, pilots)
        waves = np.empty((slots, *self._shape[:2], antennas, self._shape[2]), np.complex64)
        starts = np.add.outer(np.arange(slots) * waves[0].size,
                              np.arange(antennas) * self._shape[2]).ravel()
        flat = np.ascontiguousarray(shrunk.reshape(rows, modes), np.complex64)
        self._synthesis.run(flat, starts, waves, threads=self._threads)
        if not self._is_constant:
            waves = np.tensordot(self._basis.values, waves, axes=(1, 1)).swapaxes(0, 1)
            waves = waves * self._turn.values
        left_out = self._left_out.values
        pairs = -(-left_out.size // 2)
        error = np.empty((slots, pairs), np.complex64)
        self._errors.run(share.astype(np.complex64), np.arange(slots) * pairs, error,
                         threads=self._threads)
        error = error.view(np.float32)[:, :left_out.size].reshape(slots, *left_out.shape) + left_out
        return waves, error, noise, factors

    def _on_gpu(self, pilots):
        """Queue :meth:`estimate` on a GPU."""
        ports, elements, analysis, synthesis = zip(*(
            [one.beside(pilots) for one in part] for part in self._parts), strict=True)
        values, (components, subcarriers, layers) = self._values.beside(pilots), self._shape
        left_out, spread = self._left_out.beside(pilots), self._spread.beside(pilots)
        mean, energy = side_by_side(
            lambda: estimation.project(pilots, list(zip(elements, analysis, strict=True)),
                                       len(values)),
            lambda: estimation.energies(pilots))
        noise, share, factors = estimation.gains(
            mean, energy, values, self._count, NOISE_STEPS, _PRECISION, self.noise)
        waves, error = side_by_side(
            lambda: estimation.synthesise(mean, list(zip(ports, synthesis, strict=True)),
                                          components * subcarriers, layers),
            lambda: estimation.errors(share, spread, left_out))
        waves = waves.reshape(len(pilots), components, subcarriers, -1, layers)
        if not self._is_constant:
            basis = self._basis.beside(pilots)
            waves = sum(basis[:, index, None, None, None] * waves[:, index, None]
                        for index in range(components)) * self._turn.beside(pilots)
        return waves, error.reshape(len(pilots), *left_out.shape), noise, factors

    def _gains(self, seen, pilots):
        """Return the noise power of slots, the modes' mean and relative error, and the factors."""
        values = self._values.values
        energy = _core.gram(pilots, self._threads)
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
            freedom = np.maximum(self._count - np.sum(values * weight, axis=1), 1)
            noise = np.maximum(rest / (antennas * freedom), _PRECISION * total / self._count)
        return noise, seen * (1 / (values + noise[:, None]))[:, None]

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel, noise, carrier offset and Doppler spread from the known symbols of a slot.

Model of the channel of port p to receive antenna r, on subcarrier k of OFDM symbol l:

    h_rp(l, k) = exp(j 2 pi f_p l) sum_d sum_t B(l, t) a_rpdt exp(-j 2 pi k tau_d)

The delays tau_d are a fine grid that covers the cyclic prefix. The columns of B describe how the
channel changes within a slot: one constant column, or a few if there is a Doppler spread. f_p is
the carrier offset of the port's user. The gains a_rpdt are independent and Gaussian; their variance
gamma_d is the user's power-delay profile. The profile and the noise power are those which make the
received symbols most likely (sparse Bayesian learning); the gains then follow by linear MMSE
estimation for all ports and symbols together. Few delays of the grid keep any power, so the
estimate's error is small. Ports that share resource elements (code division) need no despreading.
"""

from dataclasses import dataclass

import numpy as np

# The delays of the model, as parts of the cyclic prefix: the slot may begin a little later than the
# receiver believes, or earlier.
FIRST_DELAY, LAST_DELAY = -0.3, 1.1
# Delays per resolution cell (the inverse of the bandwidth). With one, the channel of a path between
# two delays needs many gains; with four the error is no smaller.
OVERSAMPLING = 2
# A delay is left out if the power it adds to a matched filter's output is less than this multiple
# of the noise's. From 0.03 to 1 the error hardly changes; 1 is the fastest.
LEAST_POWER = 1.0
STEPS = 15    # of the power-delay profile; the error does not change after about 10
# Doppler frequencies that are tried, in cycles per OFDM symbol
_DOPPLERS = (0.0, 0.003, 0.006, 0.012, 0.024, 0.048)
# Gain in log-likelihood that a carrier offset and a Doppler spread must bring
_LEAST_GAIN = 6.0
_LEAST_EIGENVALUE = 1e-3    # of the correlation in time, relative to the sum of all
_LEAST_GAMMA = 1e-3    # of a user's strongest delay, relative to LEAST_POWER
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class ChannelEstimate:
    """The channel of all ports in one slot, within the allocation.

    Attributes:
        h: (symbols, subcarriers, nr, ports) complex64.
        error_var: (symbols, subcarriers) float32, expected squared error of h on one antenna,
            added over the ports.
        noise_var: noise power per antenna and resource element.
        cfo: (ports,) carrier offset in cycles per OFDM symbol.
        doppler: Doppler frequency of the model in cycles per OFDM symbol; 0 for a constant channel.
        residual: (nr, elements) complex64, what the estimate leaves of the known symbols.
        degrees: number of gains that the elements of each antenna determine.
        profile: power of each gain, for all users one after another: their power-delay profiles.
    """

    h: np.ndarray
    error_var: np.ndarray
    noise_var: float
    cfo: np.ndarray
    doppler: float
    residual: np.ndarray
    degrees: float
    profile: np.ndarray


class _Gains:
    """The linear model of a slot, and the gains' posterior distribution.

    An unknown is the gain of (port, component in time, delay), in this order. ``profile`` is the
    index of an unknown's variance: all ports of a user have the same power-delay profile.

    Args:
        received: (nr, symbols, subcarriers).
        known: (ports, symbols, subcarriers), 0 where nothing is known.
        weight: (symbols, subcarriers), 0 where a resource element is not used; else the inverse of
            the noise power, up to a common factor.
        basis: (symbols, T), the matrix B.
        users: (ports,) integers.
        prefix: length of the cyclic prefix, in OFDM symbols without prefix.
    """

    def __init__(self, received, known, weight, basis, users, prefix):
        used = np.flatnonzero(weight.any(axis=0))
        self.received, self.known, self.weight, self.basis = received, known, weight, basis
        count = max(OVERSAMPLING * int(used[-1] - used[0] + 1), known.shape[2])
        steps = np.arange(int(np.floor(FIRST_DELAY * prefix * count)),
                          int(np.ceil(LAST_DELAY * prefix * count)) + 1)
        ports, components = len(known), basis.shape[1]
        self.delays, size = steps / count, len(steps)
        in_time = known[:, None] * basis.T[:, :, None]    # (ports, T, symbols, subcarriers)
        # Matched filter: A^H W y
        matched = np.einsum("ptlk,rlk->ptrk", in_time.conj(), weight * received, optimize=True)
        self.projection = np.fft.ifft(matched, count, norm="forward")[..., steps].swapaxes(
            2, 3).reshape(-1, len(received))
        # A^H W A; within a pair of ports and components, it depends on the difference of delays
        products = np.fft.ifft(
            np.einsum("ptlk,qulk->pqtuk", in_time.conj(), weight * in_time, optimize=True),
            count, norm="forward")
        difference = steps[:, None] - steps
        self.gram = products[..., difference].transpose(0, 2, 4, 1, 3, 5).reshape(
            2 * (ports * components * size,))
        # Ports without common resource elements are solved one after another.
        linked = np.linalg.matrix_power(np.abs(products).max(axis=(2, 3, 4)) > 0, ports)
        self._groups = [np.flatnonzero(row) for row in np.unique(linked, axis=0)]
        names = np.unique(users, return_inverse=True)[1]
        self.profile = np.broadcast_to(
            size * names[:, None, None] + np.arange(size), (ports, components, size)).ravel()
        self.num_profile = size * (names.max() + 1)
        self.port, self.component, self.step = (places.ravel() for places in np.indices(
            (ports, components, size)))
        self.energy = np.sum(weight * np.abs(received)**2)
        self.elements = np.count_nonzero(weight)

    def solve(self, gamma, noise, kept):
        """Return the mean (gains, nr), the covariance blocks and the degrees of freedom.

        Args:
            gamma: variance of the gains by ``profile``.
            noise: noise power where the weight is 1.
            kept: sorted indices of the unknowns that are not 0.
        """
        mean = np.zeros((len(kept), len(self.received)), complex)
        degrees, blocks = np.zeros(len(kept)), []
        for ports in self._groups:
            own = np.flatnonzero(np.isin(self.port[kept], ports))
            if not len(own):
                continue
            scale, places = np.sqrt(gamma[self.profile[kept[own]]] / noise), kept[own]
            matrix = scale[:, None] * self.gram[np.ix_(places, places)] * scale
            matrix.flat[::len(own) + 1] += 1
            inverse = np.linalg.inv(matrix)
            covariance = noise * scale[:, None] * inverse * scale
            mean[own] = covariance @ self.projection[places] / noise
            degrees[own] = 1 - np.diag(inverse).real
            blocks.append((own, covariance))
        return mean, blocks, degrees

    def learn(self, noise=None, gamma=None):
        """Find the power-delay profiles, and the noise power if it is not given.

        Each step is MacKay's update of gamma and noise (M. E. Tipping, Sparse Bayesian Learning and
        the Relevance Vector Machine, Journal of Machine Learning Research 1, 2001), with all
        antennas as observations of the same profile (D. P. Wipf, B. D. Rao, IEEE Transactions on
        Signal Processing 55 (7), 2007).

        Returns:
            (gamma, noise, kept) as for :meth:`solve`.
        """
        antennas = len(self.received)
        power = self.energy / (self.elements * antennas)
        gain = np.diag(self.gram).real.max()
        fixed = noise is not None
        if not fixed:
            noise = 0.1 * power
        if gamma is None:
            gamma = np.full(self.num_profile, power * self.elements / gain / len(self.delays))
        kept = np.flatnonzero(gamma[self.profile] > 0)
        for _ in range(STEPS):
            mean, _, degrees = self.solve(gamma, noise, kept)
            profile = self.profile[kept]
            energy = np.bincount(profile, np.sum(np.abs(mean)**2, axis=1), self.num_profile)
            freedom = np.bincount(profile, antennas * degrees, self.num_profile)
            gamma = energy / np.maximum(freedom, _TINY)
            if not fixed:
                fitted = mean.conj() * (self.gram[np.ix_(kept, kept)] @ mean
                                        - 2 * self.projection[kept])
                rest = self.energy + fitted.real.sum()
                noise = max(rest / (antennas * max(self.elements - degrees.sum(), 1)),
                            1e-9 * power)
            strongest = np.argmax(gamma)    # stays even if there is nothing but noise
            gamma[gamma * gain < LEAST_POWER * noise] = 0
            gamma[strongest] = max(gamma[strongest], _LEAST_GAMMA * noise / gain)
            kept = kept[gamma[profile] > 0]
        return gamma, noise, kept

    def channel(self, mean, blocks, kept):
        """Return h without carrier offset, and its error variance, as in ChannelEstimate."""
        subcarriers = np.arange(self.known.shape[2])
        waves = np.exp(-2j * np.pi * np.outer(subcarriers, self.delays[self.step[kept]]))
        in_time = self.basis[:, self.component[kept]]
        h = np.stack([np.einsum("lg,kg,gr->lkr", in_time[:, own], waves[:, own], mean[own],
                                optimize=True)
                      for own in (self.port[kept] == port for port in range(len(self.known)))],
                     axis=-1)
        error = np.zeros(h.shape[:2])
        for own, covariance in blocks:
            for port in np.unique(self.port[kept[own]]):
                part = np.flatnonzero(self.port[kept[own]] == port)
                error += _quadratic(in_time[:, own[part]], waves[:, own[part]],
                                    covariance[np.ix_(part, part)])
        return h, error


def _quadratic(in_time, waves, covariance):
    """Return v^H C v for each (symbol, subcarrier), where v is in_time * waves: real."""
    rows = np.unique(in_time, axis=0, return_inverse=True)
    values = np.stack([np.sum((waves * row @ covariance) * (waves * row).conj(), axis=1).real
                       for row in rows[0]])
    return values[rows[1].ravel()]


def time_basis(doppler, symbols):
    """Return the matrix B: (symbols, T) whose B B^T is Jakes' correlation J_0(2 pi f_D (l - l')).

    Args:
        doppler: f_D in cycles per OFDM symbol; 0 gives one column of ones.
        symbols: number of OFDM symbols.
    """
    values, vectors = np.linalg.eigh(_correlation(doppler, np.arange(symbols)))
    kept = values > _LEAST_EIGENVALUE * symbols
    return vectors[:, kept] * np.sqrt(values[kept])


def _correlation(doppler, times):
    # The mean over all directions of arrival; 32 of them suffice for float64 in a slot.
    directions = np.cos(np.pi * (np.arange(32) + 0.5) / 32)
    phases = 2 * np.pi * doppler * np.subtract.outer(times, times)
    return np.cos(phases[..., None] * directions).mean(axis=-1)


def estimate_motion(received, known, weight, users, prefix):
    """Estimate the carrier offset of each user and the Doppler frequency, from DMRS of one slot.

    Adjacent symbols with DMRS count as one instant: codes in time separate their ports. The gains
    of each instant are estimated independently; the offset and the Doppler frequency maximise their
    likelihood. An offset is unambiguous up to half a cycle between two instants.

    Args:
        received, known, weight, users, prefix: see :func:`estimate_channel`.

    Returns:
        ((ports,) offset, Doppler frequency), in cycles per OFDM symbol; zeros with fewer than two
        instants.
    """
    symbols = np.flatnonzero(weight.any(axis=1))
    instants = np.split(symbols, np.flatnonzero(np.diff(symbols) > 1) + 1)
    offsets = np.zeros(len(known))
    if len(instants) < 2:
        return offsets, 0.0
    times = np.array([instant.mean() for instant in instants])
    apart = np.zeros((len(received[0]), len(instants)))
    for index, instant in enumerate(instants):
        apart[instant, index] = 1
    model = _Gains(received, known, weight, apart, users, prefix)
    gamma, noise, kept = model.learn()
    limit = 0.5 / np.diff(times).min()
    candidates = np.linspace(-limit, limit, 4 * int(np.ptp(times) / np.diff(times).min() * 16) + 1)
    likelihood = np.zeros(len(_DOPPLERS))
    for user in np.unique(users):
        own = kept[np.isin(model.port[kept], np.flatnonzero(users == user))]
        modes = _modes(model, own, gamma, noise, len(instants))
        table = _likelihoods(*modes, times, candidates)
        best = np.unravel_index(np.argmax(table), table.shape)
        zero = len(candidates) // 2
        if table[best] < table[:, zero].max() + _LEAST_GAIN:
            best = best[0], zero
        offsets[users == user] = _peak(candidates, table[best[0]], best[1])
        likelihood += table[:, best[1]]
    choice = int(np.argmax(likelihood))
    return offsets, _DOPPLERS[choice] if likelihood[choice] > likelihood[0] + _LEAST_GAIN else 0.0


def _modes(model, own, gamma, noise, instants):
    """Return observations (modes, instants, nr) with covariance s R + I, and s (modes,).

    R is the correlation between instants, s the SNR of a mode: the eigenvectors of the model's
    matrix, the same for all instants.
    """
    first = own[model.component[own] == 0]
    scale = np.sqrt(gamma[model.profile[first]] / noise)
    size = len(model.delays)
    gram = sum(model.gram[np.ix_(first + shift * size, first + shift * size)]
               for shift in range(instants)) / instants
    values, vectors = np.linalg.eigh(scale[:, None] * gram * scale)
    used = values > 0.1
    seen = np.stack([vectors[:, used].conj().T @ (
        scale[:, None] * model.projection[first + shift * size]) for shift in range(instants)],
        axis=1) / np.sqrt(noise * values[used])[:, None, None]
    return seen, values[used]


def _likelihoods(seen, values, times, offsets):
    """Return the log-likelihood of (Doppler frequency, carrier offset)."""
    turned = np.exp(-2j * np.pi * np.outer(offsets, times))
    table = np.empty((len(_DOPPLERS), len(offsets)))
    for row, doppler in zip(table, _DOPPLERS, strict=True):
        covariance = values[:, None, None] * _correlation(doppler, times) + np.eye(len(times))
        inverse = np.linalg.inv(covariance)
        # sum over modes and antennas of x^H C^-1 x, with x turned back by the offset
        weighted = np.einsum("mir,mij,mjr->ij", seen.conj(), inverse, seen)
        row[:] = -np.einsum("fi,ij,fj->f", turned.conj(), weighted, turned).real
        row -= seen.shape[2] * np.linalg.slogdet(covariance)[1].sum()
    return table


def _peak(places, values, index):
    """Return where the parabola through the largest value and its neighbours is largest."""
    if not 0 < index < len(places) - 1 or places[index] == 0:
        return places[index]
    before, top, after = values[index - 1:index + 2]
    step = places[1] - places[0]
    return places[index] + 0.5 * step * (before - after) / (before - 2 * top + after)


def estimate_channel(received, known, weight, users=None, prefix=0.07, *, noise=None, cfo=None,
                     doppler=None, profile=None):
    """Estimate the channel of all ports in one slot, within the allocation.

    Args:
        received: (nr, symbols, subcarriers) complex.
        known: (ports, symbols, subcarriers) complex, the symbols that each port sends where they
            are known, as DMRS are; 0 elsewhere. Or the expected symbols after a first detection.
        weight: (symbols, subcarriers), 0 where the received symbol is not used; else the inverse of
            the noise power up to a common factor, 1 for DMRS.
        users: (ports,) integers, the same for ports of the same user; None for one user.
        prefix: length of the cyclic prefix, in OFDM symbols without prefix.
        noise: noise power where the weight is 1; None to estimate it.
        cfo, doppler: as :func:`estimate_motion` returns them; None to estimate them.
        profile: power-delay profiles of another estimate of the same slot, from which the search
            begins; None for the same power at all delays.

    Returns:
        :class:`ChannelEstimate`.
    """
    users = np.zeros(len(known), int) if users is None else np.asarray(users)
    if cfo is None or doppler is None:
        found = estimate_motion(received, known, weight, users, prefix)
        cfo = found[0] if cfo is None else cfo
        doppler = found[1] if doppler is None else doppler
    symbols = received.shape[1]
    turn = np.exp(2j * np.pi * np.multiply.outer(cfo, np.arange(symbols)))    # (ports, symbols)
    model = _Gains(received, known * turn[..., None], weight, time_basis(doppler, symbols), users,
                   prefix)
    gamma, noise, kept = model.learn(noise, profile)
    mean, blocks, degrees = model.solve(gamma, noise, kept)
    h, error = model.channel(mean, blocks, kept)
    h = h * turn.T[:, None, None]
    used = weight > 0
    fitted = np.einsum("erp,pe->re", h[used], known[:, used])
    return ChannelEstimate(
        h.astype(np.complex64), error.astype(np.float32), float(noise), np.asarray(cfo), doppler,
        (received[:, used] - fitted).astype(np.complex64), float(degrees.sum()), gamma)

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

from ..checks import positive

# The delays of the model, as parts of the cyclic prefix: the slot may begin a little later than the
# receiver believes, or earlier.
FIRST_DELAY, LAST_DELAY = -0.3, 1.3
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
# Part of the known symbols that the gains must leave to the noise, so that motion can be told
_LEAST_REST = 0.1
_LEAST_EIGENVALUE = 1e-3    # of the correlation in time, relative to the sum of all
# Power at a delay over that of noise, with which the search for the profile begins
_LEAST_HEARD = 1.3
_LEAST_GAMMA = 1e-3    # of a user's strongest delay, relative to LEAST_POWER
_TINY = 1e-12
# Least number of known symbols that the gains leave to the noise, relative to all, and least noise
# power, relative to the received one: far below, the matrices of so many gains are not inverted
# precisely.
_LEAST_FREE, _LEAST_NOISE = 1e-4, 1e-7
LEAST_NOISE = 1e-30    # power, of a slot of zeros


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
        profile: (users * delays,) float, power of each gain, for all users one after another: their
            power-delay profiles.
    """

    h: np.ndarray
    error_var: np.ndarray
    noise_var: float
    cfo: np.ndarray
    doppler: float
    residual: np.ndarray
    degrees: float
    profile: np.ndarray


class SlotModel:
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

    Attributes:
        groups: list of the ports, int arrays, that share resource elements.
    """

    def __init__(self, received, known, weight, basis, users, prefix):
        used = np.flatnonzero(weight.any(axis=0))
        self.basis, self.antennas, self.subcarriers = basis, len(received), known.shape[2]
        # Delays are multiples of a symbol's part 1 / count.
        self.count = OVERSAMPLING * self.subcarriers
        steps = np.arange(int(np.floor(FIRST_DELAY * prefix * self.count)),
                          int(np.ceil(LAST_DELAY * prefix * self.count)) + 1)
        ports, components, size = len(known), basis.shape[1], len(steps)
        names = np.unique(users, return_inverse=True)[1]
        self.num_delays, self.num_profile = size, size * (names.max() + 1)
        shape = ports, components, size
        self.port, self.component, places = (each.ravel() for each in np.indices(shape))
        self.step, self.profile = steps[places], size * names[self.port] + places
        rows = weight.any(axis=1)    # leave out the symbols that have no weight
        received, known, weight = received[:, rows], known[:, rows], weight[rows]
        self.energy, self.elements = np.sum(weight * np.abs(received)**2), np.count_nonzero(weight)

        in_time = known[:, None] * basis.T[:, rows, None]    # (ports, T, symbols, subcarriers)
        # Matched filter, A^H W y, before its transform: (ports, T, nr, subcarriers)
        matched = np.einsum("ptlk,rlk->ptrk", in_time.conj(), weight * received, optimize=True)
        self.projection, power = self._spectra(matched, known.any(axis=1), used, steps)
        self._heard = _above_noise(power, names)[:, steps].ravel()
        # A^H W A; within a pair of ports and components, it depends on the difference of delays
        self._products = np.fft.ifft(
            np.einsum("ptlk,qulk->pqtuk", in_time.conj(), weight * in_time, optimize=True),
            self.count, norm="forward")
        self.gain = np.einsum("pptt->pt", self._products[..., 0]).real.max()
        # Ports, or components, without common resource elements are solved one after another.
        linked = (self._products != 0).any(axis=4)
        self.groups = _groups(linked.any(axis=(2, 3)))
        pairs = ports * components
        self._apart = _groups(linked.swapaxes(1, 2).reshape(pairs, pairs))

    def _spectra(self, matched, sent, used, steps):
        """Return A^H W y: (gains, nr), and the power of each port: (ports, count).

        The power is that with a taper. Without it, a path leaks to all delays.
        """
        taper = np.zeros(self.subcarriers)
        taper[used[0]:used[-1] + 1] = np.hanning(used[-1] - used[0] + 3)[1:-1]
        projection, powers = [], []
        for values, comb in zip(matched, sent, strict=True):
            # The spectrum of a comb, as DMRS are, repeats itself.
            first = np.argmax(comb)
            pitch = np.gcd.reduce(np.diff(np.flatnonzero(comb)), initial=self.count)
            values, period = values[..., first::pitch], self.count // pitch
            spectra = np.fft.ifft(values, period, norm="forward")[..., steps % period]
            spectra *= np.exp(2j * np.pi * first / self.count * steps)
            projection.append(spectra.swapaxes(1, 2))    # (T, delays, nr)
            spectra = np.fft.ifft(values * taper[first::pitch], period)
            power = np.sum(spectra.real**2 + spectra.imag**2, axis=(0, 1))
            powers.append(np.tile(power, pitch))
        return np.reshape(projection, (-1, self.antennas)), np.stack(powers)

    def gram(self, places):
        """Return the rows and columns of A^H W A of some unknowns."""
        pairs = [(each[places][:, None], each[places]) for each in (
            self.port, self.component, self.step)]
        (first, second), components, (step, other) = pairs
        return self._products[first, second, components[0], components[1],
                              (step - other) % self.count]

    def solve(self, gamma, noise, kept):
        """Return the gains' posterior distribution.

        Args:
            gamma: variance of the gains by ``profile``.
            noise: noise power where the weight is 1.
            kept: sorted indices of the unknowns that are not 0.

        Returns:
            (mean (gains, nr), [(index of the gains, their covariance, their A^H W A)], degrees of
            freedom of each gain).
        """
        mean = np.zeros((len(kept), self.antennas), complex)
        degrees, blocks, inverses = np.zeros(len(kept)), [], []
        pair = self.port[kept] * self.basis.shape[1] + self.component[kept]
        for group in self._apart:
            own = np.flatnonzero(np.isin(pair, group))
            if not len(own):
                continue
            places = kept[own]
            gram, scale = self.gram(places), np.sqrt(gamma[self.profile[places]] / noise)
            matrix = scale[:, None] * gram * scale
            matrix.flat[::len(own) + 1] += 1
            # Instants whose DMRS differ only by their sequence have the same matrix.
            inverse = next((each for before, each in inverses if np.array_equal(before, matrix)),
                           None)
            if inverse is None:
                inverse = np.linalg.inv(matrix)
                inverses.append((matrix, inverse))
            covariance = noise * scale[:, None] * inverse * scale
            mean[own] = covariance @ self.projection[places] / noise
            degrees[own] = 1 - np.diag(inverse).real
            blocks.append((own, covariance, gram))
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
        power = self.energy / (self.elements * self.antennas)
        fixed = noise is not None
        if not fixed:
            noise = 0.1 * power
        if gamma is None:
            gamma = np.where(self._heard, power * self.elements / self.gain / self.num_delays, 0)
        for user in np.arange(0, self.num_profile, self.num_delays):    # none without any delay
            if not gamma[user:user + self.num_delays].any():
                gamma[user] = _LEAST_GAMMA * noise / self.gain
        kept = np.flatnonzero(gamma[self.profile] > 0)
        for _ in range(STEPS):
            mean, blocks, degrees = self.solve(gamma, noise, kept)
            profile = self.profile[kept]
            energy = np.bincount(profile, np.sum(np.abs(mean)**2, axis=1), self.num_profile)
            freedom = np.bincount(profile, self.antennas * degrees, self.num_profile)
            gamma = energy / np.maximum(freedom, _TINY)
            if not fixed:
                rest = self.energy - 2 * np.sum(mean.conj() * self.projection[kept]).real + sum(
                    np.sum(mean[own].conj() * (gram @ mean[own])).real for own, _, gram in blocks)
                free = max(self.elements - degrees.sum(), _LEAST_FREE * self.elements)
                noise = max(rest / (self.antennas * free), _LEAST_NOISE * power)
            strongest = np.argmax(gamma)    # stays even if there is nothing but noise
            gamma[gamma * self.gain < LEAST_POWER * noise] = 0
            gamma[strongest] = max(gamma[strongest], _LEAST_GAMMA * noise / self.gain)
            kept = kept[gamma[profile] > 0]
        return gamma, noise, kept

    def channel(self, mean, blocks, kept):
        """Return h without carrier offset, and its error variance, as in ChannelEstimate."""
        shape = 1 + self.port[-1], 1 + self.component[-1]
        gains = np.zeros((*shape, self.antennas, self.count), complex)
        gains[self.port[kept], self.component[kept], :, self.step[kept]] = mean
        waves = np.fft.fft(gains)[..., :self.subcarriers]
        h = np.einsum("lt,ptrk->lkrp", self.basis, waves, optimize=True)
        # v^H C v depends on the differences of delays, too.
        spread = np.zeros((shape[1], shape[1], self.count), complex)
        for own, covariance, _ in blocks:
            first = kept[own]
            row, column = np.nonzero(self.port[first][:, None] == self.port[first])
            np.add.at(spread, (self.component[first[row]], self.component[first[column]],
                               self.step[first[row]] - self.step[first[column]]),
                      covariance[row, column])
        spread = np.fft.fft(spread)[..., :self.subcarriers]
        error = np.einsum("lt,lu,tuk->lk", self.basis, self.basis, spread, optimize=True).real
        return h, error


def longest_delay(prefix, spacing):
    """Return the longest delay, up to ``prefix``, that pilots tell from others, in OFDM symbols.

    Args:
        prefix: length of the cyclic prefix, in OFDM symbols without prefix.
        spacing: subcarriers from one pilot of a port to the next one, times the number of ports
            that share them.
    """
    return min(prefix, 1 / ((LAST_DELAY - FIRST_DELAY) * spacing))


def _above_noise(power, names):
    """Return at which delays of each user there may be power: bool (users, count)."""
    powers = np.stack([power[names == user].sum(axis=0) for user in range(names.max() + 1)])
    # The gaps between ports and their images have noise only.
    floor = np.min([part.mean(axis=1) for part in np.array_split(powers, 16, axis=1)], axis=0)
    heard = powers > _LEAST_HEARD * floor[:, None]
    around = range(-OVERSAMPLING, OVERSAMPLING + 1)
    return np.any([np.roll(heard, shift, axis=1) for shift in around], axis=0)


def _groups(linked):
    """Return the groups of a symmetric bool matrix of links: a list of int arrays."""
    linked = np.linalg.matrix_power(linked, len(linked))    # links by way of others
    return [np.flatnonzero(row) for row in np.unique(linked, axis=0)]


def time_basis(doppler, symbols):
    """Return the matrix B: (symbols, T) whose B B^T is Jakes' correlation J_0(2 pi f_D (l - l')).

    Args:
        doppler: f_D in cycles per OFDM symbol; 0 gives one column of ones.
        symbols: number of OFDM symbols.
    """
    values, vectors = np.linalg.eigh(_correlation(doppler, np.arange(symbols)))
    kept = values > _LEAST_EIGENVALUE * symbols
    basis = vectors[:, kept] * np.sqrt(values[kept])
    # Eigenvectors have any sign. That of a constant channel must be 1: nothing multiplies by it.
    return basis * np.where(basis.sum(axis=0) < 0, -1, 1)


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
    model = SlotModel(received, known, weight, apart, users, prefix)
    gamma, noise, kept = model.learn()
    # Gains that fit most of the noise, too, seem to change.
    if model.solve(gamma, noise, kept)[2].sum() > (1 - _LEAST_REST) * model.elements:
        return offsets, 0.0
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
    """Return observations (modes, instants, nr) with covariance sqrt(S) R sqrt(S) + I, and S.

    R is the correlation between instants, S (modes, instants) the SNR of modes: the eigenvectors of
    the model's matrix, which is the same for all instants but for a factor, their pilots' energy.
    """
    first = own[model.component[own] == 0]
    scale = np.sqrt(gamma[model.profile[first]] / noise)
    places = [first + shift * model.num_delays for shift in range(instants)]
    grams = np.stack([model.gram(each) for each in places])
    energies = np.trace(grams, axis1=1, axis2=2).real
    values, vectors = np.linalg.eigh(scale[:, None] * grams.mean(axis=0) * scale)
    used = values > 0.1
    snr = values[used, None] * energies / energies.mean()
    seen = np.stack([vectors[:, used].conj().T @ (
        scale[:, None] * model.projection[each]) for each in places], axis=1)
    return seen / np.sqrt(noise * snr)[..., None], snr


def _likelihoods(seen, snr, times, offsets):
    """Return the log-likelihood of (Doppler frequency, carrier offset)."""
    turned = np.exp(-2j * np.pi * np.outer(offsets, times))
    table = np.empty((len(_DOPPLERS), len(offsets)))
    strength = np.sqrt(snr[:, :, None] * snr[:, None])
    for row, doppler in zip(table, _DOPPLERS, strict=True):
        covariance = strength * _correlation(doppler, times) + np.eye(len(times))
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

    The channel is a sum of paths on a grid of delays. Their mean powers, and the noise power, are
    those which make the received symbols most likely. The gains follow by linear MMSE estimation.
    ``nr/estimation.py`` has the formulas and the sources.

    Args:
        received: (nr, symbols, subcarriers) complex.
        known: (ports, symbols, subcarriers) complex, the symbols that each port sends where they
            are known, as DMRS are; 0 elsewhere. Or the expected symbols after a first detection.
        weight: (symbols, subcarriers), 0 where the received symbol is not used; else the inverse of
            the noise power up to a common factor, 1 for DMRS.
        users: (ports,) integers, the same for ports of the same user; None for one user.
        prefix: length of the cyclic prefix, in OFDM symbols without prefix.
        noise: noise power where the weight is 1; None to estimate it.
        cfo, doppler: as in :class:`ChannelEstimate`; None to estimate them.
        profile: power-delay profiles of another estimate of the same slot, from which the search
            begins; None for the same power at all delays.

    Returns:
        :class:`ChannelEstimate`.

    Raises:
        ValueError: the shapes do not match.
    """
    shape = received.shape[1:]
    if known.shape[1:] != shape or weight.shape != shape:
        raise ValueError(f"known, weight: got shapes {known.shape} and {weight.shape}, must end "
                         f"with {shape}, as received does")
    users = np.zeros(len(known), int) if users is None else np.asarray(users)
    if cfo is None or doppler is None:
        found = estimate_motion(received, known, weight, users, prefix)
        cfo = found[0] if cfo is None else cfo
        doppler = found[1] if doppler is None else doppler
    symbols = received.shape[1]
    turn = np.exp(2j * np.pi * np.multiply.outer(cfo, np.arange(symbols)))    # (ports, symbols)
    model = SlotModel(received, known * turn[..., None], weight, time_basis(doppler, symbols),
                      users, prefix)
    gamma, noise, kept = model.learn(noise, profile)
    mean, blocks, degrees = model.solve(gamma, noise, kept)
    h, error = model.channel(mean, blocks, kept)
    h = h * turn.T[:, None, None]
    used = weight > 0
    fitted = np.einsum("erp,pe->re", h[used], known[:, used])
    return ChannelEstimate(
        h.astype(np.complex64), error.astype(np.float32), max(float(noise), LEAST_NOISE),
        np.asarray(cfo), doppler,
        (received[:, used] - fitted).astype(np.complex64), float(degrees.sum()), gamma)


def true_channel(h, noise_var):
    """Return the :class:`ChannelEstimate` of a channel that is known: (symbols, K, nr, ports)."""
    return ChannelEstimate(
        np.asarray(h, np.complex64), np.zeros(h.shape[:2], np.float32),
        positive("noise_var", noise_var), np.zeros(h.shape[-1]), 0.0,
        np.zeros((h.shape[2], 0), np.complex64), 0.0, np.zeros(0))

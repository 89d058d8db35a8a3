# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel, noise and residual phase of a frame: what a MIMO detector needs to know."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..checks import integer
from . import waveform
from .data_field import check_group, group_items
from .parameters import FFT_SIZE, GUARD, LTF1, MAX_RX, NUM_DATA_CARRIERS, STF, SYMBOL

_DATA = waveform.CENTRE + waveform.DATA_CARRIERS
_PILOT = waveform.CENTRE + waveform.PILOT_CARRIERS
_USED = waveform.CENTRE + waveform.USED_CARRIERS
# Detectors divide by the noise variance: a signal without noise counts as one of 70 dB.
_LEAST_NOISE = 1e-7
# Symbols in which the sampling clock is looked for first: over more, phases could turn round.
_FIRST_SPAN = 32


@dataclass(frozen=True)
class Estimate:
    """A frame as a detector takes it: y = H x + n with E|x_i|^2 = 1, n ~ CN(0, noise_var I).

    Attributes:
        y: complex64 (n, T * num_rx), n = 52 * num_symbols / T, item (group of T symbols, carrier).
        h: complex64 (n, num_rx, num_tx), one per item. The cyclic shifts belong to it.
        noise_var: power per complex receive dimension of n, which holds noise and the channel
            estimate's error times x.
        noise_var_raw: that of the received noise alone, at least 1e-7 of the signal's power.
        snr_db: mean over antennas and carriers of the received signal's power over
            noise_var_raw; not less than -20.
        condition_db: condition number of H in dB, mean over the data carriers.
        phase: float64 (num_symbols,), radians, taken out of each symbol.
        slope: radians per carrier and symbol, taken out from the training fields on: sampling
            clock offset.
    """

    y: np.ndarray
    h: np.ndarray
    noise_var: float
    noise_var_raw: float
    snr_db: float
    condition_db: float
    phase: np.ndarray
    slope: float


class ChannelEstimator:
    """Least squares over the long training fields, then phase tracking by the pilots.

    Layer i sends P[i, n] L_k in long training field n, so its channel on carrier k is
    (1 / N) sum_n Y_n[k] P[i, n] L_k, the least squares solution since P P^T = N I (IEEE
    802.11-2020 §19.3.9.4.6). The noise variance is half the mean power of the difference of the
    first field's halves, over all 56 carriers and all antennas. With D the matrix that makes H of
    the training symbols, the error of h_i has the variance noise * sum_n |D[i, n]|^2, which adds
    noise * sum |D|^2 to what a detector sees: 1/2, 3/4, 21/32, 7/8 of the noise for 1..4 layers.

    Args:
        parameters: :class:`Parameters`.
        num_rx: receive antennas, 1..256.
        symbols_per_channel: T, data symbols that share one item of h; must divide every frame's
            number of symbols.

    Raises:
        ValueError: num_rx is not as above, or T does not divide ``parameters.num_symbols``.
    """

    def __init__(self, parameters, num_rx, symbols_per_channel=1):
        num_rx = integer("num_rx", num_rx, 1, MAX_RX)
        check_group(symbols_per_channel, parameters.num_symbols)
        self.parameters = parameters
        self.num_rx = num_rx
        self.symbols_per_channel = symbols_per_channel
        num_tx, num_ltf = parameters.num_tx, parameters.num_ltf
        mapping = waveform.LTF_MAPPING[:num_tx, :num_ltf] / num_ltf
        # (num_tx, num_ltf + 1): the first field came twice, each half counts one half.
        self._demapping = np.concatenate([mapping[:, :1] / 2, mapping[:, :1] / 2, mapping[:, 1:]],
                                         axis=1).astype(np.float32)
        self._error = float(np.sum(self._demapping.astype(np.float64) ** 2))
        self._distance = _training_distance(parameters)

    def estimate(self, symbols):
        """Estimate one frame.

        Args:
            symbols: complex (num_rx, num_training_symbols + num_symbols, 64): a frame's symbols
                after the FFT, carriers in ascending frequency (:func:`to_subcarriers`). How many
                data symbols there are is taken from its shape.

        Returns:
            :class:`Estimate`.

        Raises:
            ValueError: another shape.
        """
        symbols = np.asarray(symbols)
        training = self.parameters.num_training_symbols
        if (symbols.ndim != 3 or symbols.shape[0] != self.num_rx or symbols.shape[1] <= training
                or symbols.shape[2] != 64):
            raise ValueError(f"symbols: got shape {symbols.shape}, must be ({self.num_rx}, "
                             f"more than {training}, 64)")
        num_symbols = symbols.shape[1] - training
        check_group(self.symbols_per_channel, num_symbols)
        channel = self._channel(symbols[:, :training])
        phase, slope = self._phase(symbols[:, training:, _PILOT], channel[_PILOT])
        data = symbols[:, training:, _DATA]
        carriers = waveform.DATA_CARRIERS
        drift = slope * (np.arange(num_symbols) + self._distance)
        turn = np.exp(-1j * (phase[:, None] + drift[:, None] * carriers)).astype(np.complex64)
        y = (data * turn).transpose(1, 2, 0).reshape(-1, self.num_rx)
        h = channel[_DATA]
        groups = num_symbols // self.symbols_per_channel
        power = np.mean(np.sum(h.real**2 + h.imag**2, axis=2, dtype=np.float64))
        noise_var = float(np.maximum(self._noise(symbols), max(power * _LEAST_NOISE, 1e-30)))
        # The estimate's own error is in its power.
        snr = np.maximum(power / noise_var - self._error, 0.01)
        return Estimate(
            y=group_items(y, self.symbols_per_channel),
            h=np.tile(h, (groups, 1, 1)).reshape(groups * NUM_DATA_CARRIERS, self.num_rx, -1),
            noise_var=noise_var * (1 + self._error),
            noise_var_raw=noise_var,
            snr_db=float(10 * np.log10(snr)),
            condition_db=_condition_db(h),
            phase=phase,
            slope=slope)

    def _channel(self, training):
        """(64, num_rx, num_tx), zero on unused carriers."""
        channel = self._demapping @ training
        channel *= waveform.LTF_CARRIERS.astype(np.float32)
        return np.ascontiguousarray(channel.transpose(2, 0, 1))

    @staticmethod
    def _noise(symbols):
        difference = symbols[:, 0, _USED] - symbols[:, 1, _USED]
        return float(np.mean(difference.real**2 + difference.imag**2, dtype=np.float64) / 2)

    def _phase(self, received, channel):
        """Phase of each symbol, and its slope over carriers per symbol, from the pilots.

        With c[s, p] = sum_r y conj(H x) the phase of symbol s is the angle of sum_p c, the maximum
        likelihood estimate; a sampling clock offset turns carrier k by slope * k * (s + s_0) more,
        s_0 being the first data symbol's distance from the middle of the training.
        """
        sent, lever = _pilot_tables(self.parameters.num_tx, received.shape[1], self._distance)
        expected = np.einsum("pri,spi->rsp", channel, sent)
        matched = np.einsum("rsp,rsp->sp", received, expected.conj()).astype(np.complex128)
        leverage = np.abs(matched) * lever
        slope = 0.0
        # The slope is fitted to small angles: take out what a part of the frame shows, then look
        # at twice as many symbols.
        for end in _spans(len(matched)):
            part, total = matched[:end], np.sum(leverage[:end] * lever[:end])
            if total > 0:
                turned = part * part.sum(axis=1).conj()[:, None]
                step = np.sum(leverage[:end] * np.angle(turned)) / total
                matched *= np.exp(-1j * step * lever)
                slope += float(step)
        return np.angle(matched.sum(axis=1)), slope


def _spans(num_symbols):
    """How many symbols to look at: doubling up to all, and these three times."""
    span = _FIRST_SPAN
    while span < num_symbols:
        yield span
        span *= 2
    for _ in range(3):
        yield num_symbols


def _training_distance(parameters):
    """From the mean time of the long training fields to the first data symbol, in symbols."""
    middle = FFT_SIZE // 2
    fields = [STF + LTF1 - FFT_SIZE]
    fields += [STF + LTF1 + SYMBOL * n + GUARD + middle for n in range(parameters.num_ltf - 1)]
    return float(parameters.preamble_samples + GUARD + middle - np.mean(fields)) / SYMBOL


@lru_cache(maxsize=16)
def _pilot_tables(num_tx, num_symbols, distance):
    """Pilots (num_symbols, 4, num_tx), and time times carrier (num_symbols, 4)."""
    pilots = waveform.pilots(num_tx, num_symbols).astype(np.float32)
    time = np.arange(num_symbols) + distance
    return pilots, np.outer(time, waveform.PILOT_CARRIERS).astype(float)


def _condition_db(h):
    """Mean over carriers of 20 log10 of the ratio of the extreme singular values, at most 200."""
    if not np.isfinite(h).all():
        return float("nan")
    # The squares of single precision's largest values need double precision.
    h = h.astype(np.complex128)
    gram = np.linalg.eigvalsh(h.conj().transpose(0, 2, 1) @ h)
    largest = gram[:, -1]
    smallest = np.maximum(gram[:, 0], largest * 1e-20)
    with np.errstate(all="ignore"):
        return float(np.mean(np.where(largest > 0, 10 * np.log10(largest / smallest), 200.0)))

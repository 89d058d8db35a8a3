# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: simulate a flat Rayleigh MIMO channel for vectors, and output the channel matrices."""

import numpy as np
import pmt

from ..channel import awgn
from ..checks import integer, snr
from .settings import NOISE_COV, NOISE_VAR, Controlled
from .streams import BlockLog, batched_block, vector

# Target size of a batch per work() call, in bytes at the larger output.
BATCH_BYTES = 2**22


class rayleigh_channel(Controlled, batched_block):
    """Simulate the channel y = H x + n with Rayleigh fading, for vectors x.

    The entries of H are independent CN(0, 1), drawn anew after every T vectors. The noise is
    n ~ CN(0, noise_var I). With x of mean energy 1 per antenna, noise_var is num_tx / SNR. Equal
    seeds give equal channels and noise. For the samples of a waveform, use ``mimo_channel``.

    An interferer may add g s to y, with s ~ CN(0, noise_var P), where P is its power over that of
    the noise. Its channel g ~ CN(0, I) is drawn once. Noise and interference together then have the
    covariance noise_var (I + P g g^H).

    Ports:
        in 0 ``x``: complex, vlen vectors*num_tx: transmit vectors, one after another.
        out 0 ``y``: complex, vlen vectors*num_rx: received vectors, one after another. The first
            item, and the first item after each change of the SNR, has a tag ``noise_var`` with the
            noise power per complex receive dimension, linear; with an interferer, a tag
            ``noise_cov`` with the covariance, a c32vector of num_rx*num_rx numbers, row by row.
        out 1 ``h``: complex, vlen vectors/T*num_rx*num_tx: channel matrices, one after another,
            each row-major.
        message in ``control``: dictionary with the key ``snr_db`` (in dB), or a pair of this key
            and its value.

    Args:
        num_tx: number of transmit antennas, 1..64.
        num_rx: number of receive antennas, 1..256.
        vectors: number of vectors per item, 1..2^20.
        symbols_per_channel: T, the number of consecutive vectors that share a matrix. It must
            divide ``vectors``.
        snr_db: mean SNR per receive antenna in dB, -100..200.
        seed: seed of channel and noise; None takes a random seed.
        interferer_db: mean power of the interferer over noise_var at each receive antenna in dB,
            -100..200; None for no interferer.

    Raises:
        ValueError: an argument is invalid.
    """

    CONTROLS = ("snr_db",)

    def __init__(self, num_tx=4, num_rx=4, vectors=1, symbols_per_channel=1, snr_db=15.0,
                 seed=None, interferer_db=None):
        self._num_tx = integer("num_tx", num_tx, 1, 64)
        self._num_rx = integer("num_rx", num_rx, 1, 256)
        self._vectors = integer("vectors", vectors, 1, 2**20)
        self._period = period_of(symbols_per_channel, vectors)
        if seed is not None:
            seed = integer("seed", seed, 0, 2**63 - 1)
        self._channels, self._noise, self._interference = map(
            np.random.default_rng, np.random.SeedSequence(seed).spawn(3))
        self._interferer = None
        if interferer_db is not None:
            power = 10 ** (snr("interferer_db", interferer_db) / 10)
            self._interferer = awgn(num_rx, power, self._interference)
        self._tagged = None
        self.set_snr_db(snr_db)
        width = vectors // self._period * num_rx * num_tx
        batched_block.__init__(
            self, "rayleigh_channel", [vector(np.complex64, vectors * num_tx)],
            [vector(np.complex64, vectors * num_rx), vector(np.complex64, width)],
            max(1, BATCH_BYTES // (8 * max(width, vectors * num_rx))))
        self._log = BlockLog(self)
        self._register_control()

    def set_snr_db(self, snr_db):
        """Set the mean SNR per receive antenna in dB."""
        self._snr_db = snr("snr_db", snr_db)

    def snr_db(self):
        return self._snr_db

    def noise_var(self):
        """Return the noise power per complex receive dimension, linear, without the interferer."""
        return self._num_tx * 10 ** (-self._snr_db / 10)

    def start(self):
        self._tagged = None
        return batched_block.start(self)

    def work(self, input_items, output_items):
        x, (y, h) = input_items[0], output_items
        noise_var = self.noise_var()
        if noise_var != self._tagged:
            key, value = NOISE_VAR, pmt.from_double(noise_var)
            if self._interferer is not None:
                correlation = np.outer(self._interferer, self._interferer.conj())
                correlation += np.eye(self._num_rx, dtype=np.complex64)
                key, value = NOISE_COV, pmt.to_pmt(noise_var * correlation)
            self.add_item_tag(0, self.nitems_written(0), key, value)
            self._tagged = noise_var
        n = len(y) * self._vectors
        shape = n // self._period, self._num_rx, self._num_tx
        matrices = awgn(shape, 1.0, self._channels)
        received = np.einsum("kij,ktj->kti", matrices, x.reshape(len(matrices), -1, self._num_tx))
        noise = awgn((n, self._num_rx), noise_var, self._noise)
        if self._interferer is not None:
            noise += awgn((n, 1), noise_var, self._interference) * self._interferer
        y[...] = received.reshape(y.shape) + noise.reshape(y.shape)
        h[...] = matrices.reshape(h.shape)
        return len(y)


def period_of(symbols_per_channel, vectors):
    """Return T = symbols_per_channel; ValueError unless it divides the vectors of an item."""
    period = integer("symbols_per_channel", symbols_per_channel, 1, 2**20)
    if vectors % period:
        raise ValueError(f"symbols_per_channel: got {period}, must divide the {vectors} vectors "
                         "of an item")
    return period

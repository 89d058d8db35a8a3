# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checked arguments of one ``Detector.detect`` call."""

from typing import Any, NamedTuple

import numpy as np

from .. import channel

# Number of different vectors in a random batch.
DISTINCT_VECTORS = 1024


class DetectBatch(NamedTuple):
    """A checked batch of n vectors, with all arrays on the host or all on one GPU.

    The fields have the order of the arguments of ``_core.Detector.detect``.

    Attributes:
        y: (n, nr) complex64.
        h: (n/T, nr, nt) complex64.
        noise_var: (n,) float32; or (1,) float32 on the host if all vectors have the same value.
        prior: (n, nt*m) float32, or None.
        out: (n, nt*m) float32 or int8, written by the detector.
        llr_scale: number of int8 steps for an LLR of 1.
        threads: number of CPU threads; 0 takes all cores.
        hard: (iterations, n, nt*m) uint8 hard solutions that the detector starts from, or None.
        nodes: (n, team_size) uint32 counters of visited nodes, which the detector adds to; or None.
            Only PSD has a team_size other than 1.
        noise_cov: (n/T, nr, nr) or (1, nr, nr) complex64 covariance of the noise, or None.
            noise_var is 1 then.
    """

    y: Any
    h: Any
    noise_var: Any
    prior: Any
    out: Any
    llr_scale: float
    threads: int
    hard: Any = None
    nodes: Any = None
    noise_cov: Any = None

    @property
    def n(self):
        """Number of vectors."""
        return len(self.y)

    @property
    def per_channel(self):
        """T, the number of vectors that share a matrix; 1 for an empty batch."""
        return max(1, len(self.y) // max(1, len(self.h)))

    @property
    def num_hard(self):
        """Number of hard solutions per vector."""
        return 0 if self.hard is None else len(self.hard)


def random_batch(detector, n, per_channel, has_prior=False, num_hard=0, has_cov=False):
    """Draw a random :class:`DetectBatch` of i.i.d. Rayleigh channels, to measure a detector.

    The SNR is high enough for the detector to make few errors, because the run time of a tree
    search depends on it. It rises with the number of layers: a tree search prunes less in a larger
    tree.

    Args:
        detector: ``Detector``.
        n: number of vectors, a multiple of per_channel.
        per_channel: number of vectors that share a matrix.
        has_prior: whether to draw a-priori LLRs.
        num_hard: number of hard solutions to draw per vector.
        has_cov: whether the noise has a covariance matrix, one for all vectors.
    """
    rng = np.random.default_rng(1)
    nt, bits = detector.num_tx, detector.constellation.bits_per_symbol    # the most of a layer
    snr_db = 12 + 3 * bits + max(0, nt - 4)
    noise_var = nt * 10 ** (-snr_db / 10)
    matrices = -(-min(n, DISTINCT_VECTORS) // per_channel)
    h = channel.flat_rayleigh(matrices, detector.num_rx, nt, rng)
    x = np.stack([rng.choice(points.points, (matrices, per_channel)) for points in
                  detector.layers], axis=2)
    y = np.einsum("mij,mtj->mti", h, x)
    y = (y + channel.awgn(y.shape, noise_var, rng)).astype(np.complex64)
    y = np.resize(y, (n, detector.num_rx))
    h = np.resize(h, (n // per_channel, *h.shape[1:]))
    width = detector.bits_per_vector
    prior = rng.normal(0, 3, (n, width)).astype(np.float32) if has_prior else None
    hard = rng.integers(0, 2, (num_hard, n, width), np.uint8) if num_hard else None
    noise_cov = noise_var * np.eye(detector.num_rx, dtype=np.complex64)[None] if has_cov else None
    return DetectBatch(y, h, np.array([1.0 if has_cov else noise_var], np.float32), prior,
                       np.empty((n, width), detector.llr_dtype), detector.llr_scale,
                       detector.threads, hard, noise_cov=noise_cov)

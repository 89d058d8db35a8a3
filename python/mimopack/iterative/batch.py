# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The received vectors of a batch of codewords."""

import numpy as np

from ..arrays import array_module


class Batch:
    """The received vectors of several codewords, from which a subset can be taken.

    Args:
        y, h, noise_var, noise_cov: as for ``Detector.detect`` with ``strict=True``.
        vectors: number of vectors per codeword.

    Raises:
        ValueError: the number of matrices or of noise powers does not fit the number of vectors.
    """

    def __init__(self, y, h, noise_var, vectors, noise_cov=None):
        self.y, self.h, self.noise_var, self.noise_cov = y, h, noise_var, noise_cov
        self._vectors = vectors
        matrices = len(h) if np.ndim(h) else 0
        if len(y) and (not matrices or len(y) % matrices):
            raise ValueError(f"h: got {matrices} matrices for {len(y)} vectors, must divide "
                             "the number of vectors")
        if np.ndim(noise_var) and np.shape(noise_var) != (len(y),):
            raise ValueError(f"noise_var: got shape {np.shape(noise_var)}, must be a number or "
                             f"({len(y)},), one for each vector")

    def detected(self, detector, **arguments):
        """Return the LLRs of a detector; the arguments are further ones of its ``detect``."""
        if self.noise_cov is not None:
            arguments["noise_cov"] = self.noise_cov
        return detector.detect(self.y, self.h, self.noise_var, **arguments)

    def take(self, codewords):
        """Return a batch of only the given codewords."""
        h, noise_cov, period = self._matrices()
        noise_var, vectors = self.noise_var, self._vectors
        if np.ndim(noise_var):
            noise_var = take_rows(noise_var, codewords, vectors)
        if not _is_common(noise_cov):
            noise_cov = take_rows(noise_cov, codewords, vectors // period)
        return Batch(take_rows(self.y, codewords, vectors),
                     take_rows(h, codewords, vectors // period), noise_var, vectors, noise_cov)

    def part(self, first, end):
        """Return a batch of consecutive codewords, without a copy."""
        h, noise_cov, period = self._matrices()
        at = slice(first * self._vectors, end * self._vectors)
        matrices = slice(at.start // period, at.stop // period)
        return Batch(self.y[at], h[matrices],
                     self.noise_var[at] if np.ndim(self.noise_var) else self.noise_var,
                     self._vectors, noise_cov if _is_common(noise_cov) else noise_cov[matrices])

    def _matrices(self):
        """Return (h, noise_cov, number of vectors per matrix); no two codewords share a matrix."""
        h, noise_cov = self.h, self.noise_cov
        period = len(self.y) // max(1, len(h))
        if self._vectors % period == 0:
            return h, noise_cov, period
        if not _is_common(noise_cov):
            noise_cov = noise_cov.repeat(period, axis=0)
        return h.repeat(period, axis=0), noise_cov, 1


def _is_common(noise_cov):
    """Return whether all vectors have the same covariance, or none has any."""
    return noise_cov is None or len(noise_cov) == 1


def take_rows(values, codewords, rows, axis=0):
    """Return the rows of the given codewords from an array with ``rows`` rows per codeword."""
    shape = values.shape
    split = values.reshape(*shape[:axis], -1, rows, *shape[axis + 1:])
    return array_module(values).take(split, codewords, axis=axis).reshape(
        *shape[:axis], -1, *shape[axis + 1:])

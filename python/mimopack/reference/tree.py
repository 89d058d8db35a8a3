# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tree and list detectors share: an ordered QR model, slicing, LLRs of a list."""

import numpy as np

from .qr import modified_gram_schmidt


class Tree:
    """The search tree of one vector: y_tilde = R s, columns in detection order (000 eq. 3-6).

    Level i runs from nt - 1 (the root's children, detected first) down to 0; ``order[i]`` is
    the layer at level i. Paths are (P, nt) arrays of labels, by level, filled from the top.
    """

    def __init__(self, y, h, noise_var, constellation, order, prior=None):
        self.order = np.asarray(order)
        self.constellation = constellation
        self.noise_var = noise_var
        q, self.r = modified_gram_schmidt(h[:, self.order])
        self.y = q.conj().T @ y
        self.outside = np.linalg.norm(y) ** 2 - np.linalg.norm(self.y) ** 2
        self.prior_metric = np.zeros((len(self.order), constellation.size))
        if prior is not None:
            layers = np.asarray(prior).reshape(len(self.order), -1)[self.order]
            self.prior_metric = -layers @ constellation.bits.T

    def residual(self, paths, level):
        """y_tilde_i - sum_{j > i} R_ij s_j of each path, for level i (eq. 6)."""
        symbols = self.constellation.points[paths[:, level + 1:]]
        return self.y[level] - symbols @ self.r[level, level + 1:]

    def slice(self, paths, level):
        """The closest symbol at a level, given those above it (eq. 14): labels (P,)."""
        centre = self.residual(paths, level) / self.r[level, level]
        return np.argmin(np.abs(centre[:, None] - self.constellation.points), axis=1)

    def complete(self, paths, level):
        """Fill the levels from ``level`` down by successive interference cancellation."""
        paths = paths.copy()
        for i in range(level, -1, -1):
            paths[:, i] = self.slice(paths, i)
        return paths

    def distance(self, paths):
        """|y_tilde - R s|^2 of complete paths (eq. 4)."""
        error = self.y - self.constellation.points[paths] @ self.r.T
        return np.sum(np.abs(error) ** 2, axis=1)

    def metric(self, paths):
        """-ln p(y, s) of complete paths, up to a constant: distance and prior (002 eq. 3)."""
        levels = np.arange(paths.shape[1])
        return self.distance(paths) / self.noise_var + self.prior_metric[levels, paths].sum(axis=1)

    def full_expansion(self, levels):
        """All M^levels prefixes of the topmost levels; the rest is 0."""
        nt, m = len(self.order), self.constellation.size
        paths = np.zeros((m**levels, nt), int)
        paths[:, nt - levels:] = np.indices((m,) * levels).reshape(levels, -1).T[:, ::-1]
        return paths

    def labels(self, paths):
        """Labels by layer instead of by level."""
        by_layer = np.empty_like(paths)
        by_layer[:, self.order] = paths
        return by_layer


def list_llr(labels, metric, constellation):
    """Max-log LLRs of a candidate list (002 eq. 4).

    Args:
        labels: (P, nt) labels by layer; metric: (P,).

    Returns:
        (nt*m,); infinite for a bit whose list lacks one value.
    """
    bits = constellation.bits[labels].reshape(len(labels), -1).astype(bool)
    best = [np.min(np.where(bits == value, metric[:, None], np.inf), axis=0)
            for value in (False, True)]
    return best[0] - best[1]

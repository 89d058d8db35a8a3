# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Common parts of the tree and list detectors: ordered QR model, slicing, LLRs of a list."""

import numpy as np

from ..constellation import Layers, each_layer
from .qr import modified_gram_schmidt


def by_layer(constellation, num_tx, prior=None):
    """Return (constellations, a-priori LLRs) of the layers, 0 without a prior: two lists."""
    layers = each_layer(constellation, num_tx)
    ends = np.cumsum([points.bits_per_symbol for points in layers])
    llr = np.zeros(ends[-1]) if prior is None else np.asarray(prior)
    return layers, np.split(llr, ends[:-1])


def label_bits(labels, constellation):
    """Return the bits (P, nt*m) of candidates with these labels (P, nt) by layer."""
    layers = each_layer(constellation, labels.shape[1])
    return np.concatenate([points.bits[column] for points, column in zip(
        layers, labels.T, strict=True)], axis=1)


def spaced(h, constellation):
    """Return the columns from which layers are ordered.

    A layer whose points are closer together is weaker: columns are multiplied by half the distance
    of neighbouring levels if the constellations differ.
    """
    if not isinstance(constellation, Layers):
        return h
    return h * [points.grid.scale for points in constellation]


class Tree:
    """Search tree of one vector: y_tilde = R s, with columns in detection order (000 eq. 3-6).

    Level nt - 1 is the top, which is detected first, and level 0 the bottom. Paths are (P, nt)
    arrays of labels by level, filled from the top.

    Args:
        y, h, noise_var, constellation, prior: as for a detector.
        order: (nt,), the layer at each level.
        slices_with_prior: whether slicing takes the symbol with the smallest metric instead of the
            closest one.
    """

    def __init__(self, y, h, noise_var, constellation, order, prior=None,
                 slices_with_prior=False):
        self.order = np.asarray(order)
        self.constellation = constellation
        self.noise_var = noise_var
        q, self.r = modified_gram_schmidt(h[:, self.order])
        self.y = q.conj().T @ y
        layers, llr = by_layer(constellation, len(self.order), prior)
        self.layers = [layers[layer] for layer in self.order]    # by level
        self.points = [points.points for points in self.layers]
        self.prior_metric = [-(points.bits @ llr[layer])
                             for points, layer in zip(self.layers, self.order, strict=True)]
        self.slices_with_prior = slices_with_prior

    def symbols(self, paths):
        """Return the symbols (P, nt) of paths."""
        return np.stack([points[paths[:, i]] for i, points in enumerate(self.points)], axis=1)

    def steps(self, paths, level, with_prior=True):
        """Return what each symbol of a level adds to the metrics of paths, (P, M).

        This is |y_tilde_i - sum_{j > i} R_ij s_j - R_ii s|^2 over the noise, for i = level (eq. 6),
        and -ln P(s) up to a constant.
        """
        above = self.symbols(paths)[:, level + 1:] @ self.r[level, level + 1:]
        distance = (self.y[level] - above)[:, None] - self.r[level, level] * self.points[level]
        step = np.abs(distance) ** 2 / self.noise_var
        return step + self.prior_metric[level] if with_prior else step

    def complete(self, paths, level):
        """Fill the levels from ``level`` down by successive interference cancellation (eq. 14)."""
        paths = paths.copy()
        for i in range(level, -1, -1):
            paths[:, i] = np.argmin(self.steps(paths, i, self.slices_with_prior), axis=1)
        return paths

    def metric(self, paths):
        """Return -ln p(y, s) of complete paths up to a constant: distance and prior (002 eq. 3)."""
        error = self.y - self.symbols(paths) @ self.r.T    # eq. 4
        prior = sum(metric[paths[:, i]] for i, metric in enumerate(self.prior_metric))
        return np.sum(np.abs(error) ** 2, axis=1) / self.noise_var + prior

    def full_expansion(self, levels):
        """Return paths with all prefixes at the top levels, M^levels of them, and 0 below."""
        nt = len(self.order)
        sizes = [points.size for points in self.layers[nt - levels:]]
        paths = np.zeros((np.prod(sizes), nt), int)
        paths[:, nt - levels:] = np.indices(sizes[::-1]).reshape(levels, -1).T[:, ::-1]
        return paths

    def labels(self, paths):
        """Return labels by layer instead of by level."""
        by_layer = np.empty_like(paths)
        by_layer[:, self.order] = paths
        return by_layer


def clipped(llr, prior, llr_clip):
    """Return LLRs no farther than llr_clip from the a-priori LLRs (None: 0); None: no limit."""
    if llr_clip is None:
        return llr
    known = 0 if prior is None else np.asarray(prior)
    return known + np.clip(llr - known, -llr_clip, llr_clip)


def nearest_candidates(labels, metric, constellation):
    """Return the smallest metric of the candidates with each value of each bit.

    Returns:
        (2, nt*m) array [value, bit]; inf if no candidate has this value.
    """
    bits = label_bits(labels, constellation).astype(bool)
    return np.stack([np.min(np.where(bits == value, metric[:, None], np.inf), axis=0)
                     for value in (False, True)])


def list_llr(labels, metric, constellation, llr_method="maxlog"):
    """Compute LLRs from a list of candidates.

    Args:
        labels: (P, nt) labels by layer.
        metric: (P,) -ln p(y, s) of the candidates, up to a constant.
        constellation: :class:`constellation.Constellation`.
        llr_method: "maxlog" compares the best candidate for each of the two values of a bit (002
            eq. 4). "logsum" compares the sums of exp(-metric) (000 eq. 11), with equal candidates
            counted once.

    Returns:
        (nt*m,) LLRs; infinite for a bit that has the same value in all candidates.
    """
    if llr_method == "logsum":
        labels, first = np.unique(labels, axis=0, return_index=True)
        metric = metric[first]
    nearest = nearest_candidates(labels, metric, constellation)
    if llr_method == "maxlog":
        return nearest[0] - nearest[1]
    bits = label_bits(labels, constellation).astype(bool)
    with np.errstate(invalid="ignore"):    # inf - inf if the list lacks a bit value
        sums = [np.log(np.sum(np.exp(nearest[value] - np.where(
            bits == value, metric[:, None], np.inf)), axis=0)) - nearest[value]
            for value in (0, 1)]
        return np.where(np.isfinite(nearest).all(axis=0), sums[1] - sums[0],
                        nearest[0] - nearest[1])

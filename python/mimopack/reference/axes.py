# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Treat QAM as two PAM symbols and BPSK as one: real-valued model, LLRs of the PAM symbols.

The axes of a layer are adjacent. Each of the 2 nt axes has a row in an array of levels, and its
log-probabilities a row of the same length. Where an axis has fewer levels than others, the levels
beyond its own are 0 and have a log-probability of -inf. The second axis of BPSK has one level, 0.
"""

import numpy as np

from ..constellation import each_layer


def grids(constellation, num_tx):
    """Return the ``constellation.Grid`` of each layer."""
    return [points.grid for points in each_layer(constellation, num_tx)]


def turned(h, constellation):
    """Return h with turned columns, so that the axes of all layers are real and imaginary."""
    return h * [grid.turn for grid in grids(constellation, h.shape[1])]


def real_model(y, h):
    """Return (y, h) of the modified real-valued model, 001 eq. 3.

    The real and imaginary parts of an antenna or layer are adjacent.
    """
    nr, nt = h.shape
    real = np.empty((2 * nr, 2 * nt))
    real[0::2, 0::2] = real[1::2, 1::2] = h.real
    real[1::2, 0::2] = h.imag
    real[0::2, 1::2] = -h.imag
    return np.stack([y.real, y.imag], axis=1).ravel(), real


def axis_levels(constellation, num_tx):
    """Return (levels, log-probabilities without a-priori LLRs) of all axes: two (2 nt, side)."""
    axes = [levels for grid in grids(constellation, num_tx) for levels in grid.levels]
    levels = np.zeros((len(axes), max(map(len, axes))))
    logits = np.full(levels.shape, -np.inf)
    for i, axis in enumerate(axes):
        levels[i, :len(axis)] = axis
        logits[i, :len(axis)] = 0
    return levels, logits


def _axis_bits(grid):
    """Yield (axis, ones) for each label bit.

    ``ones`` is a bool array with an element for each PAM symbol of the axis for which the bit is 1.
    """
    for axis, g, invert in grid.bits:
        k = np.arange(grid.sides[axis])
        width = grid.sides[axis].bit_length() - 1
        yield axis, ((k ^ (k >> 1)) >> (width - 1 - g) & 1) != invert


def axis_logits(prior, constellation, num_tx):
    """Convert LLRs of a vector's bits, or None, to log-probabilities of PAM symbols (2 nt, side).

    The log-probabilities are correct up to a constant.
    """
    _, logits = axis_levels(constellation, num_tx)
    llr = iter(() if prior is None else prior)
    for layer, grid in enumerate(grids(constellation, num_tx) if prior is not None else ()):
        for axis, ones in _axis_bits(grid):
            logits[2 * layer + axis, :len(ones)] += next(llr) * ones
    return logits


def axis_llr(logits, constellation):
    """Convert log-probabilities of PAM symbols (2 nt, side) to max-log LLRs of a vector's bits."""
    llr = []
    for layer, grid in enumerate(grids(constellation, len(logits) // 2)):
        for axis, ones in _axis_bits(grid):
            log_p = logits[2 * layer + axis, :len(ones)]
            llr.append(np.max(log_p[ones]) - np.max(log_p[~ones]))
    return np.array(llr)

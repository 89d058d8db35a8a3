# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layered decoding of low-density parity-check codes."""

import numpy as np

LARGEST = 30.0    # of a message of the sum-product algorithm: tanh(15) is below 1
CERTAIN = 1e30    # of a check of one bit: finite, as it is taken off again


def _over_others(reduce, values, none):
    """For each row of (bits, n) what reduce makes of the others; none where there are none."""
    if len(values) == 1:
        return np.full(values.shape, none)
    return np.stack([reduce(np.delete(values, i, axis=0), axis=0) for i in range(len(values))])


def sum_product(llr):
    """What a check tells each of its bits: tanh(m/2) is the product of the others' tanh(llr/2);
    of (bits, n) LLRs ln P(0)/P(1)."""
    t = _over_others(np.prod, np.tanh(np.clip(llr, -LARGEST, LARGEST) / 2), 1.0)
    return 2 * np.arctanh(np.clip(t, np.tanh(-LARGEST / 2), np.tanh(LARGEST / 2)))


def min_sum(llr, factor=1.0, offset=0.0):
    """The same by the least magnitude of the others, times factor, less offset."""
    least = _over_others(np.min, np.abs(llr), CERTAIN)
    sign = _over_others(np.prod, np.where(np.signbit(llr), -1.0, 1.0), 1.0)
    return sign * np.maximum(factor * least - offset, 0)


def ldpc(llr, rows, columns, check, iterations, early_stop=True, messages=None):
    """Decodes codewords.

    Args:
        llr: (n, num_bits), ln P(1)/P(0).
        rows, columns: the ones of the parity-check matrix, by row.
        check: what a check tells its bits, ``sum_product`` or ``min_sum``.
        iterations: at most.
        messages: (n, edges) from an earlier call.

    Returns:
        (posterior LLRs, messages, (n,) whether the decisions are a codeword, (n,) iterations)
    """
    edges = np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows)) + 1)
    posterior = np.array(llr.T, float, order="C")
    messages = np.zeros((len(rows), len(llr))) if messages is None else messages.T.copy()
    for e in edges:
        posterior[columns[e]] += messages[e]
    taken = np.full(len(llr), iterations)
    left = np.arange(len(llr))    # those that go on

    def are_codewords(own):
        ones = own > 0
        return np.all([np.count_nonzero(ones[columns[e]], axis=0) % 2 == 0 for e in edges], axis=0)

    for done in range(iterations):
        if early_stop:
            found = are_codewords(posterior[:, left])
            taken[left[found]] = done
            left = left[~found]
        own, told = posterior[:, left], messages[:, left]
        for e in edges:
            others = own[columns[e]] - told[e]
            told[e] = -check(-others)
            own[columns[e]] = others + told[e]
        posterior[:, left], messages[:, left] = own, told
    return posterior.T, messages.T, are_codewords(posterior), taken

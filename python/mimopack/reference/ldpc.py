# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layered decoding of low-density parity-check (LDPC) codes."""

import numpy as np

LARGEST = 30.0    # largest sum-product message: tanh(15) is below 1
CERTAIN = 1e30    # message of a check with one bit: finite, because it is subtracted later


def _over_others(reduce, values, none):
    """For each row of values (bits, n), reduce all other rows; without other rows, give none."""
    if len(values) == 1:
        return np.full(values.shape, none)
    return np.stack([reduce(np.delete(values, i, axis=0), axis=0) for i in range(len(values))])


def sum_product(llr):
    """Return a check's messages (bits, n) to its bits, by the sum-product rule.

    tanh(m/2) of a message m is the product of tanh(llr/2) over the check's other bits. llr is
    ln P(0)/P(1), contrary to the rest of the package; its shape is (number of bits in the check, n
    codewords).
    """
    t = _over_others(np.prod, np.tanh(np.clip(llr, -LARGEST, LARGEST) / 2), 1.0)
    return 2 * np.arctanh(np.clip(t, np.tanh(-LARGEST / 2), np.tanh(LARGEST / 2)))


def min_sum(llr, factor=1.0, offset=0.0):
    """Return a check's messages (bits, n) to its bits, by the min-sum rule.

    A message's sign is the product of the signs of the check's other bits. Its magnitude is the
    smallest magnitude of the other bits' LLRs, times factor, minus offset; a negative result
    becomes 0. llr and the shape are as for ``sum_product``.
    """
    least = _over_others(np.min, np.abs(llr), CERTAIN)
    sign = _over_others(np.prod, np.where(np.signbit(llr), -1.0, 1.0), 1.0)
    return sign * np.maximum(factor * least - offset, 0)


def _box_plus(a, b, offset):
    """Return min(a, b) + c(a + b) - c(|a - b|) with c(x) = max(0, offset - x/8)."""
    return (np.minimum(a, b) + np.minimum(np.abs(a - b) / 8, offset)
            - np.minimum((a + b) / 8, offset))


def min_star(llr, offset=0.5):
    """Return a check's messages (bits, n) to its bits, by the approximate-min* rule.

    As ``min_sum``, but the magnitude for the least certain bit is the box-plus of the others'
    magnitudes, one after another, and that for all other bits is the box-plus of all. c(x) stands
    for ln(1 + exp(-x)): see ``_box_plus``.
    """
    sizes = np.abs(llr)
    least, second = np.full((2, llr.shape[1]), CERTAIN)
    for size in sizes:
        second = _box_plus(second, np.maximum(least, size), offset)
        least = np.minimum(least, size)
    sign = _over_others(np.prod, np.where(np.signbit(llr), -1.0, 1.0), 1.0)
    return sign * np.where(least < sizes, _box_plus(second, least, offset), second)


def ldpc(llr, rows, columns, check, iterations, early_stop=True, messages=None):
    """Decode a batch of n codewords, check by check (D. E. Hocevar, IEEE SiPS 2004).

    Args:
        llr: (n, num_bits) LLRs ln P(1)/P(0).
        rows, columns: positions of the ones in the parity-check matrix, sorted by row.
        check: function for a check's messages: ``sum_product``, ``min_sum`` or ``min_star``.
        iterations: maximum number of iterations.
        early_stop: whether to stop decoding a codeword when its decisions satisfy all checks.
        messages: (n, number of ones) messages from an earlier call, or None.

    Returns:
        ((n, num_bits) a-posteriori LLRs, (n, number of ones) messages, (n,) bool: whether the
        decisions satisfy all checks, (n,) number of iterations)
    """
    edges = np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows)) + 1)
    posterior = np.array(llr.T, float, order="C")
    messages = np.zeros((len(rows), len(llr))) if messages is None else messages.T.copy()
    for e in edges:
        posterior[columns[e]] += messages[e]
    taken = np.full(len(llr), iterations)
    left = np.arange(len(llr))    # codewords that need further iterations

    def are_codewords(sums):
        ones = sums > 0
        return np.all([np.count_nonzero(ones[columns[e]], axis=0) % 2 == 0 for e in edges], axis=0)

    for done in range(iterations):
        if early_stop:
            settled = are_codewords(posterior[:, left])
            taken[left[settled]] = done
            left = left[~settled]
        sums, sent = posterior[:, left], messages[:, left]
        for e in edges:
            others = sums[columns[e]] - sent[e]
            sent[e] = -check(-others)
            sums[columns[e]] = others + sent[e]
        posterior[:, left], messages[:, left] = sums, sent
    return posterior.T, messages.T, are_codewords(posterior), taken

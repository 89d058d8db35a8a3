# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layered decoding of low-density parity-check codes, one codeword at a time."""

import numpy as np

LARGEST = 30.0    # of a message of the sum-product algorithm: tanh(15) is below 1
CERTAIN = 1e30    # of a check of one bit: finite, as it is taken off again


def sum_product(llr):
    """What a check tells each of its bits: tanh(m/2) is the product of the others' tanh(llr/2),
    with LLRs of ln P(0)/P(1)."""
    t = np.tanh(np.clip(llr, -LARGEST, LARGEST) / 2)
    others = np.array([np.prod(np.delete(t, i)) for i in range(len(t))])
    return 2 * np.arctanh(np.clip(others, np.tanh(-LARGEST / 2), np.tanh(LARGEST / 2)))


def min_sum(llr, factor=1.0, offset=0.0):
    """The same by the least magnitude of the others, times factor, less offset."""
    others = [np.delete(llr, i) for i in range(len(llr))]
    least = np.array([np.min(np.abs(o)) if len(o) else CERTAIN for o in others])
    sign = np.array([np.prod(np.where(np.signbit(o), -1.0, 1.0)) for o in others])
    return sign * np.maximum(factor * least - offset, 0)


def ldpc(llr, rows, columns, check, iterations, early_stop=True, messages=None):
    """Decodes one codeword.

    Args:
        llr: (num_bits,), ln P(1)/P(0).
        rows, columns: the ones of the parity-check matrix, by row.
        check: what a check tells its bits, ``sum_product`` or ``min_sum``.
        iterations: at most.
        messages: (edges,) from an earlier call.

    Returns:
        (posterior LLRs, messages, whether their decisions are a codeword, iterations it took)
    """
    edges = np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows)) + 1)
    messages = np.zeros(len(rows)) if messages is None else messages.copy()
    posterior = np.array(llr, float)
    np.add.at(posterior, columns, messages)

    def is_codeword():
        return all(np.count_nonzero(posterior[columns[e]] > 0) % 2 == 0 for e in edges)

    for done in range(iterations):
        if early_stop and is_codeword():
            return posterior, messages, True, done
        for e in edges:
            own = posterior[columns[e]] - messages[e]
            messages[e] = -check(-own)
            posterior[columns[e]] = own + messages[e]
    return posterior, messages, is_codeword(), iterations

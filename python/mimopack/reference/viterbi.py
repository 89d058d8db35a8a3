# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Viterbi algorithm for a convolutional code with two outputs per input bit."""

import numpy as np


def viterbi(llr, puncturing, generators):
    """Find the codeword with the largest sum of LLRs (A. J. Viterbi, IEEE Trans. Inf. Theory 13(2),
    1967) of each block of a batch; blocks begin and end in state 0.

    Args:
        llr: (n, sent bits), ln P(1)/P(0), NaN for an erasure.
        puncturing: which of A1 B1 A2 B2 ... are sent, repeated as needed.
        generators: taps of A and B, the newest bit's first.

    Returns:
        (bits (n, bits without the tail), the codewords' metrics (n,): sums of the LLRs of the ones
        that they send)
    """
    generators = np.asarray(generators)
    memory = generators.shape[1] - 1
    llr = depuncture(llr, puncturing)
    n, steps, _ = llr.shape
    # A state's number has the newest bit as its highest; a step drops the lowest.
    state = np.arange(2**memory)
    entering = state >> (memory - 1)
    before = (state[:, None] << 1 & 2**memory - 1) | np.arange(2)    # (state, dropped bit)
    register = before | entering[:, None] << memory
    taps = register[..., None] >> np.arange(memory, -1, -1) & 1
    output = taps @ generators.T & 1                                 # (state, dropped bit, 2)
    metric = np.tile(np.where(state == 0, 0.0, -np.inf), (n, 1))
    dropped = np.empty((steps, n, state.size), np.uint8)
    for t in range(steps):
        candidates = metric[:, before] + np.einsum("sdo,no->nsd", output, llr[:, t])
        dropped[t] = candidates[..., 1] > candidates[..., 0]
        metric = candidates.max(axis=2)
    bits, now = np.empty((n, steps), np.uint8), np.zeros(n, int)
    for t in reversed(range(steps)):
        bits[:, t] = entering[now]
        now = before[now, dropped[t, np.arange(n), now]]
    return bits[:, :-memory], metric[:, 0]


def depuncture(llr, puncturing):
    """LLRs of A and B by step, (n, steps, 2), 0 where nothing was sent."""
    n, sent = np.shape(llr)
    period = np.asarray(puncturing, bool)
    places = np.flatnonzero(np.resize(period, period.size * -(-sent // int(period.sum()))))[:sent]
    pairs = np.zeros((n, 2 * (places[-1] // 2 + 1)))
    pairs[:, places] = np.nan_to_num(llr, nan=0.0)
    return pairs.reshape(n, -1, 2)

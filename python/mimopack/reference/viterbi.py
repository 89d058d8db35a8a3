# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decode a convolutional code with two outputs per input bit: Viterbi and BCJR algorithms."""

import numpy as np


def viterbi(llr, puncturing, generators):
    """Find the codeword with the largest sum of LLRs, for each block of a batch.

    See A. J. Viterbi, IEEE Trans. Inf. Theory 13(2), 1967. Blocks begin and end in state 0.

    Args:
        llr: (n, sent bits) LLRs ln P(1)/P(0), NaN for an erasure.
        puncturing: pattern that marks the sent bits among A1 B1 A2 B2 ..., repeated as needed.
        generators: taps of A and B, beginning with the newest bit.

    Returns:
        (bits (n, bits without the tail), metrics (n,)). The metric of a codeword is the sum of the
        LLRs of its sent ones.
    """
    generators = np.asarray(generators)
    memory = generators.shape[1] - 1
    llr = depuncture(llr, puncturing)
    n, steps, _ = llr.shape
    # The newest bit is the highest bit of a state's number; a step drops the lowest bit.
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
    """Return the LLRs of A and B in each step, (n, steps, 2); bits not sent have LLR 0."""
    n, sent = np.shape(llr)
    places = sent_places(sent, puncturing)
    pairs = np.zeros((n, 2 * (places[-1] // 2 + 1)))
    pairs[:, places] = np.nan_to_num(llr, nan=0.0)
    return pairs.reshape(n, -1, 2)


def sent_places(sent, puncturing):
    """Return the positions of the sent bits in A1 B1 A2 B2 ..."""
    period = np.asarray(puncturing, bool)
    return np.flatnonzero(np.resize(period, period.size * -(-sent // int(period.sum()))))[:sent]


def forward_backward(llr, label, following, join):
    """Compute a-posteriori LLRs of the bits on the branches of a trellis.

    The algorithm is that of L. R. Bahl, J. Cocke, F. Jelinek and J. Raviv (IEEE Trans. Inf. Theory
    20(2), 1974). Paths begin and end in state 0.

    Args:
        llr: (n, steps, bits) LLRs of the bits of each step.
        label: (states, 2, bits), the bits on the two branches that leave a state.
        following: (states, 2), the states to which these branches lead.
        join: function that combines the metrics of several paths: np.maximum takes the best one
            (max-log), np.logaddexp is exact.

    Returns:
        (n, steps, bits).
    """
    n, steps, _ = llr.shape
    arrivals = np.argsort(following, axis=None).reshape(-1, 2)    # branches into each state
    # Log-probability of each branch, up to a common constant.
    branch = np.einsum("seb,ntb->ntse", label, llr)
    forward = np.full((steps + 1, n, len(following)), -np.inf)
    backward = np.full((n, len(following)), -np.inf)
    forward[0, :, 0] = backward[:, 0] = 0
    for t in range(steps):
        arriving = (forward[t, :, :, None] + branch[:, t]).reshape(n, arrivals.size)[:, arrivals]
        forward[t + 1] = join(arriving[..., 0], arriving[..., 1])
    posterior = np.empty(llr.shape)
    for t in reversed(range(steps)):
        path = forward[t, :, :, None] + branch[:, t] + backward[:, following]
        for bit, ones in enumerate(np.moveaxis(label, 2, 0) == 1):
            posterior[:, t, bit] = (join.reduce(path[:, ones], axis=1)
                                    - join.reduce(path[:, ~ones], axis=1))
        backward = join(*np.moveaxis(branch[:, t] + backward[:, following], -1, 0))
    return posterior


def bcjr(prior, llr, puncturing, generators, join):
    """Compute a-posteriori LLRs for each block of a batch; blocks begin and end in state 0.

    Args:
        prior: (n, bits without the tail) a-priori LLRs of the bits.
        llr: (n, sent bits) LLRs ln P(1)/P(0).
        puncturing, generators: see ``viterbi``.
        join: see ``forward_backward``.

    Returns:
        (LLRs of the bits, in the shape of prior; LLRs of the sent bits, in the shape of llr).
    """
    generators = np.asarray(generators)
    memory = generators.shape[1] - 1
    pairs = depuncture(llr, puncturing)
    n, steps, _ = pairs.shape
    known = np.zeros((n, steps, 3))    # LLRs of the bit, A and B
    known[:, :steps - memory, 0], known[:, :, 1:] = prior, pairs
    state, entering = np.arange(2**memory)[:, None], np.arange(2)
    following = state >> 1 | entering << memory - 1
    taps = (state | entering << memory)[..., None] >> np.arange(memory, -1, -1) & 1
    label = np.dstack([entering + 0 * state, taps @ generators.T & 1])    # (state, entering, 3)
    posterior = forward_backward(known, label, following, join)
    places = sent_places(np.shape(llr)[1], puncturing)
    return posterior[:, :steps - memory, 0], posterior[:, :, 1:].reshape(n, -1)[:, places]

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decode the LTE turbo code iteratively, all codewords of a batch at once."""

import numpy as np

from .viterbi import forward_backward

LARGEST = 1e4    # limit of input LLRs and extrinsic LLRs
NUM_TAIL = 3
# The registers s1, s2, s3 are bits 2, 1, 0 of a state's number; the bit ``entering`` goes into s1
# (3GPP TS 36.212, figure 5.1.3-2). BIT, PARITY and NEXT are indexed by state and entering bit.
_state, _entering = np.arange(8)[:, None], np.arange(2)
_s1, _s2, _s3 = _state >> 2, _state >> 1 & 1, _state & 1
BIT = _entering ^ _s2 ^ _s3
PARITY = _entering ^ _s1 ^ _s3
NEXT = 4 * _entering + (_state >> 1)


def constituent(systematic, parity, join):
    """Decode one constituent code, whose path begins and ends in state 0.

    Args:
        systematic: (n, K + 3) LLRs of the code's input bits, with a-priori LLRs added.
        parity: (n, K + 3) LLRs of the parity bits.
        join: see ``viterbi.forward_backward``.

    Returns:
        (2, n, K + 3) extrinsic LLRs of the input bits and of the parity bits.
    """
    llr = np.stack([systematic, parity], axis=2)
    extrinsic = forward_backward(llr, np.dstack([BIT, PARITY]), NEXT, join) - llr
    return np.moveaxis(extrinsic, 2, 0)


def to_codes(llr, size):
    """Split the three streams of TS 36.212 §5.1.3.2.2 into the bits of the constituent codes.

    Returns:
        (information bits (n, K), tail bits (n, 2, 3), parity bits (n, 2, K + 3)).
    """
    streams = llr.reshape(len(llr), 3, -1)
    tail = streams[:, :, size:].transpose(0, 2, 1).reshape(-1, 2, NUM_TAIL, 2)
    parity = np.concatenate([streams[:, 1:, :size], tail[..., 1]], axis=2)
    return streams[:, 0, :size], tail[..., 0], parity


def from_codes(information, tail, parity):
    """Undo ``to_codes``."""
    n, size = information.shape
    streams = np.concatenate([information[:, None], parity[:, :, :size]], axis=1)
    ends = np.stack([tail, parity[:, :, size:]], axis=3).reshape(n, -1, 3).transpose(0, 2, 1)
    return np.concatenate([streams, ends], axis=2).reshape(n, -1)


def turbo(llr, interleaver, join, iterations, scale, early_stop=True, messages=None):
    """Decode a batch of codewords, with the two constituent codes taking turns.

    See C. Berrou, A. Glavieux, IEEE Trans. Commun. 44(10), 1996.

    Args:
        llr: (n, 3 K + 12) LLRs ln P(1)/P(0), in the order of the standard's three streams.
        interleaver: (K,) indices of the information bits in the order in which they enter the
            second constituent code.
        join: see ``constituent``.
        iterations: maximum number of iterations.
        scale: factor of the extrinsic LLRs.
        early_stop: whether to stop decoding a codeword when both constituent decoders decide for
            the same information bits.
        messages: (n, K) extrinsic LLRs of the second decoder from an earlier call, or None.

    Returns:
        ((n, 3 K + 12) a-posteriori LLRs, (n, K) messages, (n,) bool: whether both decoders decided
        for the same information bits, (n,) number of iterations)
    """
    n, size = len(llr), len(interleaver)
    information, tail, parity = to_codes(np.clip(llr, -LARGEST, LARGEST), size)
    posterior, of_tail, of_parity = (np.zeros_like(part) for part in (information, tail, parity))
    messages = np.zeros((n, size)) if messages is None else messages.copy()
    agree, taken = np.zeros(n, bool), np.zeros(n, np.int32)
    active = np.arange(n)
    for iteration in range(1, iterations + 1):
        prior, decided = messages[active], []
        for code, order in enumerate((np.arange(size), interleaver)):
            known = information[active] + prior
            of_bits, of_checks = scale * constituent(
                np.hstack([known[:, order], tail[active, code]]), parity[active, code], join)
            prior = np.empty_like(prior)
            prior[:, order] = np.clip(of_bits[:, :size], -LARGEST, LARGEST)
            decided.append(known + prior)
            of_tail[active, code] = tail[active, code] + of_bits[:, size:]
            of_parity[active, code] = parity[active, code] + of_checks
        messages[active], posterior[active], taken[active] = prior, decided[1], iteration
        agree[active] = np.all(np.signbit(decided[0]) == np.signbit(decided[1]), axis=1)
        if early_stop:
            active = active[~agree[active]]
    return from_codes(posterior, of_tail, of_parity), messages, agree, taken

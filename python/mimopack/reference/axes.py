# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Treat square QAM as two PAM symbols: real-valued model, and LLRs of the PAM symbols."""

import numpy as np


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


def axis_bits(constellation):
    """Yield (axis, ones) for each label bit.

    ``ones`` is a (side,) bool array with side = sqrt(M). It marks the PAM symbols of the axis for
    which the bit is 1.
    """
    qam = constellation.square_qam
    k = np.arange(qam.side)
    gray, width = k ^ (k >> 1), qam.side.bit_length() - 1
    for axis, g, invert in qam.bits:
        yield axis, (gray >> (width - 1 - g) & 1) != invert


def axis_logits(prior, constellation):
    """Convert LLRs of bits (nt*m,) to log-probabilities of PAM symbols (2 nt, side).

    The log-probabilities are correct up to a constant. The axes of a layer are adjacent.
    """
    llr = np.reshape(prior, (-1, constellation.bits_per_symbol))
    logits = np.zeros((len(llr), 2, constellation.square_qam.side))
    for bit, (axis, ones) in enumerate(axis_bits(constellation)):
        logits[:, axis] += llr[:, bit, None] * ones
    return logits.reshape(-1, logits.shape[-1])


def axis_llr(logits, constellation):
    """Convert log-probabilities of PAM symbols (2 nt, side) to max-log LLRs of bits (nt*m,).

    The axes of a layer are adjacent.
    """
    llr = []
    for layer in logits.reshape(-1, 2, logits.shape[-1]):
        for axis, ones in axis_bits(constellation):
            llr.append(np.max(layer[axis][ones]) - np.max(layer[axis][~ones]))
    return np.array(llr)

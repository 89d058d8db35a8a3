# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The N-way detector of Wu, Yin and Cavallaro (001)."""

import numpy as np

from .qr import modified_gram_schmidt


def real_model(y, h):
    """Modified real-valued decomposition, 001 eq. 3: real and imaginary parts adjacent."""
    nr, nt = h.shape
    real = np.empty((2 * nr, 2 * nt))
    real[0::2, 0::2] = real[1::2, 1::2] = h.real
    real[1::2, 0::2] = h.imag
    real[0::2, 1::2] = -h.imag
    return np.stack([y.real, y.imag], axis=1).ravel(), real


def search(y, h, side, scale):
    """One pass, 001 Algorithm 2 for all M threads k at once.

    The last column of h, both its axes, is expanded fully, the levels below it are sliced.
    Returns the candidates' levels p (M, 2 nt), odd integers, and their distances (M,).
    """
    y_real, h_real = real_model(y, h * scale)
    q, r = modified_gram_schmidt(h_real)
    y_hat = q.T @ y_real
    levels = 2 * np.arange(side) - (side - 1)
    p = np.zeros((side * side, h_real.shape[1]))
    p[:, -2:] = np.stack(np.meshgrid(levels, levels, indexing="ij"), axis=-1).reshape(-1, 2)
    distance = np.zeros(side * side)
    for i in range(h_real.shape[1] - 1, -1, -1):
        b = y_hat[i] - p[:, i + 1:] @ r[i, i + 1:]
        if i < h_real.shape[1] - 2:
            gamma = b / r[i, i]
            p[:, i] = np.rint((gamma + side - 1) / 2) * 2 - side + 1
            p[:, i] = np.clip(p[:, i], -(side - 1), side - 1)
        distance += (b - r[i, i] * p[:, i]) ** 2
    return p, distance


def nearest_candidates(y, h, noise_var, constellation, prior, passes):
    """The least metric of a candidate with each value of each bit, [value, bit] (2, nt*m), inf
    where the passes' lists have none; distances over noise_var, less the prior LLRs of the ones
    (002 eq. 4). Pass k has column (nt - 1 + k) mod nt on top."""
    nt = h.shape[1]
    qam = constellation.square_qam
    m = constellation.bits_per_symbol
    nearest = np.full((2, nt * m), np.inf)
    for k in range(passes):
        order = (np.arange(nt) + k) % nt
        p, distance = search(y, h[:, order], qam.side, qam.scale)
        labels = np.empty((len(p), nt), int)
        for column, layer in enumerate(order):
            points = qam.scale * (p[:, 2 * column] + 1j * p[:, 2 * column + 1])
            labels[:, layer] = np.argmin(np.abs(points[:, None] - constellation.points), axis=1)
        bits = constellation.bits[labels].reshape(len(p), -1)
        metric = distance / noise_var - bits @ prior
        for value in (0, 1):
            found = np.where(bits == value, metric[:, None], np.inf).min(axis=0)
            nearest[value] = np.minimum(nearest[value], found)
    return nearest


def nway(y, h, noise_var, constellation, prior=None, passes=1, llr_clip=8.0):
    """Max-log LLRs from the lists of N passes over cyclically rotated columns, 001 eq. 6.

    A bit value that is in no list counts as infinitely far. LLRs are limited to +-llr_clip from
    the prior; None does not limit.
    """
    known = (np.zeros(h.shape[1] * constellation.bits_per_symbol) if prior is None
             else np.asarray(prior))
    nearest = nearest_candidates(y, h, noise_var, constellation, known, passes)
    llr = nearest[0] - nearest[1]
    return llr if llr_clip is None else known + np.clip(llr - known, -llr_clip, llr_clip)

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers with transform precoding: their equaliser, and the vectors that it leaves.

``layout`` is the receiver's :class:`SlotLayout`, ``slot`` a :class:`ReceivedSlot`.
"""

import numpy as np

from .dmrs import spread_values
from .precoding import transform_deprecode, transform_precode

LEAST_ERROR = 1e-6    # of equalised values of power 1, in single precision
LEAST_GAIN = 1e-30


def equalise_spread(y, h, noise_var, mean, variance):
    """Equalise layers with transform precoding linearly (MMSE); take what is known of their values.

    Model of subcarrier k of an OFDM symbol: y_k = sum over layers of h_k X_k + n, with X the
    unitary DFT of the layer's M_sc values.

    Source: M. Tüchler, A. C. Singer, R. Koetter: Minimum Mean Squared Error Equalization Using A
    Priori Information, IEEE Transactions on Signal Processing 50 (3), 2002; in the frequency
    domain, with the mean variance v of an OFDM symbol's values.

    Args:
        y: (symbols, M_sc, nr) complex.
        h: (symbols, M_sc, nr, layers) complex.
        noise_var: (symbols, M_sc) noise power.
        mean: (layers, symbols, M_sc) complex a-priori mean of the values, 0 if nothing is known.
        variance: (layers, symbols, 1) their mean variance v, 1 if nothing is known.

    Returns:
        (values (layers, symbols, M_sc), variance of their error (layers, symbols, 1)). The
        estimate of a value is unbiased, and does not use its own mean.
    """
    v = variance[..., 0].T[:, None].astype(np.float32)    # (symbols, 1, layers)
    error = y - np.einsum("lkru,lku->lkr", h, np.moveaxis(transform_precode(mean), 0, -1))
    matched, gram = (np.einsum(form, h.conj(), other) for form, other in (
        ("lkru,lkr->lku", error), ("lkru,lkrw->lkuw", h)))
    # H^H (H V H^H + N)^-1 = (H^H H V + N)^-1 H^H
    noise = noise_var[..., None, None] * np.eye(h.shape[-1], dtype=np.float32)
    system, right = gram * v[..., None, :] + noise, np.concatenate(
        [matched[..., None], gram], axis=-1)
    solved = right / system if h.shape[-1] == 1 else np.linalg.solve(system, right)
    filtered = np.moveaxis(solved[..., 0], -1, 0)
    own = solved[..., 1:].diagonal(axis1=-2, axis2=-1)    # of the layer itself: mu
    mu = np.moveaxis(own.real.mean(axis=1, keepdims=True), -1, 0)
    mu = np.maximum(mu, LEAST_GAIN)    # of a channel of zeros
    return transform_deprecode(filtered) / mu + mean, np.maximum(1 / mu - variance, LEAST_ERROR)


def despread(layout, slots):
    """Return y, h and noise power of slots, see :meth:`PuschReceiver.vectors`.

    The equaliser has separated the layers, so h is diagonal. The noise power is 1.
    """
    y, h = [], []
    for slot in slots:
        z, variance = equalised(layout, slot)
        scale = np.broadcast_to(1 / np.sqrt(variance), z.shape).reshape(len(z), -1)
        z = z.reshape(scale.shape) * scale
        for word, layer in zip(layout.words, z, strict=True):
            layer[word.vectors] *= word.turn
        y.append(z.T)
        h.append(scale.T[..., None] * np.eye(len(z), dtype=np.float32))
    return np.stack(y), np.stack(h).astype(np.complex64), np.ones((len(y), 1), np.float32)


def equalised(layout, slot):
    """Return the values of all layers before spreading, see :func:`equalise_spread`."""
    shape = -1, layout.configs[0].num_subcarriers
    h = slot.estimate.h[layout.data].reshape(*shape, layout.num_rx, layout.num_layers)
    y = slot.received[:, layout.data[0], layout.data[1]].T.reshape(h.shape[:-1])
    noise = (slot.estimate.noise_var + slot.estimate.error_var[layout.data]).reshape(shape)
    known = [spread_symbols(layout, word, slot, slot.prior) for word in layout.words]
    return equalise_spread(y, h, noise, *map(np.stack, zip(*known, strict=True)))


def spread_symbols(layout, word, slot, llr):
    """Return what LLRs (vectors, bits) tell of a codeword's values before spreading.

    Returns:
        (their mean (OFDM symbols, M_sc), mean variance of each OFDM symbol (OFDM symbols, 1)); 0
        and 1 if llr is None.
    """
    means, variances = np.zeros(len(word.vectors)), np.ones(len(word.vectors))
    if llr is not None:
        means, variances = (part[word.vectors, 0] for part in word.symbols(llr))
    mean = spread_values(layout.configs[word.user], layout.in_frame(slot.number),
                         means * np.conj(word.turn))
    variance = np.zeros(mean.size)
    variance[word.vectors] = variances
    return mean, variance.reshape(mean.shape).mean(axis=1, keepdims=True)

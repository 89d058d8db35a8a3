# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Phase of each OFDM symbol by phase-tracking reference signals (PT-RS)."""

import numpy as np


def combine(received, h, noise_var, layer, interferers):
    """Combine antennas by linear MMSE: the part of one layer, except for its positive power.

    Args:
        received: (..., nr) complex.
        h: (..., nr, layers) complex.
        noise_var: noise power.
        layer: index of the layer.
        interferers: indices of the layers that send something else.

    Returns:
        (...) complex: h_l^H (H_i H_i^H + noise_var I)^-1 y.
    """
    others, own = h[..., interferers], h[..., layer]
    covariance = others @ others.conj().swapaxes(-1, -2) + noise_var * np.eye(h.shape[-2])
    return np.sum(np.linalg.solve(covariance, own[..., None])[..., 0].conj() * received, axis=-1)


def symbol_phases(seen, sent, symbols, dmrs_symbols, count):
    """Return the phase of each symbol of a slot, relative to the channel estimate: (count,).

    The channel estimate has the phase of the DMRS symbols. Phases between symbols with PT-RS or
    DMRS are interpolated.

    Args:
        seen, sent: (P, Q) complex, received and sent signals of each symbol with PT-RS.
        symbols: (P,) the symbols with PT-RS.
        dmrs_symbols: (D,) the symbols with DMRS.
        count: number of symbols in the slot.
    """
    known = np.concatenate([symbols, dmrs_symbols])
    phases = np.zeros(len(known))
    phases[:len(symbols)] = np.angle(np.sum(seen * np.conj(sent), axis=1))
    order = np.argsort(known)
    return np.interp(np.arange(count), known[order], np.unwrap(phases[order]))

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Phase-tracking reference signals (PT-RS): the phase of each symbol, and vectors without them.

``layout`` is the receiver's :class:`SlotLayout`, ``slot`` a :class:`ReceivedSlot`.
"""

import numpy as np

from .dmrs import ptrs_sequence, ptrs_symbols, spread_rows
from .resources import ptrs_port, resources
from .spreading import equalised

# Amplitude that a layer without data keeps where others have data: detectors need a full rank.
UNUSED_LAYER = 0.01


def follow_phases(layout, slot):
    """Correct the phases of a slot's symbols: a single user's in the received symbols.

    Those of several users are corrected in their channels.
    """
    phases = np.stack([_phases(layout, slot, user) for user in range(len(layout.configs))])
    if len(phases) == 1:
        slot.received = slot.received * np.exp(-1j * phases[0])[:, None]
    else:
        slot.turn = np.exp(1j * phases)[layout.owners].astype(np.complex64)
        slot.turn_channel()


def _phases(layout, slot, user):
    """Return the phase of each symbol of a user, relative to the channel estimate."""
    config, number = layout.configs[user], layout.in_frame(slot.number)
    if config.ptrs is None:
        return np.zeros(slot.received.shape[1])
    if layout.spreads:
        symbols = resources(config).ptrs_symbols
        seen = equalised(layout, slot)[0][user, spread_rows(config)]
        seen = seen[:, config.ptrs.samples(config.num_subcarriers)]
        sent = ptrs_sequence(config, number)
    else:
        reference = ptrs_symbols(config, number)
        symbols, sent = reference.symbols, reference.values
        places = symbols[:, None], reference.subcarriers - layout.band.start
        seen = combine(
            np.moveaxis(slot.received[:, places[0], places[1]], 0, -1), slot.estimate.h[places],
            slot.estimate.noise_var, _ptrs_layer(layout, user),
            np.flatnonzero(layout.owners != user))
    return symbol_phases(seen, sent, symbols, layout.resources.dmrs_symbols,
                         slot.received.shape[1])


def without_ptrs(layout, slots, y, h):
    """Take the PT-RS out of vectors; return them and their channels without unused layers."""
    sent = np.stack([ptrs_of_layers(layout, slot)[:, layout.data[0], layout.data[1]].T
                     for slot in slots])
    amplitudes = np.full((layout.num_vectors, layout.num_layers), UNUSED_LAYER, np.float32)
    for word in layout.words:
        amplitudes[word.vectors, word.layers] = 1
    return y - (h @ sent[..., None])[..., 0], h * amplitudes[:, None]


def ptrs_of_layers(layout, slot):
    """Return the PT-RS of all layers within the band: (layers, symbols, subcarriers)."""
    sent = np.zeros((layout.num_layers, *layout.resources.data_mask.shape), np.complex64)
    for user, config in enumerate(layout.configs):
        if config.ptrs is not None:
            ptrs_symbols(config, layout.in_frame(slot.number)).write(
                sent[_ptrs_layer(layout, user)])
    return sent[..., layout.band]


def _ptrs_layer(layout, user):
    """Return the layer, of all users', that has a user's PT-RS."""
    config = layout.configs[user]
    own = np.flatnonzero(layout.owners == user)
    return own[config.dmrs_ports.index(ptrs_port(config))]


def combine(received, h, noise_var, layer, interferers):
    """Combine antennas by linear MMSE: h_l^H (H_i H_i^H + noise_var I)^-1 y, complex (...).

    Args:
        received, h: (..., nr) and (..., nr, layers) complex.
        layer, interferers: indices of layer l, and of the layers i that send something else.
    """
    others, own = h[..., interferers], h[..., layer]
    covariance = others @ others.conj().swapaxes(-1, -2) + noise_var * np.eye(h.shape[-2])
    return np.sum(np.linalg.solve(covariance, own[..., None])[..., 0].conj() * received, axis=-1)


def symbol_phases(seen, sent, symbols, dmrs_symbols, count):
    """Return the phase of each of ``count`` symbols, relative to the channel estimate.

    The channel estimate has the phase of the DMRS symbols. Phases between symbols with PT-RS or
    DMRS are interpolated.

    Args:
        seen, sent: (P, Q) complex, received and sent signals of each symbol with PT-RS.
        symbols, dmrs_symbols: the symbols with PT-RS, and with DMRS.
    """
    known = np.concatenate([symbols, dmrs_symbols])
    phases = np.zeros(len(known))
    phases[:len(symbols)] = np.angle(np.sum(seen * np.conj(sent), axis=1))
    order = np.argsort(known)
    return np.interp(np.arange(count), known[order], np.unwrap(phases[order]))

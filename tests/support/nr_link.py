# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated transmissions of a PUSCH."""

import numpy as np
from gnuradio.mimopack import nr

CARRIER = nr.Carrier(n_cell_id=41, subcarrier_spacing_khz=30, n_size_grid=12)


def pusch(**settings):
    dmrs = nr.Dmrs(**{"additional_position": 1, **settings.pop("dmrs", {})})
    return nr.PuschConfig(**{"carrier": CARRIER, "n_rnti": 300, "dmrs": dmrs, **settings})


def taps(rng, num_rx, ports, subcarriers, delays=(0, 1.3, 3.1), powers=(0.6, 0.3, 0.1)):
    """Return a channel (subcarriers, nr, ports) of Rayleigh taps at delays in samples of 256."""
    gains = rng.normal(size=(2, len(delays), num_rx, ports)) * np.sqrt(
        np.array(powers) / 2)[:, None, None]
    waves = np.exp(-2j * np.pi / 256 * np.outer(np.arange(subcarriers), delays))
    return np.einsum("kd,drp->krp", waves, gains[0] + 1j * gains[1])


def noisy(rng, grid, noise_var):
    noise = rng.normal(size=(2, *grid.shape)) * np.sqrt(noise_var / 2)
    return (grid + noise[0] + 1j * noise[1]).astype(np.complex64)


def sent(rng, configs, slots):
    """Return transport blocks and grids (slots, ports of all users, symbols, subcarriers)."""
    transmitters = [nr.PuschTransmitter(config) for config in configs]
    bits = [rng.integers(0, 2, (len(slots), each.tb_size), np.uint8) for each in transmitters]
    return bits, np.concatenate([each.grids(own, slots) for each, own in zip(
        transmitters, bits, strict=True)], axis=1)


def through(rng, grids, num_rx, noise_var, offset=0.0):
    """Return received grids; ``offset`` is in cycles per symbol."""
    received = []
    for grid in grids:
        h = taps(rng, num_rx, len(grid), grid.shape[-1])
        received.append(np.einsum("krp,psk->rsk", h, grid))
    turn = np.exp(2j * np.pi * offset * np.arange(grids.shape[2]))
    return noisy(rng, np.array(received) * turn[:, None], noise_var)

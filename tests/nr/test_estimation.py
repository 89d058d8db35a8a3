# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel, noise and carrier offset of simulated slots are estimated with small errors."""

import numpy as np
import pytest
from gnuradio.mimopack import nr
from gnuradio.mimopack.nr.estimation import SlotModel, estimate_channel, time_basis
from gnuradio.mimopack.nr.noise import noise_covariance, whiten

SUBCARRIERS, NOISE_VAR = 288, 0.05
RX, SCALE = 4, 0.5**0.5


def normal(rng, *shape):
    return SCALE * (rng.normal(size=shape) + 1j * rng.normal(size=shape))


def slot(rng, ports=(0, 1), offset=0.0, doppler=0.0, delays=(0.0, 0.006, 0.02), late=0.01,
         **dmrs):
    """Return (known symbols, channel, received), with delays in symbols."""
    config = nr.PuschConfig(
        carrier=nr.Carrier(n_size_grid=24), num_layers=len(ports), dmrs_ports=ports,
        dmrs=nr.Dmrs(**{"additional_position": 2, **dmrs}))
    known = nr.PuschReceiver(config, RX).known_symbols(3)
    waves = np.exp(-2j * np.pi * np.outer(np.arange(SUBCARRIERS), np.array(delays) + late))
    in_time = time_basis(doppler, 14) if doppler else np.ones((14, 1))
    gains = normal(rng, in_time.shape[1], len(delays), RX, len(ports)) / np.sqrt(len(delays))
    h = np.einsum("lt,kd,tdrp->lkrp", in_time, waves, gains)
    h = h * np.exp(2j * np.pi * offset * np.arange(14))[:, None, None, None]
    received = np.einsum("lkrp,plk->rlk", h, known)
    return known, h, received + np.sqrt(NOISE_VAR) * normal(rng, *received.shape)


def estimated(known, received, **settings):
    return estimate_channel(received, known, np.abs(known).max(axis=0) > 0, **settings)


@pytest.mark.parametrize(("settings", "share"), [
    ({}, 0.06), ({"ports": (0, 1, 2, 3)}, 0.12), ({"delays": (0.0,)}, 0.04),
    ({"ports": (0, 1, 4, 5), "length": 2, "additional_position": 1}, 0.08),
    ({"ports": (0, 3, 4), "config_type": 2, "num_cdm_groups_without_data": 3}, 0.12),
    ({"offset": 0.02}, 0.08), ({"doppler": 0.012}, 0.12), ({"late": -0.01}, 0.06),
    ({"additional_position": 0}, 0.12)])
def test_the_error_is_small_and_known(settings, share):
    """The noise of one resource element over ``share`` is the largest error of all ports."""
    rng = np.random.default_rng(1)
    errors, expected, noise = [], [], []
    for _ in range(8):
        known, h, received = slot(rng, **settings)
        found = estimated(known, received)
        errors.append(np.mean(np.sum(np.abs(found.h - h)**2, axis=-1)) / NOISE_VAR)
        expected.append(found.error_var.mean() / NOISE_VAR)
        noise.append(found.noise_var / NOISE_VAR)
        if "offset" in settings:
            assert found.cfo == pytest.approx([0.02] * 2, abs=1e-3)
    assert np.mean(errors) < share
    assert 0.5 < np.mean(expected) / np.mean(errors) < 1.6
    assert np.mean(noise) == pytest.approx(1, abs=0.06)


def test_users_have_their_own_offsets_and_delays():
    rng = np.random.default_rng(2)
    known, h, _ = slot(rng)
    turns = np.outer(np.arange(14), [0.03, -0.02])
    late = np.outer(np.arange(SUBCARRIERS), [0.0, 0.03])
    h = h * np.exp(2j * np.pi * (turns[:, None, None] - late[None, :, None]))
    received = np.einsum("lkrp,plk->rlk", h, known)
    received = received + np.sqrt(NOISE_VAR) * normal(rng, *received.shape)
    found = estimated(known, received, users=[0, 1])
    assert found.cfo == pytest.approx([0.03, -0.02], abs=2e-3)
    assert np.mean(np.sum(np.abs(found.h - h)**2, axis=-1)) < 0.1 * NOISE_VAR


@pytest.mark.parametrize(("linked", "parts"), [(False, 6), (True, 1)])
def test_unknowns_are_solved_apart_as_together(linked, parts):
    """Three instants of two CDM groups share no elements; symbols known everywhere share all."""
    rng = np.random.default_rng(4)
    known, _, received = slot(rng, ports=(0, 1, 2, 3))
    basis = np.eye(14)
    if linked:
        known, basis = normal(rng, 8, 14, SUBCARRIERS), rng.normal(size=(14, 4))
    weight = np.abs(known).max(axis=0) > 0
    model = SlotModel(received, known, weight, basis, np.zeros(len(known), int), 0.07)
    kept = np.flatnonzero(model.step % 8 == 0)
    mean, blocks, degrees = model.solve(np.ones(model.num_profile), NOISE_VAR, kept)
    waves = np.exp(-2j * np.pi / model.count * np.outer(model.step[kept], np.arange(SUBCARRIERS)))
    sent = known[model.port[kept]] * basis.T[model.component[kept], :, None] * waves[:, None]
    sent = sent[:, weight].conj()    # A^H: (gains, elements)
    covariance = np.linalg.inv(sent @ sent.conj().T / NOISE_VAR + np.eye(len(kept)))
    together = covariance @ sent @ received[:, weight].T / NOISE_VAR
    assert mean == pytest.approx(together, abs=1e-9)
    assert degrees == pytest.approx(1 - np.diag(covariance).real, abs=1e-9)
    assert len(blocks) == parts
    for own, part, _ in blocks:
        assert part == pytest.approx(covariance[np.ix_(own, own)], abs=1e-9)


def test_pilots_of_unequal_number():
    """Two adjacent symbols count as one instant, with twice the pilots of the other."""
    rng, known = np.random.default_rng(4), np.zeros((1, 21, 120), complex)
    known[0, [0, 1, 4]] = rng.choice([1, -1], (3, 120))
    h = np.exp(-2j * np.pi * np.outer(np.arange(120), [0.001, 0.06, 0.12])) @ normal(rng, 3)
    received = known * h + np.sqrt(NOISE_VAR) * normal(rng, *known.shape)
    found = estimate_channel(received, known, np.abs(known[0]), prefix=0.2)
    assert found.doppler == 0 and found.cfo == 0
    assert found.h[..., 0, 0] == pytest.approx(np.tile(h, (21, 1)), abs=0.2)


def test_the_correlation_in_time_is_that_of_jakes():
    scipy = pytest.importorskip("scipy.special")
    basis, lags = time_basis(0.02, 14), np.subtract.outer(np.arange(14), np.arange(14))
    assert basis @ basis.T == pytest.approx(scipy.j0(2 * np.pi * 0.02 * lags), abs=0.02)
    for symbols in range(1, 33):
        assert time_basis(0.0, symbols) == pytest.approx(np.ones((symbols, 1)))


@pytest.mark.parametrize("form", ["white", "antennas", "interferer"])
def test_covariance_has_the_simplest_form(form):
    rng = np.random.default_rng(3)
    true = {"white": 2 * np.eye(4), "antennas": np.diag([1.0, 2.0, 1.0, 4.0])}.get(form)
    if true is None:
        direction = normal(rng, 4)
        true = np.eye(4) + 5 * np.outer(direction, direction.conj())
    residual = np.linalg.cholesky(true) @ normal(rng, 4, 400)
    found = noise_covariance(residual)
    assert np.abs(found - true).max() < 0.25 * np.abs(true).max()
    off = np.abs(found - np.diag(np.diag(found))).max()
    assert (off > 0) == (form == "interferer")
    assert (np.ptp(np.diag(found).real) > 0) == (form != "white")
    white = whiten(residual, found)
    assert white @ white.conj().T / 400 == pytest.approx(np.eye(4), abs=0.2)
    assert noise_covariance(residual, degrees=100)[0, 0].real == pytest.approx(
        found[0, 0].real * 400 / 300)


def test_shapes_must_match():
    grid = np.zeros((2, 14, 24), complex)
    with pytest.raises(ValueError, match=r"got shapes \(1, 14, 24\) and \(14,\), must end with"):
        estimate_channel(grid, grid[:1], np.ones(14))
    with pytest.raises(ValueError, match=r"covariance: got shape \(3, 3\), must be \(2, 2\)"):
        whiten(grid, np.eye(3))

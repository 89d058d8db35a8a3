# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slots with a common power-delay profile are estimated as well as each slot alone."""

from unittest.mock import Mock

import numpy as np
import pytest
from gnuradio.mimopack import nr
from gnuradio.mimopack.cuda import estimation, source
from gnuradio.mimopack.nr import tracking
from gnuradio.mimopack.nr.noise import noise_covariance
from gnuradio.mimopack.nr.profile_filter import ProfileFilter
from gnuradio.mimopack.nr.tracking import LAST_SLOT, LEAST_SLOTS, Tracker, layer_powers
from nvrtc import Program
from without_gpu import compiled, run

SUBCARRIERS, NOISE_VAR, RX, PREFIX = 288, 0.05, 4, 144 / 2048


def normal(rng, *shape):
    return 0.5**0.5 * (rng.normal(size=shape) + 1j * rng.normal(size=shape))


@pytest.fixture
def alone(monkeypatch):
    """The function that estimates slots alone, with ``call_count``."""
    counted = Mock(wraps=tracking.estimate_alone)
    monkeypatch.setattr(tracking, "estimate_alone", counted)
    return counted


def receiver(scrambling=(0, 0), **dmrs):
    users = [nr.PuschConfig(
        carrier=nr.Carrier(n_size_grid=24), dmrs_ports=(port,),
        dmrs=nr.Dmrs(n_scid=scrambling[port], **{"additional_position": 2, **dmrs}))
        for port in (0, 1)]
    return nr.PuschReceiver(users, RX)


def tracker(of):
    return Tracker(of.known_symbols, np.zeros(2, int), PREFIX)


def simulate(rng, known, slots, delays=(0.0, 0.006, 0.02), offset=0.0):
    """Return (channels (slots, symbols, subcarriers, nr, ports), received)."""
    waves = np.exp(-2j * np.pi * np.outer(np.arange(SUBCARRIERS), delays))
    gains = normal(rng, slots, len(delays), RX, 2) / np.sqrt(len(delays))
    h = np.einsum("kd,sdrp->skrp", waves, gains)[:, None] * np.exp(
        2j * np.pi * offset * np.arange(14))[:, None, None, None]
    sent = np.stack([known(slot) for slot in range(slots)])
    received = np.einsum("slkrp,splk->srlk", h, sent)
    return h, received + np.sqrt(NOISE_VAR) * normal(rng, *received.shape)


def error(estimates, h):
    found = np.stack([estimate.h for estimate in estimates])
    return np.mean(np.sum(np.abs(found - h)**2, axis=-1)) / NOISE_VAR


@pytest.mark.parametrize("offset", [0.0, 0.01])
def test_slots_are_estimated_as_well_as_alone(alone, offset):
    rng, of = np.random.default_rng(1), receiver()
    h, received = simulate(rng, of.known_symbols, 16, offset=offset)
    estimates = tracker(of).estimate(received, np.arange(16)).estimates
    assert alone.call_count == 0
    single = [alone(received[slot], of.known_symbols(slot), np.zeros(2, int), PREFIX)[1]
              for slot in range(16)]
    assert error(estimates, h) < 1.05 * error(single, h)
    noise = [estimate.noise_var / NOISE_VAR for estimate in estimates]
    assert np.mean(noise) == pytest.approx(1, abs=0.03)
    assert np.std(noise) < 0.1
    expected = np.mean([estimate.error_var for estimate in estimates]) / NOISE_VAR
    assert expected == pytest.approx(error(estimates, h), rel=0.2)


def test_an_odd_number_of_subcarriers():
    rng, of = np.random.default_rng(1), receiver()
    h, received = simulate(rng, of.known_symbols, 16)
    estimates = Tracker(lambda slot: of.known_symbols(slot)[..., :-1], np.zeros(2, int),
                        PREFIX).estimate(received[..., :-1], np.arange(16)).estimates
    expected = np.mean([estimate.error_var for estimate in estimates]) / NOISE_VAR
    assert expected == pytest.approx(error(estimates, h[:, :, :-1]), rel=0.2)


def test_slots_one_by_one_are_alone_only_at_the_beginning(alone):
    rng, of = np.random.default_rng(2), receiver()
    h, received = simulate(rng, of.known_symbols, 12)
    steps = tracker(of)
    results = [steps.estimate(received[slot:slot + 1], np.array([slot])).estimates[0]
               for slot in range(12)]
    assert alone.call_count == LEAST_SLOTS - 1
    assert error(results, h) < 0.1


def test_an_old_profile_is_learned_again_if_the_noise_has_risen(alone):
    """A weak path comes after LAST_SLOT slots, which do not change the profile by themselves."""
    rng, of = np.random.default_rng(6), receiver()
    h, received = simulate(rng, of.known_symbols, 8)
    late, path = simulate(rng, of.known_symbols, 8, delays=(0.04,))
    changed, weak = h + 0.15 * late, received + 0.15 * path
    steps, used = tracker(of), []
    for _ in range(LAST_SLOT // 8 + 3):
        steps.estimate(received, np.arange(8))
        used.append(steps.profile)
    assert len(set(used)) == 1
    before = error(steps.estimate(weak, np.arange(8)).estimates, changed)
    for _ in range(12):
        after = steps.estimate(weak, np.arange(8)).estimates
    assert steps.profile not in (used[0], None) and alone.call_count == 0
    assert error(after, changed) < 0.5 * before


def test_another_profile_is_learned(alone):
    rng, of = np.random.default_rng(3), receiver()
    first, early = simulate(rng, of.known_symbols, 8)
    second, late = simulate(rng, of.known_symbols, 8, delays=(0.012, 0.03))
    received = np.concatenate([early, late])
    results = tracker(of).estimate(received, np.arange(16) % 8).estimates
    assert alone.call_count == 1
    assert error(results, np.concatenate([first, second])) < 0.1


@pytest.mark.parametrize("power", [NOISE_VAR, 100.0])
def test_a_profile_of_noise_does_not_last(power):
    """Slots without a signal, or a burst, come before the signal."""
    rng, of = np.random.default_rng(6), receiver()
    h, received = simulate(rng, of.known_symbols, 20)
    whole = tracker(of)
    whole.estimate(np.sqrt(power) * normal(rng, 8, *received.shape[1:]), np.arange(8))
    for _ in range(8):
        estimates = whole.estimate(received, np.arange(20)).estimates
    assert error(estimates, h) < 1.1 * error(tracker(of).estimate(
        received, np.arange(20)).estimates, h)


def test_ports_with_different_sequences_are_estimated_alone(alone):
    rng, of = np.random.default_rng(4), receiver((0, 1))
    h, received = simulate(rng, of.known_symbols, 6)
    results = tracker(of).estimate(received, np.arange(6)).estimates
    assert alone.call_count == 6
    assert error(results, h) < 0.25


def test_an_interferer_is_whitened():
    rng, of = np.random.default_rng(5), receiver()
    _, received = simulate(rng, of.known_symbols, 12)
    received[8:] += 3 * np.sqrt(NOISE_VAR) * normal(rng, 4, RX, 1, 1) * normal(
        rng, 4, 1, *received.shape[2:])
    results = tracker(of).estimate(received, np.arange(12))
    known = of.known_symbols(11)
    symbols, estimate = results.received[11], results.estimates[11]
    rest = symbols - np.einsum("lkrp,plk->rlk", estimate.h, known)
    covariance = noise_covariance(rest[:, np.abs(known).max(axis=0) > 0])
    assert covariance == pytest.approx(estimate.noise_var * np.eye(RX), abs=0.2 * NOISE_VAR)
    assert estimate.noise_var < 2 * NOISE_VAR


def test_the_gpu_program_compiles_without_spills():
    program = Program(source.channel_estimate(), "sm_75", source.OPTIONS)
    assert program.error is None and set(program.registers) == KERNELS
    assert not any(program.spills.values())


KERNELS = {"energies", "project", "gains", "synthesise", "errors", "whiten", "powers"}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(source.channel_estimate(), tmp_path_factory.mktemp("estimate"), kernels=KERNELS)


@pytest.fixture
def without_gpu(monkeypatch, program):
    """Kernels compiled by g++ take NumPy arrays."""
    def launch(name, like, blocks, *arguments):
        run(getattr(program, f"launch_{name}"), blocks, *(
            np.int32(value) if isinstance(value, int) else value for value in arguments))

    monkeypatch.setattr(estimation, "_run", launch)
    monkeypatch.setattr(estimation, "_empty",
                        lambda like, shape, dtype: np.full(shape, np.nan, dtype))
    monkeypatch.setattr(estimation, "_zeros", lambda like, shape, dtype: np.zeros(shape, dtype))
    monkeypatch.setattr(estimation, "cupy", lambda: np)


@pytest.mark.parametrize("offset", [0.0, 0.01])
def test_estimates_of_a_gpu(without_gpu, offset):
    """Slots with white noise, with more of it on one antenna, and with an interferer on all."""
    rng, of = np.random.default_rng(8), receiver()
    _, received = simulate(rng, of.known_symbols, 9, offset=offset)
    known = np.stack([of.known_symbols(slot) for slot in range(9)])[..., :48]
    received = received[..., :48].astype(np.complex64)
    mask = np.abs(known[0]).max(axis=0) > 0
    sequence = known[:, 0] / np.maximum(np.abs(known[:, 0]), 1e-9)
    profile = ProfileFilter(received[:8][..., mask] * sequence[:8][:, None, mask].conj(),
                            known[0] * sequence[0].conj(), np.zeros(2, int), PREFIX)
    late, strength = received[8:].repeat(3, axis=0), 3 * np.sqrt(NOISE_VAR)
    late[1, 0] += strength * normal(rng, *late.shape[2:])
    late[2] += strength * normal(rng, RX, 1, 1) * normal(rng, *late.shape[2:])
    pilots = np.ascontiguousarray(late[..., mask] * sequence[8, mask].conj(), np.complex64)
    *expected, factors = profile.estimate(pilots)
    *found, own = profile._on_gpu(pilots)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=2e-3 * np.abs(other).max())
    np.testing.assert_allclose(own, factors, atol=2e-3)
    np.testing.assert_array_equal(own[0], np.eye(RX))
    assert np.array_equal(own[1], np.diag(np.diag(own[1]))) and abs(own[2, 1, 0]) > 0.1
    np.testing.assert_allclose(
        estimation.whitened(own, late), np.einsum("sij,sjlk->silk", own, late), atol=1e-4)
    np.testing.assert_allclose(estimation.powers(found[0]), layer_powers(found[0]), rtol=1e-4)

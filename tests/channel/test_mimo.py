# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel simulator: powers, streams and bursts, offsets, bad input."""

import numpy as np
import pytest
from gnuradio.mimopack.channel import MIMOChannel

RATE = 20e6


def _tones(num_tx, n, seed=0, band=0.43):
    """Return random multitone signals within +-band of the sample rate, defined at any time."""
    rng = np.random.default_rng(seed)
    frequencies = rng.uniform(-band, band, (num_tx, 12))
    amplitudes = rng.standard_normal((num_tx, 12)) + 1j * rng.standard_normal((num_tx, 12))

    def at(time):
        return np.einsum("kf,kfn->kn", amplitudes,
                         np.exp(2j * np.pi * frequencies[..., None] * time)) / np.sqrt(24)

    return at, at(np.arange(n)).astype(np.complex64)


@pytest.mark.quick
def test_every_antenna_pair_has_unit_mean_power_and_the_profiles_delays():
    channel = MIMOChannel(2, 3, "tdl_b", 100e-9, RATE, seed=1)
    powers = np.zeros(channel.tail + 1)
    pairs = np.zeros((3, 2))
    realisations = 1500
    for _ in range(realisations):
        h = np.abs(channel.impulse_response()) ** 2
        pairs += h.sum(-1)
        powers += h.mean((0, 1))
        channel.renew()
    assert pairs / realisations == pytest.approx(np.ones((3, 2)), abs=0.06)
    powers /= realisations
    # The expected power in tap l is sum_p P_p sinc^2(l - d_p), if the window is neglected.
    profile = channel.profile
    t = np.arange(channel.tail + 1)[:, None] - channel.latency - profile.delays * RATE
    expected = np.sinc(t) ** 2 @ profile.powers
    assert powers == pytest.approx(expected, abs=0.012)
    delays = (np.arange(channel.tail + 1) - channel.latency) / RATE
    mean = powers @ delays / powers.sum()
    assert mean == pytest.approx(profile.powers @ profile.delays, rel=0.05)


def test_paths_between_samples_are_band_limited_delays():
    channel = MIMOChannel(1, 1, "tdl_c", 37e-9, RATE, seed=2)
    at, x = _tones(1, 400)
    y = channel.apply(x)[0]
    assert y.shape == (400 + channel.tail,)
    gains = channel._gains(0)[:, 0, 0] * np.sqrt(channel.profile.powers)
    middle = np.arange(100, 400)
    expected = sum(g * at(middle - channel.latency - d * RATE)[0]
                   for g, d in zip(gains, channel.profile.delays, strict=True))
    error = np.mean(np.abs(y[middle] - expected) ** 2) / np.mean(np.abs(expected) ** 2)
    assert 10 * np.log10(error) < -55


def test_frequency_response_is_what_a_subcarrier_sees():
    channel = MIMOChannel(2, 2, "tdl_a", 50e-9, RATE, seed=4)
    k = 11
    tone = np.exp(2j * np.pi * k / 64 * np.arange(640))
    y = channel.apply(np.stack([tone, 0 * tone]))
    expected = channel.frequency_response(64)[k, :, 0]
    n = 320 + channel.latency
    assert y[:, n] == pytest.approx(expected * tone[320], abs=1e-4)


@pytest.mark.quick
def test_noise_has_the_power_that_the_snr_says():
    channel = MIMOChannel(2, 3, snr_db=13.0, signal_power=0.5, seed=9)
    silence = np.zeros((2, 200000), np.complex64)
    noise = channel.apply(silence)
    expected = 0.5 / 10**1.3
    assert channel.noise_var == pytest.approx(expected)
    assert np.mean(np.abs(noise) ** 2, axis=1) == pytest.approx(np.full(3, expected), rel=0.02)
    covariance = noise @ noise.conj().T / noise.shape[1]
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 0.02 * expected
    assert abs(np.mean(noise**2)) < 0.02 * expected  # circular
    channel.snr_db = None
    assert not channel.apply(silence).any()


def test_carrier_offset_changes_without_a_jump():
    channel = MIMOChannel(1, 1, cfo=40e3, seed=11)
    ones = np.ones((1, 1000), np.complex64)
    first = channel.process(ones)
    channel.cfo = -25e3
    second = channel.process(ones)
    phases = np.unwrap(np.angle(np.concatenate([first, second], axis=1)[0]))
    steps = np.diff(phases) * RATE / (2 * np.pi)
    assert steps[:999] == pytest.approx(np.full(999, 40e3), abs=200)
    assert steps[1000:] == pytest.approx(np.full(999, -25e3), abs=200)
    assert -25.2e3 < steps[999] < 40.2e3


@pytest.mark.parametrize("ppm", [-20.0, 700.0])
def test_sampling_offset_reads_the_signal_at_other_times(ppm):
    n = 12000
    channel = MIMOChannel(1, 1, sampling_offset=ppm, seed=12)
    at, x = _tones(1, n)
    y = channel.process(x)[0]
    assert len(y) == pytest.approx(n / (1 + ppm * 1e-6), abs=2)
    k = np.arange(100, len(y))
    gain = channel.impulse_response().sum()
    expected = gain * at(k * (1 + ppm * 1e-6) - channel.latency)[0]
    error = np.mean(np.abs(y[k] - expected) ** 2) / np.mean(np.abs(expected) ** 2)
    assert 10 * np.log10(error) < -50


STREAMS = {
    "static": dict(profile="tdl_a", delay_spread=60e-9),
    "fast clock": dict(profile="flat", sampling_offset=-400.0),
    "all": dict(profile="tdl_b", delay_spread=50e-9, doppler=2e3, sampling_offset=300.0,
                cfo=123e3, snr_db=20.0, rho_tx=0.4, rho_rx=0.4),
}


@pytest.mark.parametrize("settings", STREAMS.values(), ids=STREAMS)
def test_a_stream_does_not_depend_on_how_it_is_cut(settings):
    x = _tones(2, 9000)[1]
    whole = MIMOChannel(2, 3, seed=13, **settings).process(x)
    channel = MIMOChannel(2, 3, seed=13, **settings)
    rng = np.random.default_rng(0)
    pieces, at = [], 0
    while at < 9000:
        n = int(rng.choice([1, 2, 63, 700, 1500]))
        expected = channel.num_outputs(min(n, 9000 - at))
        pieces.append(channel.process(x[:, at:at + n]))
        assert pieces[-1].shape == (3, expected)
        at += n
    assert np.concatenate(pieces, axis=1) == pytest.approx(whole, abs=2e-5)


def test_a_burst_comes_out_with_its_tail():
    settings = dict(profile="tdl_c", delay_spread=50e-9, seed=14)
    x = _tones(2, 300)[1]
    burst = MIMOChannel(2, 2, **settings).apply(x)
    channel = MIMOChannel(2, 2, **settings)
    stream = channel.process(np.pad(x, ((0, 0), (0, channel.tail))))
    assert burst == pytest.approx(stream, abs=1e-5)
    assert np.abs(burst[:, -1]).max() < np.abs(burst).max() / 100


def test_the_seed_decides_everything():
    def run(seed):
        return MIMOChannel(2, 2, "tdl_a", 50e-9, doppler=100.0, snr_db=10.0,
                           seed=seed).apply(np.ones((2, 500), np.complex64))

    assert np.array_equal(run(1), run(1))
    assert not np.allclose(run(1), run(2), atol=0.1)


@pytest.mark.parametrize(("settings", "message"), [
    (dict(profile="tdl_z"), "profile: got 'tdl_z', allowed are flat, tdl_a"),
    (dict(profile="tdl_a", delay_spread=-1e-9), "delay_spread"),
    (dict(num_tx=0), "num_tx: got 0"),
    (dict(rho_tx=1.0), "rho_tx: got 1.0"),
    (dict(snr_db=np.nan), "snr_db: got nan"),
    (dict(cfo=11e6), "cfo"),
    (dict(doppler=-1.0), "doppler"),
    (dict(sampling_offset=2000.0), "sampling_offset"),
    (dict(signal_power=0.0), "signal_power"),
    (dict(sample_rate=0.0), "sample_rate"),
])
def test_bad_parameters_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        MIMOChannel(**{"num_tx": 2, "num_rx": 2, **settings})


def test_wrong_number_of_antennas_is_refused():
    with pytest.raises(ValueError, match=r"samples: got shape \(3, 5\), must be \(2, n\)"):
        MIMOChannel(2, 2).apply(np.zeros((3, 5)))

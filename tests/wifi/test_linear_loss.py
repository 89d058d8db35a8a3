# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loss of linear detectors, compared with simulated frames over the same channels."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from gnuradio.mimopack import constellation, detectors, wifi
from gnuradio.mimopack.wifi.data_field import DataField
from gnuradio.mimopack.wifi.linear_loss import THRESHOLDS, linear_loss

BER = 1e-4
# mcs, coding, antennas, correlation of neighbouring antennas on both sides, seed
CASES = [(9, "bcc", 2, 0.5, 0), (11, "bcc", 2, 0.0, 1), (13, "ldpc", 2, 0.6, 1),
         (19, "bcc", 3, 0.7, 2), (29, "bcc", 4, 0.0, 2)]


def multipath(num_rx, num_tx, correlation, seed):
    """Return four Rayleigh taps (4, num_rx, num_tx); the power falls by 1 / 1.5 nepers per tap."""
    rng = np.random.default_rng(seed)
    profile = np.exp(-np.arange(4) / 1.5)
    shape = (4, num_rx, num_tx)
    taps = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)
    rows, columns = (np.linalg.cholesky(correlation ** np.abs(np.subtract.outer(
        np.arange(n), np.arange(n)))) for n in (num_rx, num_tx))
    return rows @ (taps * np.sqrt(profile / profile.sum())[:, None, None]) @ columns.T


class Link:
    """Coded frames over known channels: bits, data field, detector, decoder."""

    def __init__(self, frame_format, taps, frames=150):
        f = self.format = frame_format
        k = f.plan.used
        h = np.einsum("kt,trs->krs", np.exp(-2j * np.pi / 64 * np.outer(k, np.arange(len(taps)))),
                      taps)
        self.state = wifi.ChannelState(k, h.astype(np.complex64), np.ones(taps.shape[1]))
        self._h = self.state.matrices[f.plan.data_index]
        self._field, rng = DataField(f), np.random.default_rng(5)
        self._bits = rng.integers(0, 2, (frames, f.num_scrambled), np.uint8)
        coded = np.take(self._field.code(self._bits), self._field.source, axis=2)
        points = constellation.get(f.constellation)
        x = points.modulate(coded.reshape(-1, f.num_streams * points.bits_per_symbol))
        x = x.reshape(frames, f.num_symbols, -1, f.num_streams)
        self._clean = np.einsum("krs,ntks->kntr", self._h, x)
        noise = rng.standard_normal((*self._clean.shape, 2))
        self._noise = noise.view(complex)[..., 0] / np.sqrt(2)

    def errors(self, name, snr_db):
        """Return the (bit, frame) error rates."""
        f, noise_var = self.format, 10 ** (-snr_db / 10)
        y = (self._clean + np.sqrt(noise_var) * self._noise).astype(np.complex64)
        k, n, t, rows = y.shape
        llr = detector(name, f.num_streams, rows, f.constellation).detect(
            y.reshape(-1, rows), self._h, noise_var)
        llr = llr.reshape(k, n, t, -1).transpose(1, 2, 0, 3).reshape(n, t, -1)
        payloads = self._field.decode(np.ascontiguousarray(llr))
        found = np.stack([payload.scrambled for payload in payloads])
        end = f.tail_position if f.coding == "bcc" else f.num_scrambled
        wrong = found[:, :end] != self._bits[:, :end]
        return wrong.mean(), wrong.any(axis=1).mean()

    def needed_db(self, name, rate, kind=0):
        """Return the SNR at which the bit (kind 0) or frame (kind 1) error rate is ``rate``."""
        low, high = -10.0, 70.0
        while high - low > 0.1:
            middle = (low + high) / 2
            low, high = ((middle, high) if self.errors(name, middle)[kind] > rate
                         else (low, middle))
        return (low + high) / 2


@cache
def detector(name, num_tx, num_rx, points):
    return detectors.create(name, num_tx=num_tx, num_rx=num_rx, constellation=points,
                            backend="cpu", threads=1)


@cache
def measured(case):
    """Return (link, SNRs that N-way, MMSE and ZF need)."""
    mcs, coding, num_rx, correlation, seed = case
    link = Link(wifi.HT(mcs, 500, coding=coding),
                multipath(num_rx, mcs // 8 + 1, correlation, seed))
    return link, *(link.needed_db(name, BER) for name in ("nway", "mmse", "zf"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_losses_are_those_of_simulated_frames_at_equal_bit_error_rates(case):
    link, strong, mmse, zf = measured(case)
    found = linear_loss(link.format, link.state)
    assert found.mmse_db == pytest.approx(mmse - strong, abs=0.5 + 0.15 * (mmse - strong))
    assert found.zf_db == pytest.approx(zf - strong, abs=1.0 + 0.25 * (zf - strong))
    assert found.detector == "nway"


@pytest.mark.parametrize("case", CASES[::2], ids=str)
def test_the_margin_is_the_distance_to_what_the_detector_needs(case):
    link, _, _, _ = measured(case)
    needed = link.needed_db("nway", 0.1, kind=1)
    found = linear_loss(link.format, link.state)    # unit noise
    assert -found.margin_db == pytest.approx(needed, abs=1.0)
    # Ten times the noise costs 10 dB.
    noisier = linear_loss(link.format, replace(link.state, noise=10 * link.state.noise))
    assert noisier.margin_db == pytest.approx(found.margin_db - 10, abs=0.1)
    assert noisier.mmse_db == pytest.approx(found.mmse_db, abs=0.1)


@pytest.mark.parametrize("mcs", [8, 11, 15, 27, 29])
def test_nothing_is_left_on_orthogonal_channels(mcs):
    f = wifi.HT(mcs, 100)
    rng = np.random.default_rng(mcs)
    n, streams = f.plan.used.size, f.num_streams
    shape = (n, streams + 1, streams)
    h = np.linalg.qr(rng.standard_normal(shape) + 1j * rng.standard_normal(shape))[0]
    # Streams differ in strength. Antennas differ in noise, which whitening normalises.
    noise = np.linspace(1, 3, streams + 1)
    h = h * np.linspace(1, 2, streams) * np.sqrt(noise)[:, None]
    found = linear_loss(f, wifi.ChannelState(f.plan.used, h.astype(np.complex64), noise))
    # N-way uses real-valued layers and clips LLRs, so the numbers are not identical.
    assert abs(found.mmse_db) < 0.1 and abs(found.zf_db) < 0.1


def test_streams_in_one_direction_are_lost_to_linear_detectors():
    f = wifi.HT(9, 100)
    h = np.ones((f.plan.used.size, 2, 2), np.complex64) * np.array([1, 0.4j])
    h[:, 1, 1] *= 1.001    # not quite of rank 1
    found = linear_loss(f, wifi.ChannelState(f.plan.used, h, np.ones(2)))
    assert found.mmse_db > 10 and found.zf_db > 20 and np.isfinite(found.margin_db)


def test_what_is_compared():
    link = measured(CASES[1])[0]
    assert linear_loss(link.format, link.state, "mla").detector == "mla"
    for name in ("mmse", "zf", "sd", "bitflip", "a user's own"):
        assert linear_loss(link.format, link.state, name) == linear_loss(link.format, link.state)
    # 64-QAM on four streams has more candidates than linear_loss allows.
    link = measured(CASES[-1])[0]
    assert linear_loss(link.format, link.state, "mla").detector == "nway"
    # More streams than antennas.
    state = replace(link.state, matrices=link.state.matrices[:, :1], noise=np.ones(1))
    assert linear_loss(link.format, state) is None


@pytest.mark.parametrize(("mcs", "coding"), [(8, "bcc"), (14, "bcc"), (13, "ldpc"), (15, "ldpc")])
def test_thresholds(mcs, coding):
    """The margin is 0 at the SNR at which one frame in ten is lost."""
    f = wifi.HT(mcs, 500, coding=coding)
    link = Link(f, multipath(3, 2, 0.3, 4), frames=100)
    noise_var = 10 ** (-link.needed_db("mmse" if mcs == 8 else "nway", 0.1, kind=1) / 10)
    found = linear_loss(f, replace(link.state, noise=noise_var * link.state.noise))
    assert found.margin_db == pytest.approx(0, abs=1.0)
    numerator, denominator = map(int, f.code_rate.split("/"))
    assert 0.02 < THRESHOLDS[f.coding][f.code_rate] - numerator / denominator < 0.25

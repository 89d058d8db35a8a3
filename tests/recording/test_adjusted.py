# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings whose samples change as they are read."""

import numpy as np
import pytest
from gnuradio.mimopack import recording

TONES = np.array([-8.8e6, -3e6, 0, 5e6, 8.8e6])    # within the subcarriers of a 20 MHz channel


def written(folder, samples, rate):
    return recording.Reader(recording.write(folder / "r", samples, rate))


def tones(rate, count, frequencies=TONES):
    turns = np.outer(np.arange(count), frequencies) / rate
    return np.exp(2j * np.pi * turns).sum(axis=1)


@pytest.mark.parametrize("given, rate", [
    (30.72e6, 20e6), (61.44e6, 40e6)])
def test_resampling_keeps_the_channel_and_removes_its_neighbour(tmp_path, given, rate):
    scale = rate / 20e6
    reader = written(tmp_path, np.stack([
        tones(given, 20_000, TONES * scale),
        tones(given, 20_000, [(rate + 2 * scale * 1e6) / 2, given / 2 - 1e5])]), given)
    adjusted = recording.Adjusted(reader, rate)
    assert adjusted.num_samples == pytest.approx(20_000 * rate / given, abs=2)
    samples = adjusted.read()
    inside = slice(100, -100)
    expected = tones(rate, adjusted.num_samples, TONES * scale)
    error = np.abs(samples[0] - expected)[inside]
    assert 20 * np.log10(error.max()) < -40
    if scale == 1:
        assert 20 * np.log10(np.abs(samples[1, inside]).max()) < -50
    pieces = np.concatenate(list(adjusted.pieces(777)), axis=1)
    np.testing.assert_array_equal(pieces, samples)


@pytest.mark.quick
def test_swapped_and_aligned(tmp_path):
    rng = np.random.default_rng(1)
    sent = rng.standard_normal((2, 1000, 2)).astype(np.float32).view(np.complex64)[..., 0]
    late = np.stack([sent[0], np.roll(sent[1], 12) * np.exp(2j * np.pi * 3e3 / 20e6
                                                           * np.arange(-12, 988))])
    reader = written(tmp_path, late.imag + 1j * late.real, 20e6)
    adjusted = recording.Adjusted(reader, swap_iq=True, delays=[0, 12], offsets=[0.0, 3e3])
    samples = np.concatenate(list(adjusted.pieces(100)), axis=1)
    np.testing.assert_allclose(samples[:, :988], sent[:, :988], atol=1e-5)
    assert not samples[1, 988:].any()


def test_a_higher_rate_is_refused(tmp_path):
    reader = written(tmp_path, np.ones((1, 10)), 20e6)
    with pytest.raises(ValueError, match="sample_rate: got 4e\\+07, must not be above"):
        recording.Adjusted(reader, 40e6)

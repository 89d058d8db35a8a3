# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""OFDM of a carrier equals the sum in TS 38.211 §5.3.1, and comes back."""

import nr_oracle
import numpy as np
import pytest
from gnuradio.mimopack import nr

pytestmark = pytest.mark.quick


def random_grid(carrier, *shape, seed=1):
    rng = np.random.default_rng(seed)
    shape = (*shape, carrier.symbols_per_slot, carrier.num_subcarriers)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)


CARRIERS = [nr.Carrier(subcarrier_spacing_khz=spacing, n_size_grid=5, cyclic_prefix=prefix)
            for spacing, prefix in ((15, "normal"), (30, "normal"), (60, "normal"),
                                    (60, "extended"), (120, "normal"))]
each = pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: (
    f"{carrier.subcarrier_spacing_khz} {carrier.cyclic_prefix}"))


@each
@pytest.mark.parametrize("fft_size", [128, 384])
def test_a_subframe_is_the_sum_of_the_standard(carrier, fft_size):
    slots = 1 << carrier.mu
    grid = random_grid(carrier, slots)
    samples = nr.Ofdm(carrier, fft_size).modulate(grid)
    expected = np.concatenate(nr_oracle.symbol_samples(carrier, grid.reshape(-1, 60), fft_size))
    assert len(samples) == 15 * fft_size * slots      # 1 ms
    np.testing.assert_allclose(samples, expected, atol=1e-4)


@each
@pytest.mark.parametrize("fft_size", [None, 384])
def test_grids_come_back(carrier, fft_size):
    ofdm = nr.Ofdm(carrier, fft_size)
    grid = random_grid(carrier, 3, 2)
    samples = ofdm.modulate(grid, slot=1)
    assert samples.shape == (2, sum(ofdm.slot_length(slot) for slot in (1, 2, 3)))
    for early in (0, 4):
        more = np.pad(samples, ((0, 0), (0, 100)))
        np.testing.assert_allclose(ofdm.demodulate(more, 1, early), grid, atol=1e-5)
    # three samples late, still within the prefix: the grid turns with the subcarrier
    late = np.pad(samples, ((0, 0), (3, 0)))[:, :samples.shape[1]]
    k = np.arange(60) - 30
    np.testing.assert_allclose(ofdm.demodulate(late, 1, 4)[:2],
                               (grid * np.exp(-2j * np.pi * 3 * k / ofdm.fft_size))[:2], atol=1e-4)


@pytest.mark.parametrize("fft_size", [128, 384])
def test_carrier_offset(fft_size):
    carrier = CARRIERS[1]
    ofdm, grid = nr.Ofdm(carrier, fft_size), random_grid(carrier, 2, 3)
    samples = ofdm.modulate(grid)
    turned = samples * np.exp(2j * np.pi * 0.3 / fft_size * np.arange(samples.shape[1]))
    np.testing.assert_allclose(ofdm.demodulate(turned, cfo=0.3), grid, atol=1e-4)
    assert np.abs(ofdm.demodulate(turned) - grid).max() > 1


def test_phase_of_the_carrier():
    """A mixer that never breaks sends what §5.4 asks for: its carrier begins anew each symbol."""
    carrier = nr.Carrier(subcarrier_spacing_khz=30, n_size_grid=5, carrier_frequency_hz=2.13e6)
    plain = nr.Carrier(subcarrier_spacing_khz=30, n_size_grid=5)
    ofdm, grid = nr.Ofdm(carrier, 128), random_grid(carrier, 2)
    samples = ofdm.modulate(grid)
    mixed = samples * np.exp(2j * np.pi * 2.13e6 * np.arange(samples.size) / ofdm.sample_rate)
    at = 0
    for symbol in nr_oracle.symbol_samples(plain, grid.reshape(-1, 60), 128):
        time = (np.arange(len(symbol)) - (len(symbol) - 128)) / ofdm.sample_rate
        np.testing.assert_allclose(mixed[at:at + len(symbol)],
                                   symbol * np.exp(2j * np.pi * 2.13e6 * time), atol=1e-3)
        at += len(symbol)
    np.testing.assert_allclose(ofdm.demodulate(samples), grid, atol=1e-4)


def test_sizes():
    assert [nr.Ofdm(nr.Carrier(n_size_grid=prbs)).fft_size for prbs in (9, 10, 24, 51, 106, 273)] \
        == [128, 256, 512, 1024, 2048, 4096]
    assert nr.Ofdm(nr.Carrier(n_size_grid=51)).sample_rate == 30.72e6
    with pytest.raises(ValueError, match="fft_size: got 600, allowed are 612"):
        nr.Ofdm(nr.Carrier(n_size_grid=51), 600)
    with pytest.raises(ValueError, match="fft_size: got 700, must be a multiple of 128"):
        nr.Ofdm(nr.Carrier(n_size_grid=51), 700)
    with pytest.raises(ValueError, match="samples: got 100, must be at least a slot of 15360"):
        nr.Ofdm(nr.Carrier(n_size_grid=51)).demodulate(np.zeros(100))


def test_slots_that_are_late_by_parts_of_a_sample():
    rng, ofdm = np.random.default_rng(1), nr.Ofdm(nr.Carrier(n_size_grid=6))
    grid = rng.normal(size=(2, 14, 72, 2)) @ [1, 1j]
    samples = ofdm.modulate(grid)
    one, other = ofdm.demodulate(samples, early=4), ofdm.demodulate(samples, early=4, late=[0, 0.4])
    np.testing.assert_array_equal(other[0], one[0])
    turns = 0.4 * np.arange(-36, 36) / ofdm.fft_size
    np.testing.assert_allclose(other[1], one[1] * np.exp(2j * np.pi * turns), atol=1e-5)

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel matrices of simulated links."""

import numpy as np
import pytest
from gnuradio.mimopack import sim
from gnuradio.mimopack.channel import power_delay_profile
from gnuradio.mimopack.sim.channels import make_channel


class TestChannels:
    def draw(self, text, frames=400, vectors=60, num_rx=2, num_tx=2):
        return make_channel(text)(frames, vectors, num_rx, num_tx, np.random.default_rng(1))

    def test_block_fading(self):
        assert self.draw("rayleigh").shape == (24000, 2, 2)
        assert self.draw("block").shape == self.draw("block:length=99").shape == (400, 2, 2)
        assert self.draw("block:length=20").shape == (1200, 2, 2)
        uneven = self.draw("block:length=25").reshape(400, 60, 2, 2)
        assert np.all(uneven[:, :25] == uneven[:, :1])
        assert np.all(uneven[:, 50:] == uneven[:, 50:51])
        assert np.all(uneven[:, 0] != uneven[:, 25]) and np.all(uneven[:, 25] != uneven[:, 50])

    def test_correlation(self):
        h = self.draw("rayleigh:rho_tx=0.8")
        assert np.mean(h[:, 0, 0] * h[:, 0, 1].conj()) == pytest.approx(0.8, abs=0.03)
        assert abs(np.mean(h[:, 0, 0] * h[:, 1, 0].conj())) < 0.03

    def test_delay_line(self):
        """The mean over realisations of H(f) conj(H(f + d)) is the profile's Fourier transform."""
        h = self.draw("tdl_c,delay_spread_ns=80", 3000, 53).reshape(3000, 53, 4)
        np.testing.assert_array_equal(h[:, 0], h[:, 52])
        paths = power_delay_profile("tdl_c", 80e-9)
        expected = paths.powers @ np.exp(2j * np.pi * 6 * 312.5e3 * paths.delays)
        assert np.mean(h[:, 0] * h[:, 6].conj()) == pytest.approx(expected, abs=0.04)
        assert np.mean(np.abs(h) ** 2) == pytest.approx(1, rel=0.05)

    @pytest.mark.parametrize("text", ["rician", "rayleigh:rho_tx=1.5", "rayleigh:rho=0.5",
                                      "block:3", "block:length=0", "tdl_a:delay_spread_ns=x",
                                      "awgn:rho_tx=0", "rayleigh:rho_tx=0.5:rho_tx=0.5"])
    def test_refusals(self, text):
        with pytest.raises(ValueError, match="channel: got .* allowed are rayleigh .*, block"):
            sim.Link(channel=text)

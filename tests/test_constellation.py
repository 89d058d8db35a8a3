# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Constellations: points, bits, and bad input."""

import numpy as np
import pytest
from gnuradio.mimopack import constellation, detectors

pytestmark = pytest.mark.quick


class TestConstellation:
    def test_every_name(self):
        for name in constellation.BUILT_IN:
            points = constellation.get(name)
            assert np.mean(np.abs(points.points) ** 2) == pytest.approx(1)
            assert points.size == 2**points.bits_per_symbol

    def test_3gpp_16qam(self):
        """TS 38.211 §5.1.4: (1-2b0)(2-(1-2b2)) + j(1-2b1)(2-(1-2b3)), over sqrt(10)."""
        points = constellation.get("qam16")
        for label in range(16):
            b0, b1, b2, b3 = (label >> 3 & 1, label >> 2 & 1, label >> 1 & 1, label & 1)
            expected = ((1 - 2 * b0) * (2 - (1 - 2 * b2))
                        + 1j * (1 - 2 * b1) * (2 - (1 - 2 * b3))) / np.sqrt(10)
            assert points.points[label] == pytest.approx(expected)

    def test_80211_64qam(self):
        """IEEE 802.11-2020 table 17-15: bits 000 ... 100 run from -7 to 7 on each axis."""
        points = constellation.get("wlan_qam64").points * np.sqrt(42)
        order = [0b000, 0b001, 0b011, 0b010, 0b110, 0b111, 0b101, 0b100]
        for i, bits in enumerate(order):
            assert points[bits << 3].real == pytest.approx(2 * i - 7)
            assert points[bits].imag == pytest.approx(2 * i - 7)

    def test_gnuradio_objects(self):
        from gnuradio import digital

        for theirs in (digital.constellation_bpsk(), digital.constellation_qpsk(),
                     digital.constellation_8psk(), digital.constellation_16qam(),
                     digital.qam_constellation(16, mod_code="none")):
            ours = constellation.get(theirs)
            assert np.mean(np.abs(ours.points) ** 2) == pytest.approx(1)
            scale = np.sqrt(np.mean(np.abs(np.array(theirs.points())) ** 2))
            label = np.array([theirs.decision_maker_v([complex(p) * scale]) for p in ours.points])
            np.testing.assert_array_equal(label, np.arange(ours.size))
        assert constellation.get(digital.constellation_qpsk()).square_qam is not None

    def test_gnuradio_decisions_agree(self):
        """The signs of max-log LLRs of one antenna are the bits of the nearest point."""
        from gnuradio import digital

        theirs = digital.constellation_16qam()
        points = constellation.get(theirs)
        scale = float(np.sqrt(np.mean(np.abs(np.array(theirs.points())) ** 2)))
        rng = np.random.default_rng(0)
        y = (rng.standard_normal((500, 1)) + 1j * rng.standard_normal((500, 1))).astype(
            np.complex64)
        llr = detectors.MLA(1, 1, points).detect(y, np.ones((1, 1, 1), np.complex64), 0.1)
        label = np.array([theirs.decision_maker_v([complex(v) * scale]) for v in y[:, 0]])
        np.testing.assert_array_equal(llr > 0, points.bits[label])

    def test_bpsk_is_a_grid_with_one_axis(self):
        for name, turn in (("wlan_bpsk", 1), ("bpsk", -(1 + 1j) / np.sqrt(2))):
            grid = constellation.get(name).grid
            assert grid.sides == (2, 1) and grid.turn == pytest.approx(turn)
        assert constellation.get([0, np.sqrt(2)]).grid is None

    def test_layers(self):
        layers = constellation.of_layers("qam16, bpsk", 2)
        assert layers.name == "qam16,bpsk" and layers.size == 16
        sent = layers.modulate([[0, 1, 1, 0, 1]])
        expected = [constellation.get("qam16").points[6], constellation.get("bpsk").points[1]]
        np.testing.assert_allclose(sent, [expected], atol=1e-7)
        assert constellation.of_layers(["qpsk", "qpsk"], 2).name == "qpsk"
        assert constellation.of_layers(([1, -1], [1, 0]), 2).size == 2    # points, labels
        with pytest.raises(ValueError, match="got custom in a list"):
            constellation.of_layers([constellation.get([1, 1j, -1, -1j]), "qpsk"], 2)

    def test_modulate_refuses_part_of_a_symbol(self):
        with pytest.raises(ValueError, match="bits: got 3 in the last axis, must be a multiple"):
            constellation.get("qpsk").modulate([0, 1, 1])
        with pytest.raises(ValueError, match="bits: got values other than 0 and 1"):
            constellation.get("qpsk").modulate([0, 2])

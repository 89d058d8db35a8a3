# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of simulated links."""

import pytest
from gnuradio.mimopack import sim
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.sim.codes import make_code

LDPC = "wifi:648:1/2"


class TestCodes:
    @pytest.mark.parametrize("text, num_info, rate", [
        ("wimax:576:3/4A", 432, 3 / 4), (LDPC, 324, 1 / 2), ("nr:2:20", 200, 1 / 5),
        ("nr:1:16,factor=0.7", 352, 1 / 3), ("nr_matched:100:240:4:2", 100, 5 / 12),
        ("none:7", 112, 1), ("turbo:40", 40, 40 / 132), ("conv:60:3/4:margin=5", 60, 60 / 88)])
    def test_sizes(self, text, num_info, rate):
        code = make_code(text, 16)
        assert code.num_info == num_info and code.rate == pytest.approx(rate)

    @pytest.mark.parametrize("text", ["nr:2:9:factor=0.7", "turbo:512:extrinsic_scale=0.7",
                                      "conv:100:3/4:algorithm=viterbi"])
    def test_no_errors_at_high_snr(self, text):
        """With punctured bits and padded vectors."""
        link = sim.Link(3, 4, "qam64", text)
        row, = sim.Simulation(link, ["nway:iterations=2"]).run([30], max_frames=64)
        assert row["fer"] == [0, 0] and row["mean_passes"] == 1 and row["frames"] == 64
        assert row["ber_before_decoding"] < 0.02

    def test_alist_file(self, tmp_path):
        path = tmp_path / "code.alist"
        ldpc.write_alist(ldpc.wifi(648, "2/3"), path)
        code = make_code(f"{path}:algorithm=offset", 16)
        assert (code.num_info, code.num_bits) == (432, 648)
        assert code.decoder().algorithm == "offset"

    @pytest.mark.parametrize("text, message", [
        ("ldpc", ", allowed are none[:VECTORS], wimax:N:RATE"),
        ("none:0", "; vectors: got 0, allowed are 1 to 1000000"),
        ("wimax:2304", ", must be wimax:N:RATE"),
        ("wimax:2304:7/8", "; rate: got '7/8', allowed are 1/2,"),
        ("turbo:41", "; size: got 41, the nearest"),
        ("wifi:648:1/2:speed=3", "; speed: no option of the decoder, allowed are "),
        ("turbo:40:a=1:a=2", "; a is given twice")])
    def test_refusals(self, text, message):
        with pytest.raises(ValueError) as refusal:
            sim.Link(code=text)
        assert str(refusal.value).startswith(f"code: got {text!r}{message}")
        assert str(refusal.value).count("code: got") == 1

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Wi-Fi blocks in GNU Radio Companion: flowgraphs compile and run, bad parameters do not."""

import ast
import re

import pytest
from flowgraphs import block, run, save

MPDU = "pmt.cons(pmt.PMT_NIL, pmt.init_u8vector(60, list(range(60))))"
FORMATS = [
    {"format": "non-ht", "mcs": "54", "num_tx": "2"},
    {"format": "ht", "mcs": "9", "short_gi": "True", "coding": "ldpc", "aggregated": "True"},
    {"format": "vht", "mcs": "8", "num_streams": "2", "gap": "1000"}]


def sender(**settings):
    """An endless strobe of an MPDU into a transmitter, and the end of it after some samples."""
    settings = {"num_tx": "2", "backoff_db": "6.0", **settings}
    blocks = [
        block("imported", "import", imports="import pmt"),
        block("samp_rate", "variable", value="20e6"),
        block("strobe", "blocks_message_strobe", msg=MPDU, period="1"),
        block("tx", "mimopack_wifi_transmitter", **settings),
        *[block(f"head_{i}", "blocks_head", type="complex", num_items="30000") for i in range(2)],
        *[block(f"noise_{i}", "analog_noise_source_x", type="complex", amp="1e-3",
                noise_type="analog.GR_GAUSSIAN", seed=str(i)) for i in range(2)],
        *[block(f"sum_{i}", "blocks_add_xx", type="complex", num_inputs="2") for i in range(2)]]
    connections = [["strobe", "strobe", "tx", "in"]]
    for i in range(2):
        connections += [["tx", str(i), f"head_{i}", "0"], [f"head_{i}", "0", f"sum_{i}", "0"],
                        [f"noise_{i}", "0", f"sum_{i}", "1"]]
    return blocks, connections


def ended(script):
    """The script, ending when the samples do: the strobe never ends by itself."""
    head, tail = script.read_text().rsplit("    tb.wait()", 1)
    text = head + """    import time
    deadline = time.monotonic() + 60
    def waits():
        counts = tb.counted.counts()
        return counts["samples"] < 30000 or (
            hasattr(tb, "meter") and tb.meter.frames() < counts["frames"])
    while waits() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    tb.stop()
    tb.wait()
    print("counts", tb.counted.counts())""" + tail
    script.write_text(text)
    return script


@pytest.mark.parametrize("settings", FORMATS, ids=lambda one: f"{one['format']} {one['mcs']}")
def test_loop_in_a_compiled_flowgraph(companion, tmp_path, settings):
    blocks, connections = sender(**settings)
    blocks += [
        block("counted", "mimopack_wifi_receiver", num_rx="2", frequency="5.18e9",
              whitening="covariance", bad_fcs="True"),
        block("pdus", "blocks_message_debug", en_uvec="False")]
    connections += [["sum_0", "0", "counted", "0"], ["sum_1", "0", "counted", "1"],
                    ["counted", "frames", "pdus", "print"]]
    script = companion.compiled(save(tmp_path, blocks, connections), tmp_path)
    assert "self.counted.set_detector" not in script.read_text()    # no variable to follow
    printed = run(ended(script), tmp_path)
    # The C++ block's lines may end before or after it, at any place.
    counts = ast.literal_eval(re.search(r"counts (\{.*\})", printed)[1])
    assert counts["samples"] == 30000
    assert counts["mpdus_ok"] == counts["mpdus"] >= 5
    assert counts["failures"] == 0


def test_the_two_halves_in_a_compiled_flowgraph(companion, tmp_path):
    blocks, connections = sender(format="ht", mcs="12")
    blocks += [
        block("detector", "variable", value="'kbest:k=8'"),
        block("counted", "mimopack_wifi_synchroniser", num_rx="2", threshold="0.4"),
        block("decoder", "mimopack_wifi_decoder", num_rx="2", detector="detector",
              iterations="2"),
        block("symbols", "mimopack_wifi_symbols", num_streams="2"),
        block("response", "mimopack_wifi_channel_view", num_rx="2", num_streams="2"),
        block("meter", "mimopack_wifi_meter", length="10"),
        block("points", "blocks_file_sink", type="complex", file=str(tmp_path / "points"),
              unbuffered="True"),
        block("other", "blocks_null_sink", type="complex"),
        *[block(f"db_{i}", "blocks_file_sink", type="float", vlen="64",
                file=str(tmp_path / f"db_{i}"), unbuffered="True") for i in range(4)],
        *[block(f"curve_{i}", "blocks_null_sink", type="float", vlen="10") for i in range(3)]]
    connections += [
        ["sum_0", "0", "counted", "0"], ["sum_1", "0", "counted", "1"],
        ["counted", "frames", "decoder", "in"], ["decoder", "symbols", "symbols", "symbols"],
        ["decoder", "csi", "response", "csi"], ["decoder", "frames", "meter", "frames"],
        ["symbols", "0", "points", "0"], ["symbols", "1", "other", "0"],
        *[["response", str(i), f"db_{i}", "0"] for i in range(4)],
        *[["meter", str(i), f"curve_{i}", "0"] for i in range(3)]]
    script = companion.compiled(save(tmp_path, blocks, connections), tmp_path)
    assert "self.decoder.control.set_detector(self.detector)" in script.read_text()
    printed = run(ended(script), tmp_path)
    assert ast.literal_eval(printed.split("counts ")[-1])["frames"] >= 5
    assert (tmp_path / "points").stat().st_size > 8 * 5 * 50
    assert (tmp_path / "db_3").stat().st_size >= 5 * 64 * 4


def test_companion_refuses(companion, tmp_path):
    wrong = [
        ("receiver", {"num_rx": "9"}, "num_rx <= 8"),
        ("receiver", {"sample_rate": "25e6"}, "sample_rate in"),
        ("receiver", {"frequency": "-1.0"}, "frequency > 0"),
        ("receiver", {"detector": "kbest:q=8"}, "mimopack.wifi.FrameDetectors"),
        ("receiver", {"detector": "zf", "iterations": "2"}, "mimopack.wifi.can_iterate"),
        ("receiver", {"threshold": "1.0"}, "threshold <= 0.95"),
        ("transmitter", {"format": "non-ht", "mcs": "7"}, "mcs in (6, 9"),
        ("transmitter", {"format": "ht", "mcs": "77"}, "0 <= mcs <= 76"),
        ("transmitter", {"format": "ht", "mcs": "16", "num_tx": "2"}, "<= num_tx"),
        ("transmitter", {"bandwidth_mhz": "40"}, "bandwidth_mhz * 1e6 <= sample_rate"),
        ("transmitter", {"scrambler_seed": "128"}, "scrambler_seed <= (2047 if")]
    blocks = [block("samp_rate", "variable", value="20e6"),
              *(block(f"wrong_{index}", f"mimopack_wifi_{kind}", **parameters)
                for index, (kind, parameters, _) in enumerate(wrong))]
    refusals = companion.refusals(save(tmp_path, blocks, []), tmp_path)
    assert [said for *_, said in wrong if said not in refusals] == []

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The channel and recording blocks in GNU Radio Companion: compile a flowgraph and run it."""

import numpy as np
from flowgraphs import block, run, save
from gnuradio.mimopack import recording


def flowgraph(played, recorded):
    blocks = [
        block("source", "mimopack_sigmf_multichannel_source", path=str(played),
               num_channels="2", repeat="False"),
        block("channel", "mimopack_mimo_channel", num_tx="2", num_rx="3", sample_rate="1e6",
               profile="tdl_b", delay_spread="1e-6", snr_db="snr", cfo="cfo", seed="7"),
        block("sink", "mimopack_sigmf_multichannel_sink", path=str(recorded), num_channels="3",
               datatype="ci16_le", layout="collection", sample_rate="1e6", frequency="2.4e9",
               description="SIMULATED", fields='{"mimopack:num_tx": 2}'),
        block("snr", "variable", value="20.0"),
        block("cfo", "variable", value="1e3"),
    ]
    connections = [["source", str(i), "channel", str(i)] for i in range(2)]
    connections += [["channel", str(i), "sink", str(i)] for i in range(3)]
    return blocks, connections


def test_a_flowgraph_compiles_and_runs(companion, tmp_path):
    samples = np.random.default_rng(0).standard_normal((2, 5000)) * 0.1
    played = recording.write(tmp_path / "in", samples, 1e6)
    script = companion.compiled(save(tmp_path, *flowgraph(played, tmp_path / "out")), tmp_path)
    text = script.read_text()
    assert "self.channel.control.set_cfo(self.cfo)" in text
    assert "self.channel.control.set_snr_db(self.snr)" in text
    run(script, tmp_path)
    reader = recording.Reader(tmp_path / "out")
    assert (reader.num_channels, reader.num_samples) == (3, 5000)
    assert reader.global_info["core:description"] == "SIMULATED"
    assert reader.global_info["mimopack:num_tx"] == 2


def test_companion_refuses(companion, tmp_path):
    blocks, connections = flowgraph("in", "out")
    for name, wrong in (("channel", {"rho_tx": "1.0", "doppler": "1e5"}),
                        ("sink", {"sample_rate": "0.0"})):
        next(b for b in blocks if b["name"] == name)["parameters"].update(wrong)
    refusals = companion.refusals(save(tmp_path, blocks, connections), tmp_path)
    for parameter in ("rho_tx", "doppler", "sample_rate"):
        assert parameter in refusals

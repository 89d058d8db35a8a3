# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The channel and recording blocks in GNU Radio Companion: compile a flowgraph and run it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from gnuradio.mimopack import recording

ROOT = Path(__file__).resolve().parent.parent


def _block(name, identifier, **parameters):
    return {"name": name, "id": identifier, "parameters": parameters,
            "states": {"coordinate": [0, 0], "rotation": 0, "state": "enabled"}}


def _flowgraph(played, recorded):
    blocks = [
        _block("source", "mimopack_sigmf_multichannel_source", path=str(played),
               num_channels="2", repeat="False"),
        _block("channel", "mimopack_mimo_channel", num_tx="2", num_rx="3", sample_rate="1e6",
               profile="tdl_b", delay_spread="1e-6", snr_db="snr", cfo="cfo", seed="7"),
        _block("sink", "mimopack_sigmf_multichannel_sink", path=str(recorded), num_channels="3",
               datatype="ci16_le", layout="collection", sample_rate="1e6", frequency="2.4e9",
               description="SIMULATED", fields='{"mimopack:num_tx": 2}'),
        _block("snr", "variable", value="20.0"),
        _block("cfo", "variable", value="1e3"),
    ]
    connections = [["source", str(i), "channel", str(i)] for i in range(2)]
    connections += [["channel", str(i), "sink", str(i)] for i in range(3)]
    options = {"parameters": {"id": "played", "title": "played", "generate_options": "no_gui",
                              "run_options": "run", "output_language": "python"},
               "states": {"coordinate": [0, 0], "rotation": 0, "state": "enabled"}}
    return {"options": options, "blocks": blocks, "connections": connections,
            "metadata": {"file_format": 1}}


def _compile(tmp_path, flowgraph):
    (tmp_path / "played.grc").write_text(yaml.dump(flowgraph))
    environment = {**os.environ, "GRC_BLOCKS_PATH": str(ROOT / "grc"), "HOME": str(tmp_path)}
    return subprocess.run(["grcc", "-o", str(tmp_path), str(tmp_path / "played.grc")],
                          env=environment, text=True, capture_output=True, timeout=60)


def test_a_flowgraph_compiles_and_runs(tmp_path):
    samples = np.random.default_rng(0).standard_normal((2, 5000)) * 0.1
    played = recording.write(tmp_path / "in", samples, 1e6)
    compiled = _compile(tmp_path, _flowgraph(played, tmp_path / "out"))
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    script = (tmp_path / "played.py").read_text()
    assert "self.channel.set_cfo(self.cfo)" in script
    assert "self.channel.set_snr_db(self.snr)" in script
    ran = subprocess.run([sys.executable, str(tmp_path / "played.py")], text=True,
                         capture_output=True, timeout=60, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    reader = recording.Reader(tmp_path / "out")
    assert (reader.num_channels, reader.num_samples) == (3, 5000)
    assert reader.global_info["core:description"] == "SIMULATED"
    assert reader.global_info["mimopack:num_tx"] == 2


@pytest.mark.parametrize(("name", "parameter", "value"), [
    ("channel", "rho_tx", "1.0"), ("sink", "sample_rate", "0.0"),
])
def test_bad_parameters_do_not_compile(tmp_path, name, parameter, value):
    flowgraph = _flowgraph("in", "out")
    block = next(block for block in flowgraph["blocks"] if block["name"] == name)
    block["parameters"][parameter] = value
    assert _compile(tmp_path, flowgraph).returncode != 0

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The OFDM blocks in GNU Radio Companion: flowgraphs compile and run, bad parameters do not."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from gnuradio import mimopack

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = Path(mimopack.__file__).parents[2]
FORMAT = {"constellation": "wlan_qpsk", "code_rate": "3/4", "payload_length": "90"}


def block(name, key, **parameters):
    return {"name": name, "id": key, "parameters": parameters,
            "states": {"coordinate": [0, 0], "rotation": 0, "state": "enabled"}}


def grcc(folder, blocks, connections):
    options = {"parameters": {"id": "generated", "title": "generated", "run_options": "run",
                              "generate_options": "no_gui", "output_language": "python"},
               "states": {"coordinate": [0, 0], "rotation": 0, "state": "enabled"}}
    (folder / "generated.grc").write_text(yaml.dump({
        "options": options, "blocks": blocks, "connections": connections,
        "metadata": {"file_format": 1}}))
    return subprocess.run(
        ["grcc", "-o", str(folder), str(folder / "generated.grc")], text=True, timeout=60,
        capture_output=True, env={**os.environ, "GRC_BLOCKS_PATH": str(ROOT / "grc"),
                                  "PYTHONPATH": str(PACKAGES), "HOME": str(folder)})


def run(folder):
    return subprocess.run(
        [sys.executable, str(folder / "generated.py")], cwd=folder, capture_output=True, text=True,
        timeout=60, env={**os.environ, "PYTHONPATH": str(PACKAGES), "HOME": str(folder)})


def transmitter(folder, count):
    (folder / "payload").write_bytes(np.random.default_rng(0).bytes(90 * count))
    return [block("payload", "blocks_file_source", file=str(folder / "payload"), type="byte",
                  repeat="False"),
            block("transmitter", "mimopack_ofdm_transmitter", num_tx="2", input="bytes", gap="99",
                  **FORMAT)], [["payload", "0", "transmitter", "0"]]


def test_receiver_flowgraph(tmp_path):
    blocks, connections = transmitter(tmp_path, 10)
    blocks += [
        block("receiver", "mimopack_ofdm_receiver", num_tx="2", num_rx="2", detector="mmse",
              detector_options="{'llr_type': 'int8'}", symbols_per_channel="1", **FORMAT),
        block("llrs", "blocks_file_sink", file=str(tmp_path / "llrs"), type="byte", vlen="4",
              unbuffered="True"),
        block("packets", "blocks_message_debug", en_uvec="False")]
    connections += [["transmitter", str(i), "receiver", str(i)] for i in range(2)]
    connections += [["receiver", "0", "llrs", "0"], ["receiver", "packets", "packets", "print"]]
    compiled = grcc(tmp_path, blocks, connections)
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("(crc_ok . #t)") == 10
    # 90 bytes: 774 bits in 5 symbols of 156, 52 carriers with 4 LLRs each.
    assert (tmp_path / "llrs").stat().st_size == 10 * 5 * 52 * 4


def test_flowgraph_of_the_parts(tmp_path):
    blocks, connections = transmitter(tmp_path, 10)
    blocks += [
        block("sync", "mimopack_ofdm_frame_sync", num_tx="2", num_rx="2", **FORMAT),
        *[block(f"fft{i}", "fft_vxx", type="complex", fft_size="64", forward="True", window="[]",
                shift="True", nthreads="1") for i in range(2)],
        block("estimator", "mimopack_ofdm_channel_estimator", num_tx="2", num_rx="2",
              symbols_per_channel="5", **FORMAT),
        block("detector", "mimopack_nway_detector", num_tx="2", num_rx="2",
              constellation='"wlan_qpsk"', symbols_per_channel="5"),
        block("decoder", "mimopack_packet_decoder", num_tx="2", symbols_per_channel="5", **FORMAT),
        block("packets", "blocks_message_debug", en_uvec="False")]
    for i in map(str, range(2)):
        connections += [["transmitter", i, "sync", i], ["sync", i, "fft" + i, "0"],
                        ["fft" + i, "0", "estimator", i], ["estimator", i, "detector", i]]
    connections += [["detector", "0", "decoder", "0"], ["decoder", "packets", "packets", "print"]]
    compiled = grcc(tmp_path, blocks, connections)
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("(crc_ok . #t)") == 10


@pytest.mark.parametrize(("key", "value"), [
    ("num_rx", "1"), ("payload_length", "0"), ("detector_options", "3")])
def test_companion_refuses(tmp_path, key, value):
    parameters = {"num_tx": "2", "num_rx": "2", **FORMAT, key: value}
    blocks = [block("receiver", "mimopack_ofdm_receiver", **parameters)]
    blocks += [block("source", "blocks_null_source", type="complex", vlen="1")]
    connections = [["source", "0", "receiver", str(i)] for i in range(int(parameters["num_rx"]))]
    compiled = grcc(tmp_path, blocks, connections)
    assert compiled.returncode != 0

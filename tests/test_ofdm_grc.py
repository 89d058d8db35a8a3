# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The OFDM blocks in GNU Radio Companion: flowgraphs compile and run, bad parameters do not."""

import numpy as np
import pytest
from flowgraphs import block, run, save

FORMAT = {"constellation": "wlan_qpsk", "code_rate": "3/4", "payload_length": "90"}


def transmitter(folder, count):
    (folder / "payload").write_bytes(np.random.default_rng(0).bytes(90 * count))
    return [block("payload", "blocks_file_source", file=str(folder / "payload"), type="byte",
                  repeat="False"),
            block("transmitter", "mimopack_ofdm_transmitter", num_tx="2", input="bytes", gap="99",
                  **FORMAT)], [["payload", "0", "transmitter", "0"]]


def test_receiver_flowgraph(companion, tmp_path):
    blocks, connections = transmitter(tmp_path, 10)
    blocks += [
        block("receiver", "mimopack_ofdm_receiver", num_tx="2", num_rx="2", detector="mmse",
              detector_options="{'llr_type': 'int8'}", symbols_per_channel="1", **FORMAT),
        block("llrs", "blocks_file_sink", file=str(tmp_path / "llrs"), type="byte", vlen="4",
              unbuffered="True"),
        block("packets", "blocks_message_debug", en_uvec="False")]
    connections += [["transmitter", str(i), "receiver", str(i)] for i in range(2)]
    connections += [["receiver", "0", "llrs", "0"], ["receiver", "packets", "packets", "print"]]
    script = companion.compiled(save(tmp_path, blocks, connections), tmp_path)
    assert run(script, tmp_path).count("(crc_ok . #t)") == 10
    # 90 bytes: 774 bits in 5 symbols of 156, 52 carriers with 4 LLRs each.
    assert (tmp_path / "llrs").stat().st_size == 10 * 5 * 52 * 4


def test_flowgraph_of_the_parts(companion, tmp_path):
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
    script = companion.compiled(save(tmp_path, blocks, connections), tmp_path)
    assert run(script, tmp_path).count("(crc_ok . #t)") == 10


LDPC = {**FORMAT, "code_rate": "ldpc:3/4"}


def test_flowgraph_with_iterations(companion, tmp_path):
    """The receiver, and its parts; each has every packet."""
    (tmp_path / "payload").write_bytes(bytes(900))
    blocks = [
        block("payload", "blocks_file_source", file=str(tmp_path / "payload"), type="byte",
              repeat="False"),
        block("transmitter", "mimopack_ofdm_transmitter", num_tx="2", input="bytes", **LDPC),
        block("receiver", "mimopack_ofdm_receiver", num_tx="2", num_rx="2", detector="mmsepic",
              iterations="3", **LDPC),
        block("sync", "mimopack_ofdm_frame_sync", num_tx="2", num_rx="2", **LDPC),
        *[block(f"fft{i}", "fft_vxx", type="complex", fft_size="64", forward="True", window="[]",
                shift="True", nthreads="1") for i in range(2)],
        block("estimator", "mimopack_ofdm_channel_estimator", num_tx="2", num_rx="2", **LDPC),
        block("detector", "mimopack_nway_detector", num_tx="2", num_rx="2", llr_type="int8",
              constellation='"wlan_qpsk"'),
        block("decoder", "mimopack_packet_receiver", num_tx="2", num_rx="2", feedback_scale="0.4",
              detector_options="{'llr_type': 'int8'}", **LDPC),
        # one each: it ends with the first block that sends to it
        *[block(f"packets_of_{name}", "blocks_message_debug", en_uvec="False")
          for name in ("receiver", "decoder")]]
    connections = [["payload", "0", "transmitter", "0"]]
    for i in map(str, range(2)):
        connections += [["transmitter", i, "receiver", i], ["transmitter", i, "sync", i],
                        ["sync", i, "fft" + i, "0"], ["fft" + i, "0", "estimator", i],
                        ["estimator", i, "detector", i],
                        ["estimator", i, "decoder", str(int(i) + 1)]]
    connections += [["detector", "0", "decoder", "0"]]
    connections += [[name, "packets", f"packets_of_{name}", "print"]
                    for name in ("receiver", "decoder")]
    said = run(companion.compiled(save(tmp_path, blocks, connections), tmp_path), tmp_path)
    assert said.count("(crc_ok . #t)") == said.count("(checks_hold . #t)") == 20
    assert said.count("(iterations . 1)") == 20


def connected(name, parameters):
    """The block between sources and sinks, as its parameters make its ports."""
    num_tx, num_rx = int(parameters["num_tx"]), int(parameters.get("num_rx", 0))
    period = int(parameters.get("symbols_per_channel", 1))
    inputs = {"ofdm_transmitter": [], "packet_decoder": [("float", period * num_tx * 2)],
              "packet_receiver": [("float", period * num_tx * 2), ("complex", period * num_rx),
                                  ("complex", num_rx * num_tx)],
              "ofdm_channel_estimator": [("complex", 64)] * num_rx}
    outputs = {"ofdm_transmitter": [1] * num_tx, "ofdm_frame_sync": [64] * num_rx,
               "ofdm_channel_estimator": [period * num_rx, num_rx * num_tx]}
    blocks, connections = [block("tested", f"mimopack_{name}", **parameters)], []
    for port, (kind, vlen) in enumerate(inputs.get(name, [("complex", 1)] * num_rx)):
        blocks.append(block(f"source{port}", "blocks_null_source", type=kind, vlen=str(vlen)))
        connections.append([f"source{port}", "0", "tested", str(port)])
    for port, vlen in enumerate(outputs.get(name, [])):
        blocks.append(block(f"sink{port}", "blocks_null_sink", type="complex", vlen=str(vlen)))
        connections.append(["tested", str(port), f"sink{port}", "0"])
    if name == "ofdm_transmitter":
        blocks.append(block("sender", "blocks_message_strobe"))
        connections.append(["sender", "strobe", "tested", "pdus"])
    return blocks, connections


ANTENNAS = {
    "ofdm_transmitter": {"num_tx": "2"},
    "ofdm_frame_sync": {"num_tx": "2", "num_rx": "2"},
    "ofdm_channel_estimator": {"num_tx": "2", "num_rx": "2"},
    "ofdm_receiver": {"num_tx": "2", "num_rx": "2"},
    "packet_decoder": {"num_tx": "2"},
    "packet_receiver": {"num_tx": "2", "num_rx": "2"},
}


def its_format(name):
    return LDPC if name == "packet_receiver" else FORMAT


@pytest.mark.parametrize("name", ANTENNAS)
def test_companion_accepts(companion, tmp_path, name):
    blocks, connections = connected(name, {**ANTENNAS[name], **its_format(name)})
    companion.compiled(save(tmp_path, blocks, connections), tmp_path)


@pytest.mark.parametrize("name", ["ofdm_transmitter", "ofdm_receiver"])
def test_companion_accepts_ldpc_codes(companion, tmp_path, name):
    blocks, connections = connected(name, {**ANTENNAS[name], **FORMAT, "code_rate": "ldpc:5/6"})
    script = companion.compiled(save(tmp_path, blocks, connections), tmp_path)
    assert 'code_rate="ldpc:5/6"' in script.read_text()


@pytest.mark.parametrize(("name", "wrong", "said"), [
    *((name, {"payload_length": "0"}, "1 <= payload_length") for name in ANTENNAS),
    *((name, {"code_rate": "5/6"}, "Parameters(num_tx, constellation, code_rate")
      for name in ANTENNAS if name != "packet_receiver"),
    ("packet_receiver", {"detector": "mmse"}, "extrinsic=True"),
    ("packet_receiver", {"iterations": "0"}, "iterations >= 1"),
    ("ofdm_receiver", {"iterations": "2"}, "code_rate.startswith('ldpc:')"),
    ("ofdm_receiver", {**LDPC, "iterations": "2", "detector": "sd"}, "extrinsic=True"),
    ("ofdm_receiver", {"feedback_scale": "-1.0"}, "feedback_scale > 0"),
    *((name, {"symbols_per_channel": "2"}, "num_symbols % symbols_per_channel")
      for name in ("ofdm_channel_estimator", "ofdm_receiver", "packet_decoder")),
    *((name, {"threshold": "1.0"}, "threshold") for name in ("ofdm_frame_sync", "ofdm_receiver")),
    ("ofdm_transmitter", {"scrambler_seed": "128"}, "scrambler_seed"),
    ("ofdm_transmitter", {"gap": "-1"}, "gap"),
    ("ofdm_receiver", {"num_rx": "1"}, "num_rx >= num_tx"),
    ("ofdm_receiver", {"detector": "nearest"}, "detector in"),
    ("ofdm_receiver", {"detector_options": "3"}, "isinstance(detector_options, dict)"),
    ("ofdm_receiver", {"detector_options": "{'num_passes': 3}"}, "**detector_options"),
    ("ofdm_receiver", {"constellation": "wlan_bpsk"}, "detectors.create(detector"),
    ("packet_decoder", {"llr_scale": "0.0"}, "llr_scale"),
])
def test_companion_refuses(companion, tmp_path, name, wrong, said):
    blocks, connections = connected(name, {**ANTENNAS[name], **its_format(name), **wrong})
    refusals = companion.refusals(save(tmp_path, blocks, connections), tmp_path)
    assert said in refusals

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack bench: a short run, its table and its JSON. Times are not judged."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.mimopack import detectors
from gnuradio.mimopack.apps.bench import bench_command, make_cases, simulate
from gnuradio.mimopack.constellation import get

PEERS = Path(__file__).parents[1] / "bench" / "peers"


def run(*arguments):
    result = CliRunner().invoke(bench_command, [*map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.output


def test_table_and_json(tmp_path):
    output = tmp_path / "bench.json"
    code, text = run("--num-tx", 2, "--num-rx", 2, "--vectors", 500, "--seconds", 0.1, "--rounds",
                     3, "--output", output)
    assert code == 0
    written = json.loads(output.read_text())
    assert {row["detector"] for row in written["results"]} == set(detectors.REGISTRY)
    assert {row["backend"] for row in written["results"]} == {"cpu", "reference"}
    assert {"processor", "commit", "command", "numpy", "isa"} <= written["machine"].keys()
    assert written["case"]["noise_var"] == pytest.approx(2 / 100)
    for row in written["results"]:
        assert row["vectors_per_s"] > 0 and 0 <= row["ber"] <= 0.5
        assert row["mbit_per_s"] == pytest.approx(row["vectors_per_s"] * 8 / 1e6)
        assert ("ratio_to_reference" in row) == (row["backend"] == "cpu")
        assert row["detector"] in text
    assert "simulated" in text


def test_what_cannot_be_timed_is_said():
    code, text = run("--num-tx", 8, "--num-rx", 8, "--vectors", 64, "--seconds", 0.05, "--rounds",
                     1, "--detector", "mla", "--detector", "zf", "--backend", "cpu")
    assert code == 0 and "left out: mla, cpu: mla: 16^8" in text
    code, text = run("--num-tx", 8, "--num-rx", 8, "--detector", "mla", "--backend", "cpu")
    assert code != 0 and "no detector is left" in text


def test_simulated_data_follow_the_model():
    points = get("qam16")
    y, h, bits = simulate(14 * 200, 3, 4, points, 0.05, 14)
    x = points.modulate(bits)
    noise = y - np.einsum("nij,nj->ni", np.repeat(h, 14, axis=0), x)
    assert h.shape == (200, 4, 3) and y.dtype == h.dtype == np.complex64
    assert np.mean(np.abs(noise) ** 2) == pytest.approx(0.05, rel=0.05)
    assert np.mean(np.abs(h) ** 2) == pytest.approx(1, rel=0.1)


def test_cases_name_every_instruction_set():
    common = {"num_tx": 2, "num_rx": 2, "constellation": "qam16", "threads": 1}
    cases, refused = make_cases(["nway"], ["cpu"], common, ["baseline"])
    assert not refused and {case.detector.isa for case in cases} == {"baseline"}
    assert [case.parameters for case in cases] == [{"num_passes": 1}, {"num_passes": 2}]


@pytest.mark.skipif(not (shutil.which("g++") and Path("/usr/include/itpp").exists()),
                    reason="needs g++ and libitpp-dev, which are optional")
def test_itpp_beside(tmp_path):
    output = tmp_path / "bench.json"
    code, text = run("--num-tx", 2, "--num-rx", 2, "--vectors", 2000, "--seconds", 0.2, "--rounds",
                     1, "--detector", "mla", "--backend", "cpu", "--peers", PEERS, "--output",
                     output)
    assert code == 0 and "FULL_ENUM_MAXLOG" in text
    peers = {row["method"]: row for row in json.loads(output.read_text())["itpp"]}
    assert peers.keys() == {"FULL_ENUM_MAXLOG", "FULL_ENUM_LOGMAP", "ZF_LOGMAP"}
    assert all(row["vectors_per_s"] > 0 and row["ber"] < 0.2 for row in peers.values())

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack bench --suite: short runs of every CPU suite, their tables and JSON.

The tests do not check times.
"""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from gnuradio.mimopack import _core, detectors
from gnuradio.mimopack.apps.bench import bench_command
from gnuradio.mimopack.apps.bench.table import spelled
from suites import cases, sweeps

BENCH = Path(__file__).parents[2] / "bench"
PEERS = BENCH / "peers"
BEST = _core.available_isas()[0]
NEEDS_ITPP = pytest.mark.skipif(
    not (shutil.which("g++") and Path("/usr/include/itpp").exists()),
    reason="needs g++ and libitpp-dev, which are optional")


# A stored result of each suite, whose keys other scripts read.
COMMITTED = {"cpu": "cpu-2core-epyc", "threads": "threads-16core-xeon",
             "antennas": "antennas-16core-xeon", "batch": "batch-16core-xeon",
             "flowgraph": "flowgraph-16core-xeon", "codes": "codes-2core-epyc"}
OF_ITPP = {"times_itpp", "target_times_itpp"}


def suite(name, folder, *arguments):
    """Make a short run; return its output and its results."""
    output = folder / "bench.json"
    result = CliRunner().invoke(bench_command, [
        "--suite", name, "--vectors", "128", "--seconds", "0.002", "--rounds", "1",
        "--output", str(output), *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    written = json.loads(output.read_text())
    committed = json.loads((BENCH / "results" / f"{COMMITTED[name]}.json").read_text())
    assert written["suite"] == committed["suite"] == name
    assert committed.keys() <= written.keys()
    keys, expected = (set().union(*one["results"]) for one in (written, committed))
    assert expected - OF_ITPP <= keys
    assert {"processor", "commit", "command", "numpy", "isa"} <= written["machine"].keys()
    assert all(row["vectors_per_s"] > 0 for row in written["results"] if "vectors_per_s" in row)
    return result.output, written


def test_cpu(tmp_path):
    isas = dict.fromkeys((BEST, _core.compiled_isas()[-1]))
    text, written = suite("cpu", tmp_path, "--threads", 1,
                          *(word for isa in isas for word in ("--isa", isa)))
    rows = written["results"]
    first = [row for row in rows if row["isa"] == BEST]
    assert len(first) == len(cases.TARGETS) + len(cases.OTHERS)
    assert len(rows) - len(first) == len(cases.TARGETS) * (len(isas) - 1)
    assert {row["detector"] for row in first} <= set(detectors.REGISTRY)
    for row, case in zip(first, (*cases.TARGETS, *cases.OTHERS), strict=True):
        assert row["label"] == case.label
        assert spelled(row["label"]) in text or row["parameters"]["num_passes"] == row["num_tx"]
        assert ("target_mbit_per_s" in row) == (case in cases.TARGETS)
        limit = row["limit_mbit_per_s"]
        assert limit.keys() == {"arithmetic", "memory"} and min(limit.values()) > 0
        assert limit[row["limited_by"]] == min(limit.values())
        assert row["of_limit"] == pytest.approx(row["mbit_per_s"] / min(limit.values()))
    shared = next(row for row in first if row["symbols_per_channel"] == 14)
    alone = next(row for row in first if row["label"] == "nway(N=4)"
                 and (row["constellation"], row["num_tx"]) == ("qam16", 4))
    assert shared["target_mbit_per_s"] == pytest.approx(1.1 * alone["mbit_per_s"])
    assert not any("of_target" in row for row in rows if row["isa"] != BEST)
    assert written["rates"]["simd_instructions_per_s"].keys() == set(isas)
    assert written["rates"]["copy_bytes_per_s"] > 0
    assert written["peers"] == [] and written["peers_missing"].keys() == {"IT++", "Sionna"}
    assert "Missing: Sionna, not asked for" in text and "GB/s of a copy" in text


def test_threads(tmp_path):
    text, written = suite("threads", tmp_path)
    counts = {row["threads"] for row in written["results"]}
    assert counts == set(sweeps.thread_counts(_core.max_threads())) and 1 in counts
    assert "arithmetic alone" in text
    for row in written["results"]:
        assert row["of_linear"] == pytest.approx(row["speedup"] / row["threads"])
        assert row["threads"] > 1 or row["of_linear"] == 1
    plain = [row for row in written["results"] if row["label"] == "arithmetic alone"]
    for row in plain:
        assert row["speedup"] == pytest.approx(row["simd_instructions_per_s"]
                                               / plain[0]["simd_instructions_per_s"])


@pytest.mark.skipif("baseline" not in _core.compiled_isas(),
                    reason="needs a build for all instruction sets")
def test_antennas(tmp_path):
    _, written = suite("antennas", tmp_path, "--antennas", 2, "--antennas", 5)
    found = {(row["detector"], row["constellation"], row["num_tx"])
             for row in written["results"]}
    assert found == {(name, constellation, antennas) for name in sweeps.ANTENNAS_DETECTORS
                     for constellation in ("qpsk", "qam16", "qam64") for antennas in (2, 5)}


def test_batch(tmp_path):
    _, written = suite("batch", tmp_path)
    assert {row["vectors"] for row in written["results"]} == {1, 4, 16, 64}
    assert {row["threads"] for row in written["results"]} == {1, 2}
    assert all(row["seconds"] <= row["seconds_99"] for row in written["results"])


def test_flowgraph(tmp_path):
    text, written = suite("flowgraph", tmp_path, "--threads", 1)
    labels = [row["label"] for row in written["results"]]
    assert labels[:2] == ["no-op", "no-op, T = 14"] and "nway(N=4), T = 14" in labels
    for row in written["results"][2:]:
        assert row["of_no_op"] > 0 and row["of_slower"] >= row["of_no_op"]
    assert written["missing"] == []
    assert "no-op, T = 14" in text


@pytest.mark.parametrize("with_itpp", [False, pytest.param(True, marks=NEEDS_ITPP)])
def test_codes(tmp_path, with_itpp):
    text, written = suite("codes", tmp_path, *(("--peers", PEERS) if with_itpp else ()))
    ldpc, single, integers, *convolutional = written["results"]
    assert [row["precision"] for row in convolutional] == ["float32", "int16"]
    assert not any("times_itpp" in row for row in convolutional)
    assert min(row["mbit_per_s"] for row in written["results"]) > 0
    assert (ldpc["iterations"], single["iterations"]) == (20, 6)
    assert single["precision"] == "float32" and integers["precision"] == "int16"
    assert written["threads"] == 1 and "AWGN" in written["data"]
    assert ("times_itpp" in single) == with_itpp == (not written["peers_missing"])
    if with_itpp:
        rows = {row["code"]: row for row in written["peers"]}
        assert rows.keys() == {ldpc["code"], single["code"]}
        assert all(row["ber"] < 1e-3 for row in rows.values())
        assert single["times_itpp"] == pytest.approx(
            single["mbit_per_s"] / rows[single["code"]]["mbit_per_s"])
    assert all(row["ber"] < 1e-3 for row in written["results"])
    assert "turbo LTE K = 6144" in text and "conv 802.11 K = 7" in text

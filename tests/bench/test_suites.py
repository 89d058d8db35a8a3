# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack bench --suite: short runs of the suites, their tables and JSON; no times are checked."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from gnuradio.mimopack import _core, detectors
from gnuradio.mimopack.apps.bench import bench_command
from gnuradio.mimopack.apps.bench.table import text
from gnuradio.mimopack.cuda.device import check_device
from suites import SUITES, cases, sweeps

BENCH = Path(__file__).parents[2] / "bench"
BEST = _core.available_isas()[0]
GPU_SUITES = [name for name, suite in SUITES.items() if suite.gpu]
# A stored result of each CPU suite, whose keys other scripts read.
COMMITTED = {"cpu": "cpu-2core-epyc", "threads": "threads-16core-xeon",
             "antennas": "antennas-16core-xeon", "batch": "batch-16core-xeon",
             "flowgraph": "flowgraph-16core-xeon", "codes": "codes-2core-epyc"}


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
    keys, expected = (set().union(*results["results"]) for results in (written, committed))
    assert expected - {"times_itpp"} <= keys
    assert {"processor", "commit", "command", "numpy", "isa"} <= written["machine"].keys()
    assert all(row["vectors_per_s"] > 0 for row in written["results"] if "vectors_per_s" in row)
    return result.output, written


def test_cpu(tmp_path):
    isas = dict.fromkeys((BEST, _core.compiled_isas()[-1]))
    output, written = suite("cpu", tmp_path, "--threads", 1,
                            *(word for isa in isas for word in ("--isa", isa)))
    rows = written["results"]
    labels = [case.label for case in (*cases.MAIN, *cases.OTHERS)]
    assert [row["label"] for row in rows if row["isa"] == BEST] == labels
    assert len(rows) == len(labels) + len(cases.MAIN) * (len(isas) - 1)
    assert {row["detector"] for row in rows} == set(detectors.REGISTRY)
    assert written["peers"] == [] and written["peers_missing"].keys() == {"IT++", "Sionna"}
    assert "Missing: Sionna, not asked for" in output


def test_threads_and_batch(tmp_path):
    _, written = suite("threads", tmp_path)
    assert ({row["threads"] for row in written["results"]}
            == set(sweeps.thread_counts(_core.max_threads())))
    _, written = suite("batch", tmp_path)
    assert {row["vectors"] for row in written["results"]} == {1, 4, 16, 64}


def test_antennas(tmp_path):
    _, written = suite("antennas", tmp_path, "--antennas", 2, "--antennas", 5)
    assert {row["num_tx"] for row in written["results"]} == {2, 5}


def test_flowgraph(tmp_path):
    output, written = suite("flowgraph", tmp_path, "--threads", 1)
    labels = [row["label"] for row in written["results"]]
    assert labels[:2] == ["no-op", "no-op, T = 14"] and "nway(N=4), T = 14" in labels
    assert written["missing"] == [] and "no-op, T = 14" in output


@pytest.mark.parametrize("with_itpp", [False, pytest.param(True, marks=pytest.mark.skipif(
    not (shutil.which("g++") and Path("/usr/include/itpp").exists()),
    reason="needs g++ and libitpp-dev, which are optional"))])
def test_codes(tmp_path, with_itpp):
    output, written = suite("codes", tmp_path,
                            *(("--peers", BENCH / "peers") if with_itpp else ()))
    rows = [*written["results"], *written["peers"]]
    assert len(written["results"]) == 5 and all(row["ber"] < 1e-3 for row in rows)
    assert len(written["peers"]) == 2 * with_itpp == 2 * (not written["peers_missing"])
    assert "turbo LTE K = 6144" in output and "conv 802.11 K = 7" in output


def test_stored_results_have_tables():
    for file in (BENCH / "results").glob("*.json"):
        results = json.loads(file.read_text())
        if results.get("suite") in SUITES:
            assert text(SUITES[results["suite"]].tables(results)), file


def gpu_is_there():
    try:
        check_device(0)
    except (ImportError, ValueError):
        return False
    return True


@pytest.mark.skipif(gpu_is_there(), reason="there is a GPU")
def test_without_a_gpu_it_says_so():
    result = CliRunner().invoke(bench_command, ["--suite", "gpu"])
    assert result.exit_code == 2 and "suite gpu: no usable NVIDIA GPU" in result.output


def test_gpu_cases_are_distinct_and_complete():
    keys = [(case.label, case.setting) for case in cases.GPU_CASES]
    assert len(set(keys)) == len(keys)
    assert {case.detector for case in cases.GPU_CASES} == set(detectors.REGISTRY)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in GPU_SUITES if name != "gpu-devices"])
def test_suites_run_on_a_gpu(name, tmp_path):
    output = tmp_path / "bench.json"
    result = CliRunner().invoke(bench_command, [
        "--suite", name, "--suites", str(BENCH / "suites"), "--vectors", "28000",
        "--seconds", "0.01", "--rounds", "1", "--output", str(output),
        *(("--antennas", "4") if name == "gpu-antennas" else ())], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    written = json.loads(output.read_text())
    assert written.get("missing", []) == [] and written["machine"]["gpu"]["name"] in result.output
    what = "codewords_per_s" if name == "gpu-codes" else "vectors_per_s"
    assert all(row[what] > 0 for row in written["results"])

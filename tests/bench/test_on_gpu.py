# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU suites of mimopack bench, as far as they can be tested without a GPU; gpu tests run them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from gnuradio.mimopack import detectors
from gnuradio.mimopack.apps.bench import bench_command
from gnuradio.mimopack.apps.bench.data import Store
from gnuradio.mimopack.apps.bench.detector import Case, DetectorRun, detector_row
from gnuradio.mimopack.apps.bench.measuring import take_turns
from gnuradio.mimopack.apps.bench.table import number, text
from gnuradio.mimopack.cuda import source
from gnuradio.mimopack.cuda.device import check_device
from suites import SUITES, cases, gpu_sweeps, tables
from suites.failures import missing_row
from suites.operations import count
from suites.rows import add_targets

ROOT = Path(__file__).parents[2]
GPU_SUITES = [name for name, suite in SUITES.items() if suite.gpu]


def gpu_is_there():
    try:
        check_device(0)
    except (ImportError, ValueError):
        return False
    return True


@pytest.mark.skipif(gpu_is_there(), reason="there is a GPU")
@pytest.mark.parametrize("name", GPU_SUITES)
def test_without_a_gpu_it_says_so(name):
    result = CliRunner().invoke(bench_command, ["--suite", name])
    assert result.exit_code == 2 and f"suite {name}: no usable NVIDIA GPU" in result.output


@pytest.mark.parametrize("case", [*cases.GPU_TARGETS, *cases.GPU_OTHERS, *gpu_sweeps.LINK_CASES],
                         ids=lambda case: f"{case.label} {case.setting.constellation}")
def test_cases_have_programs_and_limits(case):
    detector = case.create(backend="reference")
    assert "detect.h" in source.program(detector.plan(), 100, matrix_each=case.setting.per_channel
                                        == 1)
    nodes = 10 if hasattr(detector, "count_nodes") else None
    assert count(detector, case.setting.per_channel, 1, nodes).sum() > 0


def test_every_detector_is_timed_and_no_case_twice():
    everything = [*cases.GPU_TARGETS, *cases.GPU_OTHERS]
    keys = [(case.label, case.setting) for case in everything]
    assert len(set(keys)) == len(keys)
    assert {case.detector for case in everything} == set(detectors.REGISTRY)


def sample():
    """Return results in the format of the suite gpu, from runs on the CPU."""
    chosen = [case for case in cases.GPU_TARGETS if case.detector in ("mmse", "psd")]
    rows = []
    for case in chosen:
        run = DetectorRun(case.create(), Store(2100).get(case.setting))
        take_turns([run], 1e-3, 1)
        rows.append(detector_row(case, run) | {
            "kernel": {"registers": 40, "local_bytes": 0, "shared_bytes": 0,
                       "blocks_per_processor": 16},
            "first_call_seconds": 1.5, "limit_mbit_per_s": {"arithmetic": 2e5, "memory": 3e5},
            "limited_by": "arithmetic", "of_limit": 0.25})
    add_targets(rows, chosen)
    peer = {"peer": "Sionna 2.2.0, PyTorch", "method": "lmmse", "mode": "compiled", "num_tx": 4,
            "num_rx": 4, "constellation": "qam16", "threads": 1, "vectors": 500, "seconds": 1e-3,
            "vectors_per_s": 5e5, "mbit_per_s": 8.0, "ber": 0.04, "ber_95": 0.01,
            "vectors_compared": 5000, "bits_compared": 80000}
    return {"rates": {"thread_instructions_per_s": 3e13, "copy_bytes_per_s": 4e12},
            "results": rows, "peers": [peer], "peers_missing": {"Sionna ep": "not today"},
            "missing": [missing_row(Case("omap"), "RuntimeError: gone")]}


def test_tables():
    results = sample()
    shown = text(SUITES["gpu"].tables(results))
    assert "Sionna 2.2.0 lmmse, compiled" in shown and "Missing: Sionna ep, not today." in shown
    assert "Missing: omap 16-QAM, RuntimeError: gone." in shown
    targets, *missing = tables.gpu(results)
    mmse = results["results"][-1]
    assert mmse["target_mbit_per_s"] == 200e3 and "200" in targets.rows[-1]
    assert targets.rows[-1][-4:] == ["40", "0", "16", "1.5"] and len(missing) == 2
    [every] = tables.gpu_detectors(results)
    assert len(every.rows) == len(results["results"])
    [peers] = tables.gpu_peers(results)
    assert peers.rows[-1][-4] == "mmse" and peers.rows[-1][-1] == number(mmse["mbit_per_s"] / 8)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in GPU_SUITES if name != "gpu-devices"])
def test_suites_run_on_a_gpu(name, tmp_path):
    output = tmp_path / "bench.json"
    result = CliRunner().invoke(bench_command, [
        "--suite", name, "--suites", str(ROOT / "bench/suites"), "--vectors", "28000",
        "--seconds", "0.01", "--rounds", "1", "--output", str(output)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    written = json.loads(output.read_text())
    assert written.get("missing", []) == [] and written["machine"]["gpu"]["name"] in result.output
    what = "codewords_per_s" if name == "gpu-codes" else "vectors_per_s"
    assert all(row[what] > 0 for row in written["results"])

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU suites of mimopack bench, as far as they can be tested without a GPU; gpu tests run them."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.mimopack import detectors
from gnuradio.mimopack.apps.bench import bench_command
from gnuradio.mimopack.apps.bench.data import Setting, Store
from gnuradio.mimopack.apps.bench.detector import Case, DetectorRun, detector_row
from gnuradio.mimopack.apps.bench.measuring import take_turns
from gnuradio.mimopack.apps.bench.table import number, text
from gnuradio.mimopack.cuda import source
from gnuradio.mimopack.cuda.device import check_device
from nvrtc import Program
from suites import SUITES, cases, first_call, gpu_sweeps, tables
from suites.failures import Fragile, attempt, missing_row
from suites.on_gpu import ARITHMETIC, CHAINS, HostData
from suites.operations import count
from suites.rows import add_targets

ROOT = Path(__file__).parents[2]
GPU_SUITES = [name for name, suite in SUITES.items() if suite.gpu]


def script(*path):
    """Import a program of the source tree as a module."""
    spec = importlib.util.spec_from_file_location(f"script_{path[-1]}", ROOT.joinpath(*path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


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


class _Breaks(Fragile, DetectorRun):
    """Run that fails in the given call."""

    def __init__(self, detector, data, call):
        super().__init__(detector, data)
        self.call = call

    def _detect(self, n):
        self.call -= 1
        if self.call == 0:
            raise RuntimeError("it broke\nand said more")
        return super()._detect(n)


@pytest.mark.parametrize("call", [1, 2, 5, 10**9])
def test_a_failure_leaves_the_others_alone(call):
    case = Case("zf", {}, Setting(2, 2))
    data = Store(64).get(case.setting)
    runs = [_Breaks(case.create(), data, at) for at in (call, 10**9)]
    take_turns(runs, 1e-3, 3)
    rows = [attempt(lambda run=run: detector_row(case, run), run) for run in runs]
    assert rows[1][0]["vectors_per_s"] > 0 and rows[1][1] is None
    if call < 10**9:
        assert rows[0] == (None, "RuntimeError: it broke")
        assert missing_row(case, rows[0][1])["reason"] == "RuntimeError: it broke"


def test_host_data_repeat():
    store = Store(28)
    setting = Setting(2, 3, per_channel=14)
    host = store.get(setting)
    data = HostData(host, 100, llr_type=np.int8)
    assert data.vectors == 84 and data.y.shape == (84, 3) and data.h.shape == (6, 3, 2)
    assert data.llr.shape == (84, 8) and data.llr.dtype == np.int8
    np.testing.assert_array_equal(data.y[56:], host.y)
    np.testing.assert_array_equal(data.h[4:], host.h)


def test_a_process_answers_fails_or_dies():
    assert first_call._in_process(json.loads, "[1]") == [1]
    assert first_call._in_process(json.loads, "nope").startswith("JSONDecodeError: ")
    assert first_call._in_process(os._exit, 3) == "its process ended without a message"


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


def test_documents_say_what_is_not_measured():
    documents = script("bench", "tables.py")
    assert documents.render("gpu", "no-such.json").startswith("Not measured yet")


def test_where_a_gpu_overtakes():
    seconds = {"device": (9, 9, 9, 9), "pinned": (9, 30, 50, 60), "ordinary": (50, 300, 900, 2000),
               "2 threads": (5, 20, 60, 500)}
    rows = [{"label": "mmse", "where": where, "vectors": size, "seconds": time * 1e-6,
             "seconds_99": time * 1e-6, "mbit_per_s": 1.0}
            for where, times in seconds.items() for size, time in zip(
                (10, 100, 1000, 10_000), times, strict=True)]
    [crossover] = tables.gpu_crossover({"results": rows})
    assert crossover.rows == [["mmse", "2 threads", "100", "1000", "over 10000"]]
    [calls] = tables.gpu_batch({"results": rows})
    assert calls.rows[0] == ["10", "9 us (1)", "9 us (1)", "50 us (1)", "5 us (1)"]
    del rows[1]    # 100 vectors on the device failed
    [crossover] = tables.gpu_crossover({"results": rows})
    [calls] = tables.gpu_batch({"results": rows})
    assert crossover.rows[0][2] == "1000" and calls.rows[1][1] == ""


@pytest.mark.parametrize("name", detectors.REGISTRY)
def test_sanitizer_reaches_every_way_to_compile(name):
    sanitize = script("scripts", "sanitize.py")
    kinds = list(sanitize.kinds(name))
    for _, parameters, n, period, _ in kinds:
        detectors.create(name, backend="reference", **parameters)
        assert n % period == 0
    assert any(period > 1 for *_, period, _ in kinds)
    assert any("llr_type" in parameters for _, parameters, *_ in kinds)
    asked = {word for *_, words in kinds for word in words}
    assert ("prior" in asked) == detectors.REGISTRY[name].SUPPORTS_PRIOR
    assert ("nodes" in asked) == hasattr(detectors.REGISTRY[name], "count_nodes")


def test_sanitizer_summaries():
    found = script("scripts", "sanitize.py").SUMMARY.findall(
        "========= ERROR SUMMARY: 12 errors\n"
        "========= RACECHECK SUMMARY: 3 hazards displayed (1 errors, 2 warnings)\n")
    assert found == ["12", "3"]


def test_arithmetic_compiles_without_spills():
    program = Program(ARITHMETIC, "sm_90", ())
    assert program.error is None and program.spills["issue"] == 0
    assert CHAINS < program.registers["issue"] <= 32


@pytest.mark.gpu
@pytest.mark.slow
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

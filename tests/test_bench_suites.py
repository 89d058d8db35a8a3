# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack bench --suite: short runs of every suite, their tables and JSON, limits and peers. Times
are not judged."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.mimopack import _core, detectors
from gnuradio.mimopack.apps.bench import bench_command
from gnuradio.mimopack.apps.bench.data import Setting, Store
from gnuradio.mimopack.apps.bench.detector import Case
from gnuradio.mimopack.apps.bench.measuring import take_turns
from suites import cases, peers, sweeps
from suites.limits import Limits
from suites.operations import COUNTED, count

PEERS = Path(__file__).parents[1] / "bench" / "peers"
BEST = _core.available_isas()[0]
NEEDS_ITPP = pytest.mark.skipif(
    not (shutil.which("g++") and Path("/usr/include/itpp").exists()),
    reason="needs g++ and libitpp-dev, which are optional")


def suite(name, folder, *arguments):
    """A short run: what it printed and wrote."""
    output = folder / "bench.json"
    result = CliRunner().invoke(bench_command, [
        "--suite", name, "--vectors", "128", "--seconds", "0.002", "--rounds", "1",
        "--output", str(output), *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    written = json.loads(output.read_text())
    assert written["suite"] == name
    assert {"processor", "commit", "command", "numpy", "isa"} <= written["machine"].keys()
    assert all(row["vectors_per_s"] > 0 for row in written["results"] if "vectors_per_s" in row)
    return result.output, written


class TestSuites:
    def test_cpu(self, tmp_path):
        isas = [BEST, "baseline"] if BEST != "baseline" else ["baseline"]
        text, written = suite("cpu", tmp_path, "--threads", 1,
                              *(word for isa in isas for word in ("--isa", isa)))
        rows = written["results"]
        first = [row for row in rows if row["isa"] == BEST]
        assert len(first) == len(cases.TARGETS) + len(cases.OTHERS)
        assert len(rows) - len(first) == len(cases.TARGETS) * (len(isas) - 1)
        assert {row["detector"] for row in first} <= set(detectors.REGISTRY)
        for row, case in zip(first, (*cases.TARGETS, *cases.OTHERS), strict=True):
            assert row["label"] == case.label
            assert row["label"] in text or row["parameters"]["num_passes"] == row["num_tx"]
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

    def test_threads(self, tmp_path):
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

    def test_antennas(self, tmp_path):
        _, written = suite("antennas", tmp_path, "--antennas", 2, "--antennas", 5)
        found = {(row["detector"], row["constellation"], row["num_tx"])
                 for row in written["results"]}
        assert found == {(name, constellation, antennas) for name in sweeps.ANTENNAS_DETECTORS
                         for constellation in ("qpsk", "qam16", "qam64") for antennas in (2, 5)}

    def test_batch(self, tmp_path):
        _, written = suite("batch", tmp_path)
        assert {row["vectors"] for row in written["results"]} == {1, 4, 16, 64}
        assert {row["threads"] for row in written["results"]} == {1, 2}
        assert all(row["seconds"] <= row["seconds_99"] for row in written["results"])

    def test_flowgraph(self, tmp_path):
        text, written = suite("flowgraph", tmp_path, "--threads", 1)
        labels = [row["label"] for row in written["results"]]
        assert labels[:2] == ["no-op", "no-op, T = 14"] and "nway(N=4), T = 14" in labels
        for row in written["results"][2:]:
            assert row["of_no_op"] > 0 and row["of_slower"] >= row["of_no_op"]
        assert written["missing"] == []
        assert "no-op, T = 14" in text

    @pytest.mark.parametrize("with_itpp", [False, pytest.param(True, marks=NEEDS_ITPP)])
    def test_codes(self, tmp_path, with_itpp):
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


class TestLimits:
    def test_every_detector_is_counted(self):
        assert COUNTED.keys() >= set(detectors.REGISTRY)

    @staticmethod
    def counted(name, *sizes, lanes=16, per_channel=1, nodes=None, **parameters):
        """Instructions of a detector for nt, nr and a constellation."""
        num_tx, num_rx, constellation = sizes or (4, 4, "qam16")
        detector = detectors.create(name, num_tx=num_tx, num_rx=num_rx, backend="cpu",
                                    constellation=constellation, **parameters)
        return count(detector, per_channel, lanes, nodes)

    @pytest.mark.parametrize("name", COUNTED)
    def test_more_of_anything_takes_more(self, name):
        nodes = {"sd": 20, "asd": 20, "psd": 100}.get(name)

        def instructions(*sizes, **more):
            return self.counted(name, *sizes, **{"nodes": nodes} | more).sum()

        small = instructions(3, 4, "qam16")
        assert 0 < small < instructions(4, 4, "qam16")
        assert small < instructions(3, 5, "qam16") and small < instructions(3, 4, "qam64")
        assert instructions(3, 4, "qam16", per_channel=14) < small    # QR once for several vectors
        assert instructions(3, 4, "qam16", lanes=4) < small    # fewer steps to bring in a register
        if nodes:
            assert small < instructions(3, 4, "qam16", nodes=nodes + 1) < 1.1 * small

    def test_parameters(self):
        def instructions(name, **parameters):
            return self.counted(name, **parameters).sum()

        once = [instructions("nway", num_passes=n) for n in (1, 2, 3, 4)]
        assert np.allclose(np.diff(once), np.diff(once)[0]) and once[3] == instructions("nway")
        assert instructions("hfsd", levels=1) < instructions("hfsd", levels=2)
        assert instructions("sfsd", num_paths=1) < instructions("sfsd", num_paths=4)
        assert instructions("kbest", k=16) < instructions("kbest", k=64)
        assert instructions("ep", num_iterations=2) < instructions("ep", num_iterations=10)
        assert instructions("nway") < instructions("softsphere") < instructions("mla")
        assert instructions("mla") < instructions("mla", method="table")
        assert instructions("mla", method="table") < instructions("mla", method="plain")

    @pytest.mark.parametrize("name", ["sd", "asd", "psd"])
    def test_a_search_is_counted_by_its_nodes(self, name):
        setting = Setting(2, 2)
        data = Store(200).get(setting)
        case = Case(name, {}, setting)
        detector = case.create(threads=1, backend="cpu")
        bounds = Limits([BEST], 1, data)
        take_turns(bounds.runs, 1e-3, 1)
        nodes = detector.count_nodes(data.y, data.h, setting.noise_var).sum() / 200
        _, instructions = bounds.of(case, detector, data)
        fma, other = count(detector, 1, _core.lanes(detector.isa), nodes)
        assert instructions == pytest.approx(_core.instructions_per_fma(detector.isa) * fma + other)
        assert nodes >= 4

    def test_a_count_by_hand(self):
        """N-way, one antenna each way, one pass, QPSK, in lanes of one, term by term."""
        qr = (2 + 1, 2 + 4)           # |h|^2 and 1/|h|; q = h / |h|
        scaled, rotated = (0, 5), (4 + 2, 0)
        candidates = (0, 4)           # the sum of two axes' distances
        lists = (0, 4 * 2 + 2 * 4 + 2 * 2 * 1)   # the best, minima per axis, per bit
        output = (1, 4 + 2 * 4)
        assert tuple(self.counted("nway", 1, 1, "qpsk", lanes=1)) == tuple(
            map(sum, zip(qr, scaled, rotated, candidates, lists, output, strict=True)))

    @pytest.mark.parametrize("isa", _core.available_isas())
    def test_arithmetic_is_counted(self, isa):
        once = _core.issue_arithmetic(isa, 1, 1000)
        assert once == 1000 * 7 * (_core.instructions_per_fma(isa) + 1)
        assert _core.issue_arithmetic(isa, 2, 1000) == 2 * once
        assert _core.lanes(isa) in (4, 8, 16)

    @pytest.mark.parametrize("size, threads", [(0, 2), (5, 3), (1001, 1), (1001, 4)])
    def test_copy(self, size, threads):
        source = np.arange(size, dtype=np.complex64)
        out = np.zeros_like(source)
        _core.copy(out, source, threads)
        np.testing.assert_array_equal(out, source)
        with pytest.raises(ValueError, match="differ in size"):
            _core.copy(out, np.zeros(size + 1, np.complex64), threads)


class TestPeers:
    def test_a_program_is_asked_and_answers(self):
        program = peers.Program([sys.executable, "-c", """
import json, sys
print(json.dumps({"name": "Peer 1"}), flush=True)
for line in sys.stdin:
    method, n = line.split()
    n = int(n)
    print(json.dumps({"seconds": n / 1000, "vectors": n, "errors": n, "errors_squared": 4 * n}),
          flush=True)
"""])
        peer = peers.PeerRun(program, "any", Setting(), "any", 1, 10, 500)
        take_turns([peer], 0.4, 2)
        assert program.name == "Peer 1" and peer.units == 200
        assert peer.rate == pytest.approx(1000)
        assert peer.error_rate() == pytest.approx(
            {"ber": 1 / 16, "ber_95": 1.96 * 3**0.5 / 500**0.5 / 16, "vectors_compared": 500,
             "bits_compared": 8000})
        program.close()
        with pytest.raises(OSError, match="No module|no such|not found|nothing here"):
            peers.Program([sys.executable, "-c", "raise SystemExit('nothing here')"])

    def test_requests_may_wait_for_each_other_and_fail(self, monkeypatch):
        monkeypatch.setenv("PYTHONHOME_OF_OURS", "stays")
        monkeypatch.setenv("PYTHONPATH", "/nowhere")
        program = peers.Program([sys.executable, "-c", """
import json, os, sys
print(json.dumps({"name": os.environ.get("PYTHONPATH", "") + os.environ["PYTHONHOME_OF_OURS"]}))
for line in sys.stdin:
    method, _, n = line.split()
    if n == "13":
        sys.exit("unlucky")
    print(json.dumps({"error": "not today"} if method == "bad" else {
        "seconds": int(n) / 1000, "vectors": int(n), "errors": 0, "errors_squared": 0}), flush=True)
"""])
        assert program.name == "stays"
        good, bad = (peers.DevicePeerRun(program, method, "eager", Setting(), "-", 100)
                     for method in ("good", "bad"))
        peers.prepared([good, bad])
        take_turns([bad, good], 0.4, 2)
        assert bad.failure == "OSError: not today" and good.failure is None
        assert good.rate == pytest.approx(1000) and good.extra == {"mode": "eager"}
        program.begin("good - 13")
        with pytest.raises(OSError, match="unlucky"):
            program.finish(5)
        with pytest.raises(OSError, match="unlucky"):    # still
            program.ask("good - 1")
        program.close()

    def test_a_program_that_takes_too_long_is_ended(self):
        with pytest.raises(OSError, match="took too long"):
            peers.Program([sys.executable, "-c", "import time; time.sleep(60)"], 0.2)

    def test_missing_peers_are_named(self, tmp_path):
        with peers.start(tmp_path, None, Store(64), 1) as (runs, missing):
            assert runs == [] and missing["IT++"].startswith("not installed: apt-get")
            assert missing["Sionna"] == "not installed: bench/peers/sionna-setup.sh"

    @NEEDS_ITPP
    def test_itpp(self, tmp_path):
        small = Setting(2, 2)
        shutil.copy(PEERS / "itpp.cc", tmp_path)
        with peers.start(tmp_path, None, Store(64), 1, (), (small,)) as (runs, missing):
            assert "IT++" not in missing
            take_turns(runs, 0.1, 1)
            assert [run.method for run in runs] == list(peers.ITPP_METHODS)
            assert all(run.rate > 0 and 0 < run.error_rate()["ber"] < 0.2 for run in runs)
            assert {run.program.name.split()[0] for run in runs} == {"IT++"}

    @pytest.mark.skipif(not (PEERS.parents[1] / ".venv-sionna").exists(),
                        reason="needs bench/peers/sionna-setup.sh, which is optional")
    @pytest.mark.slow
    def test_sionna_decides_as_we_do(self, tmp_path):
        """The same vectors: its LMMSE and ours count about the same bit errors."""
        store = Store(2000)
        setting = Setting()
        with peers.start(PEERS, None, store, 1, (setting,), ()) as (runs, missing):
            assert "Sionna" not in missing
            take_turns(runs, 0.1, 1)
            rates = {run.method: run.error_rate()["ber"] for run in runs}
        data = store.get(setting)
        llr = detectors.MMSE().detect(data.y, data.h, setting.noise_var)
        ours = np.mean(detectors.hard_decisions(llr) != data.bits)
        assert rates["lmmse"] == pytest.approx(ours, rel=0.02)
        assert rates["kbest64"] < rates["ep"] < rates["lmmse"]

    def test_sionna_on_a_gpu_is_missing_where_its_python_is(self, tmp_path):
        with peers.start_on_gpu(tmp_path, None, Store(64)) as (runs, missing):
            assert runs == [] and missing == {
                "Sionna": "not installed: bench/peers/sionna-setup.sh"}
        with peers.start_on_gpu(None, None, Store(64)) as (runs, missing):
            assert runs == [] and missing["Sionna"].startswith("not asked for")
        with peers.start_on_gpu(tmp_path, shutil.which("false"), Store(64)) as (runs, missing):
            assert runs == [] and len(missing) == 2 * (1 + len(peers.SIONNA_METHODS))
            assert all(reason.startswith("does not run") for reason in missing.values())

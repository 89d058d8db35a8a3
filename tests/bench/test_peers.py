# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of other projects answer requests; missing programs are reported."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from gnuradio.mimopack.apps.bench.data import Setting, Store
from gnuradio.mimopack.apps.bench.measuring import take_turns
from suites import peers

PEERS = Path(__file__).parents[2] / "bench" / "peers"
NEEDS_ITPP = pytest.mark.skipif(
    not (shutil.which("g++") and Path("/usr/include/itpp").exists()),
    reason="needs g++ and libitpp-dev, which are optional")


def test_a_program_is_asked_and_answers():
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


def test_requests_may_wait_for_each_other_and_fail(monkeypatch):
    monkeypatch.setenv("PYTHONHOME_OF_OURS", "stays")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    program = peers.Program([sys.executable, "-c", """
import json, os, sys
print(json.dumps({"name": os.environ.get("PYTHONPATH", "") + os.environ["PYTHONHOME_OF_OURS"]}),
      flush=True)
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


def test_a_program_that_takes_too_long_is_ended():
    with pytest.raises(OSError, match="took too long"):
        peers.Program([sys.executable, "-c", "import time; time.sleep(60)"], 0.2)


def test_missing_peers_are_named(tmp_path):
    with peers.start(tmp_path, None, Store(64), 1) as (runs, missing):
        assert runs == [] and missing["IT++"].startswith("not installed: apt-get")
        assert missing["Sionna"] == "not installed: bench/peers/sionna-setup.sh"


@NEEDS_ITPP
def test_itpp(tmp_path):
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
def test_sionna_decides_as_we_do(tmp_path):
    """With the same vectors, Sionna's LMMSE and ours make about the same bit errors."""
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


def test_sionna_on_a_gpu_is_missing_where_its_python_is(tmp_path):
    with peers.start_on_gpu(tmp_path, None, Store(64)) as (runs, missing):
        assert runs == [] and missing == {
            "Sionna": "not installed: bench/peers/sionna-setup.sh"}
    with peers.start_on_gpu(None, None, Store(64)) as (runs, missing):
        assert runs == [] and missing["Sionna"].startswith("not asked for")
    with peers.start_on_gpu(tmp_path, shutil.which("false"), Store(64)) as (runs, missing):
        assert runs == [] and len(missing) == 2 * (1 + len(peers.SIONNA_METHODS))
        assert all(reason.startswith("does not run") for reason in missing.values())

# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option --scheduler: a cluster with TLS, Ctrl-C, and what is refused."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from clusters import Processes, until
from gnuradio.mimopack.apps.cli import main
from missing_packages import hide
from terminal import in_terminal

SIM = ("sim", "-d", "mmse", "--num-tx", "2", "--num-rx", "2", "--constellation", "qpsk", "--snr",
       "2:4:2", "--errors", "20", "-q")


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Options of Dask for a certificate that signs itself."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=test", "-keyout", "key.pem", "-out", "cert.pem"],
                   cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def cluster(certificates, tmp_path_factory):
    cert, key = str(certificates / "cert.pem"), str(certificates / "key.pem")
    with Processes(tmp_path_factory.mktemp("cluster") / "tls", "--protocol", "tls", "--tls-ca-file",
                   cert, "--tls-cert", cert, "--tls-key", key) as running:
        running.workers("a", "b", "c")
        yield running


@pytest.fixture(scope="module")
def options(cluster, certificates):
    cert = certificates / "cert.pem"
    return ("--scheduler", cluster.address, "--tls-ca", cert, "--tls-cert", cert, "--tls-key",
            certificates / "key.pem")


def test_a_table_of_the_points_on_a_terminal(options):
    text, status = in_terminal(
        100, 24, *SIM[:-1], "--max-frames", 2000, "--errors", 1000, *options)
    assert status == 0
    text = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text)    # colours and movements of the cursor
    assert re.search(r"detector +dB +frames +errors +FER +done +frames/s +workers", text)
    rows = re.findall(r"mmse +2 +(\d+) +(\d+) +\S+ +(\d+) % (?: +\d+)? +(\d)", text)
    frames, errors, shares, workers = np.transpose([list(map(int, row)) for row in rows])
    assert all(0 < frames) and all(errors <= frames) and all(shares < 100)
    assert all(np.diff(frames) >= 0) and set(workers) <= {0, 1, 2, 3} and max(workers) > 0
    assert re.search(r"(?m)^mmse +2 +1008 ", text), "the results follow"


def test_tls(cluster, options, tmp_path):
    assert cluster.address.startswith("tls://")
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    text = run(*SIM, "-o", here)
    assert run(*SIM, "-o", there, *options).replace("there", "here") == text
    here, there = json.loads(here.read_text()), json.loads(there.read_text())
    assert here["results"] == there["results"]
    assert there["runs"][0]["machine"]["cluster"] == {
        "scheduler": cluster.address, "workers": 3, "threads": 3, "resources": {}, "hosts": 1}


def test_without_certificates(cluster):
    assert f"Error: scheduler: {cluster.address} cannot be used: " in run(
        *SIM, "--scheduler", cluster.address, code=2)


def test_interrupted(options, tmp_path):
    """Ctrl-C keeps what was counted; the next run continues to the same result."""
    path = tmp_path / "out.json"
    more = ("--errors", "1000000", "--max-frames", "4000")
    process = subprocess.Popen(
        [sys.executable, "-c", "from gnuradio.mimopack.apps.cli import main; main()", *SIM,
         "--errors", "1000000", "--max-frames", "1000000000", "-o", path, *options],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    until(lambda: path.exists() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert out.endswith("not complete: run the same command to continue\n") and not error
    kept = json.loads(path.read_text())["results"]
    assert kept[0]["frames"] > 0
    lengths = str(kept[0]["frames"] + 160)
    text = run(*SIM, *more, "--max-frames", lengths, "-o", path, *options)
    assert text.splitlines()[:-1] == run(*SIM, *more, "--max-frames", lengths).splitlines()


@pytest.mark.parametrize("more, message", [
    (("--scheduler", "somewhere"), "scheduler: got 'somewhere', allowed are local, local:WORKERS"),
    (("--tls-ca", __file__), "--tls-ca, --tls-cert and --tls-key belong to --scheduler"),
    (("--scheduler", "tls://127.0.0.1:1", "--tls-ca", __file__),
     "scheduler: tls://127.0.0.1:1 cannot be used: "),
    (("--scheduler", "tcp://127.0.0.1:1", "--tls-ca", "/none"), "'/none' does not exist")])
def test_refusals(more, message):
    said = run(*SIM, *more, code=2).splitlines()
    assert message in said[-1]


def test_without_dask(monkeypatch):
    hide(monkeypatch, "distributed")
    assert run(*SIM, "--scheduler", "local:2", code=2).splitlines()[-1] == (
        "Error: clusters need Dask: python3 -m pip install distributed")

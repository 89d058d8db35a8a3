# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack wifi as a process: Ctrl-C, FIFOs, pipes and terminals."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import pytest
from commands import invoke, start
from gnuradio.mimopack.wifi.csi import read_csi
from recordings import stored
from source_tree import ROOT
from wifi_air import FRAMES, air, record

_wifi = partial(invoke, "wifi")


_process = partial(start, "wifi")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Return (path, frames) of a recording with all of FRAMES."""
    return record(tmp_path_factory.mktemp("simulated") / "r")


def _long_recording(path, seconds=1000):
    """Write a frame and a long silence, which keeps the receiver busy: a sparse file."""
    samples, sent = air(FRAMES[:2], 2)
    with path.open("wb") as handle:
        handle.write(stored(samples, "ci16").tobytes())
        handle.truncate(int(8 * 20e6 * seconds))
    return sent


@pytest.mark.parametrize("ignored", [False, True], ids=["foreground", "background"])
def test_ctrl_c_keeps_what_was_decoded(tmp_path, ignored):
    """In the background of a script, the shell ignores SIGINT."""
    path = tmp_path / "r.ci16"
    sent = _long_recording(path)
    child = _process(
        path, "--rate", "20e6", "--channels", "2", "--json", tmp_path / "f.json", "--csi",
        tmp_path / "c.npz", "--pcap", tmp_path / "p.pcap", "-o", tmp_path / "out", "--no-pictures",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignored
                                         else signal.default_int_handler))
    try:
        lines = []
        while not (lines and f"sample {sent[1].start} " in lines[-1]):
            lines.append(child.stdout.readline())
            assert lines[-1], lines
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        rest = child.communicate(timeout=60)[0]
    finally:
        child.kill()
    assert child.returncode == 130, rest
    assert re.search(r"^all +2 +2 +2 +2 ", rest, re.MULTILINE), rest
    assert re.search(r"Incomplete: interrupted after \d+ of 20000000000 samples \(0 %\)", rest)
    assert "Traceback" not in rest
    frames = json.loads((tmp_path / "f.json").read_text())
    assert [one["psdu"] for one in frames] == [one.psdu.hex() for one in sent]
    assert len(read_csi(tmp_path / "c.npz")) == 2
    pcap = (tmp_path / "p.pcap").read_bytes()
    assert all(mpdu in pcap for frame in sent for mpdu in frame.mpdus)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["complete"] is False
    assert not list(tmp_path.glob("*.part"))


# Run a script of the command, and send SIGINT when a module is about to be imported.
_INTERRUPTED_IMPORT = """
import os, runpy, signal, sys


class Finder:
    def find_spec(name, *_):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder)
_, module, script, *sys.argv[1:] = sys.argv
runpy.run_path(script, run_name="__main__")
"""


@pytest.mark.parametrize("command, module", [
    ("wifi", "click"), ("wifi", "gnuradio.mimopack.apps.cli"), ("wifi", "numpy"),
    ("wifi", "gnuradio.mimopack.apps.wifi.command"), ("play", "numpy"),
    ("play", "gnuradio.mimopack.apps.play.command")])
def test_ctrl_c_while_modules_are_imported(tmp_path, command, module):
    script = tmp_path / "mimopack"
    script.write_text((ROOT / "apps" / "mimopack.in").read_text().replace("@MIMOPACK_SHEBANG@", ""))
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_IMPORT, module, script, command, "none"], text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True,
        timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_while_a_fifo_waits_for_its_reader(simulated, tmp_path):
    os.mkfifo(tmp_path / "live.pcap")
    child = _process(simulated[0], "--pcap", tmp_path / "live.pcap", "--json", tmp_path / "f.json",
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        while "waits for a reader" not in child.stdout.readline():
            assert child.poll() is None
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        rest = child.communicate(timeout=30)[0]
    finally:
        child.kill()
    assert child.returncode == 130
    assert "Incomplete" in rest and "Traceback" not in rest
    assert [one.name for one in tmp_path.iterdir()] == ["live.pcap"]


def test_pcap_into_a_fifo(simulated, tmp_path):
    fifo, got = tmp_path / "live.pcap", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    result = _wifi(simulated[0], "-q", "--pcap", fifo)
    reader.join(30)
    _wifi(simulated[0], "-q", "--pcap", tmp_path / "p.pcap")
    assert result.exit_code == 0
    assert got == [(tmp_path / "p.pcap").read_bytes()]


def test_files_are_written_although_nobody_reads_the_lines(simulated, tmp_path):
    child = _process(simulated[0], "--json", tmp_path / "f.json", stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE)
    child.stdout.close()
    said = child.stderr.read()
    assert child.wait(60) == 0, said
    assert len(json.loads((tmp_path / "f.json").read_text())) == 5
    assert "Traceback" not in said


def test_progress_is_shown_on_a_terminal_only(tmp_path):
    path = tmp_path / "r.ci16"
    _long_recording(path, 0.4)
    controller, terminal = pty.openpty()
    child = _process(path, "--rate", "20e6", "--channels", "2", stdout=subprocess.PIPE,
                     stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while True:
            try:
                shown += os.read(controller, 1 << 16)
            except OSError:    # the other side was closed
                break
        out = child.communicate(timeout=60)[0]
    finally:
        child.kill()
        os.close(controller)
    assert child.returncode == 0
    assert re.search(rb" %  \d+\.\d+ ms of 400\.000 ms, \d+ frames, \d+ MPDUs with a correct FCS",
                     shown)
    assert shown.endswith(b"\r\x1b[2K") and "of 400.000 ms" not in out
    child = _process(path, "--rate", "20e6", "--channels", "2", stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE)
    assert child.communicate(timeout=60)[1] == ""
